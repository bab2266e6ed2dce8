//! Commits that are not in the projections yet, as reads see them.

use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, KeyRecord};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::Overlay;
use crate::pipeline::{Committed, PriorState};
use crate::shared::Shared;

/// Unflushed commits in order, as of one moment. Take it before reading projections: together they are
/// complete.
#[derive(Debug)]
pub(crate) struct UnflushedCommits {
    shared: Arc<Shared>,
    commits: Vec<Arc<Committed>>,
}

impl UnflushedCommits {
    pub fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: shared.clone(), commits: shared.unwritten() }
    }

    /// Entries that projections at `position` do not hold, each with the earlier state of its entity.
    pub fn after(&self, position: u64) -> impl Iterator<Item = (&Entry, &PriorState)> {
        let late = self.commits.iter().filter(move |it| it.upto > position);
        let all = late.map(|it| &it.content);
        let all = all.flat_map(|it| it.entries.iter().flat_map(|it| it.iter()).zip(&it.prior_states));
        all.filter(move |(entry, _)| entry.seq > position)
    }
}

impl Overlay for UnflushedCommits {
    fn entries_after(&self, position: u64) -> impl Iterator<Item = &Entry> {
        self.after(position).map(|(entry, _)| entry)
    }

    fn entity(&self, key: &EntityKey) -> Option<Arc<Entity>> {
        self.shared.fresh(key)
    }

    fn holder(&self, lifecycle: &Name, value: &Name) -> Option<EntityKey> {
        let has = |it: &Entity| it.key.lifecycle == *lifecycle && it.same.as_ref() == Some(value);
        self.shared.all_fresh(has).first().map(|it| it.key.clone())
    }

    fn key(&self, actor: &Name, key: &Name) -> Option<(u64, KeyRecord)> {
        let known = |it: &KeyRecord| it.by == *actor && it.key == *key;
        let found = self.entries_after(0).filter_map(|entry| Some((entry.seq, entry.key.as_ref()?)));
        found.filter(|(_, it)| known(it)).last().map(|(seq, it)| (seq, it.clone()))
    }
}
