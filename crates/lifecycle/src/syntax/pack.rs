//! `pack.yaml`.

use crate::name::Name;
use crate::source::{At, Json, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::field::TypeDecl;

keys! {
    /// What the lifecycles of a pack share.
    pub struct PackFile {
        /// Its name; lifecycles are called `pack.kind`.
        pub pack: At<Name>,
        /// Grows with every change.
        pub version: At<u32>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Roles an actor may hold.
        pub roles: Named<RoleDecl>,
        /// Values that rules read as `settings.NAME`.
        pub settings: Named<SettingDecl>,
        /// Named types for fields.
        pub types: Named<TypeDecl>,
        /// Audiences for notifications: name and one sentence.
        pub audiences: Named<String>,
        /// Risk levels of actions.
        pub policy: Option<PolicyDecl>,
        /// Named questions.
        pub queries: Named<QueryDecl>,
        /// What the supervisor does when an agent's process ends, per role.
        pub supervise: Named<SuperviseDecl>,
    }
}

keys! {
    /// A role.
    pub struct RoleDecl {
        /// Other roles it includes.
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
    /// A setting in full.
    pub struct SettingMap {
        /// The value without an override.
        pub default: At<Json>,
        /// Needed only if the type does not follow from the default: `string`, `span`, `number` …
        pub r#type: Option<At<Name>>,
        /// Smallest value of an override.
        pub min: Option<f64>,
        /// Largest value of an override.
        pub max: Option<f64>,
        /// One sentence for people.
        pub about: Option<String>,
        /// Expressions over the entity; the first that is not null wins.
        pub from: Option<OneOrMany<Expr>>,
    }
}

keys! {
    /// Risk levels of actions.
    pub struct PolicyDecl {
        /// From harmless to dangerous.
        pub levels: Vec<At<Name>>,
        /// The level of an action no rule names.
        pub unknown: At<Name>,
        /// The first match decides.
        pub rules: Vec<PolicyRuleDecl>,
        /// Each that matches may raise the level.
        pub raise: Option<Vec<PolicyRaiseDecl>>,
        /// Role to the highest level it may do without asking.
        pub roles: Named<At<Name>>,
        /// Tools of agents: name of the tool to the action it performs.
        pub tools: Named<ToolDecl>,
    }
}

keys! {
    /// A tool of agents, mapped to an action of the policy.
    pub struct ToolDecl {
        /// The action it performs.
        pub action: At<Name>,
        /// Arguments of the action, computed from those of the tool; they override them.
        pub with: Named<Expr>,
    }
}

keys! {
    /// One rule of the risk policy.
    pub struct PolicyRuleDecl {
        /// The actions it applies to; without it, all.
        pub action: Option<OneOrMany<At<Name>>>,
        /// Only when true; sees `action`, `arguments` and `settings`.
        pub when: Option<Expr>,
        /// The level it gives.
        pub level: Option<At<Name>>,
        /// Instead: refused outright, with this message.
        pub deny: Option<String>,
        /// The reason shown to people.
        pub why: Option<String>,
    }
}

keys! {
    /// A circumstance that raises the level.
    pub struct PolicyRaiseDecl {
        /// Sees `action`, `arguments` and `settings`.
        pub when: Expr,
        /// At least this level.
        pub level: At<Name>,
        /// The reason shown to people.
        pub why: Option<String>,
    }
}

keys! {
    /// A named question.
    pub struct QueryDecl {
        /// The lifecycle asked about.
        pub of: Option<At<Name>>,
        /// Parameters, seen as `ask.NAME`.
        pub takes: Named<TypeDecl>,
        /// A condition on the entities.
        pub r#where: Option<Expr>,
        /// In which order; a leading `-` for descending.
        pub order: Option<OneOrMany<Expr>>,
        /// Only entities that are open in this ranking, in its order.
        pub ranked: Option<At<Name>>,
        /// With `ranked`: only entities reserved for this actor, or for none.
        pub r#for: Option<Expr>,
        /// Instead: the journal of the entity with this id.
        pub history: Option<Expr>,
        /// Other queries whose rows are counted, seen as `count.NAME`.
        pub counts: Option<OneOrMany<At<Name>>>,
        /// Instead of rows: values, as expressions over `count`, `ask` and `settings`.
        pub answers: Named<Expr>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}

keys! {
    /// What the supervisor does when an agent's process ends.
    pub struct SuperviseDecl {
        /// The query that lists its work.
        pub work: Option<At<Name>>,
        /// Exit code, or `other`, to the action.
        pub exits: Named<ExitDecl>,
        /// A query: if it has a row, the supervisor stops instead of any restart.
        pub ends: Option<At<Name>>,
        /// A query: while it has a row, no restart.
        pub holds: Option<At<Name>>,
        /// Before a stop: reasons to wait and start again.
        pub waits: Option<Vec<WaitDecl>>,
        /// Starts on one task without progress before it gives up: number or expression.
        pub reruns: Option<Expr>,
        /// The transition fired on the agent's task when it gives up.
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
    /// A restart after a while.
    pub struct RestartDecl {
        /// The delay: span or expression.
        pub restart: Expr,
        /// The longest delay.
        pub most: Option<Expr>,
        /// Factor applied to the delay after each restart without progress; default 1.
        pub growth: Option<Expr>,
        /// Restarts without progress before it gives up.
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
