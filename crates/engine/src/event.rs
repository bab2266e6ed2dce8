//! What happened: facts, past tense, stored.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::ActorKind;
use crate::entity::{Lease, Tally, TimerState};
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;
use crate::key::{EntityKey, GroupKey};
use crate::project::ProjectChange;
use crate::ranking::Reranked;

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: u64,
    pub at: Timestamp,
    pub entity: EntityKey,
    /// The entity's version after it.
    pub version: u64,
    pub actor: Name,
    pub actor_kind: ActorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<Name>,
    /// The transition or event asked for.
    pub trigger: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// Where the entity comes from, on the entry that imported it. Entries of older releases have it in the reason only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<ImportOrigin>>,
    /// The entry it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The rule that triggered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    /// The idempotency key that the command came with, on its first entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyRecord>,
    /// The name of the request that it answers, on the entries that somebody asked for; what follows from them has a cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Name>,
    pub event: Event,
    /// How the decision that it ends changes orders among entities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reranked: Vec<Reranked>,
}

/// A command that counts once under this name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    pub key: Name,
    /// Who sent it: not always the actor of the entry, which may be the engine or the server.
    pub by: Name,
    /// What the command said, so that another one under the same key is recognised.
    pub fingerprint: String,
    /// How many entries it wrote.
    pub entries: u32,
    /// Which of them is the answer.
    pub root: u32,
    /// Fields that were sent and belong to the engine, as the first answer told. Only the journal keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    Created {
        definition: u32,
        state: Name,
        changes: Changes,
    },
    Transitioned {
        from: Name,
        to: Name,
        changes: Changes,
    },
    FieldsChanged {
        changes: Changes,
    },
    FailureCounted {
        counter: Name,
        key: Name,
        tally: Tally,
    },
    TimeoutWarned {
        timer: Name,
        percent: u32,
        changes: Changes,
    },
    /// A timer was due.
    TimerFired {
        timer: Name,
        changes: Changes,
    },
    LimitWarned {
        counter: Name,
        percent: u32,
        changes: Changes,
    },
    Assigned {
        field: Name,
        before: Value,
        after: Value,
    },
    LeaseGranted {
        slot: Name,
        lease: Lease,
        timer: TimerState,
    },
    LeaseRenewed {
        slot: Name,
        lease: Lease,
        timer: TimerState,
        changes: Changes,
    },
    LeaseReleased {
        slot: Name,
        lease: Lease,
    },
    LeaseLost {
        slot: Name,
        lease: Lease,
        holder: Option<Name>,
        changes: Changes,
    },
    MessagePosted {
        kind: Name,
        text: Arc<str>,
        /// The actors it is delivered to; none: whoever may read.
        to: Option<Vec<Name>>,
        /// Whose words these are, where not the actor's.
        from: Option<Name>,
    },
    /// A request that was refused, kept all the same.
    EvidenceKept {
        code: Name,
        /// What was sent, as JSON; cut where it is long.
        sent: Arc<str>,
        fence: Option<u64>,
        /// Whether some rule of the transition admits whoever sent it. Older entries do not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        admitted: Option<bool>,
    },
    /// Everything that was known of it is dropped, here and from what the journal holds of it.
    Erased {
        /// What stays.
        kept: Fields,
    },
    Notified {
        audience: Name,
        to: Vec<Name>,
        message: Arc<str>,
    },
    AlertRaised {
        kind: Name,
        severity: Severity,
        message: Arc<str>,
    },
    /// Somebody has seen an alert: who and when is the entry's.
    AlertAcknowledged {
        /// The entry that raised it.
        alert: u64,
    },
    /// Somebody has seen to it.
    AlertResolved {
        alert: u64,
    },
    EffectRequested {
        id: u64,
        effect: Name,
        with: Fields,
    },
    EffectSettled {
        id: u64,
        effect: Name,
        ok: bool,
    },
    /// An invariant that was broken holds again.
    ViolationCleared {
        rule: Name,
    },
    ViolationFound {
        rule: Name,
        severity: Severity,
        message: Arc<str>,
        evidence: Fields,
    },
    /// Set right by hand, or put in place; `definition` is the one it lives by from then on.
    Corrected {
        from: Option<Name>,
        to: Name,
        definition: u32,
        changes: Changes,
    },
    /// It lives by another version of its definition from then on. Its time in its state goes on, under the new name.
    Migrated {
        from: Name,
        to: Name,
        from_definition: u32,
        definition: u32,
        changes: Changes,
        /// What takes it back; not needed to replay it.
        undo: Option<Box<Changes>>,
    },
    /// Values and words of these entries of it are dropped from the journal; what came from them is cleared.
    Redacted {
        entries: Vec<u64>,
        changes: Changes,
    },
    /// Settings, zone or people of the project changed: told under [`project_key`](crate::project::project_key).
    ProjectChanged {
        change: Box<ProjectChange>,
    },
    /// A version of a pack is in force from here on.
    PackInstalled {
        pack: Name,
        version: u32,
        /// Of the files it was read from.
        digest: Arc<str>,
    },
}

/// What an event changes of its entity, and of the counts of those it refers to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// Null clears.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(Name, Value)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<TallyChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<(Name, Option<TimerState>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<Shift>,
    /// How what no other open entity may have in common with it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<Same>,
}

/// What no other open entity may have in common with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Same {
    Free,
    Taken(Name),
}

impl Same {
    pub fn new(value: Option<Name>) -> Self {
        value.map_or(Self::Free, Self::Taken)
    }

