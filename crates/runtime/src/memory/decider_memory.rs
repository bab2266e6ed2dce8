//! The decider's memory: loads the data that commands need and evicts flushed, unused data.

use std::sync::Arc;

use trackside_engine::command::Command;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::view::{CacheLimit, EvictionProgress, Need};
use trackside_engine::{Law, View, apply};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_store::{Reader, StoreError};

use super::{LoadSource, Memory, Overlay as _, UnflushedEntries};
use crate::failpoints::{Failpoint, is_enabled};

/// Cached items that eviction visits in one step, at least. More if more were loaded, or the cache would grow.
const VISITS: usize = 256;

/// The limits of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub entities: usize,
    pub groups: usize,
    /// The memory of entities and groups, about.
    pub bytes: usize,
    pub timers: usize,
    /// Unique values.
    pub unique_values: usize,
    /// Idempotency keys.
    pub keys: usize,
    /// For how long keys are known.
    pub keys_last: Span,
    /// Most entries that are decided and not flushed, before timers and the sweep wait.
    pub behind: u64,
}

pub(crate) type DeciderMemory = Memory<DeciderSource>;

/// A reader that only the decider uses, and the data that eviction needs.
pub(crate) struct DeciderSource {
    pub reader: Box<dyn Reader>,
    pub unflushed: UnflushedEntries,
    limits: Limits,
    /// The entry up to which projections are written.
    pub flushed: u64,
    /// The sizes after the last eviction.
    left: CacheSizes,
    /// The number of entities and groups at the last step.
    before: usize,
    /// The flushed entry at which nothing could be evicted.
    stuck: Option<u64>,
    /// Groups with wrong stored counts: loaded again once an entry is flushed.
    pub stale: Vec<(u64, GroupKey)>,
}

/// The number of items in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSizes {
    pub entities: usize,
    pub groups: usize,
    /// Unique values.
    pub values: usize,
    /// Idempotency keys.
    pub keys: usize,
    /// Places in rankings.
    pub places: usize,
    /// The memory of entities and groups, about.
    pub bytes: usize,
}

impl std::fmt::Debug for DeciderSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "flushed up to {}", self.flushed)
    }
}

impl LoadSource for DeciderSource {
    type Overlay = UnflushedEntries;
    const WITH_GROUPS: bool = true;

    fn read<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Reader, &UnflushedEntries) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(self.reader.as_mut(), &self.unflushed)
    }
}

impl DeciderMemory {
    pub fn new(law: Arc<Law>, view: View, reader: Box<dyn Reader>, limits: Limits) -> Self {
        let source = DeciderSource {
            reader,
            unflushed: UnflushedEntries::default(),
            limits,
            flushed: view.seq,
            left: CacheSizes::default(),
            before: 0,
            stuck: None,
            stale: Vec::new(),
        };
        Self { law, view, source }
    }

    pub fn reader(&mut self) -> &mut dyn Reader {
        self.source.reader.as_mut()
    }

    /// For how long idempotency keys are known.
    pub fn keys_last(&self) -> Span {
        self.source.limits.keys_last
    }

    pub fn unflushed(&self) -> &UnflushedEntries {
        &self.source.unflushed
    }

    /// Loads the entity and the key of a command before it is decided, so that it need not be decided twice.
    pub fn prefetch(&mut self, command: &Command) -> Result<(), StoreError> {
        if let Some(key) = command.entity() {
            self.load(Need::Entity(key.clone()))?;
        }
        if let Some(key) = &command.idempotency_key {
            self.load(Need::Key { actor: command.key_sender().clone(), key: key.clone() })?;
        }
        Ok(())
    }

    /// Applies an entry that is not flushed yet.
    pub fn apply(&mut self, entry: &Entry) {
        let before = self.view.get(&entry.entity);
        if let Some(same) = entry.event.changes().and_then(|it| it.same.as_ref()) {
            let freed = before.and_then(|it| it.same.as_ref());
            for value in freed.into_iter().chain(same.value()) {
                self.source.unflushed.note_unique(entry.seq, &entry.entity.lifecycle, value);
            }
        }
        let is_new = before.is_none();
        if !is_enabled(Failpoint::MigrationUnseen) || !matches!(entry.event, Event::Migrated { .. }) {
            apply(&mut self.view, entry);
            self.view.measure(&entry.entity);
        } else {
            self.view.seq = entry.seq;
        }
        if is_new {
            self.mark_new(&entry.entity);
        }
    }

