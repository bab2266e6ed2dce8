//! A look at things without the decider: a view of one's own, filled with what the question needs.

use std::sync::Arc;

use trackside_engine::view::{Group, Need};
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::Reader;

use super::unwritten::Unwritten;
use super::{ReadError, Reads};
use crate::answer::Failure;

/// How often a question may ask for more.
const ROUNDS: usize = 64;

/// What was loaded for one answer. Everything in it is on disk.
pub(super) struct Glance<'r> {
    reads: &'r Reads,
    law: Arc<Law>,
    view: View,
    /// Taken when something is read for the first time: many questions read nothing.
    unwritten: Option<Unwritten>,
    now: Timestamp,
}

impl<'r> Glance<'r> {
    pub fn new(reads: &'r Reads) -> Self {
        let mut view = View::partial(reads.seq());
        view.project = (*reads.shared.project()).clone();
        Self { reads, law: reads.shared.law(), view, unwritten: None, now: reads.now() }
    }

    pub fn law(&self) -> &Arc<Law> {
        &self.law
    }

    /// Asks until nothing that the question looked at was missing.
    pub fn ask<T>(&mut self, mut question: impl FnMut(&Law, &View, Timestamp) -> T) -> Result<T, ReadError> {
        for _ in 0..ROUNDS {
            self.view.missed();
            let found = question(&self.law, &self.view, self.now);
            let needs = self.view.missed();
            if needs.is_empty() {
                return Ok(found);
            }
            let Self { reads, view, unwritten, .. } = self;
            // Before the projections are: together they hold everything.
            let unwritten = &*unwritten.get_or_insert_with(|| Unwritten::of(&reads.shared));
            reads.store(|reader| {
                needs.into_iter().try_for_each(|it| load(reads, view, unwritten, reader, it))
            })?;
        }
        Err(Failure::Overloaded("the question needs too much").into())
    }
}

fn load(
    reads: &Reads,
    view: &mut View,
    unwritten: &Unwritten,
    reader: &mut dyn Reader,
    need: Need,
) -> Result<(), trackside_store::StoreError> {
    match need {
        Need::Entity(key) => {
            let found = match reads.shared.fresh(&key) {
                Some(entity) => Some(entity),
                None => reader.entity(&key)?,
            };
            match found {
                Some(entity) => view.load(entity),
                None => view.mark_absent(key),
            }
        }
        Need::Counts(key) => {
            let found = reader.counts(&key)?;
            let (counts, moved_at) = (found.value.by_state, found.value.moved_at);
            let mut group = Group { counts, moved_at, ..Group::default() };
            unwritten.catch_up_group(&key, &mut group, found.position);
            view.load_counts(key, group.counts, group.moved_at);
        }
        Need::Members(key) => {
            let found = reader.members(&key)?;
            let (members, moved_at) = (found.value.by_state, found.value.moved_at);
            let counts = members.iter().map(|(state, all)| (state.clone(), all.len() as u64)).collect();
            let mut group = Group { counts, listed: true, members, moved_at };
            unwritten.catch_up_group(&key, &mut group, found.position);
            view.load_members(key, group.members, group.moved_at);
        }
        Need::Ranking(key) => {
            let found = reader.ranking(&key)?;
            let mut ranking = found.value;
            unwritten.catch_up_ranking(&key, &mut ranking, found.position);
            view.load_ranking(key, ranking);
        }
        Need::Same { lifecycle, value } => {
            let of_it = reads
                .shared
                .all_fresh(|it| it.key.lifecycle == lifecycle && it.same.as_ref() == Some(&value));
            let holder = match of_it.first() {
                Some(entity) => Some(entity.key.clone()),
                // One that moved on does not hold it any more, whatever the projections say.
                None => reader.same(&lifecycle, &value)?.filter(|it| reads.shared.fresh(it).is_none()),
            };
            view.load_same(lifecycle, value, holder);
        }
        Need::Key { actor, key } => {
            let known = match unwritten.key(&actor, &key) {
                Some(known) => Some(known),
                None => reader.key(&actor, &key)?,
            };
            view.load_key(actor, key, known);
        }
    }
    Ok(())
}
