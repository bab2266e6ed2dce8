//! One durable thing living a lifecycle.

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use crate::fields::Fields;
use crate::key::EntityKey;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    pub key: EntityKey,
    /// The version of the definition it lives by.
    pub definition: u32,
    pub state: Name,
    pub previous_state: Option<Name>,
    pub version: u64,
    /// The number of its life: an ended id may be created again.
    #[serde(default = "first_life", skip_serializing_if = "is_first_life")]
    pub generation: u32,
    /// The number of the journal entry that last touched it.
    #[serde(default)]
    pub seq: u64,
    pub fields: Fields,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub state_entered_at: Timestamp,
    pub stays: Vec<Stay>,
    pub timers: Vec<(Name, TimerState)>,
    pub tallies: Vec<Tallies>,
    pub leases: Vec<(Name, Lease)>,
    /// Effects that were requested and not yet answered.
    pub effects: Vec<OpenEffect>,
    /// Its unique value: no other open entity of its lifecycle has it.
    pub same: Option<Name>,
    /// Invariants known to be broken.
    pub broken: Vec<Name>,
    /// The number of refused requests that were stored as evidence.
    #[serde(default)]
    pub kept: u32,
    /// The same number per actor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_of: Vec<KeptOf>,
    /// Open alerts, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<OpenAlert>,
}

/// The number of an entity's first life.
pub(crate) const fn first_life() -> u32 {
    1
}

pub(crate) const fn is_first_life(generation: &u32) -> bool {
    *generation <= first_life()
}

/// The number of visits to a state and their total length, without the present visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    pub state: Name,
    pub visits: u32,
    pub spent: Span,
}

/// A clock of this entity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerState {
    pub started_at: Timestamp,
    pub length: Span,
    /// The time that had passed when it last began to run.
    pub spent: Span,
    /// None while it is paused.
    pub running_since: Option<Timestamp>,
    /// The next of its steps.
    pub step: u32,
    /// The time of the next step. None if there is no further step, or the clock is paused.
    pub due: Option<Timestamp>,
}

impl TimerState {
    /// The end of the clock; none while it is paused.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let left = Span(self.length.0.saturating_sub(self.spent.0));
        self.running_since.map(|since| Timestamp(since.0.saturating_add(left.0)))
    }

    /// The time that has passed.
    pub fn elapsed(&self, now: Timestamp) -> Span {
        let run = self.running_since.map_or(Span(0), |since| now.since(since));
        Span(self.spent.0.saturating_add(run.0))
    }
}

/// A counter's tallies, the one counted last at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tallies {
    pub counter: Name,
    pub by_key: Vec<(Name, Tally)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub value: f64,
    /// Each count with its time, for windows.
    pub marks: Vec<(Timestamp, f64)>,
    /// Warnings given since the last reset.
    pub warned: u32,
}

/// An expiring claim.
///
/// One live lease per slot. `fence` grows with every grant, so a late write by an earlier
/// holder is recognised and refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    pub holder: Option<Name>,
    pub fence: u64,
    pub expires_at: Timestamp,
    /// When the holder got it. Entries leave it out: it is the time of the entry that granted the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenEffect {
    pub id: u64,
    pub effect: Name,
}

/// Refused requests of one actor that were stored as evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptOf {
    pub actor: Name,
    /// While some rule admitted them.
    pub admitted: u32,
    /// Those made while no rule admitted the actor.
    pub outside: u32,
}

/// An alert that is not resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenAlert {
    /// The entry that raised it.
    pub seq: u64,
    /// The actor that acknowledged it first, and when.
    pub acknowledged: Option<(Name, Timestamp)>,
    /// The invariant that resolves it when it holds again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Name>,
    /// What it warns of. It is resolved when this is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<AlertCause>,
}

/// What an alert warns of. The alert is resolved when this is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AlertCause {
    /// The condition that the lifecycle declares for this kind of alert is true.
    Condition(Name),
    /// This run of a timer is not over.
    Timer { name: Name, started_at: Timestamp },
}

