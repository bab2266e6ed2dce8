//! A lifecycle file and its states.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::consequence::{Follow, with_consequences};
use super::field::{FieldDecl, TypeDecl};
use super::pack::SettingDecl;
use super::prove::PropertyDecl;
use super::rule::{
    CounterDecl, EffectDecl, InvariantDecl, NotifyRule, RankingDecl, Reaction, SlotDecl, TimerDecl, Warn,
};
use super::transition::{Arms, Choice, Takes};

keys! {
    /// A lifecycle: the declared state machine of one kind of thing.
    pub struct LifecycleFile {
        /// Its full name, `pack.kind`.
        pub lifecycle: At<Name>,
        /// One sentence for people.
        pub about: Option<String>,
        /// There is a single entity of it, made by the system; its id is the kind.
        pub one: Option<bool>,
        /// Settings of this lifecycle.
        pub settings: Named<SettingDecl>,
        /// Named types for fields.
        pub types: Named<TypeDecl>,
        /// Its data.
        pub fields: Named<FieldDecl>,
        /// The field that says who works on it.
        pub assignee: Option<At<Name>>,
        /// What an actor is to this entity: name and expression.
        pub relations: Named<Expr>,
        /// The lifecycle of the caller's own record.
        pub me: Option<At<Name>>,
        /// Conditions on every request.
        pub gates: Named<Gate>,
        /// Who may see it.
        pub read: Option<Expr>,
        /// Other entities it reaches.
        pub refs: Named<Ref>,
        /// Named sets of states.
        pub sets: Named<OneOrMany<At<Name>>>,
        /// The declared order of states.
        pub path: Option<Vec<At<Name>>>,
        /// How one comes to be.
        pub create: Option<Create>,
        /// Where it can be.
        pub states: Named<Option<StateDecl>>,
        /// How it moves.
        pub transitions: Named<Arms>,
        /// Clocks beyond the states' deadlines.
        pub timers: Named<TimerDecl>,
        /// Tallies with a limit and a consequence.
        pub counters: Named<CounterDecl>,
        /// Leases that one holder at a time may have.
        pub slots: Named<SlotDecl>,
        /// Orders among the entities, kept as things move.
        pub rankings: Named<RankingDecl>,
        /// Moves the engine makes when something becomes true.
        pub reactions: Named<Reaction>,
        /// What must always hold.
        pub invariants: Named<InvariantDecl>,
        /// Who is told of every move.
        pub notify: Option<Vec<NotifyRule>>,
        /// Work for the outside.
        pub effects: Named<EffectDecl>,
        /// Transitions whose refused requests are kept in the journal.
        pub evidence: Option<OneOrMany<At<Name>>>,
        /// What it promises, whatever anybody does.
        pub prove: Option<Vec<PropertyDecl>>,
        /// Lets general screens and routes speak to it.
        pub face: Option<FaceDecl>,
        /// Fields the store indexes.
        pub indexes: Option<Vec<At<Name>>>,
    }
}

shapes! {
    /// What general screens and routes see in it.
    pub enum FaceDecl {
        /// Its name alone: what it needs is found under its usual names.
        Plain(At<Name>) if scalar,
        Full(FaceMap) if map,
    }
}

keys! {
    /// What general screens and routes see in it, and by which names of its own.
    pub struct FaceMap {
        /// `approval`, `agent`, `channel`, `member` or `work`.
        pub is: At<Name>,
        /// The transition by which somebody says yes.
        pub approve: Option<At<Name>>,
        /// The transition by which somebody says no.
        pub deny: Option<At<Name>>,
        /// The field that takes the words of who decides.
        pub note: Option<At<Name>>,
        /// The field that says that it cannot wait.
        pub urgent: Option<At<Name>>,
    }
}

keys! {
    /// A state.
    pub struct StateDecl {
        /// One sentence for people.
        pub about: Option<String>,
        /// Where new ones start.
        pub initial: Option<bool>,
        /// No way out.
        pub r#final: Option<bool>,
        /// `success`, `failure` or `cancelled`.
        pub outcome: Option<At<Name>>,
        /// Fields that must be there on every way in, each with its message.
        pub require: Named<String>,
        /// Checks on every way in.
        pub when: Option<Checks>,
        /// True as long as it is here.
        pub holds: Option<Expr>,
        /// How long it may last.
        pub deadline: Option<Deadline>,
        /// Moves on by itself: the first choice that matches.
        pub always: Option<Vec<Choice>>,
        /// Fields that cannot change while here.
        pub frozen: Option<Vec<At<Name>>>,
        /// What follows from every way in.
        pub enter: Option<Enter>,
        /// What follows from every way out.
        pub exit: Option<Enter>,
        /// Entering drops all that is stored but these fields.
        pub erase: Option<Vec<At<Name>>>,
        /// How long it stays, and what then follows.
        pub retain: Option<Retain>,
        /// What other tools call it, for imports: `[x]` is a checkbox of a plan.
        pub known_as: Option<OneOrMany<At<Name>>>,
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
        /// Span, or expression giving one.
        pub after: Expr,
        /// Percentages, each once per entry.
        pub warn: Option<Warn>,
        /// The transition fired when due.
        pub then: Option<Follow>,
    }
}

keys! {
    /// How long it stays in a state at the end of its life.
    pub struct Retain {
        /// Span, or expression giving one.
        pub r#for: Expr,
        /// The transition that follows.
        pub then: Follow,
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
        /// Must be true.
        pub check: Expr,
        /// The message when it is not.
        pub says: Option<Expr>,
        /// What it is about.
        pub field: Option<At<Name>>,
    }
}

keys! {
    /// A condition on every request.
    pub struct Gate {
        /// To whom it applies.
        pub r#for: Option<Expr>,
        /// Must be true.
        pub open: Expr,
        /// The message when it is closed.
        pub says: Expr,
        /// Only these transitions.
        pub only: Option<OneOrMany<At<Name>>>,
        /// Values it reads that every request it binds may bring; they are not stored.
        pub takes: Named<TypeDecl>,
        /// All but these transitions.
        pub except: Option<OneOrMany<At<Name>>>,
    }
}

keys! {
    /// Other entities reached by a field.
    pub struct Ref {
        /// Their lifecycle.
        pub to: At<Name>,
        /// The field that holds the id, or ids.
        pub by: Option<At<Name>>,
        /// The field holds a list of ids.
        pub many: Option<bool>,
        /// The name by which the other side sees us.
        pub inverse: Option<At<Name>>,
    }
}

with_consequences! {
    /// How one comes to be.
    pub struct Create {
        /// Who may.
        pub by: Option<Expr>,
        /// The fields a caller may send.
        pub takes: Option<Takes>,
        /// Fields that must be there, each with its message.
        pub require: Named<String>,
        /// The request's reason is required.
        pub reason: Option<String>,
        /// Checks.
        pub when: Option<Checks>,
        /// Creating an id that exists fires this transition instead.
        pub again: Option<At<Name>>,
        /// While an open entity has the same value of this expression, creating means that one: `again` follows there.
        pub same: Option<Expr>,
        /// Counters that this counts.
        pub count: Option<OneOrMany<At<Name>>>,
        /// One sentence for people.
        pub about: Option<String>,
    }
}
