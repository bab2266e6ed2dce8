//! The grammar of `pack.yaml`.

use crate::name::Name;
use crate::source::{At, Json, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::field::TypeDecl;
use super::work::ControlDecl;

keys! {
    /// A pack: the declarations that its lifecycles share.
    pub struct PackFile {
        /// The name of the pack. Lifecycles are named `pack.kind`.
        pub pack: At<Name>,
        /// The version. It must increase with every change.
        pub version: At<u32>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Roles that an actor may have.
        pub roles: Named<RoleDecl>,
        /// Values that rules read as `settings.NAME`.
        pub settings: Named<SettingDecl>,
        /// Named types for fields.
        pub types: Named<TypeDecl>,
        /// Audiences for notifications: name and one sentence.
        pub audiences: Named<String>,
        /// Risk levels of actions.
        pub policy: Option<PolicyDecl>,
        /// Named queries.
        pub queries: Named<QueryDecl>,
        /// Actions of the supervisor when an agent's process ends, by role.
        pub supervise: Named<SuperviseDecl>,
        /// Control files: the name of the file to what it does.
        pub control: Named<ControlDecl>,
    }
}

keys! {
    /// A role.
    pub struct RoleDecl {
        /// Other roles that it includes.
        pub includes: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

shapes! {
    /// A setting: a bare default, or a map with `default`.
    pub enum SettingDecl {
        Full(Box<SettingMap>) if map with "default",
        BareMap(At<Json>) if map,
        BareList(At<Json>) if list,
        Bare(At<Json>) if scalar,
    }
}

keys! {
    /// A setting with a default and options.
    pub struct SettingMap {
        /// The value if there is no override.
        pub default: At<Json>,
        /// The type, if it does not follow from the default: `string`, `span`, `number` …
        pub r#type: Option<At<Name>>,
        /// The smallest value of an override.
        pub min: Option<f64>,
        /// The largest value of an override.
        pub max: Option<f64>,
        /// A condition on the values in force, over `settings`. An override that makes it false is refused.
        pub check: Option<Expr>,
        /// The message if `check` is false.
        pub says: Option<String>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Expressions over the entity. The first that is not null is the value.
        pub from: Option<OneOrMany<Expr>>,
    }
}

keys! {
    /// Risk levels of actions.
    pub struct PolicyDecl {
        /// The levels, from harmless to dangerous.
        pub levels: Vec<At<Name>>,
        /// The level of an action that no rule names.
        pub unknown: At<Name>,
        /// Rules. The first match decides.
        pub rules: Vec<PolicyRuleDecl>,
        /// Circumstances that raise the level. Every match applies.
        pub raise: Option<Vec<PolicyRaiseDecl>>,
        /// Role to the highest level that it may perform without approval.
        pub roles: Named<At<Name>>,
        /// Tools of agents: the name of the tool to the action that it performs.
        pub tools: Named<ToolDecl>,
        /// The request for an approval, for agents whose action needs one.
        pub request: Option<PolicyRequestDecl>,
    }
}

keys! {
    /// The request for the approval of an action.
    pub struct PolicyRequestDecl {
        /// The query of the agent's entities that a request can be about, the best one first. It gets `agent`.
        pub work: At<Name>,
        /// The transition of that entity that files the request.
        pub fire: At<Name>,
        /// The transition of that entity that uses an approval. It is refused if there is none.
        pub r#use: At<Name>,
        /// The query of the requests for one action, the newest first. It gets `agent`, `entity`, `action` and `arguments`.
        pub approvals: At<Name>,
        /// Fields of both transitions, over `action`, `arguments`, `level`, `why` and `settings`.
        pub with: Named<Expr>,
    }
}

keys! {
    /// A tool of agents, mapped to an action of the policy.
    pub struct ToolDecl {
        /// The action that it performs.
        pub action: At<Name>,
        /// Arguments of the action, computed from those of the tool. They override arguments of the same name.
        pub with: Named<Expr>,
    }
}

keys! {
    /// One rule of the risk policy.
    pub struct PolicyRuleDecl {
        /// The actions that it applies to; all by default.
        pub action: Option<OneOrMany<At<Name>>>,
        /// Applies only if this expression is true. It sees `action`, `arguments` and `settings`.
        pub when: Option<Expr>,
        /// The level it gives.
        pub level: Option<At<Name>>,
        /// Instead of `level`: denies the action, with this message: a text with expressions in `{ }`.
        pub deny: Option<Expr>,
        /// The reason shown to people: a text with expressions in `{ }`.
        pub why: Option<Expr>,
        /// The action that the call counts as for the `tools` of states; its own by default.
        pub counts_as: Option<At<Name>>,
    }
}

keys! {
    /// A circumstance that raises the level.
    pub struct PolicyRaiseDecl {
        /// The condition. It sees `action`, `arguments` and `settings`.
        pub when: Expr,
        /// The level is at least this one.
        pub level: At<Name>,
        /// The reason shown to people: a text with expressions in `{ }`.
        pub why: Option<Expr>,
    }
}

keys! {
    /// A named query.
    pub struct QueryDecl {
        /// The lifecycle that is queried.
        pub of: Option<At<Name>>,
        /// Parameters, which expressions see as `ask.NAME`.
        pub takes: Named<TypeDecl>,
        /// A condition on the entities; with `history`, on the entries, which it reads as `it`.
        pub r#where: Option<Expr>,
        /// Sort keys, most important first; a leading `-` sorts in descending order.
        pub order: Option<OneOrMany<Expr>>,
        /// Only entities that are open in this ranking, in its order.
        pub ranked: Option<At<Name>>,
        /// With `ranked`: only entities that are reserved for this actor, or for no actor.
        pub r#for: Option<Expr>,
        /// Instead of entities: the journal of the entity with this id.
        pub history: Option<Expr>,
        /// With `history`: the members of each row, in order, as expressions over the entry, which they read as `it`.
        pub line: Named<Expr>,
        /// Instead of entities: tables that count them, or the elements of their lists, by values.
        pub groups: Named<GroupTableDecl>,
        /// Other queries whose rows are counted. Expressions see the counts as `count.NAME`.
        pub counts: Option<OneOrMany<At<Name>>>,
        /// Instead of entities: values, as expressions over `count`, `ask` and `settings`.
        pub answers: Named<Expr>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// A table of a query: one row for each combination of values, with the number of entities or elements that have it.
    pub struct GroupTableDecl {
        /// Counts the elements of this list of each entity, which the other expressions see as `it`.
        pub each: Option<Expr>,
        /// The values by which it groups: name to expression.
        pub by: Named<Expr>,
        /// Numbers of which each row has min, mean, median and max: name to expression. Null does not count.
        pub measure: Named<Expr>,
    }
}

keys! {
    /// Actions of the supervisor when an agent's process ends.
    pub struct SuperviseDecl {
        /// The query that lists the work of the agent.
        pub work: Option<At<Name>>,
        /// Exit code, or `other`, to the action.
        pub exits: Named<ExitDecl>,
        /// The exit code that counts when the supervisor ends the process because a heartbeat said stop.
        pub stopped: Option<At<u32>>,
        /// A query: if it has a row, the supervisor stops instead of any restart.
        pub ends: Option<At<Name>>,
        /// A query: while it has a row, the supervisor does not restart the agent.
        pub holds: Option<At<Name>>,
        /// Reasons to wait and start again instead of stopping.
        pub waits: Option<Vec<WaitDecl>>,
        /// The number of starts on one task without progress before the supervisor gives up: number or expression.
        pub reruns: Option<Expr>,
        /// The transition that is fired on the agent's task when the supervisor gives up.
        pub gives_up: Option<GiveUpDecl>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

shapes! {
    /// The action for an exit code: `stop`, or a restart.
    pub enum ExitDecl {
        Stop(At<Name>) if scalar,
        Restart(Box<RestartDecl>) if map,
    }
}

keys! {
    /// A restart after a delay.
    pub struct RestartDecl {
        /// The delay: span or expression.
        pub restart: Expr,
        /// The longest delay.
        pub most: Option<Expr>,
        /// The factor applied to the delay after each restart without progress; 1 by default.
        pub growth: Option<Expr>,
        /// The number of restarts without progress before the supervisor gives up.
        pub limit: Option<Expr>,
    }
}

keys! {
    /// A reason to wait before stopping.
    pub struct WaitDecl {
        /// The query: while it has a row, wait.
        pub r#while: At<Name>,
        /// How long, before it is started again.
        pub r#for: Expr,
        /// How long in all.
        pub most: Option<Expr>,
        /// The message shown to people.
        pub says: Option<String>,
    }
}

keys! {
    /// The transition fired on the agent's task when the supervisor gives up.
    pub struct GiveUpDecl {
        /// The lifecycle of the task.
        pub on: At<Name>,
        /// The transition.
        pub fire: At<Name>,
        /// Its fields, as expressions over `exit`, `restarts` and `settings`.
        pub with: Named<Expr>,
    }
}