impl Entity {
    /// The memory that it takes in a cache, about.
    pub fn bytes(&self) -> usize {
        let named = |many: usize, each: usize| many * (size_of::<Name>() + each);
        let tallies = self.tallies.iter().flat_map(|it| &it.by_key);
        let tallies: usize =
            tallies.map(|(_, it)| named(1, size_of::<Tally>()) + it.marks.len() * 2 * size_of::<f64>()).sum();
        // Its key is in two indexes, and in the entity.
        3 * (self.key.lifecycle.bytes() + self.key.id.bytes())
            + size_of::<Self>()
            + self.fields.bytes()
            + self.stays.len() * size_of::<Stay>()
            + named(self.timers.len(), size_of::<TimerState>())
            + tallies
            + named(self.leases.len(), size_of::<Lease>())
            + self.effects.len() * size_of::<OpenEffect>()
            + named(self.broken.len(), 0)
            + self.kept_of.len() * size_of::<KeptOf>()
            + self.alerts.len() * size_of::<OpenAlert>()
    }

    /// A new entity without fields.
    pub fn new(key: EntityKey, definition: u32, state: Name, at: Timestamp) -> Self {
        Self {
            key,
            definition,
            state,
            previous_state: None,
            version: 0,
            generation: first_life(),
            seq: 0,
            fields: Fields::default(),
            created_at: at,
            updated_at: at,
            state_entered_at: at,
            stays: Vec::new(),
            timers: Vec::new(),
            tallies: Vec::new(),
            leases: Vec::new(),
            effects: Vec::new(),
            same: None,
            broken: Vec::new(),
            kept: 0,
            kept_of: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// A new life of this id. Versions, fences, open alerts, violations and effects continue; all else starts again.
    pub(crate) fn next_life(&self, generation: u32, at: Timestamp) -> Self {
        let free = |lease: &Lease| Lease { holder: None, ..lease.clone() };
        Self {
            version: self.version,
            generation,
            seq: self.seq,
            leases: self.leases.iter().map(|(slot, lease)| (slot.clone(), free(lease))).collect(),
            // Their results are still expected.
            effects: self.effects.clone(),
            broken: self.broken.clone(),
            alerts: self.alerts.clone(),
            ..Self::new(self.key.clone(), self.definition, self.state.clone(), at)
        }
    }

    pub fn stay(&self, state: &str) -> Option<&Stay> {
        self.stays.iter().find(|it| it.state == *state)
    }

    pub fn timer(&self, name: &str) -> Option<&TimerState> {
        self.timers.iter().find(|(it, _)| it == name).map(|(_, timer)| timer)
    }

    pub fn lease(&self, slot: &str) -> Option<&Lease> {
        self.leases.iter().find(|(it, _)| it == slot).map(|(_, lease)| lease)
    }

    pub fn tallies(&self, counter: &str) -> Option<&Tallies> {
        self.tallies.iter().find(|it| it.counter == counter)
    }

    pub fn tally(&self, counter: &str, key: &str) -> Option<&Tally> {
        let tallies = self.tallies(counter)?;
        tallies.by_key.iter().find(|(it, _)| it == key).map(|(_, tally)| tally)
    }

    pub fn alert(&self, seq: u64) -> Option<&OpenAlert> {
        self.alerts.iter().find(|it| it.seq == seq)
    }

    /// The ids in a field: one, or those of a list.
    pub fn ids(&self, field: &str) -> Vec<Name> {
        ids_in(self.fields.get(field))
    }
}

pub(crate) fn ids_in(value: Option<&Value>) -> Vec<Name> {
    match value {
        Some(Value::Text(id)) => vec![id.clone()],
        Some(Value::List(list)) => list.iter().filter_map(|it| it.as_str().map(Name::new)).collect(),
        _ => Vec::new(),
    }
}
