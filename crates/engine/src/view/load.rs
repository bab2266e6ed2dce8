//! Loading a partial view, and evicting from it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::cached::Cached;
use super::copy_on_write::CopyOnWrite;
use super::{Found, Group, Ledger as _, MOST_REACHED, Need, View};
use crate::entity::Entity;
use crate::event::{Entry, KeyRecord};
use crate::index::Index;
use crate::key::{EntityKey, GroupKey};
use crate::ranking::{RankingIndex, RankingKey};

impl View {
    /// An empty partial view after the entry `seq`.
    pub fn partial(seq: u64) -> Self {
        Self { partial: true, seq, ..Self::default() }
    }

    pub fn load(&mut self, entity: Arc<Entity>) {
        self.keep_entity(Cached::new(entity));
    }

    /// Puts an entity in the place of an earlier version of it.
    pub(super) fn keep_entity(&mut self, mut cached: Cached<Arc<Entity>>) {
        let key = cached.key.clone();
        if !self.partial {
            self.entities.insert(key, cached);
            return;
        }
        let bytes = cached.value.bytes();
        self.entity_bytes.replace(&mut cached.bytes, bytes);
        match self.entities.insert(key.clone(), cached) {
            Some(earlier) => self.entity_bytes.remove(earlier.bytes),
            None => self.entity_ring.push(key),
        }
    }

    fn keep_group(&mut self, key: GroupKey, mut cached: Cached<CopyOnWrite<Group>>) {
        if !self.partial {
            self.groups.insert(key, cached);
            return;
        }
        let bytes = cached.value.bytes();
        self.group_bytes.replace(&mut cached.bytes, bytes);
        match self.groups.insert(key.clone(), cached) {
            Some(earlier) => self.group_bytes.remove(earlier.bytes),
            None => self.group_ring.push(key),
        }
    }

    /// Measures an entity again, after it was changed in place.
    pub fn measure(&mut self, key: &EntityKey) {
        if let Some(cached) = self.entities.get_mut(key) {
            let bytes = cached.value.bytes();
            self.entity_bytes.replace(&mut cached.bytes, bytes);
        }
    }

    /// Loads an entity with all of its groups that are not empty.
    pub fn load_whole(&mut self, entity: Arc<Entity>, groups: impl IntoIterator<Item = (Name, Group)>) {
        for (name, group) in groups {
            self.keep_group(GroupKey { of: entity.key.clone(), name }, Cached::new(group.into()));
        }
        self.keep_entity(Cached { whole: true, ..Cached::new(entity) });
    }

    /// Notes that groups of an entity which are not here are empty.
    pub fn mark_whole(&mut self, key: &EntityKey) {
        if let Some(held) = self.entities.get_mut(key) {
            held.whole = true;
        }
    }

    /// Records that an entity does not exist.
    pub fn mark_absent(&mut self, key: EntityKey) {
        self.absent.insert(key, ());
    }

    pub fn load_counts(&mut self, key: GroupKey, counts: BTreeMap<Name, u64>, moved_at: Option<Timestamp>) {
        let group = Group { counts, moved_at, listed: false, members: BTreeMap::new() };
        self.keep_group(key, Cached::new(group.into()));
    }

    /// Loads the members of a group, by state.
    pub fn load_members(
        &mut self,
        key: GroupKey,
        members: BTreeMap<Name, BTreeSet<EntityKey>>,
        moved_at: Option<Timestamp>,
    ) {
        let counts = members.iter().map(|(state, there)| (state.clone(), there.len() as u64)).collect();
        let group = Group { counts, moved_at, listed: true, members };
        self.keep_group(key, Cached { asked: true, ..Cached::new(group.into()) });
    }

    /// Drops all groups and rankings of a partial view: some may have been loaded from damaged rows.
    pub fn forget_groups_and_rankings(&mut self) {
        let groups: Vec<GroupKey> = self.groups.sorted().into_iter().map(|(key, _)| key.clone()).collect();
        groups.iter().for_each(|it| self.forget_group(it));
        self.rankings.forget();
    }

    /// Drops a group that must be loaded again.
    pub fn forget_group(&mut self, key: &GroupKey) {
        if let Some(gone) = self.groups.remove(key) {
            self.group_bytes.remove(gone.bytes);
        }
        if let Some(held) = self.entities.get_mut(&key.of) {
            held.whole = false;
        }
    }

    pub fn load_ranking(&mut self, key: RankingKey, ranking: RankingIndex) {
        self.rankings.load(key, ranking);
    }

