//! Commands: requests to change something.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use crate::actor::Actor;
use crate::event::Entry;
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;
use crate::key::EntityKey;
use crate::project::ProjectChange;

/// A request of an actor to change something.
#[derive(Clone, Debug)]
pub struct Command {
    pub actor: Actor,
    /// The actor on whose behalf it is sent, if the sender may act for others.
    pub on_behalf_of: Option<Name>,
    /// The idempotency key: the command counts once under it.
    pub idempotency_key: Option<Name>,
    /// The sender of the key, if it is not the actor. The server sends some commands for its callers.
    pub key_of: Option<Name>,
    /// The digest of the whole request, if the command alone does not identify it.
    pub said: Option<RequestDigest>,
    /// The id of the request, to find it in logs and in the journal. It does not affect the decision.
    pub request_id: Option<Name>,
    pub reason: Option<Arc<str>>,
    pub ask: Ask,
}

/// The digest of a request. Commands of a batch share a key and differ in their place. Other commands contain data that
/// was looked up and may differ in a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDigest {
    pub digest: Arc<str>,
    /// The index of the command in its batch; none for a request with one command.
    pub place: Option<usize>,
}

impl RequestDigest {
    /// Whether a stored fingerprint is of the same batch, possibly of another command.
    pub(crate) fn is_part_of(&self, fingerprint: &str) -> bool {
        self.place.is_some()
            && fingerprint.strip_prefix(&*self.digest).is_some_and(|it| it.starts_with(PLACE))
    }

    /// The key of this command, derived from the key of its batch. Clients cannot send such a key.
    pub(crate) fn own_key(&self, key: &Name) -> Name {
        Name::new(&format!("{key}\t{}", self.place.unwrap_or(0)))
    }
}

/// Separates the digest from the place.
pub(crate) const PLACE: char = '#';

#[derive(Clone, Debug)]
pub enum Ask {
    Create {
        entity: EntityKey,
        fields: Fields,
    },
    Fire(Fire),
    /// Takes the next entity of a ranking for the actor.
    Claim(Claim),
    Heartbeat {
        entity: EntityKey,
        slot: Name,
        fence: Option<u64>,
    },
    /// A timer of this entity is due.
    Due {
        entity: EntityKey,
        timer: Name,
    },
    /// A worker reports the result of an effect.
    EffectResult {
        entity: EntityKey,
        effect: u64,
        ok: bool,
        fields: Fields,
    },
    /// Corrects an entity: an admin override outside the declared transitions.
    Correct {
        entity: EntityKey,
        to: Option<Name>,
        fields: Fields,
    },
    /// The sweep checks one entity.
    Inspect {
        entity: EntityKey,
    },
    /// The stored rows of an entity differed from the journal and were rebuilt.
    Repair {
        entity: EntityKey,
        found: Arc<str>,
        /// Ranking places of entities that do not exist, by ranking. They are removed too.
        ghost_places: Vec<(Name, EntityKey)>,
    },
    /// A person acknowledges or resolves an alert of this entity.
    HandleAlert {
        entity: EntityKey,
        /// The number of the entry that raised it.
        alert: u64,
        action: AlertAction,
    },
    /// The server raises an alert about an entity, unless one of its kind is open.
    RaiseAlert {
        entity: EntityKey,
        alert: ServerAlert,
    },
    /// Puts an entity into a state without checks: for singletons of a new project, and for tests.
    Seed(Seed),
    /// Imports entities from other systems: all of them or none.
    Import(Vec<ImportedEntity>),
    /// Migrates an entity to another version of its lifecycle.
    Migrate(Migrate),
    /// Reverts a migration; `migration` is its journal entry.
    UndoMigration {
        entity: EntityKey,
        migration: Box<Entry>,
    },
    /// Removes the content of some entries of an entity from the journal.
    Redact(Redact),
    /// Changes settings, zone or people of the project.
    Configure(ProjectChange),
    /// Puts a version of a pack in force.
    Install(Install),
    /// News of the project's clock.
    Clock(ClockNews),
    /// News of the space of the data folder.
    Space(SpaceNews),
    /// Project time went back by this span: moves the timers of an entity with it.
    Rebase {
        entity: EntityKey,
        by: Span,
    },
}

