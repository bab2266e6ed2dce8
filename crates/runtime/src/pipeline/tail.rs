//! Entries that are decided and not yet in the projections.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use foldhash::fast::FixedState;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{Ranking, RankingKey, Reranked};
use trackside_engine::view::{Group, View};
use trackside_lifecycle::name::Name;

use crate::planted::{Bug, is_planted};

/// Decisions that are let go of in one turn, at least.
const AT_ONCE: usize = 256;

/// What a reader of the projections does not see yet.
#[derive(Debug, Default)]
pub(super) struct Tail {
    entries: VecDeque<Arc<Vec<Entry>>>,
    /// How often each group is moved by them.
    groups: HashMap<GroupKey, u32, FixedState>,
    /// Values that no two may share and that an entry took or gave free, by its number.
    sames: VecDeque<(u64, Name, Name)>,
}

impl Tail {
    pub fn push(&mut self, entries: Arc<Vec<Entry>>) {
        for group in moved(&entries) {
            match self.groups.get_mut(group) {
                Some(count) => *count += 1,
                None => {
                    self.groups.insert(group.clone(), 1);
                }
            }
        }
        self.entries.push_back(entries);
    }

    /// Lets go of what is written up to an entry, and of what the view need not remember any more: some of it each
    /// time, for callers wait meanwhile.
    pub fn written(&mut self, upto: u64, view: &mut View) {
        // The more there is the more at once, or it would grow under load.
        for _ in 0..AT_ONCE + self.entries.len() / 8 {
            let Some(first) = self.entries.front().filter(|it| it.last().is_none_or(|it| it.seq <= upto))
            else {
                break;
            };
            for group in moved(first) {
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
        while self.sames.front().is_some_and(|(seq, ..)| *seq <= upto) {
            self.sames.pop_front();
        }
    }

    /// An entry takes a value that no two may share, or gives it free.
    pub fn same(&mut self, seq: u64, lifecycle: &Name, value: &Name) {
        self.sames.push_back((seq, lifecycle.clone(), value.clone()));
    }

    /// Those of which the projections do not know it yet.
    pub fn sames(&self) -> HashSet<(&Name, &Name), FixedState> {
        self.sames.iter().map(|(_, lifecycle, value)| (lifecycle, value)).collect()
    }

    pub fn moves(&self, group: &GroupKey) -> bool {
        self.groups.contains_key(group)
    }

    /// Moves a group that was read at `position` to where the view is.
    pub fn catch_up_group(&self, key: &GroupKey, group: &mut Group, position: u64) {
        if !self.moves(key) || is_planted(Bug::GroupAsWritten) {
            return;
        }
        for entry in self.after(position) {
            for shift in entry.event.changes().into_iter().flat_map(|it| &it.shifts) {
                if shift.group == *key {
                    let listed = group.listed;
                    group.shift(&entry.entity, shift, entry.at, listed);
                }
            }
        }
    }

    /// The same for a ranking.
    pub fn catch_up_ranking(&self, key: &RankingKey, ranking: &mut Ranking, position: u64) {
        if is_planted(Bug::RankingAsWritten) {
            return;
        }
        for entry in self.after(position) {
            for change in entry.reranked.iter().filter(|it| it.ranking() == *key) {
                ranking.change(change);
            }
        }
    }

    /// Whether an entity moves in a ranking after the entry `position`.
    pub fn places(&self, key: &RankingKey, id: &Name, position: u64) -> bool {
        let is_it = |it: &Reranked| {
            matches!(it, Reranked::Placed { entity, .. } if entity.id == *id) && it.ranking() == *key
        };
        self.after(position).any(|it| it.reranked.iter().any(is_it))
    }

    /// Whether anything of a ranking does.
    pub fn reranks(&self, key: &RankingKey, position: u64) -> bool {
        self.after(position).any(|it| it.reranked.iter().any(|it| it.ranking() == *key))
    }

    /// The entities they touch.
    pub fn entities(&self) -> impl Iterator<Item = &EntityKey> {
        self.entries.iter().flat_map(|it| it.iter()).map(|it| &it.entity)
    }

    fn after(&self, position: u64) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flat_map(|it| it.iter()).filter(move |it| it.seq > position)
    }
}

fn moved(entries: &[Entry]) -> impl Iterator<Item = &GroupKey> {
    let changes = entries.iter().filter_map(|it: &Entry| Event::changes(&it.event));
    changes.flat_map(|it| &it.shifts).map(|it| &it.group)
}
