//! An entry as the outside sees it.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::{Outward, Value};

use crate::event::{Changes, Entry, Event};

/// The outward form of an entry, with what only the store knows of it. Its names come in order.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    entry: &'a Entry,
    hash: Option<&'a str>,
    key: Option<&'a Name>,
}

impl<'a> Told<'a> {
    pub fn of(entry: &'a Entry) -> Self {
        Self { entry, hash: None, key: None }
    }

    /// The same with the hash under which it is kept, and the key it was asked for with.
    pub fn sealed(entry: &'a Entry, hash: Option<&'a str>) -> Self {
        Self { entry, hash, key: entry.key.as_ref().map(|it| &it.key) }
    }
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry { seq, at, entity, trigger, actor, actor_kind, version, .. } = self.entry;
        let (from, to) = self.entry.edge();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("actor", actor)?;
        map.serialize_entry("actorKind", actor_kind.as_str())?;
        if let Some(cause) = self.entry.cause {
            map.serialize_entry("cause", &cause)?;
        }
        if let Some(condition) = &self.entry.condition {
            map.serialize_entry("condition", condition)?;
        }
        map.serialize_entry("event", &self.entry.event.kind())?;
        if let Some(from) = from {
            map.serialize_entry("from", from)?;
        }
        if let Some(hash) = self.hash {
            map.serialize_entry("hash", hash)?;
        }
        map.serialize_entry("id", &entity.id)?;
        if let Some(key) = self.key {
            map.serialize_entry("idempotencyKey", key)?;
        }
        map.serialize_entry("lifecycle", &entity.lifecycle)?;
        match &self.entry.event {
            // Most entries are one of these.
            Event::Created { changes, .. }
            | Event::Transitioned { changes, .. }
            | Event::FieldsChanged { changes } => map.serialize_entry("metadata", &Changed::of(changes))?,
            other => map.serialize_entry("metadata", &other.metadata())?,
        }
        if let Some(whom) = &self.entry.on_behalf_of {
            map.serialize_entry("onBehalfOf", whom)?;
        }
        if let Some(reason) = &self.entry.reason {
            map.serialize_entry("reason", reason)?;
        }
        if let Some(request) = &self.entry.request_id {
            map.serialize_entry("requestId", request)?;
        }
        map.serialize_entry("seq", seq)?;
        map.serialize_entry("timestamp", &at.to_string())?;
        if let Some(to) = to {
            map.serialize_entry("to", to)?;
        }
        map.serialize_entry("trigger", trigger)?;
        map.serialize_entry("version", version)?;
        map.end()
    }
}

/// The fields that an entry changed.
#[derive(Serialize)]
struct Changed<'a> {
    fields: Pairs<'a>,
}

impl<'a> Changed<'a> {
    fn of(changes: &'a Changes) -> Self {
        Self { fields: Pairs(changes) }
    }
}

struct Pairs<'a>(&'a Changes);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Of two values under one name the later one holds.
        let mut pairs: Vec<&(Name, Value)> = self.0.fields.iter().rev().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|a, b| a.0 == b.0);
        serializer.collect_map(pairs.into_iter().map(|(name, value)| (name, Outward(value))))
    }
}