    pub fn load_unique(&mut self, lifecycle: Name, value: Name, holder: Option<EntityKey>) {
        self.unique_values.insert((lifecycle, value), holder);
    }

    pub fn load_key(&mut self, actor: Name, key: Name, known: Option<(u64, KeyRecord)>) {
        match known {
            Some(known) => {
                self.keys.insert((actor, key), known);
            }
            None => {
                self.unused.insert((actor, key), ());
            }
        }
    }

    /// Visits an entity and all entities of its lifecycle that it reaches through a field of ids, each once, by breadth.
    /// Stops after one more than [`MOST_REACHED`]. `load` loads those that are not in use here.
    pub fn reach<E>(
        &mut self,
        from: EntityKey,
        by: &Name,
        mut load: impl FnMut(&mut Self, EntityKey) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut seen: Index<EntityKey, ()> = Index::default();
        let mut queue = std::collections::VecDeque::from([from]);
        for _ in 0..=MOST_REACHED {
            let Some(key) = queue.pop_front() else { break };
            if !self.touch(&Need::Entity(key.clone())) {
                load(self, key.clone())?;
            }
            for id in self.get(&key).map(|it| it.ids(by)).unwrap_or_default() {
                let next = EntityKey { lifecycle: key.lifecycle.clone(), id };
                if seen.insert(next.clone(), ()).is_none() {
                    queue.push_back(next);
                }
            }
        }
        Ok(())
    }

    /// Copies the data of a need from a view that holds it.
    pub fn load_from(&mut self, whole: &View, need: Need) {
        match need {
            Need::Entity(key) => match whole.image(&key) {
                Some(entity) => self.load(entity),
                None => self.mark_absent(key),
            },
            Need::Reachable { from, by } => {
                let copied: Result<(), Infallible> = self.reach(from, &by, |view, key| {
                    view.load_from(whole, Need::Entity(key));
                    Ok(())
                });
                copied.unwrap_or_else(|never| match never {});
            }
            Need::Counts(key) => {
                let known = whole.groups.get(&key).map(|it| &***it).cloned().unwrap_or_default();
                self.load_counts(key, known.counts, known.moved_at);
            }
            Need::Members(key) => {
                let known = whole.groups.get(&key).map(|it| &***it).cloned().unwrap_or_default();
                self.load_members(key, known.members, known.moved_at);
            }
            Need::Ranking(key) => {
                let known = whole.rankings.get(&key).cloned().unwrap_or_default();
                self.load_ranking(key, known);
            }
            Need::UniqueValue { lifecycle, value } => {
                let holder = whole.unique_values.get(&(lifecycle.clone(), value.clone())).cloned().flatten();
                self.load_unique(lifecycle, value, holder);
            }
            Need::Key { actor, key } => {
                let known = whole.keys.get(&(actor.clone(), key.clone())).cloned();
                self.load_key(actor, key, known);
            }
        }
    }

    /// Applies an entry to the data of a need that was loaded as it was before the entry. Other data needs no such
    /// step: an entry is applied to an entity, a unique value or a key even if it was not loaded.
    pub fn catch_up(&mut self, need: &Need, entry: &Entry) {
        match need {
            Need::Counts(key) | Need::Members(key) => {
                let shifts = entry.event.changes().into_iter().flat_map(|it| &it.shifts);
                shifts.filter(|it| it.group == *key).for_each(|it| self.shift(&entry.entity, it, entry.at));
            }
            Need::Ranking(key) => {
                let changes = entry.reranked.iter().filter(|it| it.ranking() == *key);
                changes.for_each(|it| self.rankings.change(it, self.partial));
            }
            Need::Entity(_) | Need::Reachable { .. } | Need::UniqueValue { .. } | Need::Key { .. } => {}
        }
    }

    /// Marks loaded data as used; false if it is not loaded.
    pub fn touch(&mut self, need: &Need) -> bool {
        match need {
            Need::Entity(key) => match self.entities.get_mut(key) {
                Some(cached) => wake(cached),
                None => self.absent.get(key).is_some(),
            },
            Need::Reachable { from, by } => self.reach(from.clone(), by, |_, _| Err(())).is_ok(),
            Need::Counts(key) => self.groups.get_mut(key).is_some_and(wake),
            Need::Members(key) => self.groups.get_mut(key).filter(|it| it.lists_all()).is_some_and(wake),
            Need::Ranking(key) => self.rankings.cached_mut(key).is_some_and(wake),
            Need::UniqueValue { lifecycle, value } => {
                self.unique_values.get(&(lifecycle.clone(), value.clone())).is_some()
            }
            Need::Key { actor, key } => self.key(actor, key) != Found::Unknown,
        }
    }

