//! The part of a project that is in memory: a partial view, filled from the store when a question needs more.
//!
//! The decider keeps one for as long as it runs and evicts from it; every read makes a small one of its
//! own. Both load the same way: a reader returns the projections, and unflushed entries are applied on top.

mod commits;
mod decider_memory;
mod unflushed;

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, KeyRecord};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::view::{Group, Need, Needs};
use trackside_engine::{Law, View};
use trackside_lifecycle::name::Name;
use trackside_store::store::Counts;
use trackside_store::{Reader, StoreError};

pub(crate) use commits::UnflushedCommits;
pub use decider_memory::CacheSizes;
pub(crate) use decider_memory::{DeciderMemory, DeciderSource, Limits};
pub(crate) use unflushed::UnflushedEntries;

use crate::failpoints::{Failpoint, is_enabled};

/// Rounds of loading before a question is refused.
pub(crate) const ROUNDS: u32 = 512;

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum LoadError {
    Store(StoreError),
    /// After [`ROUNDS`] rounds of loading it still needed more.
    TooManyRounds,
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A partial view, the law it is read by, and where it is loaded from.
#[derive(Debug)]
pub(crate) struct Memory<S> {
    pub law: Arc<Law>,
    pub view: View,
    pub source: S,
}

/// The source from which a memory loads.
pub(crate) trait LoadSource {
    type Overlay: Overlay;
    /// Whether an entity is loaded together with the counts of its groups, so that no question must load
    /// each of them.
    const WITH_GROUPS: bool;

    /// Lends a reader of the projections. The overlay holds at least every entry that the reader does not return.
    fn read<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Reader, &Self::Overlay) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}

/// Entries that the projections do not hold yet. The methods about single things return none where a memory never
/// evicts them before they are flushed.
pub(crate) trait Overlay {
    fn entries_after(&self, position: u64) -> impl Iterator<Item = &Entry>;

    fn entity(&self, _: &EntityKey) -> Option<Arc<Entity>> {
        None
    }

    /// The open entity that took a unique value.
    fn holder(&self, _lifecycle: &Name, _value: &Name) -> Option<EntityKey> {
        None
    }

    /// The record of an idempotency key, and the number of its first entry.
    fn key(&self, _actor: &Name, _key: &Name) -> Option<(u64, KeyRecord)> {
        None
    }

    /// Whether an entry may move a member of this group.
    fn moves(&self, _: &GroupKey) -> bool {
        true
    }

    /// Brings a group that was read at `position` up to date.
    fn catch_up_group(&self, key: &GroupKey, group: &mut Group, position: u64) {
        if !self.moves(key) || is_enabled(Failpoint::GroupAsWritten) {
            return;
        }
        let listed = group.listed;
        for entry in self.entries_after(position) {
            let shifts = entry.event.changes().into_iter().flat_map(|it| &it.shifts);
            for shift in shifts.filter(|it| it.group == *key) {
                group.shift(&entry.entity, shift, entry.at, listed);
            }
        }
    }

    /// Brings a ranking that was read at `position` up to date.
    fn catch_up_ranking(&self, key: &RankingKey, ranking: &mut RankingIndex, position: u64) {
        if is_enabled(Failpoint::RankingAsWritten) {
            return;
        }
        for entry in self.entries_after(position) {
            entry.reranked.iter().filter(|it| it.ranking() == *key).for_each(|it| ranking.change(it));
        }
    }
}

impl<S: LoadSource> Memory<S> {
    /// Evaluates a question, loads missing data, and repeats until there is an answer.
    pub fn answer<T>(
        &mut self,
        mut question: impl FnMut(&Law, &View) -> Result<T, Needs>,
    ) -> Result<T, LoadError> {
        ask(self, |it| question(&it.law, &it.view), |it, needs| it.load_all(needs))
    }

    /// Answers in a view beside this memory, which loads through it. The view may have entries that the memory does not
    /// have: `loaded` applies them to what was loaded.
    pub fn answer_in<T>(
        &mut self,
        view: &mut View,
        mut question: impl FnMut(&Law, &View) -> Result<T, Needs>,
        loaded: impl Fn(&mut View, &Need),
    ) -> Result<T, LoadError> {
        ask(
            &mut (self, view),
            |(memory, view)| question(&memory.law, view),
            |(memory, view), needs| {
                memory.load_all(needs.iter().cloned())?;
                for need in needs {
                    view.load_from(&memory.view, need.clone());
                    loaded(view, &need);
                }
                Ok(())
            },
        )
    }

    pub fn load(&mut self, need: Need) -> Result<(), StoreError> {
        self.load_all([need])
    }

