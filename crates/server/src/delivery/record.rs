//! Deliveries as they are stored: entities of the server's own pack.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use trackside_runtime::read::ListQuery;
use trackside_runtime::{ReadError, Reads};

use super::audience::list_all;

/// The lifecycle of deliveries.
pub(crate) const DELIVERY: &str = "access.delivery";
/// Bytes of the hash in an id.
const HASHED: usize = 6;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SubjectKind {
    /// An entity that waits for a person.
    Item,
    Alert,
    /// A notification of a pack, which waits for no person.
    Notification,
}

impl SubjectKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Alert => "alert",
            Self::Notification => "notification",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Item, Self::Alert, Self::Notification].into_iter().find(|it| it.as_str() == word)
    }
}

/// A stored delivery.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryRecord {
    pub key: EntityKey,
    pub audience: Name,
    pub address: String,
    pub person: Name,
    pub is_personal: bool,
    pub subject: EntityKey,
    pub number: u64,
    pub kind: SubjectKind,
    pub due_at: Timestamp,
    pub attempts: i64,
    /// Whether it is to be sent, or was sent and a person may still react.
    pub is_open: bool,
    pub is_sent: bool,
}

impl DeliveryRecord {
    pub fn of(law: &Law, entity: &Entity) -> Option<Self> {
        let fields = &entity.fields;
        let life = law.definition(&entity.key.lifecycle, entity.definition);
        let is_open = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| !it.last);
        let name = |it: &str| fields.text(it).map(Name::new);
        Some(Self {
            key: entity.key.clone(),
            audience: name("audience")?,
            address: fields.text("address")?.to_owned(),
            person: name("person")?,
            is_personal: fields.get("personal") != Some(&Value::Bool(false)),
            subject: EntityKey::parse(fields.text("concerns")?)?,
            number: fields.get("number").and_then(Value::as_int).and_then(|it| u64::try_from(it).ok())?,
            kind: fields.text("kind").and_then(SubjectKind::parse)?,
            due_at: fields.get("dueAt").and_then(Value::as_time).unwrap_or(entity.created_at),
            attempts: fields.get("attempts").and_then(Value::as_int).unwrap_or(0),
            is_open,
            is_sent: fields.get("sentAt").is_some_and(|it| !it.is_null()),
        })
    }

    /// The open deliveries of the project.
    pub fn all_open(reads: &Reads, law: &Law) -> Result<Vec<Self>, ReadError> {
        let mut query = ListQuery::of(DELIVERY, Actor::engine());
        let life = law.newest(&query.lifecycle);
        let states = life.into_iter().flat_map(|it| &it.states).filter(|it| !it.last);
        query.states = states.map(|it| it.name.clone()).collect();
        Ok(Self::each(law, list_all(reads, query)?))
    }

    /// All deliveries about an entity, over or not.
    pub fn about(reads: &Reads, law: &Law, subject: &EntityKey) -> Result<Vec<Self>, ReadError> {
        let mut query = ListQuery::of(DELIVERY, Actor::engine());
        // Names and ids contain no character that needs escaping.
        query.filter = Some(reads.condition(&query.lifecycle, &format!("concerns == \"{subject}\""))?);
        Ok(Self::each(law, list_all(reads, query)?))
    }

    fn each(law: &Law, found: Vec<Arc<Entity>>) -> Vec<Self> {
        found.iter().filter_map(|it| Self::of(law, it)).collect()
    }

    /// The id: one delivery per item, audience and address.
    pub fn id(number: u64, audience: &str, address: &str) -> String {
        let hash = Sha256::digest(format!("{audience}\0{address}"));
        format!("{number}-{}", hex::encode(hash.get(..HASHED).unwrap_or_default()))
    }

    /// A transition of it by the server.
    pub fn fire<'n>(&self, event: &str, fields: impl IntoIterator<Item = (&'n str, Value)>) -> Command {
        let fields: Fields = fields.into_iter().collect();
        Command::fire(Actor::engine(), self.key.clone(), event, fields)
    }

    /// The command that stores a new one.
    pub fn creation(id: &str, fields: Fields) -> Command {
        Command::new(Actor::engine(), Ask::Create { entity: EntityKey::new(DELIVERY, id), fields })
    }
}
