//! A folder for one test, and journals to fill it with.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_engine::actor::ActorKind;
use trackside_engine::entity::{Entity, OpenEffect, TimerState};
use trackside_engine::event::{Changes, Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_store::{Batch, Chain, EntityRow};

/// A folder that is removed at the end of the test.
pub struct StoreFolder(PathBuf);

impl StoreFolder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trackside-{}-{name}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StoreFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The creation of `kind.thing/T-seq`, with these words in a field.
pub fn entry(seq: u64, words: &str) -> Entry {
    Entry {
        seq,
        at: Timestamp(1_000 * i64::try_from(seq).unwrap()),
        entity: EntityKey::new("kind.thing", format!("T-{seq}")),
        version: 1,
        actor: Name::new("ada"),
        actor_kind: ActorKind::Human,
        on_behalf_of: None,
        via: None,
        trigger: Name::new("create"),
        reason: Some(Arc::from("because")),
        origin: None,
        cause: None,
        condition: None,
        key: None,
        request_id: None,
        event: Event::Created {
            definition: 1,
            state: Name::new("open"),
            generation: 1,
            changes: Changes { fields: vec![(Name::new("text"), Value::text(words))], ..Changes::default() },
        },
        reranked: Vec::new(),
    }
}

/// The next `count` records of a chain.
pub fn batch(chain: &mut Chain, count: u64) -> Batch {
    let records = (0..count).map(|_| {
        let entry = entry(chain.seq + 1, &"some words ".repeat(20));
        chain.seal(entry, 0).unwrap()
    });
    Batch { records: records.collect(), definitions: Vec::new() }
}

/// An entity in a state, touched by an entry.
pub fn entity(id: &str, state: &str, seq: u64) -> Entity {
    let mut entity = Entity::new(EntityKey::new("kind.thing", id), 1, Name::new(state), Timestamp(1_000));
    entity.seq = seq;
    entity.version = seq;
    entity
}

pub fn row(entity: Entity) -> EntityRow {
    EntityRow { entity: Arc::new(entity), last: false, indexed: Vec::new(), overdue_at: None }
}

pub fn timer(due: i64) -> TimerState {
    TimerState {
        started_at: Timestamp(0),
        length: Span(due),
        spent: Span(0),
        running_since: Some(Timestamp(0)),
        step: 0,
        due: Some(Timestamp(due)),
    }
}

pub fn effect(id: u64) -> OpenEffect {
    OpenEffect { id, effect: Name::new("say") }
}
