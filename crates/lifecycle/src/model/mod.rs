//! A lifecycle ready to run: names resolved, expressions compiled.

mod consequence;
mod counter_reads;
mod fit;
mod lifecycle;
mod pack;
mod partial;
mod presentation;
mod property;
mod reach;
mod read;
mod rule;

mod transition;
mod value_shape;
mod work;

pub use consequence::{
    Also, Assign, AssignTarget, Consequences, EffectCall, FollowUp, Grant, Notification, Post, RaiseAlert,
    RankingShare, Severity, ShareAmount, ShareRange, Spawn, With,
};
pub use counter_reads::CounterReads;
pub use fit::{FieldType, Fit, Misfit, MisfitCode};
pub use lifecycle::{
    Closing, Face, Field, Gate, Inverse, Lifecycle, LogLineFormat, MEMBER, Observe, Ref, Relation, State,
    StateSet, StateTools, Watcher,
};
pub use pack::{
    AfterExit, Exit, GiveUp, GroupTable, Order, Pack, Policy, PolicyRaise, PolicyRequest, PolicyRule, Query,
    Setting, SettingCheck, Supervise, Tool, Wait,
};
pub use partial::{KnownReads, Partial};
pub use presentation::{ASKS_PEOPLE, StateDecision, StateMeaning, StateWaiter, WaitsFor};
pub use property::{Property, PropertyKind};
pub use reach::Reach;
pub use read::{Count, EntityAttribute, Read, SlotAttribute};
pub use rule::{
    Counter, Effect, Every, Invariant, InvariantsOf, NotifyOn, NotifyRule, Ranking, Reaction, Slot, Starts,
    TallyBy, Timer, TimerKind, Warn,
};
pub use transition::{Aim, Arm, Check, Choice, Create, From, Take, Target, Transition};
pub use work::{ANY_AGENT, ControlFile, RoleWork, WorkAgent, WorkEvent, WorkStep, run_members};