    /// Forgets which entities and keys do not exist, so that the next question looks them up again.
    pub fn forget_absent(&mut self) {
        self.absent = Default::default();
        self.unused = Default::default();
    }

    /// Drops an idempotency key that can be loaded again.
    pub fn forget_key(&mut self, actor: &Name, key: &Name) {
        self.keys.remove(&(actor.clone(), key.clone()));
    }

    /// Evicts unique values if there are more than `most`: their holders can be loaded again. Values that are not
    /// flushed must stay: `stays` returns true for those.
    pub fn evict_unique_values(&mut self, most: usize, stays: impl Fn(&Name, &Name) -> bool) {
        if self.unique_values.len() > most {
            self.unique_values.retain(|(lifecycle, value), _| stays(lifecycle, value));
        }
    }

    /// Evicts idempotency keys of entries up to `written` if there are more than `most`: they can be loaded again.
    pub fn evict_keys(&mut self, most: usize, written: u64) {
        if self.keys.len() > most {
            self.keys.retain(|_, (seq, _)| *seq > written);
        }
    }

    /// The number of unique values and of idempotency keys in memory.
    pub fn cached_value_counts(&self) -> (usize, usize) {
        (self.unique_values.len(), self.keys.len())
    }

    /// Evicts entities above the limits, of those that have not changed since the entry `written`: later ones are not
    /// flushed and must stay. Each is marked as idle first and evicted if it is still idle when its turn comes again.
    /// Visits at most `visits` entities, so that no caller waits long. Groups of an evicted entity stay up to date and
    /// are evicted for themselves.
    pub fn evict(&mut self, most: CacheLimit, written: u64, mut visits: usize) -> EvictionProgress {
        let mut progress = EvictionProgress::Done;
        while most.is_exceeded(self.entities.len(), self.entity_bytes.0) {
            if visits == 0 {
                return progress;
            }
            visits -= 1;
            let Some(key) = self.entity_ring.next() else { return progress };
            let Some(cached) = self.entities.get_mut(&key) else { continue };
            if cached.seq > written {
                progress = progress.max(EvictionProgress::Stuck);
                self.entity_ring.push(key);
                continue;
            }
            progress = EvictionProgress::UnderWay;
            if cached.retire() {
                self.entity_ring.push(key);
            } else if let Some(gone) = self.entities.remove(&key) {
                self.entity_bytes.remove(gone.bytes);
            }
        }
        EvictionProgress::Done
    }

    /// Evicts groups above the limits in the same way. A group that is loaded again is brought up to date, so unflushed
    /// ones may go, too.
    pub fn evict_groups(&mut self, most: CacheLimit, mut visits: usize) {
        while most.is_exceeded(self.groups.len(), self.group_bytes.0) {
            if visits == 0 {
                return;
            }
            visits -= 1;
            let Some(key) = self.group_ring.next() else { return };
            let Some(cached) = self.groups.get_mut(&key) else { continue };
            if cached.retire() {
                self.group_ring.push(key);
                continue;
            }
            // From now on, an absent group of this owner counts as not loaded.
            if let Some(owner) = self.entities.get_mut(&key.of) {
                owner.whole = false;
            }
            if let Some(gone) = self.groups.remove(&key) {
                self.group_bytes.remove(gone.bytes);
            }
        }
    }

    /// Evicts rankings not used since the last eviction if they have more than `most` places together: each can be
    /// loaded again and brought up to date.
    pub fn evict_rankings(&mut self, most: usize) {
        if self.partial && self.rankings.places() > most {
            self.rankings.evict_idle();
        }
    }

    /// The number of groups in memory.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }
}

/// Limits of a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimit {
    pub items: usize,
    pub bytes: usize,
}

impl CacheLimit {
    fn is_exceeded(self, items: usize, bytes: usize) -> bool {
        items > self.items || bytes > self.bytes
    }
}

/// How far an eviction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvictionProgress {
    /// The cache is within its limits, or nothing was visited.
    Done,
    /// Every visited entity must stay until it is flushed.
    Stuck,
    /// More is left for the next time.
    UnderWay,
}

fn wake<T>(cached: &mut Cached<T>) -> bool {
    cached.idle = false;
    true
}