/// News of the project's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockNews {
    /// The machine's clock jumped, and project time does not follow.
    Alarm { machine: Timestamp },
    /// The machine's clock agrees again. `alert` is the entry that raised the alarm.
    Agrees { alert: u64 },
    /// A person moved project time to the machine's clock. `from` is the time before.
    Moved { from: Timestamp, alert: Option<u64> },
}

/// News of the space of the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpaceNews {
    /// It runs out, or commands are refused already. `message` is that of the alert.
    Low { is_out: bool, message: Arc<str> },
    /// There is enough again. `alert` is the entry that raised the alert.
    Enough { alert: u64 },
}

/// An alert of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAlert {
    pub kind: Name,
    pub severity: Severity,
    pub message: Arc<str>,
}

/// The action of a person on an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertAction {
    Acknowledge,
    Resolve,
}

impl AlertAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledge => "acknowledge",
            Self::Resolve => "resolve",
        }
    }
}

/// A migration of an entity to another version of its lifecycle. One mapping can apply to many entities.
#[derive(Clone, Debug)]
pub struct Migrate {
    pub entity: EntityKey,
    /// The version to migrate to.
    pub to: u32,
    /// State to its name in the other version, for states that were renamed.
    pub states: BTreeMap<Name, Name>,
    /// Values for fields that are not set or do not fit the other version; null means the default, or not set.
    /// Fields that fit are not changed.
    pub fields: Fields,
}

impl Migrate {
    pub fn new(entity: EntityKey, to: u32) -> Self {
        Self { entity, to, states: BTreeMap::new(), fields: Fields::default() }
    }
}

/// Content to remove from the journal of an entity.
#[derive(Clone, Debug)]
pub struct Redact {
    pub entity: EntityKey,
    /// Numbers of its entries.
    pub entries: Vec<u64>,
    /// New values of fields that come from these entries. Such fields are cleared if they are not named here.
    pub becomes: Fields,
    /// All entries of the entity in order. The sender of the command loads them from the journal.
    pub history: Vec<Entry>,
}

/// A loaded pack.
#[derive(Clone, Debug)]
pub struct Install {
    pub pack: Name,
    pub version: u32,
    /// The digest of the files it was read from.
    pub digest: Arc<str>,
}

/// A claim of the next available entity.
#[derive(Clone, Debug)]
pub struct Claim {
    pub lifecycle: Name,
    /// The transition that claims it. Needed if the lifecycle has several rankings to claim from.
    pub event: Option<Name>,
    /// Only entities that match this filter.
    pub only: Option<Filter>,
    pub fields: Fields,
}

/// An entity to put in place without checks.
#[derive(Clone, Debug)]
pub struct Seed {
    pub entity: EntityKey,
    /// The state; the initial state by default. A state that the lifecycle does not have makes a corrupt record.
    pub state: Option<Name>,
    pub fields: Fields,
    /// Counter, key and value.
    pub tallies: Vec<(Name, Name, f64)>,
    /// Slot and holder.
    pub leases: Vec<(Name, Name)>,
}

impl Seed {
    pub fn new(entity: EntityKey) -> Self {
        Self { entity, state: None, fields: Fields::default(), tallies: Vec::new(), leases: Vec::new() }
    }

    /// Whether it sets nothing but what the definition says.
    pub(crate) fn is_plain(&self) -> bool {
        let Self { entity: _, state, fields, tallies, leases } = self;
        state.is_none() && fields.is_empty() && tallies.is_empty() && leases.is_empty()
    }
}

/// An entity to import.
#[derive(Clone, Debug)]
pub struct ImportedEntity {
    pub entity: EntityKey,
    /// The state; the initial state by default.
    pub state: Option<Name>,
    pub fields: Fields,
    /// Counter, key and value.
    pub tallies: Vec<(Name, Name, f64)>,
    /// Slot and holder of the leases to grant at the time of the import.
    pub leases: Vec<(Name, Name)>,
    /// The origin of the entity.
    pub origin: ImportOrigin,
    /// Its index in the request. A refusal refers to it as `entities.PLACE`.
    pub place: usize,
}

