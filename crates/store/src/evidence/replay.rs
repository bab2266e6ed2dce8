//! Computes entities from their entries and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};

use super::line::EntitySummary;
use super::references::collect_digests;
use crate::{Record, StoreError};

/// Entities computed from the entries so far.
#[derive(Default)]
pub(super) struct Replay {
    view: View,
    seen: BTreeMap<EntityKey, Seen>,
    /// Artifacts that entries refer to.
    pub artifacts: BTreeSet<String>,
}

/// Counts for one entity.
#[derive(Default)]
struct Seen {
    entries: u64,
    redacted: u64,
    last: u64,
}

impl Replay {
    /// Adds an entry. Returns its entity and that entity's previous entry, 0 if there was none.
    pub fn take(&mut self, record: &Record) -> Result<(EntityKey, u64), StoreError> {
        let mut entry = record.entry()?;
        // Idempotency keys are not needed here.
        entry.key = None;
        apply(&mut self.view, &entry);
        if let Some(payload) = &record.payload {
            collect_digests(payload, &mut self.artifacts);
        }
        let seen = self.seen.entry(entry.entity.clone()).or_default();
        seen.entries += 1;
        seen.redacted += u64::from(record.is_redacted());
        let before = std::mem::replace(&mut seen.last, record.seq);
        Ok((entry.entity, before))
    }

    /// Every entity that exists after these entries.
    pub fn summaries(&self) -> Vec<EntitySummary> {
        self.seen.iter().filter_map(|(key, seen)| Some(summary(self.view.get(key)?, seen))).collect()
    }
}

fn summary(entity: &Entity, seen: &Seen) -> EntitySummary {
    let fields = entity.fields.iter().map(|(name, value)| (name.to_string(), value.to_json()));
    let counters = entity.tallies.iter().map(|it| {
        let by_key = it.by_key.iter().map(|(key, tally)| (key.to_string(), tally.value));
        (it.counter.to_string(), by_key.collect())
    });
    EntitySummary {
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