    /// Loads missing data and marks everything named as used.
    fn load_all(&mut self, needs: impl IntoIterator<Item = Need>) -> Result<(), StoreError> {
        let Self { law, view, source } = self;
        let mut needs = needs.into_iter().filter(|it| !view.touch(it)).collect::<Vec<_>>().into_iter();
        if needs.len() == 0 {
            return Ok(());
        }
        source.read(|reader, overlay| {
            needs.try_for_each(|it| load(law, view, reader, overlay, S::WITH_GROUPS, it))
        })
    }
}

/// The loop behind every question.
fn ask<M, T>(
    memory: &mut M,
    mut question: impl FnMut(&M) -> Result<T, Needs>,
    mut load: impl FnMut(&mut M, Needs) -> Result<(), StoreError>,
) -> Result<T, LoadError> {
    for _ in 0..ROUNDS {
        match question(memory) {
            Ok(answer) => return Ok(answer),
            Err(needs) => load(memory, needs)?,
        }
    }
    Err(LoadError::TooManyRounds)
}

fn load(
    law: &Law,
    view: &mut View,
    reader: &mut dyn Reader,
    overlay: &impl Overlay,
    with_groups: bool,
    need: Need,
) -> Result<(), StoreError> {
    match need {
        Need::Entity(key) => {
            let found = match overlay.entity(&key) {
                Some(entity) => Some(entity),
                None => reader.entity(&key)?,
            };
            match found {
                Some(mut entity) => {
                    if is_enabled(Failpoint::FenceForgotten) {
                        Arc::make_mut(&mut entity).leases.iter_mut().for_each(|(_, it)| it.fence = 0);
                    }
                    match with_groups {
                        true => {
                            let groups = groups(law, reader, overlay, &entity)?;
                            view.load_whole(entity, groups);
                        }
                        false => view.load(entity),
                    }
                }
                None => view.mark_absent(key),
            }
        }
        Need::Reachable { from, by } => {
            view.reach(from, &by, |view, key| load(law, view, reader, overlay, false, Need::Entity(key)))?
        }
        Need::Counts(key) => {
            let found = reader.counts(&key)?;
            let mut group = group_with_counts(found.value);
            overlay.catch_up_group(&key, &mut group, found.position);
            view.load_counts(key, group.counts, group.moved_at);
        }
        Need::Members(key) => {
            let found = reader.members(&key)?;
            let (members, moved_at) = (found.value.by_state, found.value.moved_at);
            let mut group = Group { listed: true, members, moved_at, ..Group::default() };
            overlay.catch_up_group(&key, &mut group, found.position);
            view.load_members(key, group.members, group.moved_at);
        }
        Need::Ranking(key) => {
            let found = reader.ranking(&key)?;
            let mut ranking = found.value;
            overlay.catch_up_ranking(&key, &mut ranking, found.position);
            view.load_ranking(key, ranking);
        }
        Need::UniqueValue { lifecycle, value } => {
            let holder = match overlay.holder(&lifecycle, &value) {
                Some(holder) => Some(holder),
                // An entity that changed since does not have the value any more.
                None => reader.unique_holder(&lifecycle, &value)?.filter(|it| overlay.entity(it).is_none()),
            };
            view.load_unique(lifecycle, value, holder);
        }
        Need::Key { actor, key } => {
            let known = match overlay.key(&actor, &key) {
                Some(known) => Some(known),
                None => reader.key(&actor, &key)?,
            };
            view.load_key(actor, key, known);
        }
    }
    Ok(())
}

/// Every group of an entity that is not empty.
fn groups(
    law: &Law,
    reader: &mut dyn Reader,
    overlay: &impl Overlay,
    entity: &Entity,
) -> Result<Vec<(Name, Group)>, StoreError> {
    // Others may refer to it by a later version than its own.
    let own = law.definition(&entity.key.lifecycle, entity.definition);
    let newest = law.newest(&entity.key.lifecycle);
    let names: BTreeSet<&Name> =
        own.into_iter().chain(newest).flat_map(|it| &it.inverses).map(|it| &it.name).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let found = reader.groups(&entity.key)?;
    let mut groups: Vec<(Name, Group)> =
        found.value.into_iter().map(|(name, counts)| (name, group_with_counts(counts))).collect();
    for name in names {
        let key = GroupKey { of: entity.key.clone(), name: name.clone() };
        if !overlay.moves(&key) {
            continue;
        }
        if !groups.iter().any(|(it, _)| it == name) {
            groups.push((name.clone(), Group::default()));
        }
        if let Some((_, group)) = groups.iter_mut().find(|(it, _)| it == name) {
            overlay.catch_up_group(&key, group, found.position);
        }
    }
    Ok(groups)
}

fn group_with_counts(Counts { by_state, moved_at }: Counts) -> Group {
    Group { counts: by_state, moved_at, ..Group::default() }
}