    /// The groups of a new entity are empty, unless others referred to it before it existed.
    fn mark_new(&mut self, key: &EntityKey) {
        let Some(life) = self.law.newest(&key.lifecycle).filter(|_| self.view.get(key).is_some()) else {
            return;
        };
        let DeciderSource { reader, unflushed, .. } = &mut self.source;
        let group = |name: &Name| GroupKey { of: key.clone(), name: name.clone() };
        let awaited = life.inverses.iter().any(|it| unflushed.moves(&group(&it.name)));
        // If the store cannot be read now, they are loaded when a question needs them.
        let empty = life.inverses.is_empty() || reader.groups(key).is_ok_and(|it| it.value.is_empty());
        if empty && !awaited {
            self.view.mark_whole(key);
        }
    }

    /// Whether too many entries are not flushed: only callers may add more, timers and the sweep wait.
    pub fn is_behind(&self) -> bool {
        self.view.seq.saturating_sub(self.source.flushed) > self.source.limits.behind
    }

    /// Projections are written up to an entry: evicts data above the limits.
    pub fn flushed(&mut self, upto: u64) {
        let DeciderSource { unflushed, stale, flushed, .. } = &mut self.source;
        unflushed.flushed(upto, &mut self.view);
        for (_, group) in stale.extract_if(.., |(seq, _)| *seq <= upto) {
            self.view.forget_group(&group);
        }
        let has_advanced = upto > *flushed;
        *flushed = upto.max(*flushed);
        self.evict_slice();
        if has_advanced || self.has_grown() {
            self.evict_others();
            self.source.left = self.sizes();
        }
    }

    pub fn sizes(&self) -> CacheSizes {
        let (values, keys) = self.view.cached_value_counts();
        let (entities, groups) = (self.view.len(), self.view.groups());
        let (places, bytes) = (self.view.rankings.places(), self.view.bytes());
        CacheSizes { entities, groups, values, keys, places, bytes }
    }

    /// Whether reads and refused commands loaded more values, keys and rankings than may stay, though nothing was flushed. Items that
    /// could not be evicted the last time are not tried again until there are more of them.
    fn has_grown(&self) -> bool {
        let Limits { entities, unique_values, keys, .. } = self.source.limits;
        let (now, left) = (self.sizes(), self.source.left);
        let is_more = |now: usize, left: usize, most: usize| {
            now > most && (left <= most || now >= left + (most / 8).max(1))
        };
        is_more(now.values, left.values, unique_values)
            || is_more(now.keys, left.keys, keys)
            || is_more(now.places, left.places, entities)
    }

    /// Evicts entities and groups above the limits: some in every step, because callers wait meanwhile.
    fn evict_slice(&mut self) {
        if is_enabled(Failpoint::CacheUnbounded) {
            return;
        }
        let cached = self.view.len() + self.view.groups();
        let visits = VISITS + 4 * cached.saturating_sub(self.source.before);
        let DeciderSource { limits, flushed, stuck, .. } = &mut self.source;
        let clean = if is_enabled(Failpoint::UnwrittenEvicted) { u64::MAX } else { *flushed };
        if *stuck != Some(clean) {
            let most = CacheLimit { items: limits.entities, bytes: limits.bytes / 4 * 3 };
            let progress = self.view.evict(most, clean, visits);
            *stuck = (progress == EvictionProgress::Stuck).then_some(clean);
        }
        let most = CacheLimit { items: limits.groups, bytes: limits.bytes / 4 };
        self.view.evict_groups(most, visits);
        self.source.before = self.view.len() + self.view.groups();
    }

    /// Evicts rankings, unique values and keys above the limits.
    fn evict_others(&mut self) {
        if is_enabled(Failpoint::CacheUnbounded) {
            return;
        }
        let DeciderSource { limits, unflushed, flushed, .. } = &self.source;
        self.view.evict_rankings(limits.entities);
        let unflushed = unflushed.unique_values();
        let forgotten = is_enabled(Failpoint::ValueForgotten);
        let stays = |lifecycle: &Name, value: &Name| !forgotten && unflushed.contains(&(lifecycle, value));
        self.view.evict_unique_values(limits.unique_values, stays);
        self.view.evict_keys(limits.keys, *flushed);
    }
}
