//! What is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::name::Name;

use crate::actor::Actor;
use crate::event::Entry;
use crate::fields::Fields;
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
const PLACE: char = '#';

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
    /// What it is called where it comes from, for the journal: by this it is known again.
    pub origin: Arc<str>,
    /// The file that told of it.
    pub file: Option<Arc<str>>,
    /// Its place in what was sent: a refusal speaks of `entities.PLACE`.
    pub place: usize,
}

impl ImportedEntity {
    /// What the journal gives as the reason.
    pub fn reason(&self) -> String {
        match &self.file {
            Some(file) => format!("imported from {} in {file}", self.origin),
            None => format!("imported from {}", self.origin),
        }
    }

    /// Whether such a reason speaks of the same origin, whatever the file is called.
    pub fn is_from(&self, reason: &str) -> bool {
        let rest = reason.strip_prefix("imported from ").and_then(|it| it.strip_prefix(&*self.origin));
        rest.is_some_and(|it| it.is_empty() || it.starts_with(" in "))
    }
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

    /// What it says, as a digest: equal commands have equal ones, on every machine and in every release.
    pub(crate) fn fingerprint(&self) -> String {
        if let Some(Said { digest, place }) = &self.said {
            return place.map_or(digest.to_string(), |it| format!("{digest}{PLACE}{it}"));
        }
        let mut digest = Digest(Sha256::new());
        digest.text(&self.actor.id);
        digest.text(self.on_behalf_of.as_deref().unwrap_or_default());
        digest.text(self.reason.as_deref().unwrap_or_default());
        digest.text(self.entity().map_or("", |it| &it.lifecycle));
        digest.text(self.entity().map_or("", |it| &it.id));
        let fields = match &self.ask {
            Ask::Create { fields, .. } => {
                digest.text("create");
                Some(fields)
            }
            Ask::Fire(fire) => {
                let (how, name) = match &fire.what {
                    What::Event(name) => ("event", name),
                    What::To(name) => ("to", name),
                };
                digest.text(how);
                digest.text(name);
                digest.text(&format!("{:?} {:?}", fire.fence, fire.if_version));
                Some(&fire.fields)
            }
            Ask::Claim(claim) => {
                digest.text("claim");
                digest.text(&claim.lifecycle);
                digest.text(claim.event.as_deref().unwrap_or_default());
                digest.text(claim.only.as_ref().map_or("", |it| it.source()));
                Some(&claim.fields)
            }
            Ask::Heartbeat { slot, fence, .. } => {
                digest.text("heartbeat");
                digest.text(slot);
                digest.text(&format!("{fence:?}"));
                None
            }
            Ask::Due { timer, .. } => {
                digest.text("due");
                digest.text(timer);
                None
            }
            Ask::EffectResult { effect, ok, fields, .. } => {
                digest.text(&format!("settle {effect} {ok}"));
                Some(fields)
            }
            Ask::Correct { to, fields, .. } => {
                digest.text("correct");
                digest.text(to.as_deref().unwrap_or_default());
                Some(fields)
            }
            Ask::Inspect { .. } => {
                digest.text("inspect");
                None
            }
            Ask::Repair { found, without, .. } => {
                digest.text("mend");
                digest.text(found);
                without.iter().for_each(|(ranking, ghost)| digest.text(&format!("{ranking} {ghost}")));
                None
            }
            Ask::HandleAlert { alert, action, .. } => {
                digest.text(&format!("{} {alert}", action.as_str()));
                None
            }
            Ask::Seed(seed) => {
                digest.text("plant");
                digest.text(seed.state.as_deref().unwrap_or_default());
                Some(&seed.fields)
            }
            Ask::Import(entities) => {
                digest.text("adopt");
                for it in entities {
                    digest.text(&it.entity.to_string());
                    digest.text(it.state.as_deref().unwrap_or_default());
                    digest.text(&it.origin);
                    digest.text(&format!("{:?} {:?}", it.tallies, it.leases));
                    digest.fields(&it.fields);
                }
                None
            }
            Ask::Migrate(migrate) => {
                digest.text(&format!("migrate {}", migrate.to));
                for (from, to) in &migrate.states {
                    digest.text(from);
                    digest.text(to);
                }
                digest.text("fields");
                Some(&migrate.fields)
            }
            Ask::UndoMigration { migration, .. } => {
                digest.text(&format!("undo {}", migration.seq));
                None
            }
            Ask::Redact(redact) => {
                digest.text(&format!("redact {:?}", redact.entries));
                Some(&redact.becomes)
            }
            Ask::Configure(change) => {
                digest.text("configure");
                digest.text(&serde_json::to_string(change).unwrap_or_default());
                None
            }
            Ask::Install(install) => {
                digest.text("install");
                digest.text(&install.pack);
                digest.text(&format!("{} {}", install.version, install.digest));
                None
            }
        };
        fields.into_iter().for_each(|it| digest.fields(it));
        digest.hex()
    }
}

/// Texts one after the other, each with its length, so that no two sequences run together.
struct Digest(Sha256);

impl Digest {
    fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn fields(&mut self, fields: &Fields) {
        for (name, value) in fields.iter() {
            self.text(name);
            // The stored form tells all types apart and has one spelling for each value.
            self.text(&serde_json::to_string(value).unwrap_or_default());
        }
    }

    /// Its first half as hexadecimal digits.
    fn hex(self) -> String {
        let digit = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('0');
        self.0.finalize().iter().take(16).flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use trackside_lifecycle::value::Value;

    use super::*;
    use crate::actor::ActorKind;

    #[test]
    fn what_a_command_said_has_one_name_in_every_release() {
        let bullets = ["Read it", "Write it", "Check it"].map(Value::from).to_vec();
        let plan = Value::map([(Name::new("bullets"), Value::list(bullets))].into_iter().collect());
        let command = |id: &str| {
            let actor = Actor::new("agent-63", ActorKind::Agent).with_roles(["specialist"]);
            let fields = [("workPlan", plan.clone())].into_iter().collect();
            Command::fire(actor, EntityKey::new("mission.task", id), "start", fields)
        };
        // As a journal has it that was written before this test was.
        assert_eq!(command("T-22591").fingerprint(), "90074928086bfe1ada89da986b315e43");
        assert_ne!(command("T-22592").fingerprint(), command("T-22591").fingerprint());
    }
}
