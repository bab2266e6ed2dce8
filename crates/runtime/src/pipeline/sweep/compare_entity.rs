//! Compares the stored rows of one entity with its entries, a few entries at a time.

use std::sync::Arc;

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};
use trackside_lifecycle::name::Name;
use trackside_store::archive::FullJournal;
use trackside_store::{EntityRow, Record, StoreError};

use super::{SweepBudget, SweepPass};
use crate::answer::{CommandAnswer, SubmitResult};
use crate::pipeline::decider::Decider;
use crate::pipeline::flusher::bare;

/// Most entries of one entity that are held in memory for it.
const LONGEST: usize = 20_000;
/// Records read at a time.
const CHUNK: usize = 64;

/// An entity on its way from its last entry to its first, and then from the first to how it is now.
#[derive(Debug)]
pub(super) struct EntityReplay {
    key: EntityKey,
    newest: u64,
    /// The next one back; 0 when all were read.
    next: u64,
    /// The newest first.
    records: Vec<Record>,
    view: View,
    /// Whether its stored row cannot be trusted.
    odd: bool,
    /// Whether it is inspected afterwards.
    inspected: bool,
    /// A difference that is known already.
    found: Option<String>,
}

/// The result of a rebuild.
enum Mended {
    Done,
    Not,
    /// Its entries were changed.
    Forged,
}

impl EntityReplay {
    /// From its last entry back.
    pub fn of(key: EntityKey, newest: u64) -> Self {
        let (records, view) = (Vec::new(), View::default());
        Self { key, newest, next: newest, records, view, odd: false, inspected: false, found: None }
    }

    /// Marks it as part of a full pass: it is inspected afterwards.
    pub fn of_a_pass(self, odd: bool) -> Self {
        Self { odd, inspected: true, ..self }
    }

    /// A difference was found.
    pub fn saying(self, found: Option<String>) -> Self {
        Self { found, ..self }
    }
}

impl Decider {
    /// Continues the comparison; none when it is over.
    pub(super) fn go_on_with(
        &mut self,
        mut trial: Box<EntityReplay>,
        pass: &mut SweepPass,
        left: &mut SweepBudget,
    ) -> Result<Option<Box<EntityReplay>>, StoreError> {
        while trial.next != 0 && left.records > 0 {
            let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
            let found = match whole.trail(trial.next, CHUNK.min(left.records)) {
                Ok(found) => found,
                Err(StoreError::NotArchived { .. } | StoreError::ArchiveFile { .. }) => {
                    return self.unchecked(&trial, pass);
                }
                Err(error) if error.is_journal_damage() => return self.report_altered(&trial, pass),
                Err(error) => return Err(error),
            };
            let Some(last) = found.last() else { return self.unchecked(&trial, pass) };
            trial.next = last.prev;
            left.records = left.records.saturating_sub(found.len());
            trial.records.extend(found);
            if trial.records.len() > LONGEST {
                return self.unchecked(&trial, pass);
            }
        }
        if trial.next != 0 {
            return Ok(Some(trial));
        }
        while left.records > 0
            && let Some(record) = trial.records.pop()
        {
            left.records -= 1;
            match record.entry() {
                Ok(entry) => apply(&mut trial.view, &entry),
                // The journal itself is damaged: `audit` reports that, and nothing is rebuilt from it.
                Err(_) => return self.unchecked(&trial, pass),
            }
        }
        match trial.records.is_empty() {
            true => self.conclude(*trial, pass),
            false => Ok(Some(trial)),
        }
    }

    /// Compares, and rebuilds rows that differ.
    fn conclude(
        &mut self,
        trial: EntityReplay,
        pass: &mut SweepPass,
    ) -> Result<Option<Box<EntityReplay>>, StoreError> {
        let key = &trial.key;
        let Some(entity) = trial.view.image(key) else { return self.unchecked(&trial, pass) };
        // The newest entry must be verified before the rows are compared with it.
        if trial.newest == 0 {
            return self.unchecked(&trial, pass);
        }
        if !self.is_unwritten(key)? {
            let found = match &trial.found {
                Some(found) => Some(found.clone()),
                None => match self.difference(&entity)? {
                    None => self.first_missing_row(&entity)?,
                    found => found,
                },
            };
            if let Some(found) = found {
                // The entity may have moved since the comparison began.
                let newest = match self.newest_of(key, None) {
                    Err(error) if error.is_journal_damage() => return self.report_altered(&trial, pass),
                    newest => newest?,
                };
                match newest.filter(|it| *it > trial.newest) {
                    Some(newest) => {
                        let again = EntityReplay::of(key.clone(), newest);
                        return Ok(Some(Box::new(EntityReplay { inspected: trial.inspected, ..again })));
                    }
                    None => match self.mend_sealed(
                        trial.newest,
                        entity,
                        &found,
                        std::mem::take(&mut pass.ghost_places),
                    )? {
                        Mended::Done => {
                            pass.report.mended += 1;
                            self.damage.resolve(key);
                            pass.awaits = self.memory.view.seq;
                        }
                        Mended::Forged => return self.report_altered(&trial, pass),
                        Mended::Not => return self.unchecked(&trial, pass),
                    },
                }
            }
            pass.report.compared += 1;
        }
        self.record_compared(key, pass);
        if trial.inspected {
            self.inspect(key, pass)?;
        }
        Ok(None)
    }

