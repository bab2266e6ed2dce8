//! The data that workers and callers share.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::FullJournal;
use trackside_store::store::RowHealing;
use trackside_store::{Reader, Store, StoreError};

use crate::answer::Failure;
use crate::feed::Feed;
use crate::figures::Figures;
use crate::observers::Observers;
use crate::pipeline::Committed;
use crate::salts::SaltSource;
use crate::space::SpaceGuard;
use crate::steering::ClockAlarm;
use crate::tally::RunTotals;

type Fresh = HashMap<EntityKey, Arc<Entity>, FixedState>;

/// The number of shards, so that clearing one blocks readers only briefly.
const SHARDS: usize = 64;

/// Most damaged rows that wait for the decider.
const MOST_DAMAGE: usize = 100;
/// Most unused readers that stay open.
const IDLE_READERS: usize = 64;
/// The time after which an unused reader is closed.
const READER_REST: Duration = Duration::from_secs(10);

/// An unused open reader, and the time of its last use.
struct IdleReader {
    since: Instant,
    reader: Box<dyn Reader>,
}

/// The shared state. Each part is changed by one worker only.
pub(crate) struct Shared {
    store: Arc<dyn Store>,
    law: RwLock<Arc<Law>>,
    /// Committed and not yet in the projections.
    fresh: Vec<RwLock<Fresh>>,
    /// The commits of which that is true, in order.
    unwritten: RwLock<VecDeque<Arc<Committed>>>,
    /// The project as it is on disk.
    project: RwLock<Arc<Project>>,
    /// The time of the last entry.
    at: AtomicI64,
    readers: Mutex<Vec<IdleReader>>,
    pub observers: Observers,
    pub feed: Feed,
    pub fences: Fences,
    /// The salts of payloads.
    pub salts: Arc<Mutex<SaltSource>>,
    /// The last entry that is on disk.
    committed: AtomicU64,
    /// The last entry that is in the projections.
    written: AtomicU64,
    /// Bytes of the entries that are not in the projections.
    unwritten_bytes: AtomicU64,
    /// Whether the committer has nothing to do.
    idle: AtomicBool,
    /// Callers whose requests are decided and not answered.
    unanswered: AtomicUsize,
    /// A commit failed: later decisions are dropped.
    broken: AtomicBool,
    pub figures: Figures,
    pub tally: RunTotals,
    /// Held while archive files are written, or payloads are dropped from them.
    pub archiving: Mutex<()>,
    /// Why project time does not follow the machine's clock, if it does not.
    clock_alarm: Mutex<Option<ClockAlarm>>,
    /// Damaged rows that reads met and the decider has not looked at.
    damage: Mutex<Vec<StoreError>>,
    /// Damaged rows that the flusher removes, and how often it did.
    healing: Mutex<(Option<RowHealing>, u64)>,
    /// Held while an entity is moved to long-term storage, or payloads are dropped from such files.
    pub storing: Mutex<()>,
    /// Whether the last commit failed because the disk is full.
    is_full: AtomicBool,
    pub space: Arc<SpaceGuard>,
    /// Present problem, by its source.
    problem: Mutex<BTreeMap<ProblemSource, String>>,
}

/// The source of a problem. One worker reports each, and reports its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProblemSource {
    Journal,
    Projections,
    Timers,
    Damage,
    Keys,
    LongTermStorage,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "committed {}, written {}", self.last_committed(), self.last_flushed())
    }
}

impl Shared {
    pub fn new(store: Arc<dyn Store>, law: Arc<Law>, feed: Feed) -> Self {
        Self {
            store,
            law: RwLock::new(law),
            fresh: (0..SHARDS).map(|_| RwLock::default()).collect(),
            unwritten: RwLock::default(),
            project: RwLock::default(),
            at: AtomicI64::new(i64::MIN),
            readers: Mutex::default(),
            observers: Observers::default(),
            feed,
            fences: Fences::default(),
            salts: Arc::default(),
            committed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            unwritten_bytes: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            unanswered: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            figures: Figures::default(),
            tally: RunTotals::default(),
            archiving: Mutex::default(),
            clock_alarm: Mutex::default(),
            damage: Mutex::default(),
            healing: Mutex::default(),
            storing: Mutex::default(),
            is_full: AtomicBool::new(false),
            space: Arc::default(),
            problem: Mutex::default(),
        }
    }

    /// Sets the positions of the journal and the projections at the start.
    pub fn begin(&self, committed: u64, written: u64) {
        self.tally.begin(committed);
        self.committed.store(committed, Ordering::Release);
        self.written.store(written, Ordering::Release);
    }

    /// Sets the project and the time of the last entry at the start.
    pub fn begin_with(&self, project: Project, at: Option<Timestamp>) {
        self.set_project(project);
        self.at.store(at.map_or(i64::MIN, |it| it.0), Ordering::Release);
    }

    fn set_project(&self, project: Project) {
        *self.project.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(project);
    }

