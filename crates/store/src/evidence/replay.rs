//! What entities come to by their entries: nothing else is believed.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};

use super::line::EntityTold;
use super::refer::referred;
use crate::{Record, StoreError};

/// Entities as their entries made them so far.
#[derive(Default)]
pub(super) struct Replay {
    view: View,
    seen: BTreeMap<EntityKey, Seen>,
    /// Artifacts that entries refer to.
    pub artifacts: BTreeSet<String>,
}

/// What was seen of one entity.
#[derive(Default)]
struct Seen {
    entries: u64,
    redacted: u64,
    last: u64,
}

impl Replay {
    /// Takes an entry of an entity; the entry of it before this one that was taken, 0 if there was none.
    pub fn take(&mut self, record: &Record) -> Result<(EntityKey, u64), StoreError> {
        let mut entry = record.entry()?;
        // What a command was called is of no use here.
        entry.key = None;
        apply(&mut self.view, &entry);
        if let Some(payload) = &record.payload {
            referred(payload, &mut self.artifacts);
        }
        let seen = self.seen.entry(entry.entity.clone()).or_default();
        seen.entries += 1;
        seen.redacted += u64::from(record.is_redacted());
        let before = std::mem::replace(&mut seen.last, record.seq);
        Ok((entry.entity, before))
    }

    /// Every entity that is there after all that was taken.
    pub fn told(&self) -> Vec<EntityTold> {
        self.seen.iter().filter_map(|(key, seen)| Some(told(self.view.get(key)?, seen))).collect()
    }
}

fn told(entity: &Entity, seen: &Seen) -> EntityTold {
    let fields = entity.fields.iter().map(|(name, value)| (name.to_string(), value.to_json()));
    let counters = entity.tallies.iter().map(|it| {
        let by_key = it.by_key.iter().map(|(key, tally)| (key.to_string(), tally.value));
        (it.counter.to_string(), by_key.collect())
    });
    EntityTold {
        lifecycle: entity.key.lifecycle.to_string(),
        id: entity.key.id.to_string(),
        definition: entity.definition,
        state: entity.state.to_string(),
        version: entity.version,
        created_at: entity.created_at.to_string(),
        updated_at: entity.updated_at.to_string(),
        fields: fields.collect(),
        counters: counters.collect(),
        entries: seen.entries,
        redacted: seen.redacted,
    }
}
