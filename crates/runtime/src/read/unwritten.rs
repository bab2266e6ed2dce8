//! What is committed and not in the projections, as it was when somebody began to read.

use std::sync::Arc;

use trackside_engine::event::{Entry, KeyRecord};
use trackside_engine::key::GroupKey;
use trackside_engine::ranking::{Ranking, RankingKey};
use trackside_engine::view::Group;
use trackside_lifecycle::name::Name;

use crate::pipeline::{Before, Committed};
use crate::shared::Shared;

/// Commits in order. Taken before the projections are read: together they hold everything.
pub(super) struct Unwritten(Vec<Arc<Committed>>);

impl Unwritten {
    pub fn of(shared: &Shared) -> Self {
        Self(shared.unwritten())
    }

    /// Entries that projections written up to `position` do not know, each with what its entity was before.
    pub fn after(&self, position: u64) -> impl Iterator<Item = (&Entry, &Before)> {
        let late = self.0.iter().filter(move |it| it.upto > position);
        let all = late.flat_map(|it| it.entries.iter().flat_map(|it| it.iter()).zip(&it.befores));
        all.filter(move |(entry, _)| entry.seq > position)
    }

    /// Moves a group that was read at `position` to where these end.
    pub fn catch_up_group(&self, key: &GroupKey, group: &mut Group, position: u64) {
        for (entry, _) in self.after(position) {
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
        for (entry, _) in self.after(position) {
            for change in entry.reranked.iter().filter(|it| it.ranking() == *key) {
                ranking.change(change);
            }
        }
    }

    /// What came of a command under its idempotency key.
    pub fn key(&self, actor: &Name, key: &Name) -> Option<(u64, KeyRecord)> {
        let known = |it: &KeyRecord| it.by == *actor && it.key == *key;
        let found = self.after(0).filter_map(|(entry, _)| Some((entry.seq, entry.key.as_ref()?)));
        found.filter(|(_, it)| known(it)).last().map(|(seq, it)| (seq, it.clone()))
    }
}