    /// Rebuilds an entity if its entries are unaltered.
    fn mend_sealed(
        &mut self,
        newest: u64,
        entity: Arc<Entity>,
        found: &str,
        ghost_places: Vec<(Name, EntityKey)>,
    ) -> Result<Mended, StoreError> {
        Ok(match self.is_sealed(newest)? {
            Some(true) => match self.repair_record_and_ghosts(entity, found, ghost_places) {
                Ok(CommandAnswer::Accepted(_)) => Mended::Done,
                Ok(_) | Err(_) => Mended::Not,
            },
            Some(false) => Mended::Forged,
            None => Mended::Not,
        })
    }

    /// The journal was altered: the stored rows may be the last correct ones, so they stay.
    fn report_altered(
        &mut self,
        trial: &EntityReplay,
        pass: &mut SweepPass,
    ) -> Result<Option<Box<EntityReplay>>, StoreError> {
        self.count_forged(pass, trial.key.clone());
        self.record_compared(&trial.key, pass);
        if trial.inspected && !trial.odd {
            self.inspect(&trial.key, pass)?;
        }
        Ok(None)
    }

    /// The entity cannot be compared. Rows that may be wrong are left alone, and the entity is inspected as
    /// stored.
    fn unchecked(
        &mut self,
        trial: &EntityReplay,
        pass: &mut SweepPass,
    ) -> Result<Option<Box<EntityReplay>>, StoreError> {
        pass.report.unchecked += 1;
        pass.is_incomplete = true;
        self.record_compared(&trial.key, pass);
        if trial.inspected && !trial.odd {
            self.inspect(&trial.key, pass)?;
        }
        Ok(None)
    }

    /// The difference of an entity's stored rows from the expected ones.
    fn difference(&mut self, entity: &Arc<Entity>) -> Result<Option<String>, StoreError> {
        let life = self.memory.law.definition(&entity.key.lifecycle, entity.definition);
        let row = match life {
            Some(life) => EntityRow::new(entity.clone(), life),
            None => bare(entity.clone()),
        };
        if let Some(found) = self.memory.reader().difference(&row)? {
            return Ok(Some(found));
        }
        // The rows are right; the copy in memory may have been read before they were.
        let known = self.memory.view.get(&entity.key).filter(|it| *it != &**entity);
        Ok(known.map(|it| serde_json::to_string(it).unwrap_or_default()))
    }

    /// Replaces the stored entity by the one that the journal gives.
    pub(super) fn repair_record(&mut self, entity: Arc<Entity>, found: &str) -> SubmitResult {
        self.repair_record_and_ghosts(entity, found, Vec::new())
    }

    /// Mends the rows, and removes places of entities that do not exist.
    fn repair_record_and_ghosts(
        &mut self,
        entity: Arc<Entity>,
        found: &str,
        ghost_places: Vec<(Name, EntityKey)>,
    ) -> SubmitResult {
        let ask = Ask::Repair { entity: entity.key.clone(), found: Arc::from(found), ghost_places };
        let key = entity.key.clone();
        self.memory.view.load(entity);
        self.timers.bring_back();
        // The rows that are damaged are those that this writes again.
        let outcome = self.without_damaged(|it| it.answer(&Command::new(Actor::engine(), ask)));
        if let Some(entity) = self.memory.view.image(&key) {
            // Timers whose rows were missing are not scheduled yet.
            self.timers.know(&entity);
            self.forget_groups_of(&entity);
        }
        outcome
    }

    /// Does work for which damaged rows of groups, rankings and unique values are skipped. What it loaded is incomplete and is not used
    /// for anything else.
    pub(super) fn without_damaged<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.memory.reader().skip_damaged(true);
        let done = work(self);
        self.memory.reader().skip_damaged(false);
        self.memory.view.forget_groups_and_rankings();
        let unflushed = self.memory.source.unflushed.unique_values();
        let is_unflushed = |lifecycle: &Name, value: &Name| unflushed.contains(&(lifecycle, value));
        self.memory.view.evict_unique_values(0, is_unflushed);
        done
    }

    /// Whether the entity's last move is not written yet, so that its row is about to be replaced.
    pub(super) fn is_unwritten(&mut self, key: &EntityKey) -> Result<bool, StoreError> {
        let Some(seq) = self.memory.view.get(key).map(|it| it.seq) else { return Ok(false) };
        // A number that there is not yet is no number of an entry.
        Ok(seq <= self.memory.view.seq && seq > self.memory.reader().position()?)
    }

    /// The last entry of an entity, by its stored rows; none if they lead nowhere. A damaged entry is an error: the one
    /// before it is not the last.
    pub(super) fn newest_of(
        &mut self,
        key: &EntityKey,
        kept: Option<u64>,
    ) -> Result<Option<u64>, StoreError> {
        let kept = match kept {
            Some(seq) => Some(seq),
            None => self.kept_seq(key)?,
        };
        let known = self.memory.view.get(key).map(|it| it.seq);
        let mut candidates: Vec<u64> = known.into_iter().chain(kept).filter(|it| *it != 0).collect();
        candidates.sort_unstable();
        candidates.dedup();
        while let Some(seq) = candidates.pop() {
            let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
            match whole.record(seq) {
                Ok(Some(record)) if record.entity().as_ref() == Some(key) => return Ok(Some(seq)),
                // An archived entry: the replay finds out whether its file is there.
                Err(StoreError::NotArchived { .. } | StoreError::ArchiveFile { .. }) => return Ok(Some(seq)),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn kept_seq(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        match self.memory.reader().last_entry(key) {
            Ok(seq) => Ok(seq),
            Err(StoreError::Damaged { .. } | StoreError::DamagedRow { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
