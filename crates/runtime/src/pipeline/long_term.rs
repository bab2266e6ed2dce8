//! Long-term storage: moves entities in a state with `archive` to archive files, in the background.
//!
//! An entity is moved once its entries are in the projections. Work that a crash interrupts is found again at the next
//! start, because the journal records each entity that was moved.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_store::archive::{ArchivedSlice, archive_entity};
use trackside_store::store::Listing;
use trackside_store::{Reader, StoreError};

use super::committer::Committed;
use crate::shared::{ProblemSource, Shared};

/// Entities read at a time.
const PAGE: usize = 200;
/// The time after which a failed move is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// The longest it sleeps.
const IDLE: Duration = Duration::from_secs(600);

/// Work for long-term storage.
#[derive(Debug)]
pub(crate) enum StorageTask {
    /// These entities changed and are in the projections.
    Entities(Vec<EntityKey>),
    /// The definitions changed: search all entities.
    Search,
}

/// Has the journal move payloads; the committer does it.
pub(crate) type MovePayloads = Box<dyn Fn(ArchivedSlice) -> Result<u64, StoreError> + Send>;

/// Moves entities to long-term storage.
pub(crate) struct LongTermStorage {
    shared: Arc<Shared>,
    move_payloads: MovePayloads,
    /// Entities to move.
    waiting: BTreeSet<EntityKey>,
    /// Entities that could not be moved.
    failed: BTreeSet<EntityKey>,
    /// The first reason why one could not be moved.
    problem: Option<String>,
}

/// The entities of a commit that belong into long-term storage.
pub(crate) fn archived_entities(committed: &Committed) -> impl Iterator<Item = EntityKey> + '_ {
    committed.content.changed_entities.iter().filter_map(|it| {
        let state = it.life.as_ref()?.state(&it.entity.state)?;
        state.archive.then(|| it.entity.key.clone())
    })
}

impl LongTermStorage {
    pub fn new(shared: Arc<Shared>, move_payloads: MovePayloads) -> Self {
        Self { shared, move_payloads, waiting: BTreeSet::new(), failed: BTreeSet::new(), problem: None }
    }

    /// Works until no more tasks can come. Entities that still wait are found at the next start.
    pub fn run(mut self, tasks: &Receiver<StorageTask>) {
        self.note_search();
        loop {
            while let Some(key) = self.waiting.pop_first() {
                match tasks.try_recv() {
                    Ok(task) => self.take(task),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return,
                }
                if let Err(error) = self.archive(&key) {
                    self.problem.get_or_insert(format!("{key} is not moved to long-term storage: {error}"));
                    self.failed.insert(key);
                }
            }
            self.shared.set_problem(ProblemSource::LongTermStorage, self.problem.take());
            let left = !self.failed.is_empty();
            match tasks.recv_timeout(if left { RETRY } else { IDLE }) {
                Ok(task) => self.take(task),
                Err(RecvTimeoutError::Timeout) => self.waiting.append(&mut self.failed),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, task: StorageTask) {
        match task {
            StorageTask::Entities(keys) => self.waiting.extend(keys),
            StorageTask::Search => self.note_search(),
        }
    }

    fn note_search(&mut self) {
        if let Err(error) = self.search() {
            self.problem.get_or_insert(format!("archived entities are not found: {error}"));
        }
    }

    /// Finds entities that are not moved yet.
    fn search(&mut self) -> Result<(), StoreError> {
        let law = self.shared.law();
        for lifecycle in law.lifecycle_names() {
            let states: BTreeSet<Name> = law
                .definitions(lifecycle)
                .iter()
                .flat_map(|it| &it.states)
                .filter(|it| it.archive)
                .map(|it| it.name.clone())
                .collect();
            if states.is_empty() {
                continue;
            }
            let states: Vec<Name> = states.into_iter().collect();
            let mut after = None;
            loop {
                let lifecycle = Some(lifecycle.clone());
                let listing =
                    Listing { lifecycle, states: states.clone(), after, most: PAGE, ..Listing::default() };
                let found = self.shared.read(|reader| {
                    let mut found = reader.list(&listing)?.value;
                    let last = found.last().map(|it| it.key.clone());
                    let mut kept = Vec::new();
                    for entity in found.drain(..) {
                        if is_to_move(&law, reader, &entity)? {
                            kept.push(entity.key.clone());
                        }
                    }
                    Ok((kept, last))
                })?;
                self.waiting.extend(found.0);
                match found.1 {
                    Some(last) => after = Some(last),
                    None => break,
                }
            }
        }
        Ok(())
    }

    fn archive(&self, key: &EntityKey) -> Result<(), StoreError> {
        let shared = &self.shared;
        // Meanwhile no payload is dropped: it would stay in the file.
        let _alone = shared.storing.lock().unwrap_or_else(PoisonError::into_inner);
        let slice = shared.read(|reader| {
            let Some(entity) = reader.entity(key)? else { return Ok(None) };
            if !is_to_move(&shared.law(), reader, &entity)? {
                return Ok(None);
            }
            archive_entity(reader, &shared.store().archive()?, &entity, &mut |_| Ok(()))
        })?;
        match slice {
            Some(slice) => (self.move_payloads)(slice).map(drop),
            None => Ok(()),
        }
    }
}

/// Whether an entity belongs into long-term storage and has entries that are not there.
fn is_to_move(law: &Law, reader: &mut dyn Reader, entity: &Entity) -> Result<bool, StoreError> {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    let is_archived = life.and_then(|it| it.state(&entity.state)).is_some_and(|it| it.archive);
    Ok(is_archived && reader.archived_upto(&entity.key)?.is_none_or(|upto| upto < entity.seq))
}
