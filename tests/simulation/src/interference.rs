//! A store in which others write during reads, and which can return wrong data.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_random::Random;
use trackside_runtime::simulation::WriteWorkers;
use trackside_store::rules::Installed;
use trackside_store::store::{
    AtPosition, Batch, Census, Counts, DueAt, DwellTimes, Head, Listing, MemberRow, Members, OpenEffectRow,
    OrderRow, RowCheck, RowCursor, RowHealing, StoredEntity,
};
use trackside_store::{
    Chain, Definition, EntityRow, JournalWriter, Projection, Projector, Reader, Record, Store, StoreError,
    WrittenRecord,
};

/// A mistake of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskBug {
    /// Some commits are confirmed and lost.
    CommitLost,
    /// Half of a commit is there after it failed.
    CommitHalved,
    /// Idempotency keys are not written.
    KeysUnwritten,
    /// A fired timer is written as pending: it fires twice.
    TimersUnchanged,
    /// Now and then an entity that was touched is not written.
    RowForgotten,
    /// Groups report an older position than they have, so that moves are counted twice.
    GroupsOlder,
}

/// Writes between the reads of others.
#[derive(Clone)]
pub(crate) struct Interference(Arc<Mutex<InterferenceState>>);

struct InterferenceState {
    dice: Random,
    behind: Option<WriteWorkers>,
    /// The rate of writes before a read, in percent.
    often: usize,
    bug: Option<DiskBug>,
    /// Timers as they were first written, for the bug about them.
    rows: BTreeMap<EntityKey, EntityRow>,
}

impl Interference {
    pub fn new(seed: u64, often: usize, bug: Option<DiskBug>) -> Self {
        let state =
            InterferenceState { dice: Random::new(seed), behind: None, often, bug, rows: BTreeMap::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The worker that it moves from here on.
    pub fn move_now(&self, behind: Option<WriteWorkers>) {
        self.0.lock().unwrap().behind = behind;
    }

    fn interfere(&self) {
        let mut state = self.0.lock().unwrap();
        let often = state.often;
        if !state.dice.percent(often) {
            return;
        }
        let many = 1 + state.dice.below(3);
        let Some(behind) = state.behind.clone() else { return };
        drop(state);
        behind.flush(many).ok();
    }

    fn is_lying(&self, bug: DiskBug, percent: usize) -> bool {
        let mut state = self.0.lock().unwrap();
        state.bug == Some(bug) && state.dice.percent(percent)
    }
}

/// A store with such interference.
#[derive(Clone)]
pub(crate) struct InterferedStore {
    pub store: Arc<dyn Store>,
    /// Why the projections are to be rebuilt at the next start.
    pub wants_rebuild: Arc<Mutex<Option<String>>>,
    pub interference: Interference,
}

impl Store for InterferedStore {
    fn journal(&self) -> Result<Box<dyn JournalWriter>, StoreError> {
        Ok(Box::new(InterferedJournal {
            inner: self.store.journal()?,
            interference: self.interference.clone(),
        }))
    }

    fn projector(&self) -> Result<Box<dyn Projector>, StoreError> {
        Ok(Box::new(InterferedProjector {
            inner: self.store.projector()?,
            interference: self.interference.clone(),
        }))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(InterferedReader {
            inner: self.store.reader()?,
            interference: self.interference.clone(),
        }))
    }

    fn request_rebuild(&self, why: &str) {
        *self.wants_rebuild.lock().unwrap() = Some(why.to_owned());
    }
}

struct InterferedJournal {
    inner: Box<dyn JournalWriter>,
    interference: Interference,
}

impl JournalWriter for InterferedJournal {
    fn head(&mut self) -> Result<Head, StoreError> {
        self.inner.head()
    }

    fn begin(&mut self) -> Result<u64, StoreError> {
        self.inner.begin()
    }

    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if self.interference.is_lying(DiskBug::CommitLost, 20) {
            return Ok(());
        }
        if batch.records.len() > 1 && self.interference.is_lying(DiskBug::CommitHalved, 20) {
            let half = batch.records.len() / 2;
            let records = batch.records.iter().take(half).cloned().collect();
            self.inner.append(&Batch { records, definitions: batch.definitions.clone() })?;
            return Err(StoreError::io("appending", "half of it"));
        }
        self.inner.append(batch)
    }

    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        self.inner.drop_payloads(seqs)
    }
}

struct InterferedProjector {
    inner: Box<dyn Projector>,
    interference: Interference,
}

impl Projector for InterferedProjector {
    fn position(&mut self) -> Result<u64, StoreError> {
        self.inner.position()
    }

    fn project(&mut self, projection: &Projection) -> Result<(), StoreError> {
        let mut projection = projection.clone();
        if self.interference.is_lying(DiskBug::KeysUnwritten, 100) {
            projection.keys.clear();
        }
        if self.interference.is_lying(DiskBug::RowForgotten, 20) {
            projection.entities.pop();
        }
        if self.interference.is_lying(DiskBug::TimersUnchanged, 100) {
            let mut state = self.interference.0.lock().unwrap();
            for row in &mut projection.entities {
                if let Some(old) = state.rows.get(&row.entity.key) {
                    Arc::make_mut(&mut row.entity).timers.clone_from(&old.entity.timers);
                } else {
                    state.rows.insert(row.entity.key.clone(), row.clone());
                }
            }
        }
        self.inner.project(&projection)
    }

    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError> {
        self.inner.expire_keys(before, most)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.inner.clear()
    }

