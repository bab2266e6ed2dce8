//! Entries that are decided and not in the projections yet, as the decider sees them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use foldhash::fast::FixedState;
use trackside_engine::View;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingKey, Reranked};
use trackside_lifecycle::name::Name;

use super::Overlay;

/// Decisions that are dropped in one step, at least.
const AT_ONCE: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct UnflushedEntries {
    entries: VecDeque<Arc<Vec<Entry>>>,
    /// The number of moves within each group by these entries.
    groups: HashMap<GroupKey, u32, FixedState>,
    /// Unique values that an entry took or freed, by its number.
    unique_values: VecDeque<(u64, Name, Name)>,
}

impl UnflushedEntries {
    pub fn push(&mut self, entries: Arc<Vec<Entry>>) {
        for group in moved_groups(&entries) {
            match self.groups.get_mut(group) {
                Some(count) => *count += 1,
                None => {
                    self.groups.insert(group.clone(), 1);
                }
            }
        }
        self.entries.push_back(entries);
    }

    /// Drops entries that are flushed, and their idempotency keys from the view: some of them each time, because
    /// callers wait meanwhile.
    pub fn flushed(&mut self, upto: u64, view: &mut View) {
        // The more there are, the more at once, or they would pile up under load.
        for _ in 0..AT_ONCE + self.entries.len() / 8 {
            let Some(first) = self.entries.front().filter(|it| it.last().is_none_or(|it| it.seq <= upto))
            else {
                break;
            };
            for group in moved_groups(first) {
                if let Some(count) = self.groups.get_mut(group) {
                    *count -= 1;
                    if *count == 0 {
                        self.groups.remove(group);
                    }
                }
            }
            for entry in first.iter() {
                if let Some(record) = &entry.key {
                    view.forget_key(&record.by, &record.key);
                }
            }
            self.entries.pop_front();
        }
        while self.unique_values.front().is_some_and(|(seq, ..)| *seq <= upto) {
            self.unique_values.pop_front();
        }
    }

    /// Notes that an entry takes a unique value or frees it.
    pub fn note_unique(&mut self, seq: u64, lifecycle: &Name, value: &Name) {
        self.unique_values.push_back((seq, lifecycle.clone(), value.clone()));
    }

    /// Unique values that were taken or freed.
    pub fn unique_values(&self) -> HashSet<(&Name, &Name), FixedState> {
        self.unique_values.iter().map(|(_, lifecycle, value)| (lifecycle, value)).collect()
    }

    /// Whether an entity moves in a ranking after the entry `position`.
    pub fn places(&self, key: &RankingKey, id: &Name, position: u64) -> bool {
        let is_it = |it: &Reranked| {
            matches!(it, Reranked::Placed { entity, .. } if entity.id == *id) && it.ranking() == *key
        };
        self.entries_after(position).any(|it| it.reranked.iter().any(is_it))
    }

    /// Whether any entity moves in a ranking after the entry `position`.
    pub fn reranks(&self, key: &RankingKey, position: u64) -> bool {
        self.entries_after(position).any(|it| it.reranked.iter().any(|it| it.ranking() == *key))
    }

    /// The entities they change.
    pub fn entities(&self) -> impl Iterator<Item = &EntityKey> {
        self.entries.iter().flat_map(|it| it.iter()).map(|it| &it.entity)
    }
}

impl Overlay for UnflushedEntries {
    fn entries_after(&self, position: u64) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flat_map(|it| it.iter()).filter(move |it| it.seq > position)
    }

    fn moves(&self, group: &GroupKey) -> bool {
        self.groups.contains_key(group)
    }
}

fn moved_groups(entries: &[Entry]) -> impl Iterator<Item = &GroupKey> {
    let changes = entries.iter().filter_map(|it: &Entry| Event::changes(&it.event));
    changes.flat_map(|it| &it.shifts).map(|it| &it.group)
}