    pub fn value(&self) -> Option<&Name> {
        match self {
            Self::Free => None,
            Self::Taken(value) => Some(value),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TallyChange {
    pub counter: Name,
    pub key: Name,
    /// None forgets it; with an empty key too, all of the counter's.
    pub tally: Option<Tally>,
}

/// A member of a group changed its state, joined (`from` none) or left (`to` none).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    pub group: GroupKey,
    pub from: Option<Name>,
    pub to: Option<Name>,
}

/// `Variant of Event = "name in the journal", indexed or plain;`
///
/// Projections index the entries of indexed kinds, so that reads find them without the journal.
macro_rules! event_kinds {
    ($($variant:ident = $text:literal, $indexed:ident;)+) => {
        /// What kind of event an entry is. The list is closed, and a kind never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind { $($variant),+ }

        impl EventKind {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in answers, scenarios and the SQL view `entries`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The key of the event in stored entries.
            pub const fn stored_key(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),+ }
            }

            pub const fn is_indexed(self) -> bool {
                match self { $(Self::$variant => event_kinds!(@ $indexed)),+ }
            }
        }

        impl Event {
            pub const fn kind(&self) -> EventKind {
                match self { $(Self::$variant { .. } => EventKind::$variant),+ }
            }
        }
    };
    (@ indexed) => { true };
    (@ plain) => { false };
}

event_kinds! {
    Created = "CREATED", plain;
    Transitioned = "STATE_TRANSITION", plain;
    FieldsChanged = "FIELDS_CHANGED", plain;
    FailureCounted = "FAILURE_COUNTED", plain;
    TimeoutWarned = "TIMEOUT_WARNING", plain;
    TimerFired = "TIMER_FIRED", plain;
    LimitWarned = "LIMIT_WARNING", plain;
    Assigned = "ASSIGNED", plain;
    LeaseGranted = "LEASE_GRANTED", plain;
    LeaseRenewed = "LEASE_RENEWED", plain;
    LeaseReleased = "LEASE_RELEASED", plain;
    LeaseLost = "LEASE_LOST", plain;
    MessagePosted = "MESSAGE_POSTED", indexed;
    EvidenceKept = "EVIDENCE", indexed;
    Erased = "ERASED", indexed;
    Notified = "NOTIFIED", indexed;
    AlertRaised = "ALERT_RAISED", indexed;
    AlertAcknowledged = "ALERT_ACKNOWLEDGED", indexed;
    AlertResolved = "ALERT_RESOLVED", indexed;
    EffectRequested = "EFFECT_REQUESTED", plain;
    EffectSettled = "EFFECT_SETTLED", plain;
    ViolationFound = "VIOLATION", indexed;
    ViolationCleared = "VIOLATION_CLEARED", indexed;
    Corrected = "STATE_CORRECTED", indexed;
    Migrated = "MIGRATED", plain;
    Redacted = "REDACTED", indexed;
    ProjectChanged = "PROJECT_CHANGED", plain;
    PackInstalled = "PACK_INSTALLED", plain;
}

impl EventKind {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == text)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The changes of an event, by a shared or a mutable reference.
macro_rules! changes_of {
    ($event:expr) => {
        match $event {
            Self::Created { changes, .. }
            | Self::Transitioned { changes, .. }
            | Self::FieldsChanged { changes }
            | Self::TimeoutWarned { changes, .. }
            | Self::TimerFired { changes, .. }
            | Self::LimitWarned { changes, .. }
            | Self::LeaseRenewed { changes, .. }
            | Self::LeaseLost { changes, .. }
            | Self::Corrected { changes, .. }
            | Self::Migrated { changes, .. }
            | Self::Redacted { changes, .. } => Some(changes),
            _ => None,
        }
    };
}

impl Event {
    pub fn changes(&self) -> Option<&Changes> {
        changes_of!(self)
    }

    pub(crate) fn changes_mut(&mut self) -> Option<&mut Changes> {
        changes_of!(self)
    }
}

impl Entry {
    /// Drops what it tells of an entity that was erased: values and words. What happened and when stays.
    pub fn forget(&mut self, erased: &EntityKey) {
        let of_it = |it: &Reranked| matches!(it, Reranked::Placed { entity, .. } if entity == erased);
        self.reranked.retain(|it| !of_it(it));
        if self.entity != *erased {
            return;
        }
        self.reason = None;
        self.origin = None;
        if let Some(changes) = self.event.changes_mut() {
            changes.fields.clear();
            changes.tallies.clear();
            changes.same = None;
        }
        match &mut self.event {
            Event::MessagePosted { text, .. } => *text = Arc::from(""),
            Event::Notified { message, .. } | Event::AlertRaised { message, .. } => *message = Arc::from(""),
            Event::EvidenceKept { sent, .. } => *sent = Arc::from("{}"),
            Event::Erased { kept } => *kept = Fields::default(),
            Event::Migrated { undo, .. } => *undo = None,
            Event::EffectRequested { with, .. } => *with = Fields::default(),
            Event::Assigned { before, after, .. } => (*before, *after) = (Value::Null, Value::Null),
            Event::ViolationFound { message, evidence, .. } => {
                *message = Arc::from("");
                *evidence = Fields::default();
            }
            _ => {}
        }
    }

    /// Where it came from and went to, where the event is a move.
    pub fn edge(&self) -> (Option<&Name>, Option<&Name>) {
        match &self.event {
            Event::Created { state, .. } => (None, Some(state)),
            Event::Transitioned { from, to, .. } | Event::Migrated { from, to, .. } => (Some(from), Some(to)),
            Event::Corrected { from, to, .. } => (from.as_ref(), Some(to)),
            _ => (None, None),
        }
    }
}
