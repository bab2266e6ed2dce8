//! What is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::name::Name;

use crate::actor::Actor;
use crate::event::Entry;
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;
use crate::key::EntityKey;
use crate::project::ProjectChange;

/// A request to change something, by somebody.
#[derive(Clone, Debug)]
pub struct Command {
    pub actor: Actor,
    /// On whose behalf, where the actor may act for others.
    pub on_behalf_of: Option<Name>,
    /// The name under which it counts once.
    pub idempotency_key: Option<Name>,
    /// Whose name that is, where the actor does it for somebody who sent it.
    pub key_of: Option<Name>,
    /// What the whole request said, where the command alone does not tell.
    pub said: Option<Said>,
    /// The name by which it is found again on both sides. It changes nothing.
    pub request_id: Option<Name>,
    pub reason: Option<Arc<str>>,
    pub ask: Ask,
}

/// A request as a digest. Commands that came together share a key and differ in their place; others say something
/// that was looked up for them and may be something else the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub digest: Arc<str>,
    /// Which of the commands of the request it is, where there may be several.
    pub place: Option<usize>,
}

impl Said {
    /// Whether what was kept came with the same request, maybe from another of its commands.
    pub(crate) fn is_part_of(&self, fingerprint: &str) -> bool {
        self.place.is_some()
            && fingerprint.strip_prefix(&*self.digest).is_some_and(|it| it.starts_with(PLACE))
    }

    /// The name under which this command counts once, beside the first of its request. No key that is sent has it.
    pub(crate) fn own_key(&self, key: &Name) -> Name {
        Name::new(&format!("{key}\t{}", self.place.unwrap_or(0)))
    }
}

/// Stands between a digest and a place.
pub(crate) const PLACE: char = '#';

#[derive(Clone, Debug)]
pub enum Ask {
    Create {
        entity: EntityKey,
        fields: Fields,
    },
    Fire(Fire),
    /// The next one of a ranking, for whoever asks.
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
    /// The loud override.
    Correct {
        entity: EntityKey,
        to: Option<Name>,
        fields: Fields,
    },
    /// The sweep looks at one entity.
    Inspect {
        entity: EntityKey,
    },
    /// The stored rows of an entity differed from the journal and were rebuilt.
    Repair {
        entity: EntityKey,
        found: Arc<str>,
        /// Ranking places of entities that do not exist, by ranking: they are removed too.
        without: Vec<(Name, EntityKey)>,
    },
    /// A person acknowledges or resolves an alert of this entity.
    HandleAlert {
        entity: EntityKey,
        /// The entry that raised it.
        alert: u64,
        action: AlertAction,
    },
    /// Puts an entity into a state, unchecked: the singletons of a new project, and tests.
    Seed(Seed),
    /// Imports entities from elsewhere: all of them, or none.
    Import(Vec<ImportedEntity>),
    /// An entity is to live by another version of its definition.
    Migrate(Migrate),
    /// A migration is taken back; `migration` is its entry, as the journal has it.
    UndoMigration {
        entity: EntityKey,
        migration: Box<Entry>,
    },
    /// Values and words of some entries of an entity are dropped from the journal.
    Redact(Redact),
    /// Settings, zone or people of the project become others.
    Configure(ProjectChange),
    /// A version of a pack comes into force.
    Install(Install),
}

/// What a person does with an alert.
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

/// How an entity gets to another version of its definition. One mapping does for many entities.
#[derive(Clone, Debug)]
pub struct Migrate {
    pub entity: EntityKey,
    /// The version it is to live by.
    pub to: u32,
    /// State to its name there, where that is another one.
    pub states: BTreeMap<Name, Name>,
    /// What becomes of fields that are not set or cannot stay as they are: a value, or null for the default
    /// or nothing. Fields that fit stay whatever is said here.
    pub fields: Fields,
}

