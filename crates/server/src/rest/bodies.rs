//! Entities and journal entries as response bodies.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_protocol::{EntityBody, EntryBody};
use trackside_runtime::{ReadError, Reads};
use trackside_store::Record;
use trackside_store::record::Hash;

/// An entity as the actor sees it.
pub(crate) fn entity_body(reads: &Reads, key: &EntityKey, actor: &Actor) -> Result<EntityBody, ReadError> {
    reads.present(key, actor).map(|it| EntityBody::from(&it))
}

/// Loaded entities as the actor sees them.
pub(crate) fn entity_bodies(
    reads: &Reads,
    entities: &[Arc<Entity>],
    actor: &Actor,
) -> Result<Vec<EntityBody>, ReadError> {
    Ok(reads.present_all(entities, actor)?.iter().map(EntityBody::from).collect())
}

/// The body of a stored entry, as a caller sees the entry.
pub(crate) fn stored_body(record: &Record, entry: &Entry) -> EntryBody {
    let body = EntryBody::stored(entry, Some(hex::encode(record.hash)));
    EntryBody { redacted: record.is_redacted(), ..body }
}

/// An entry for the feed, as JSON.
pub(crate) fn entry_text(entry: &Entry, hash: Option<&Hash>) -> String {
    serde_json::to_string(&EntryBody::stored(entry, hash.map(hex::encode))).unwrap_or_default()
}