#[derive(Clone, Debug)]
pub struct Fire {
    pub entity: EntityKey,
    pub what: TransitionRef,
    pub fields: Fields,
    pub fence: Option<u64>,
    /// Only if the entity is still at this version.
    pub if_version: Option<u64>,
}

/// A transition, by name or by target state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransitionRef {
    Event(Name),
    To(Name),
}

impl Command {
    pub fn new(actor: Actor, ask: Ask) -> Self {
        let on_behalf_of = actor.subject.clone();
        let (idempotency_key, key_of, said, request_id, reason) = (None, None, None, None, None);
        Self { actor, on_behalf_of, idempotency_key, key_of, said, request_id, reason, ask }
    }

    pub fn fire(actor: Actor, entity: EntityKey, event: &str, fields: Fields) -> Self {
        let what = TransitionRef::Event(Name::new(event));
        Self::new(actor, Ask::Fire(Fire { entity, what, fields, fence: None, if_version: None }))
    }

    pub fn with_reason(mut self, reason: &str) -> Self {
        self.reason = Some(Arc::from(reason));
        self
    }

    /// The sender of the idempotency key. The same key of another sender is independent.
    pub fn key_sender(&self) -> &Name {
        self.key_of.as_ref().unwrap_or(&self.actor.id)
    }

    /// The entity that the command is about. None if the engine selects it, if there are several, or if it is the project.
    pub fn entity(&self) -> Option<&EntityKey> {
        Some(match &self.ask {
            Ask::Claim(_)
            | Ask::Import(_)
            | Ask::Configure(_)
            | Ask::Install(_)
            | Ask::Clock(_)
            | Ask::Space(_) => return None,
            Ask::Create { entity, .. }
            | Ask::Heartbeat { entity, .. }
            | Ask::Due { entity, .. }
            | Ask::EffectResult { entity, .. }
            | Ask::Correct { entity, .. }
            | Ask::Inspect { entity }
            | Ask::Repair { entity, .. }
            | Ask::HandleAlert { entity, .. }
            | Ask::RaiseAlert { entity, .. }
            | Ask::UndoMigration { entity, .. }
            | Ask::Rebase { entity, .. } => entity,
            Ask::Migrate(migrate) => &migrate.entity,
            Ask::Redact(redact) => &redact.entity,
            Ask::Seed(seed) => &seed.entity,
            Ask::Fire(fire) => &fire.entity,
        })
    }

    /// The number of entities that it works on: one, except for imports.
    pub fn units(&self) -> usize {
        match &self.ask {
            Ask::Import(entities) => entities.len().max(1),
            _ => 1,
        }
    }

    /// The memory that its fields take, about.
    pub fn bytes(&self) -> usize {
        match &self.ask {
            Ask::Create { fields, .. } | Ask::EffectResult { fields, .. } | Ask::Correct { fields, .. } => {
                fields.bytes()
            }
            Ask::Fire(fire) => fire.fields.bytes(),
            Ask::Claim(claim) => claim.fields.bytes(),
            Ask::Seed(seed) => seed.fields.bytes(),
            Ask::Import(entities) => entities.iter().map(|it| it.fields.bytes()).sum(),
            Ask::Heartbeat { .. }
            | Ask::Due { .. }
            | Ask::Inspect { .. }
            | Ask::Repair { .. }
            | Ask::HandleAlert { .. }
            | Ask::RaiseAlert { .. }
            | Ask::Migrate(_)
            | Ask::UndoMigration { .. }
            | Ask::Redact(_)
            | Ask::Configure(_)
            | Ask::Install(_)
            | Ask::Clock(_)
            | Ask::Space(_)
            | Ask::Rebase { .. } => 0,
        }
    }

    /// The lifecycle that the command is about, if there is one.
    pub fn lifecycle(&self) -> Option<&Name> {
        match &self.ask {
            Ask::Claim(claim) => Some(&claim.lifecycle),
            _ => self.entity().map(|it| &it.lifecycle),
        }
    }
}