impl Migrate {
    pub fn new(entity: EntityKey, to: u32) -> Self {
        Self { entity, to, states: BTreeMap::new(), fields: Fields::default() }
    }
}

/// What is to be dropped from the journal of an entity.
#[derive(Clone, Debug)]
pub struct Redact {
    pub entity: EntityKey,
    /// Numbers of its entries.
    pub entries: Vec<u64>,
    /// What fields become that come from them; without a word they are cleared.
    pub becomes: Fields,
    /// All entries of the entity in order, as the journal has them: whoever asks the engine loads them.
    pub history: Vec<Entry>,
}

/// A pack as it was loaded.
#[derive(Clone, Debug)]
pub struct Install {
    pub pack: Name,
    pub version: u32,
    /// Of the files it was read from.
    pub digest: Arc<str>,
}

/// The next entity that can be had.
#[derive(Clone, Debug)]
pub struct Claim {
    pub lifecycle: Name,
    /// The transition that takes it; needed where several rankings can be claimed from.
    pub event: Option<Name>,
    /// Only those that this lets through.
    pub only: Option<Filter>,
    pub fields: Fields,
}

/// An entity as it is to be.
#[derive(Clone, Debug)]
pub struct Seed {
    pub entity: EntityKey,
    /// The initial one if none is named; one that its lifecycle does not know is a corrupt record.
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
}

/// An entity that comes from elsewhere, as it is to be here.
#[derive(Clone, Debug)]
pub struct ImportedEntity {
    pub entity: EntityKey,
    /// The initial one if none is named.
    pub state: Option<Name>,
    pub fields: Fields,
    /// Counter, key and value.
    pub tallies: Vec<(Name, Name, f64)>,
    /// Slot and holder: granted anew, from now on.
    pub leases: Vec<(Name, Name)>,
    /// Where it comes from.
    pub origin: ImportOrigin,
    /// Its place in what was sent: a refusal speaks of `entities.PLACE`.
    pub place: usize,
}

#[derive(Clone, Debug)]
pub struct Fire {
    pub entity: EntityKey,
    pub what: What,
    pub fields: Fields,
    pub fence: Option<u64>,
    /// Only if the entity is still at this version.
    pub if_version: Option<u64>,
}

/// By name, or by target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
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
        let what = What::Event(Name::new(event));
        Self::new(actor, Ask::Fire(Fire { entity, what, fields, fence: None, if_version: None }))
    }

    pub fn because(mut self, reason: &str) -> Self {
        self.reason = Some(Arc::from(reason));
        self
    }

    /// Who sent its key: the same one of somebody else is another.
    pub fn key_sender(&self) -> &Name {
        self.key_of.as_ref().unwrap_or(&self.actor.id)
    }

    /// The entity it speaks of; none where that is for the engine to find, there are many, or it is about the project.
    pub fn entity(&self) -> Option<&EntityKey> {
        Some(match &self.ask {
            Ask::Claim(_) | Ask::Import(_) | Ask::Configure(_) | Ask::Install(_) => return None,
            Ask::Create { entity, .. }
            | Ask::Heartbeat { entity, .. }
            | Ask::Due { entity, .. }
            | Ask::EffectResult { entity, .. }
            | Ask::Correct { entity, .. }
            | Ask::Inspect { entity }
            | Ask::Repair { entity, .. }
            | Ask::HandleAlert { entity, .. }
            | Ask::UndoMigration { entity, .. } => entity,
            Ask::Migrate(migrate) => &migrate.entity,
            Ask::Redact(redact) => &redact.entity,
            Ask::Seed(seed) => &seed.entity,
            Ask::Fire(fire) => &fire.entity,
        })
    }

    /// The lifecycle it is about, if it is about one.
    pub fn lifecycle(&self) -> Option<&Name> {
        match &self.ask {
            Ask::Claim(claim) => Some(&claim.lifecycle),
            _ => self.entity().map(|it| &it.lifecycle),
        }
    }
}