    fn tidy(&mut self) -> Result<bool, StoreError> {
        self.inner.tidy()
    }

    fn heal_rows(&mut self, healing: &RowHealing) -> Result<(), StoreError> {
        self.inner.heal_rows(healing)
    }
}

struct InterferedReader {
    inner: Box<dyn Reader>,
    interference: Interference,
}

/// Perhaps writes, then reads.
macro_rules! interfered_read {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $found:ty;)*) => {
        $(fn $name(&mut self, $($argument: $kind),*) -> Result<$found, StoreError> {
            self.interference.interfere();
            self.inner.$name($($argument),*)
        })*
    };
}

impl Reader for InterferedReader {
    interfered_read! {
        head() -> Head;
        records(after: u64, most: usize) -> Vec<Record>;
        record(seq: u64) -> Option<Record>;
        stayed(of: &EntityKey) -> Vec<u64>;
        trail(from: u64, most: usize) -> Vec<Record>;
        base() -> Chain;
        definitions() -> Vec<Definition>;
        installed() -> Vec<Installed>;
        position() -> u64;
        project() -> Option<Project>;
        entity(key: &EntityKey) -> Option<Arc<Entity>>;
        ranking(key: &RankingKey) -> AtPosition<RankingIndex>;
        unique_holder(lifecycle: &Name, value: &Name) -> Option<EntityKey>;
        key(actor: &Name, key: &Name) -> Option<(u64, KeyRecord)>;
        timers(after: Option<&DueAt>, most: usize) -> AtPosition<Vec<DueAt>>;
        list(listing: &Listing) -> AtPosition<Vec<Arc<Entity>>>;
        states(lifecycle: &Name) -> AtPosition<BTreeMap<Name, u64>>;
        dwell_times(lifecycle: &Name) -> AtPosition<BTreeMap<Name, DwellTimes>>;
        notices(kinds: &[&str], after: u64, most: usize) -> Vec<u64>;
        effects(after: u64, most: usize) -> AtPosition<Vec<OpenEffectRow>>;
        groups_after(after: u64, most: usize) -> AtPosition<Vec<(u64, GroupKey)>>;
        members_after(group: &GroupKey, after: u64, most: usize) -> AtPosition<Vec<MemberRow>>;
        is_member(group: &GroupKey, of: &EntityKey) -> bool;
        place(ranking: &RankingKey, id: &Name) -> AtPosition<Option<RankPlace>>;
        places_after(after: Option<&(RankingKey, Name)>, most: usize) -> AtPosition<Vec<(RankingKey, Name)>>;
        order(ranking: &RankingKey, within: &Within) -> AtPosition<Option<OrderRow>>;
        orders_after(after: Option<&(RankingKey, Within)>, most: usize) -> AtPosition<Vec<OrderRow>>;
        census() -> AtPosition<Census>;
        unverified_records(after: u64, most: usize) -> Vec<Record>;
        records_as_written(after: u64, most: usize) -> Vec<WrittenRecord>;
        unverified_as_written(after: u64, most: usize) -> Vec<WrittenRecord>;
        record_as_written(seq: u64) -> Option<WrittenRecord>;
        trail_as_written(from: u64, most: usize) -> Vec<WrittenRecord>;
        last_entry(key: &EntityKey) -> Option<u64>;
        stored_entities(after: Option<&EntityKey>, most: usize) -> AtPosition<Vec<StoredEntity>>;
        is_stored(key: &EntityKey) -> bool;
        difference(row: &EntityRow) -> Option<String>;
        check_rows(from: RowCursor, most: usize) -> RowCheck;
    }

    fn begin_snapshot(&mut self) {
        self.inner.begin_snapshot();
    }

    fn end_snapshot(&mut self) {
        self.inner.end_snapshot();
    }

    fn skip_damaged(&mut self, skip: bool) {
        self.inner.skip_damaged(skip);
    }

    fn counts(&mut self, group: &GroupKey) -> Result<AtPosition<Counts>, StoreError> {
        self.interference.interfere();
        let mut found = self.inner.counts(group)?;
        if self.interference.is_lying(DiskBug::GroupsOlder, 100) {
            found.position = 0;
        }
        Ok(found)
    }

    fn groups(&mut self, of: &EntityKey) -> Result<AtPosition<Vec<(Name, Counts)>>, StoreError> {
        self.interference.interfere();
        let mut found = self.inner.groups(of)?;
        if self.interference.is_lying(DiskBug::GroupsOlder, 100) {
            found.position = 0;
        }
        Ok(found)
    }

    fn members(&mut self, group: &GroupKey) -> Result<AtPosition<Members>, StoreError> {
        self.interference.interfere();
        self.inner.members(group)
    }
}