    pub fn project(&self) -> Arc<Project> {
        self.project.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The time of the last entry: the project's time never falls behind it.
    pub fn last_at(&self) -> Timestamp {
        Timestamp(self.at.load(Ordering::Acquire))
    }

    /// Keeps a commit that is not flushed yet, for readers.
    pub fn keep(&self, committed: &Arc<Committed>) {
        // The last command of a commit may have written nothing.
        let last = committed.content.entries.iter().rev().find_map(|it| it.last());
        let Some(last) = last else { return };
        // A correction of the clock may set it back.
        self.at.store(last.at.0, Ordering::Release);
        if let Some(project) = &committed.content.project {
            self.set_project(project.clone());
        }
        self.unwritten_bytes.fetch_add(bytes_of(committed), Ordering::AcqRel);
        self.unwritten.write().unwrap_or_else(PoisonError::into_inner).push_back(committed.clone());
    }

    /// Commits that the projections may not know of, in order.
    pub fn unwritten(&self) -> Vec<Arc<Committed>> {
        self.unwritten.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub fn law(&self) -> Arc<Law> {
        self.law.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_law(&self, law: Arc<Law>) {
        *self.law.write().unwrap_or_else(PoisonError::into_inner) = law;
    }

    pub fn last_committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    pub fn last_flushed(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The number of entries by which the projections are behind.
    pub fn lag(&self) -> u64 {
        self.last_committed().saturating_sub(self.last_flushed())
    }

    /// The bytes of the entries by which the projections are behind.
    pub fn lag_bytes(&self) -> u64 {
        self.unwritten_bytes.load(Ordering::Acquire)
    }

    /// Whether the committer waits for a batch.
    pub fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Acquire)
    }

    pub fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Release);
    }

    /// The number of callers whose requests are decided and not answered.
    pub fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Acquire)
    }

    pub fn add_unanswered(&self, callers: usize) {
        self.unanswered.fetch_add(callers, Ordering::AcqRel);
    }

    /// Callers are about to be answered.
    pub fn remove_unanswered(&self, callers: usize) {
        let less = |it: usize| Some(it.saturating_sub(callers));
        self.unanswered.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok();
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::Release);
    }

    /// Why project time does not follow the machine's clock, if it does not.
    pub fn clock_alarm(&self) -> Option<ClockAlarm> {
        *self.clock_alarm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_clock_alarm(&self, alarm: Option<ClockAlarm>) {
        *self.clock_alarm.lock().unwrap_or_else(PoisonError::into_inner) = alarm;
    }

    /// The worst present problem.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned()
    }

    /// The problem of these parts.
    pub fn problem_of(&self, parts: &[ProblemSource]) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().find_map(|it| problem.get(it)).cloned()
    }

    /// Reports problem of a source, or that it is over.
    pub fn set_problem(&self, part: ProblemSource, why: Option<String>) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => problem.insert(part, why),
            None => problem.remove(&part),
        };
    }

    /// Reports that the journal cannot be written. Returns the failure for callers.
    pub fn set_journal_failure(&self, error: StoreError) -> Failure {
        let why = error.to_string();
        self.is_full.store(matches!(error, StoreError::Full { .. }), Ordering::Release);
        self.set_problem(ProblemSource::Journal, Some(why));
        self.journal_failure()
    }

    /// The failure for callers while the journal cannot be written.
    pub fn journal_failure(&self) -> Failure {
        let why = self.problem_of(&[ProblemSource::Journal]).unwrap_or_default();
        match self.is_full.load(Ordering::Acquire) {
            true => Failure::NoSpace(why),
            false => Failure::Unavailable(why),
        }
    }

    /// Shows committed entities to readers, before callers are answered.
    pub fn show<'a>(&self, touched: impl Iterator<Item = &'a Arc<Entity>>, upto: u64) {
        for entity in touched {
            if let Some(shard) = self.shard(&entity.key) {
                let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
                shard.insert(entity.key.clone(), entity.clone());
            }
        }
        self.committed.fetch_max(upto, Ordering::AcqRel);
    }

    /// The projections have caught up: removes the commits that they contain.
    pub fn caught_up(&self, upto: u64) {
        for shard in &self.fresh {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let gone: Vec<_> = shard.extract_if(|_, it| it.seq <= upto).collect();
            // Freeing them takes long, so not under the lock.
            drop(shard);
            drop(gone);
        }
        let mut unwritten = self.unwritten.write().unwrap_or_else(PoisonError::into_inner);
        let known = unwritten.iter().take_while(|it| it.upto <= upto).count();
        let gone: Vec<_> = unwritten.drain(..known).collect();
        drop(unwritten);
        self.unwritten_bytes.fetch_sub(gone.iter().map(bytes_of).sum(), Ordering::AcqRel);
        drop(gone);
        self.written.store(upto, Ordering::Release);
    }

    /// An entity as it is on disk.
    pub fn entity(&self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        match self.fresh(key) {
            Some(entity) => Ok(Some(entity)),
            // All other entities are in the projections.
            None => self.read(|it| it.entity(key)),
        }
    }

    /// An entity that is committed and not yet in the projections.
    pub fn fresh(&self, key: &EntityKey) -> Option<Arc<Entity>> {
        self.shard(key)?.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn shard(&self, key: &EntityKey) -> Option<&RwLock<Fresh>> {
        let number = FixedState::default().hash_one(key) as usize % SHARDS;
        self.fresh.get(number)
    }

    /// All unflushed entities that match.
    pub fn all_fresh(&self, wanted: impl Fn(&Entity) -> bool) -> Vec<Arc<Entity>> {
        let mut all = Vec::new();
        for shard in &self.fresh {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(shard.values().filter(|it| wanted(it)).cloned());
        }
        all
    }

    /// Lends a reader of the whole journal, archive included.
    pub fn look_back<T>(
        &self,
        work: impl FnOnce(&mut FullJournal<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read(|reader| work(&mut FullJournal::new(self.store.as_ref(), reader)))
    }

    /// Lends a reader.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = match idle {
            Some(idle) => idle.reader,
            None => self.store.reader()?,
        };
        let found = work(reader.as_mut());
        if found.is_ok() {
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            // Others are closed: each holds files and memory.
            if readers.len() < IDLE_READERS {
                readers.push(IdleReader { since: Instant::now(), reader });
            }
        }
        found.inspect_err(|error| self.report_damage(error))
    }

    /// Hands damage that a read met to the decider, which repairs it.
    fn report_damage(&self, error: &StoreError) {
        let copy = match error {
            StoreError::DamagedRow { entity, what } => {
                StoreError::DamagedRow { entity: entity.clone(), what: what.clone() }
            }
            StoreError::Damaged { path, what } if error.is_state_damage() => {
                StoreError::Damaged { path: path.clone(), what: what.clone() }
            }
            _ => return,
        };
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if damage.len() < MOST_DAMAGE {
            damage.push(copy);
        }
    }

    /// Has the flusher heal rows.
    pub fn request_healing(&self, healing: RowHealing) {
        self.healing.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(healing);
    }

    /// How often rows were healed.
    pub fn heals(&self) -> u64 {
        self.healing.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Does the requested healing, if there is one. It stays requested if it fails.
    pub fn heal_by(
        &self,
        heal: impl FnOnce(&RowHealing) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut healing = self.healing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wanted) = &healing.0 {
            heal(wanted)?;
            *healing = (None, healing.1 + 1);
        }
        Ok(())
    }

    /// Takes the damage that reads met since the last time.
    pub fn take_damage(&self) -> Vec<StoreError> {
        std::mem::take(&mut self.damage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes readers that were not used for a while. Those used last are lent first, so the others age.
    pub fn close_idle_readers(&self, now: Instant) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let old: Vec<IdleReader> =
            readers.extract_if(.., |it| now.duration_since(it.since) >= READER_REST).collect();
        drop(readers);
        drop(old);
    }
}

