//! Timers, counters, leases, reactions, invariants, notifications and effects.

use super::consequence::{Consequences, FollowUp, Notification, Severity, With};
use super::lifecycle::StateSet;
use super::pack::Order;
use super::transition::Check;
use crate::guard::{Guard, Template};
use crate::name::Name;
use crate::time::Span;

#[derive(Clone, Debug)]
pub struct Timer {
    pub name: Name,
    pub kind: TimerKind,
    pub runs: StateSet,
    pub starts: Starts,
    pub restarts: Vec<Name>,
    /// Ascending.
    pub warn: Vec<Warn>,
    pub then: Option<FollowUp>,
}

#[derive(Clone, Debug)]
pub enum TimerKind {
    After(Guard),
    At(Name),
    Every(Every),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    Daily { hour: i8, minute: i8 },
    Span(Span),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    Once,
    Entry,
    On(Vec<Name>),
}

/// A warning at a percentage of a time or a limit.
#[derive(Clone, Debug)]
pub struct Warn {
    pub percent: u32,
    /// The severity of the alert; none raises no alert.
    pub severity: Option<Severity>,
    pub then: Consequences,
}

#[derive(Clone, Debug)]
pub struct Counter {
    pub name: Name,
    pub about: String,
    pub tally: TallyBy,
    pub add: Option<Guard>,
    pub only_if: Option<Guard>,
    pub within: Option<Guard>,
    pub last: Option<Guard>,
    pub on_moves: bool,
    pub failure: bool,
    pub limit: Option<Guard>,
    pub warn: Vec<Warn>,
    pub then: Option<FollowUp>,
    pub reset_forward: bool,
    pub reset_on: Vec<Name>,
    pub reset_every: Option<Every>,
}

/// The key by which a counter separates its tallies.
#[derive(Clone, Debug)]
pub enum TallyBy {
    One,
    PerState,
    ByKey(Vec<Guard>),
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub name: Name,
    pub lasts: Guard,
    pub grace: Option<Guard>,
    pub holder: Option<Name>,
    pub until: Option<Name>,
    pub lost: Option<Name>,
    /// Checks that each heartbeat evaluates.
    pub goes_on: Vec<Check>,
    /// Entities whose invariants each heartbeat evaluates.
    pub invariants_of: Vec<InvariantsOf>,
}

/// An entity whose invariants a heartbeat evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvariantsOf {
    /// The entity of the lease.
    This,
    /// The entity that a single ref names.
    Ref(Name),
}

/// An order among the entities of a lifecycle.
#[derive(Clone, Debug)]
pub struct Ranking {
    pub name: Name,
    pub about: String,
    pub within_states: StateSet,
    pub when: Option<Guard>,
    pub by: Vec<Order>,
    /// Refs: one order per entity they name.
    pub within: Vec<Name>,
    pub open: Option<Guard>,
    pub meant_for: Option<Guard>,
    pub claims: Option<Name>,
}

#[derive(Clone, Debug)]
pub struct Reaction {
    pub name: Name,
    pub when: Guard,
    pub fire: Name,
    pub with: With,
    pub within: Option<StateSet>,
}

#[derive(Clone, Debug)]
pub struct Invariant {
    pub name: Name,
    pub holds: Guard,
    pub within: Option<StateSet>,
    pub severity: Severity,
    pub says: Template,
    pub repair: Option<Name>,
    /// The kind of its alert, which is resolved when the invariant holds again.
    pub alert: Option<Name>,
    /// Whether only the sweep checks it.
    pub needs_now: bool,
}

#[derive(Clone, Debug)]
pub struct NotifyRule {
    pub on: NotifyOn,
    pub within: Option<StateSet>,
    pub notification: Notification,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyOn {
    Moves,
    Transitions(Vec<Name>),
}

#[derive(Clone, Debug)]
pub struct Effect {
    pub name: Name,
    pub about: String,
    pub with: With,
    /// Without one the result is only journalled.
    pub ok: Option<Name>,
    pub failed: Option<Name>,
    /// Members of `with`: effects with the same values are handed out one at a time.
    pub queue: Vec<Name>,
    /// Handed out only while this is true.
    pub while_true: Option<Guard>,
}
