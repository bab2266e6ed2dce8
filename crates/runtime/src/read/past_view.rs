//! The project as it was right after an entry of the journal, for the facts that the rules derived then.
//!
//! The time is the time of the entry. Other entities are replayed from their own entries. Groups and rankings are
//! stored only as they are now: their later changes are undone, or their earlier ones are repeated from the start,
//! whichever is shorter. Facts that would need more are left out and named.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event, EventKind, Shift};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::present::{EntityFacts, PresentedEntity};
use trackside_engine::query::QueryReader;
use trackside_engine::ranking::{RankingIndex, RankingKey};
use trackside_engine::view::{Group, Need, Needs, Project};
use trackside_engine::{Law, View};
use trackside_lifecycle::model::Read;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{MOST, ReadError, Reads};
use crate::answer::Failure;

/// Most entries that are read at once to find the state of a group.
const SCANNED: u64 = 200_000;
/// Entries read at a time.
const CHUNK: usize = 1_000;
/// Rounds of loading before the rest counts as unknown.
const ROUNDS: usize = 64;

impl Reads {
    /// An entity as this actor would have seen it right after an entry.
    pub fn present_at(&self, key: &EntityKey, seq: u64, actor: &Actor) -> Result<PresentedEntity, ReadError> {
        let entity = self.entity_at(key, seq)?.entity;
        PastView::new(self, seq)?.present(entity, actor)
    }

    /// Why the holder of a lease should have stopped right after an entry, as far as that can be found out.
    pub fn stops_at(
        &self,
        key: &EntityKey,
        slot: &Name,
        actor: &Actor,
        seq: u64,
    ) -> Result<Vec<String>, ReadError> {
        let entity = self.entity_at(key, seq)?.entity;
        let stops = PastView::new(self, seq)?
            .ask(|law, view, now| QueryReader { law, view, actor, shown: true, now }.stops(&entity, slot))?;
        Ok(stops.unwrap_or_default())
    }

    /// The project's settings, zone and people right after an entry; none if its changes are archived and not at hand.
    fn project_at(&self, seq: u64) -> Result<Option<Project>, ReadError> {
        let kinds = [EventKind::ProjectChanged.as_str()];
        let present = self.shared.project();
        if self.noticed_numbers(&kinds, seq, 1)?.0.is_empty() {
            return Ok(Some(Project::clone(&present)));
        }
        let (mut project, mut after) = (Project::default(), 0);
        loop {
            let found = match self.noticed(&kinds, after, MOST) {
                Ok(found) => found,
                Err(error) => return must_be_archived(error).map(|()| None),
            };
            for record in found.records.iter().filter(|it| it.seq <= seq) {
                if let Event::ProjectChanged { change } = record.entry()?.event {
                    change.apply(&mut project);
                }
            }
            match found.next_cursor {
                Some(next) if next < seq => after = next,
                _ => return Ok(Some(project)),
            }
        }
    }
}

/// A partial view of a past moment.
struct PastView<'r> {
    reads: &'r Reads,
    law: Arc<Law>,
    view: View,
    /// The last entry that it shows.
    seq: u64,
    now: Timestamp,
    /// Whether its settings, zone and people are known.
    knows_project: bool,
    /// Data that cannot be found out.
    unknown: BTreeSet<Need>,
}

impl<'r> PastView<'r> {
    fn new(reads: &'r Reads, seq: u64) -> Result<Self, ReadError> {
        let now = reads.entry(seq)?.ok_or(ReadError::UnknownEntry(seq))?.at;
        let mut view = View::partial(seq);
        let project = reads.project_at(seq)?;
        let knows_project = project.is_some();
        view.project = project.unwrap_or_default();
        let law = reads.shared.law();
        Ok(Self { reads, law, view, seq, now, knows_project, unknown: BTreeSet::new() })
    }