/// The bytes of a commit in the journal.
fn bytes_of(committed: &Arc<Committed>) -> u64 {
    (committed.written.header_bytes + committed.written.payload_bytes) as u64
}

/// Fences of effects: each greater than all before it, including those of earlier starts.
#[derive(Debug, Default)]
pub(crate) struct Fences(AtomicU64);

impl Fences {
    /// Numbers of one start: more than are ever handed out, and few enough that programs can count in floating point.
    const EACH: u64 = 1 << 32;

    /// Starts above the numbers of earlier starts.
    pub fn begin(&self, start: u64) {
        self.0.store(start.saturating_mul(Self::EACH), Ordering::Release);
    }

    /// The next fence; none if the earlier ones are not known.
    pub fn next(&self) -> Option<u64> {
        let grown = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |it| (it > 0).then_some(it + 1));
        grown.ok().map(|it| it + 1)
    }
}

#[cfg(test)]
mod tests {
    use trackside_store::MemoryStore;

    use super::*;

    /// Lends this many readers at once.
    fn lend(shared: &Shared, many: usize) {
        if many > 0 {
            let lend_more = |_: &mut dyn Reader| {
                lend(shared, many - 1);
                Ok(())
            };
            shared.read(lend_more).unwrap();
        }
    }

    #[test]
    fn readers_are_closed_when_nobody_uses_them() {
        let shared = Shared::new(Arc::new(MemoryStore::new()), Arc::default(), Feed::new());
        let idle = || shared.readers.lock().unwrap().len();
        lend(&shared, 3);
        assert_eq!(idle(), 3);
        lend(&shared, IDLE_READERS * 3);
        assert_eq!(idle(), IDLE_READERS);
        let now = Instant::now();
        shared.close_idle_readers(now);
        assert_eq!(idle(), IDLE_READERS, "they were used just now");
        shared.close_idle_readers(now + READER_REST);
        assert_eq!(idle(), 0);
    }
}
