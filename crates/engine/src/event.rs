//! Events: facts in the past tense, stored in the journal.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::{ActorKind, CredentialKind};
use crate::entity::{AlertCause, Lease, Tally, TimerState, first_life, is_first_life};
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
    /// The version of the entity after this entry.
    pub version: u64,
    pub actor: Name,
    pub actor_kind: ActorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<Name>,
    /// How the person who acted was authenticated. Entries of older releases, and of other actors, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<CredentialKind>,
    /// The requested transition or event.
    pub trigger: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The origin of an imported entity, on the entry of its import. Entries of older releases have it only in the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<ImportOrigin>>,
    /// The number of the entry that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The rule that triggered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    /// The idempotency key of the command, on its first entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyRecord>,
    /// The id of the request, on entries that it asked for directly. Entries that follow from them have a cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Name>,
    pub event: Event,
    /// Changes of rankings, on the last entry of a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reranked: Vec<Reranked>,
}

/// The idempotency key of a command, and the entries it wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    pub key: Name,
    /// The sender of the key. It may differ from the actor of the entry, which can be the engine or the server.
    pub by: Name,
    /// The fingerprint of the command: another command under the same key has another one.
    pub fingerprint: String,
    /// The number of entries that the command wrote.
    pub entries: u32,
    /// The index of the entry that is the answer.
    pub root: u32,
    /// Fields that the first answer reported as ignored, because only the engine writes them. Only the journal stores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    Created {
        definition: u32,
        state: Name,
        /// The number of the life that it starts.
        #[serde(default = "first_life", skip_serializing_if = "is_first_life")]
        generation: u32,
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
        /// The only actors that may read it, besides its author; none means every observer of the entity.
        #[serde(rename = "to")]
        visible: Option<Vec<Name>>,
        /// The author, if it is not the actor.
        from: Option<Name>,
        /// The actors that have to act on it. Absent in older entries, where the readers had to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        routed: Option<Vec<Name>>,
    },
    /// A refused request, recorded as evidence.
    EvidenceKept {
        code: Name,
        /// The fields that were sent, as JSON; truncated if long.
        sent: Arc<str>,
        fence: Option<u64>,
        /// Whether some arm of the transition permits the sender. Absent in older entries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        admitted: Option<bool>,
    },
    /// The data of the entity was erased, from its row and from its journal entries.
    Erased {
        /// The fields that remain.
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
        /// The invariant whose violation it reports, if the alert is resolved when the invariant holds again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Name>,
        /// What it warns of. The alert is resolved when this is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<AlertCause>,
    },
    /// An alert was acknowledged. The person and the time are those of the entry.
    AlertAcknowledged {
        /// The number of the entry that raised it.
        alert: u64,
    },
    /// An alert was resolved.
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
    /// A violated invariant holds again.
    ViolationCleared {
        rule: Name,
    },
    ViolationFound {
        rule: Name,
        severity: Severity,
        message: Arc<str>,
        evidence: Fields,
    },
    /// The entity was corrected, or put in place. It follows version `definition` afterwards.
    Corrected {
        from: Option<Name>,
        to: Name,
        definition: u32,
        changes: Changes,
    },
    /// The entity follows another version of its lifecycle. Its time in the state continues under the new state name.
    Migrated {
        from: Name,
        to: Name,
        from_definition: u32,
        definition: u32,
        changes: Changes,
        /// The changes that revert the migration. Replay does not need them.
        undo: Option<Box<Changes>>,
    },
    /// Content of these entries was removed from the journal, and fields that came from it were cleared or replaced.
    Redacted {
        entries: Vec<u64>,
        changes: Changes,
    },
    /// Settings, zone or people of the project changed. Recorded under [`project_key`](crate::project::project_key).
    ProjectChanged {
        change: Box<ProjectChange>,
    },
    /// A version of a pack is in force from this entry on.
    PackInstalled {
        pack: Name,
        version: u32,
        /// The digest of the files it was read from.
        digest: Arc<str>,
    },
}

/// The changes of an event to its entity, and to the counts of the groups it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// Null clears a field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(Name, Value)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<TallyChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<(Name, Option<TimerState>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<Shift>,
    /// The change of the value that must be unique among open entities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<UniqueClaim>,
}

/// The value of `same`, which must be unique among open entities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UniqueClaim {
    Free,
    Taken(Name),
}

impl UniqueClaim {
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
    /// None removes the tally. With an empty key, none removes all tallies of the counter.
    pub tally: Option<Tally>,
}

/// A member of a group changed its state, joined (`from` is none) or left (`to` is none).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    pub group: GroupKey,
    pub from: Option<Name>,
    pub to: Option<Name>,
}

/// `Variant of Event = "name in the journal", indexed or plain;`
///
/// Projections index the entries of indexed kinds, so that reads find them without scanning the journal.
macro_rules! event_kinds {
    ($($variant:ident = $text:literal, $indexed:ident;)+) => {
        /// The kind of an event. The list is closed, and a kind never changes its meaning.
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
    ProjectChanged = "PROJECT_CHANGED", indexed;
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
    /// Removes the values and texts of an erased entity from the entry. The kind and time of the event remain.
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

    /// The source and target state, if the event is a move.
    pub fn edge(&self) -> (Option<&Name>, Option<&Name>) {
        match &self.event {
            Event::Created { state, .. } => (None, Some(state)),
            Event::Transitioned { from, to, .. } | Event::Migrated { from, to, .. } => (Some(from), Some(to)),
            Event::Corrected { from, to, .. } => (from.as_ref(), Some(to)),
            _ => (None, None),
        }
    }
}
