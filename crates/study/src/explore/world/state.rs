//! A project at one moment of a run.

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, TransitionRef};
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_engine::view::View;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

/// The latest time before its expiry at which a lease is renewed.
const MOMENT: Span = Span::seconds(1);

/// A world of the exploration.
#[derive(Clone, Debug)]
pub struct WorldState {
    pub view: View,
    pub now: Timestamp,
    /// The actors that have acted on each entity since a promise of the kind `alone` began to watch it.
    pub(crate) alone: Vec<(u32, EntityKey, Acted)>,
}

/// The actors that have acted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Acted {
    Nobody,
    Only(Actor),
    Several,
}

/// A move between two worlds.
#[derive(Clone, Debug)]
pub struct WorldMove {
    pub what: MoveKind,
    /// The entries that were written.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub enum MoveKind {
    /// A request was accepted.
    Ask(Command),
    /// No requests until the next timer is due.
    Wait(Span),
    /// A sweep.
    Sweep,
    /// A surprise: nothing changes, but it is reported.
    Surprise(Surprise, Box<Command>, String),
}

/// The kind of a move, without the actor, the entity and the values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MoveName {
    /// A request: its lifecycle and transition, or another word for the request.
    Request(Name, Name),
    Wait,
    Sweep,
}

impl MoveName {
    pub(crate) fn of(by: &WorldMove) -> Self {
        match &by.what {
            MoveKind::Ask(command) => Self::of_command(command),
            MoveKind::Surprise(_, command, _) => Self::of_command(command),
            MoveKind::Wait(_) => Self::Wait,
            MoveKind::Sweep => Self::Sweep,
        }
    }

    pub(crate) fn of_command(command: &Command) -> Self {
        let lifecycle = command.entity().map(|it| it.lifecycle.clone());
        let (lifecycle, word) = match &command.ask {
            Ask::Fire(fire) => (
                lifecycle,
                match &fire.what {
                    TransitionRef::Event(name) | TransitionRef::To(name) => name.clone(),
                },
            ),
            Ask::Claim(claim) => {
                (Some(claim.lifecycle.clone()), claim.event.clone().unwrap_or_else(|| Name::new("claim")))
            }
            Ask::Create { .. } => (lifecycle, Name::new("create")),
            Ask::Heartbeat { .. } => (lifecycle, Name::new("heartbeat")),
            Ask::EffectResult { .. } => (lifecycle, Name::new("effect")),
            _ => (lifecycle, Name::new("other")),
        };
        Self::Request(lifecycle.unwrap_or_else(|| Name::new("")), word)
    }
}

/// Problems that no definition should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Surprise {
    /// An expression has no answer.
    NoAnswer,
    /// The rules trigger each other without end.
    Endless,
    /// A state that must move on by itself cannot.
    Stuck,
    /// A write under an earlier grant of a lease was accepted.
    LateWrite,
    /// The journal, read again, gives another world; or a request that is sent again counts twice.
    Restart,
    /// A move that the engine should have made was refused.
    Dropped,
    /// An invariant is broken.
    Broken,
}

impl Surprise {
    pub const ALL: [Self; 7] = [
        Self::NoAnswer,
        Self::Endless,
        Self::Stuck,
        Self::LateWrite,
        Self::Restart,
        Self::Dropped,
        Self::Broken,
    ];

    /// A description.
    pub fn says(self) -> &'static str {
        match self {
            Self::NoAnswer => "an expression cannot be evaluated",
            Self::Endless => "the rules trigger each other without end",
            Self::Stuck => "an automatic move out of a state is refused",
            Self::LateWrite => "an actor without the lease can still write",
            Self::Restart => "a restart or a repeated request changes the result",
            Self::Dropped => "a move of the engine was refused",
            Self::Broken => "an invariant of severity error is broken",
        }
    }

    pub fn code(self) -> &'static str {
        match self {
            Self::NoAnswer => "no-answer",
            Self::Endless => "endless",
            Self::Stuck => "stuck",
            Self::LateWrite => "late-write",
            Self::Restart => "restart",
            Self::Dropped => "dropped-move",
            Self::Broken => "invariant-broken",
        }
    }
}

impl WorldState {
    pub fn new(view: View, now: Timestamp) -> Self {
        Self { view, now, alone: Vec::new() }
    }

    /// Its entities in order.
    pub fn entities(&self) -> Vec<&Entity> {
        self.view.entities()
    }

    /// The next moment, after this one, at which a clock is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        let timers = self.entities().into_iter().flat_map(|it| &it.timers);
        timers.filter_map(|(_, it)| it.due).filter(|it| *it > self.now).min()
    }

    /// The last moment before a lease expires, in which it may still be renewed.
    pub(crate) fn last_moment(&self, is_lease: impl Fn(&Entity, &Name) -> bool) -> Option<Timestamp> {
        if !self.due().is_empty() {
            return None;
        }
        let due = self.next_due()?;
        let before = Timestamp(due.0.saturating_sub(MOMENT.0));
        let runs_out = self.entities().into_iter().any(|entity| {
            entity.timers.iter().any(|(name, timer)| timer.due == Some(due) && is_lease(entity, name))
        });
        (before > self.now && runs_out).then_some(before)
    }

    /// Clocks that are due at this moment, in order.
    pub(crate) fn due(&self) -> Vec<(Timestamp, EntityKey, Name)> {
        let mut due = Vec::new();
        for entity in self.entities() {
            for (name, timer) in &entity.timers {
                if let Some(at) = timer.due.filter(|it| *it <= self.now) {
                    due.push((at, entity.key.clone(), name.clone()));
                }
            }
        }
        due.sort();
        due
    }
}
