//! The grammar of a lifecycle file and its states.

use crate::model::{StateMeaning, StateWaiter};
use crate::name::Name;
use crate::source::{At, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::consequence::{FollowUpDecl, with_consequences};
use super::field::{FieldDecl, TypeDecl};
use super::pack::SettingDecl;
use super::prove::PropertyDecl;
use super::rule::{
    CounterDecl, EffectDecl, InvariantDecl, NotifyRuleDecl, RankingDecl, ReactionDecl, SlotDecl, TimerDecl,
    WarnDecl,
};
use super::transition::{Arms, ChoiceDecl, Takes};
use super::work::WorkDecl;

keys! {
    /// A lifecycle: the declared state machine of one kind of entity.
    pub struct LifecycleFile {
        /// Its full name, `pack.kind`.
        pub lifecycle: At<Name>,
        /// One sentence for people.
        pub about: Option<String>,
        /// There is exactly one entity, which the system creates. Its id is the kind.
        pub one: Option<bool>,
        /// Settings of this lifecycle.
        pub settings: Named<SettingDecl>,
        /// Named types for fields.
        pub types: Named<TypeDecl>,
        /// The fields of an entity.
        pub fields: Named<FieldDecl>,
        /// The field with the id of the actor that works on the entity.
        pub assignee: Option<At<Name>>,
        /// Relations between an actor and this entity: name and expression.
        pub relations: Named<Expr>,
        /// The lifecycle of the caller's own record.
        pub me: Option<At<Name>>,
        /// Conditions on every request.
        pub gates: Named<GateDecl>,
        /// Who may read it.
        pub read: Option<Expr>,
        /// Who may read its messages and journal entries; by default every reader.
        pub observe: Option<ObserveDecl>,
        /// References to other entities.
        pub refs: Named<RefDecl>,
        /// Named sets of states.
        pub sets: Named<OneOrMany<At<Name>>>,
        /// The declared order of states.
        pub path: Option<Vec<At<Name>>>,
        /// Who may create an entity, and with which fields.
        pub create: Option<CreateDecl>,
        /// The states.
        pub states: Named<Option<StateDecl>>,
        /// The transitions.
        pub transitions: Named<Arms>,
        /// Timers beyond the deadlines of states.
        pub timers: Named<TimerDecl>,
        /// Counters with an optional limit and its consequence.
        pub counters: Named<CounterDecl>,
        /// Slots: a lease on one has one holder at a time.
        pub slots: Named<SlotDecl>,
        /// Rankings among the entities, updated with every move.
        pub rankings: Named<RankingDecl>,
        /// Transitions that the engine fires when a condition becomes true.
        pub reactions: Named<ReactionDecl>,
        /// Conditions that must always be true.
        pub invariants: Named<InvariantDecl>,
        /// Kinds of alerts that end by themselves: each kind and the condition under which its alerts stay open.
        pub alerts: Named<Expr>,
        /// Notifications that many moves send.
        pub notify: Option<Vec<NotifyRuleDecl>>,
        /// Effects: work for an outside worker.
        pub effects: Named<EffectDecl>,
        /// Transitions whose refused requests are recorded in the journal.
        pub evidence: Option<OneOrMany<At<Name>>>,
        /// Properties that `check` and `explore` verify for every possible run.
        pub prove: Option<Vec<PropertyDecl>>,
        /// How generic screens and routes use this lifecycle.
        pub face: Option<FaceDecl>,
        /// The field that names an entity in lists and messages.
        pub title: Option<At<Name>>,
        /// The fields and counters that lists and cards show.
        pub card: Option<Vec<At<Name>>>,
        /// Fields that the store indexes.
        pub indexes: Option<Vec<At<Name>>>,
        /// The form of a log line.
        pub log: Option<LogDecl>,
        /// The work of agents on an entity, by role; `agent` is every agent.
        pub work: Named<WorkDecl>,
        /// The events that follow a report of a runner about the worktree of an entity.
        pub worktree: Option<WorktreeDecl>,
    }
}

keys! {
    /// The events that follow a report of a runner about the worktree of an entity. The event gets those members of the
    /// report that it takes.
    pub struct WorktreeDecl {
        /// It is being made.
        pub making: Option<At<Name>>,
        /// It exists.
        pub ready: Option<At<Name>>,
        /// It is gone without a removal.
        pub vanished: Option<At<Name>>,
        /// It was removed.
        pub removed: Option<At<Name>>,
        /// The runner that claimed the entity has no copy of its work.
        pub elsewhere: Option<At<Name>>,
        /// The main checkout changed while an agent worked in the worktree.
        pub strayed: Option<At<Name>>,
    }
}

keys! {
    /// The form of a log line: one JSON object for each journal entry.
    pub struct LogDecl {
        /// Only entries for which this is true; `it` is the entry.
        pub when: Option<Expr>,
        /// The members of the object in order: name and expression. A null member is left out.
        pub line: Named<Expr>,
    }
}

keys! {
    /// Who may read the messages and journal entries of an entity, and from when on.
    pub struct ObserveDecl {
        /// Who may: an expression about the caller and the entity as it is now.
        pub by: Expr,
        /// The version of the entity after which the caller sees its entries: an expression; null means all.
        pub since: Option<Expr>,
        /// With `since`: the number of earlier messages that the caller sees too; 0 by default.
        pub before: Option<Expr>,
        /// Who may read the refused requests that `evidence` records, besides their senders; by default as `by`.
        pub evidence: Option<Expr>,
        /// The message for a caller who may not.
        pub says: Option<Expr>,
    }
}

shapes! {
    /// The role of this lifecycle in generic screens and routes.
    pub enum FaceDecl {
        /// Only the role; transitions and fields have their usual names.
        Plain(At<Name>) if scalar,
        Full(FaceMap) if map,
    }
}

keys! {
    /// The role of this lifecycle in generic screens and routes, and the names of its transitions and fields
    /// there.
    pub struct FaceMap {
        /// The role: `approval`, `agent`, `channel`, `member` or `work`.
        pub is: At<Name>,
        /// The transition that approves.
        pub approve: Option<At<Name>>,
        /// The transition that denies.
        pub deny: Option<At<Name>>,
        /// The field for the note of the person who decides.
        pub note: Option<At<Name>>,
        /// The field that marks an urgent request.
        pub urgent: Option<At<Name>>,
    }
}

keys! {
    /// A state.
    pub struct StateDecl {
        /// One sentence for people.
        pub about: Option<String>,
        /// New entities start in this state.
        pub initial: Option<bool>,
        /// No transition leaves this state.
        pub r#final: Option<bool>,
        /// How the entity ended: `success`, `failure` or `cancelled`.
        pub outcome: Option<At<Name>>,
        /// Fields that must be set to enter the state, each with its message.
        pub require: Named<String>,
        /// Checks on entering the state.
        pub when: Option<Checks>,
        /// A condition that must be true as long as the entity is in this state.
        pub holds: Option<Expr>,
        /// How long the state may last.
        pub deadline: Option<Deadline>,
        /// Leaves the state at once, by the first choice that matches.
        pub always: Option<Vec<ChoiceDecl>>,
        /// Fields that cannot change while the entity is in this state.
        pub frozen: Option<Vec<At<Name>>>,
        /// Consequences of entering the state.
        pub enter: Option<Enter>,
        /// Consequences of leaving the state.
        pub exit: Option<Enter>,
        /// Entering erases every stored field except these.
        pub erase: Option<Vec<At<Name>>>,
        /// Long-term storage: the entity's journal entries and artifacts are moved to archive files.
        pub archive: Option<bool>,
        /// How long the entity stays in this state, and the transition after that.
        pub retain: Option<Retain>,
        /// Names of this state in other tools, for imports; `[x]` is a checkbox in a plan.
        pub known_as: Option<OneOrMany<At<Name>>>,
        /// The meaning of this state for people; derived if left out.
        pub shows: Option<StateMeaning>,
        /// Whether this state waits for people; derived if left out.
        pub waits_for: Option<WaitsForDecl>,
        /// The actions of agents that the policy can allow in this state.
        pub tools: Option<StateToolsDecl>,
    }
}

keys! {
    /// The actions of agents that the policy can allow in a state: either `allow` or `deny`.
    pub struct StateToolsDecl {
        /// Only these actions.
        pub allow: Option<OneOrMany<At<Name>>>,
        /// All actions except these.
        pub deny: Option<OneOrMany<At<Name>>>,
    }
}

shapes! {
    /// Whether a state waits for people, and how they decide.
    pub enum WaitsForDecl {
        /// Only whether it does.
        Plain(StateWaiter) if scalar,
        /// It waits for people; the transitions by which they decide.
        Decision(DecisionDecl) if map,
    }
}

keys! {
    /// The transitions by which people decide in this state.
    pub struct DecisionDecl {
        /// The transition that approves.
        pub approve: Option<At<Name>>,
        /// The transition that denies.
        pub deny: Option<At<Name>>,
    }
}

with_consequences! {
    /// Consequences of entering or leaving a state.
    pub struct Enter {
    }
}

keys! {
    /// How long a state may last.
    pub struct Deadline {
        /// A span, or an expression that gives one.
        pub after: Expr,
        /// Warnings at percentages of the span, each once per entry.
        pub warn: Option<WarnDecl>,
        /// The transition that is fired at the deadline.
        pub then: Option<FollowUpDecl>,
    }
}

keys! {
    /// How long an entity stays in a state at the end of its life.
    pub struct Retain {
        /// A span, or an expression that gives one.
        pub r#for: Expr,
        /// The transition that is fired after that.
        pub then: FollowUpDecl,
    }
}

shapes! {
    /// One expression, or a list of checks with their messages.
    pub enum Checks {
        One(Expr) if scalar,
        Many(Vec<CheckRule>) if list,
    }
}

keys! {
    /// A condition with its message.
    pub struct CheckRule {
        /// The condition that must be true.
        pub check: Expr,
        /// The message when it is not true.
        pub says: Option<Expr>,
        /// The field that the check is about.
        pub field: Option<At<Name>>,
    }
}

keys! {
    /// A condition on every request.
    pub struct GateDecl {
        /// The actors that it applies to.
        pub r#for: Option<Expr>,
        /// The condition that must be true.
        pub open: Expr,
        /// The message when it is not true.
        pub says: Expr,
        /// Applies only to these transitions.
        pub only: Option<OneOrMany<At<Name>>>,
        /// Values that requests may send for this gate; they are not stored.
        pub takes: Named<TypeDecl>,
        /// Applies to all transitions except these.
        pub except: Option<OneOrMany<At<Name>>>,
    }
}

keys! {
    /// A reference to other entities by a field.
    pub struct RefDecl {
        /// The lifecycle of the other entities.
        pub to: At<Name>,
        /// The field that holds the id, or ids.
        pub by: Option<At<Name>>,
        /// The field holds a list of ids.
        pub many: Option<bool>,
        /// The name of the reverse direction, in expressions of the other lifecycle.
        pub inverse: Option<At<Name>>,
        /// No entity may reach itself through this ref. Only for a ref to the same lifecycle.
        pub acyclic: Option<bool>,
    }
}

with_consequences! {
    /// Who may create an entity, and with which fields.
    pub struct CreateDecl {
        /// Who may create an entity: an expression.
        pub by: Option<Expr>,
        /// The fields a caller may send.
        pub takes: Option<Takes>,
        /// Fields that must be set, each with its message.
        pub require: Named<String>,
        /// The message when the request gives no reason; makes one required.
        pub reason: Option<String>,
        /// Checks on the request.
        pub when: Option<Checks>,
        /// Creating an id that exists fires this transition instead.
        pub again: Option<At<Name>>,
        /// Creating an id whose entity is in a final state starts a new life of it.
        pub anew: Option<bool>,
        /// While an open entity has the same value of this expression, a create request fires `again` on
        /// that entity instead.
        pub same: Option<Expr>,
        /// Counters that count the creation.
        pub count: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