    fn present(mut self, entity: Arc<Entity>, actor: &Actor) -> Result<PresentedEntity, ReadError> {
        let presented = self.ask(|law, view, now| PresentedEntity::new(law, view, &entity, actor, now))?;
        Ok(presented.unwrap_or_else(|| {
            let mut facts = EntityFacts::derive_known(&self.law, &self.view, &entity, actor, self.now);
            if !self.knows_project {
                facts.forget();
            }
            PresentedEntity { entity, facts, now: self.now }
        }))
    }

    /// Answers a question about the moment; none if the data it needs cannot be found out.
    fn ask<T>(
        &mut self,
        question: impl Fn(&Law, &View, Timestamp) -> Result<T, Needs>,
    ) -> Result<Option<T>, ReadError> {
        let rounds = if self.knows_project { ROUNDS } else { 0 };
        for _ in 0..rounds {
            match question(&self.law, &self.view, self.now) {
                Ok(answer) => return Ok(Some(answer)),
                Err(needs) => {
                    if !self.load(needs)? {
                        break;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Loads data as it was; false if nothing more can be loaded.
    fn load(&mut self, needs: Needs) -> Result<bool, ReadError> {
        let mut is_new = false;
        let (mut groups, mut rankings) = (BTreeSet::new(), BTreeSet::new());
        for need in needs.into_iter().filter(|it| !self.unknown.contains(it)).collect::<Vec<_>>() {
            is_new = true;
            match need {
                Need::Entity(key) => match self.reads.entity_at(&key, self.seq) {
                    Ok(past) => self.view.load(past.entity),
                    Err(ReadError::UnknownEntity(_)) => self.view.mark_absent(key),
                    Err(error) => {
                        must_be_archived(error)?;
                        self.unknown.insert(Need::Entity(key));
                    }
                },
                Need::Counts(key) | Need::Members(key) => {
                    groups.insert(key);
                }
                Need::Ranking(key) => {
                    rankings.insert(key);
                }
                other @ (Need::Reachable { .. } | Need::UniqueValue { .. } | Need::Key { .. }) => {
                    self.unknown.insert(other);
                }
            }
        }
        for key in groups {
            match self.group(&key)? {
                Some(group) => self.view.load_members(key, group.members, group.moved_at),
                None => self.unknown.extend([Need::Counts(key.clone()), Need::Members(key)]),
            }
        }
        for key in rankings {
            match self.ranking(&key)? {
                Some(ranking) => self.view.load_ranking(key, ranking),
                None => {
                    self.unknown.insert(Need::Ranking(key));
                }
            }
        }
        Ok(is_new)
    }

    /// A group with its members as it was; none if that would cost too much.
    fn group(&self, key: &GroupKey) -> Result<Option<Group>, ReadError> {
        let mut group = Group { listed: true, ..Group::default() };
        let is_it = |it: &&Shift| it.group == *key;
        if self.is_near_the_start() {
            let done = self.scan(0, self.seq, &key.of.id, &mut |entry| {
                for shift in shifts(entry).filter(is_it) {
                    group.shift(&entry.entity, shift, entry.at, true);
                }
            })?;
            return Ok(done.then_some(group));
        }
        let stored = self.reads.store(|it| it.members(key))?;
        (group.members, group.moved_at) = (stored.value.by_state, stored.value.moved_at);
        if stored.position <= self.seq {
            let done = self.scan(stored.position, self.seq, &key.of.id, &mut |entry| {
                for shift in shifts(entry).filter(is_it) {
                    group.shift(&entry.entity, shift, entry.at, true);
                }
            })?;
            return Ok(done.then_some(group));
        }
        let mut later: Vec<(EntityKey, Shift)> = Vec::new();
        let done = self.scan(self.seq, stored.position, &key.of.id, &mut |entry| {
            later.extend(shifts(entry).filter(is_it).map(|it| (entry.entity.clone(), it.clone())));
        })?;
        if !done {
            return Ok(None);
        }
        let is_changed = !later.is_empty();
        for (member, Shift { group: key, from, to }) in later.into_iter().rev() {
            group.shift(&member, &Shift { group: key, from: to, to: from }, self.now, true);
        }
        if !is_changed {
            group.moved_at = stored.value.moved_at;
        } else if self.reads_moved_at(key) {
            match self.last_move(key)? {
                Some(moved_at) => group.moved_at = moved_at,
                None => return Ok(None),
            }
        }
        Ok(Some(group))
    }

    /// A ranking as it was; none if that would cost too much.
    fn ranking(&self, key: &RankingKey) -> Result<Option<RankingIndex>, ReadError> {
        if !self.is_near_the_start() {
            let stored = self.reads.store(|it| it.ranking(key))?;
            let (mut ranking, mut changes) = (stored.value, 0_usize);
            let (after, upto) = (stored.position.min(self.seq), stored.position.max(self.seq));
            let is_older = stored.position <= self.seq;
            let done = self.scan(after, upto, &key.name, &mut |entry| {
                for change in entry.reranked.iter().filter(|it| it.ranking() == *key) {
                    changes += 1;
                    if is_older {
                        ranking.change(change);
                    }
                }
            })?;
            if done && (is_older || changes == 0) {
                return Ok(Some(ranking));
            }
        }
        // A change does not say which place it replaced, so it cannot be undone.
        let mut ranking = RankingIndex::default();
        let done = self.scan(0, self.seq, &key.name, &mut |entry| {
            entry.reranked.iter().filter(|it| it.ranking() == *key).for_each(|it| ranking.change(it));
        })?;
        Ok(done.then_some(ranking))
    }

    /// Whether repeating the journal up to the moment is shorter than undoing it from its end.
    fn is_near_the_start(&self) -> bool {
        self.seq <= self.reads.seq().saturating_sub(self.seq)
    }

    /// Whether a rule reads the time of the last move in a group.
    fn reads_moved_at(&self, key: &GroupKey) -> bool {
        let is_it = |it: &Read| matches!(it, Read::MovedAt(name) if *name == key.name);
        self.law.definitions(&key.of.lifecycle).iter().any(|it| it.reads.iter().any(is_it))
    }

    /// The time of the last move in a group; none if that would cost too much.
    fn last_move(&self, key: &GroupKey) -> Result<Option<Option<Timestamp>>, ReadError> {
        let mut moved_at = None;
        let done = self.scan(0, self.seq, &key.of.id, &mut |entry| {
            if shifts(entry).any(|it| it.group == *key) {
                moved_at = Some(entry.at);
            }
        })?;
        Ok(done.then_some(moved_at))
    }

    /// Visits the entries after `after` up to `upto` whose header contains a word. False if they are too many, or
    /// archived and too far back.
    fn scan(
        &self,
        after: u64,
        upto: u64,
        word: &Name,
        look: &mut dyn FnMut(&Entry),
    ) -> Result<bool, ReadError> {
        if upto.saturating_sub(after) > SCANNED {
            return Ok(false);
        }
        let mut at = after;
        while at < upto {
            let found = match self.reads.look_back(|it| it.records(at, CHUNK)) {
                Ok(found) => found,
                Err(error) => {
                    must_be_archived(error)?;
                    return Ok(false);
                }
            };
            let Some(last) = found.last().map(|it| it.seq) else { break };
            for record in found.iter().filter(|it| it.seq <= upto && it.header.contains(word.as_str())) {
                look(&record.entry()?);
            }
            at = last;
        }
        Ok(true)
    }
}

fn shifts(entry: &Entry) -> impl Iterator<Item = &Shift> {
    entry.event.changes().into_iter().flat_map(|it| &it.shifts)
}

/// Passes on every error but that of entries which are archived and not at hand.
fn must_be_archived(error: ReadError) -> Result<(), ReadError> {
    match error {
        ReadError::EntryArchived(_)
        | ReadError::TooFar(_)
        | ReadError::Failure(Failure::Archived { .. } | Failure::ArchiveFile(_)) => Ok(()),
        other => Err(other),
    }
}
