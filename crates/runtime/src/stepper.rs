//! The workers without threads: the caller decides which takes the next step. For simulations.
//!
//! The steps are those of the threads. Between them the store may fail, the clock may jump and the process
//! may die.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Definition, Store, StoreError};

use crate::answer::{Failure, Pending};
use crate::catalog::{Catalog, CatalogError, PackOrigin, PackSource};
use crate::failpoints::{Failpoint, is_enabled};
use crate::feed::{Feed, Follower};
use crate::gateway::Gateway;
use crate::memory::CacheSizes;
use crate::outbox::OutboxCourier;
use crate::pipeline::{
    CommitInterval, Committed, Committing, DecidedBatch, Decider, Flusher, Wiring, Workers, steps,
};
use crate::queue::{LaneKey, WorkQueue};
use crate::read::Reads;
use crate::requester::Requester;
use crate::runtime::{Options, StartError};
use crate::salts::SaltSource;
use crate::shared::{ProblemSource, Shared};
use crate::work::Work;

/// A project that runs by hand.
#[derive(Debug)]
pub struct Stepper {
    shared: Arc<Shared>,
    wiring: Wiring,
    gateway: Gateway,
    waiting: WorkQueue,
    interval: CommitInterval,
    decider: Decider,
    /// Handed to the committer.
    committing: Option<DecidedBatch>,
    /// Decided meanwhile, and no further.
    next: Option<DecidedBatch>,
    behind: WriteWorkers,
}

/// Packs that are compiled once for many stores.
#[derive(Clone, Debug, Default)]
pub struct Packs(Catalog);

impl Packs {
    pub fn compile(packs: &[PackSource]) -> Result<Self, CatalogError> {
        let mut catalog = Catalog::default();
        catalog.take(packs, PackOrigin::Server)?;
        Ok(Self(catalog))
    }

    pub fn law(&self) -> Arc<Law> {
        Arc::new(self.0.law())
    }

    /// The stored rows of the packs.
    pub fn definitions(&self) -> Vec<Definition> {
        self.0.definitions()
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepResult {
    /// The numbers of the queued requests that were taken, in the order in which they were decided.
    pub taken: Vec<u64>,
    /// The number of entries that were decided.
    pub entries: usize,
    /// Whether there is something to commit.
    pub to_commit: bool,
}

/// The committer and the flusher: they write while the decider reads, so others may move them too.
#[derive(Clone, Debug)]
pub struct WriteWorkers(Arc<Mutex<Writing>>);

#[derive(Debug)]
struct Writing {
    shared: Arc<Shared>,
    committing: Committing,
    flusher: Flusher,
    /// Committed, on its way to the flusher.
    committed: Vec<Arc<Committed>>,
}

impl Stepper {
    /// Opens a store. Commits that were not flushed are recovered.
    pub fn open(store: Arc<dyn Store>, packs: &Packs, options: &Options) -> Result<Self, StartError> {
        let known = packs.0.among(&store.reader()?.definitions()?);
        let store_head = store.reader()?.head()?.at;
        let shared = Arc::new(Shared::new(store, Arc::new(known.law()), Feed::new()));
        *shared.salts.lock().unwrap_or_else(PoisonError::into_inner) = SaltSource::repeatable(0);
        let mut wiring = options.wiring();
        wiring.clock = wiring.clock.begin(store_head);
        let Workers { decider, unpublished, committer, flusher } =
            Workers::open(&shared, &wiring, &mut |_, _| {})?;
        let committing = Committing::new(shared.clone(), committer);
        let committed = committing.publish(unpublished).into_iter().collect();
        let writing = Writing { shared: shared.clone(), committing, flusher, committed };
        let behind = WriteWorkers(Arc::new(Mutex::new(writing)));
        let waiting = WorkQueue::new(options.queue);
        let gateway = Gateway::new(waiting.clone(), shared.clone(), options);
        let interval = CommitInterval::default();
        Ok(Self { shared, wiring, gateway, waiting, interval, decider, committing: None, next: None, behind })
    }

    /// The way in, as everywhere.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Takes packs into force.
    pub fn install(&self, packs: &Packs) -> Result<Pending<()>, Failure> {
        let (responder, pending) = oneshot::channel();
        let (law, definitions) = (Arc::new(packs.0.law()), packs.0.definitions());
        self.gateway
            .enqueue(LaneKey::system(), Work::Law(law, definitions, Requester::engine(), responder))?;
        Ok(Pending(pending))
    }

    /// Whether it is moving the manual clock and needs another step.
    pub fn is_advancing(&self) -> bool {
        self.decider.is_advancing()
    }

    /// Whether a sweep is under way.
    pub fn is_sweeping(&self) -> bool {
        self.decider.is_sweeping()
    }

    /// Whether it waits for more requests before the next step, until time has passed.
    pub fn waits_for_more(&self) -> bool {
        let now = self.wiring.clock.interval_time();
        self.next.is_none() && self.interval.left(now, self.waiting.waiting_cost()).is_some()
    }

    /// The number of requests that were accepted so far. The next one has this number.
    pub fn accepted(&self) -> u64 {
        self.waiting.accepted()
    }

    /// Decides at most `most` of the waiting requests. None if the previous batch has not been taken yet,
    /// a commit failed, or it waits for more requests.
    pub fn step(&mut self, most: usize) -> Option<StepResult> {
        if self.next.is_some() || self.shared.is_broken() || self.waits_for_more() {
            return None;
        }
        let taken = RefCell::new(Vec::new());
        let next = || {
            let ticket = self.waiting.take_for_step(taken.borrow().len())?;
            taken.borrow_mut().push(ticket.number);
            Some(ticket.work)
        };
        let mut work = std::iter::from_fn(next).take(most);
        let callers_wait = || self.waiting.waiting() > 0;
        let unanswered = self.shared.unanswered();
        let batch = steps::decide(&self.shared, &mut self.decider, &mut work, &callers_wait);
        let entries = batch.content.entries.iter().map(|it| it.len()).sum();
        let to_commit = !batch.is_empty();
        let callers = batch.replies.len();
        if to_commit {
            self.shared.add_unanswered(callers);
            let callers = unanswered + callers + self.waiting.waiting();
            self.interval.hand_over(self.wiring.clock.interval_time(), callers);
        }
        drop(work);
        self.hand_over(batch);
        Some(StepResult { taken: taken.into_inner(), entries, to_commit })
    }

    fn hand_over(&mut self, mut batch: DecidedBatch) {
        if is_enabled(Failpoint::AnsweredEarly) {
            batch.replies.drain(..).for_each(|say| say(Ok(())));
        }
        if is_enabled(Failpoint::ShownEarly) {
            self.shared.show(batch.content.changed_entities.iter().map(|it| &it.entity), 0);
        }
        if batch.is_empty() {
            return;
        }
        match self.committing {
            None => self.committing = Some(batch),
            Some(_) => self.next = Some(batch),
        }
    }

    /// Whether a batch is decided and not committed.
    pub fn has_decided(&self) -> bool {
        self.committing.is_some()
    }

    /// Commits the first decided batch. Returns whether there was one.
    pub fn commit(&mut self) -> bool {
        let Some(batch) = self.committing.take() else { return false };
        let mut writing = self.behind.writing();
        let committed = writing.committing.commit(batch);
        writing.committed.extend(committed);
        drop(writing);
        self.committing = self.next.take();
        true
    }

    /// Whether a commit failed: nothing is decided until recovery.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken()
    }

    /// Drops memory and reads it again, after a commit that failed. Where that fails too, callers are sent away.
    pub fn recover(&mut self) -> Result<(), StoreError> {
        if is_enabled(Failpoint::MemoryKept) {
            self.behind.writing().committing.reopen()?;
            self.shared.set_broken(false);
            return Ok(());
        }
        let mut writing = self.behind.writing();
        let reopened = writing.committing.reopen();
        drop(writing);
        match reopened.and_then(|end| steps::reload(&self.shared, &self.wiring, &mut self.decider, end)) {
            Ok((decider, batch)) => {
                self.shared.set_broken(false);
                self.shared.set_problem(ProblemSource::Journal, None);
                let mut writing = self.behind.writing();
                let committed = writing.committing.publish(batch);
                writing.committed.extend(committed);
                drop(writing);
                self.decider = decider;
                Ok(())
            }
            Err(error) => {
                for work in self.waiting.drain() {
                    steps::turn_away(&self.shared, work, &Failure::Unavailable(error.to_string()));
                }
                Err(error)
            }
        }
    }

    /// The committer and the flusher, to move them while the decider reads.
    pub fn write_workers(&self) -> WriteWorkers {
        self.behind.clone()
    }

    /// The time of the last decision.
    pub fn now(&self) -> Timestamp {
        self.decider.now()
    }

    /// Project time, read from the clock.
    pub fn clock_now(&self) -> Timestamp {
        self.wiring.clock.now()
    }

    /// The entry up to which the last step took projections for written.
    pub fn knows_written(&self) -> u64 {
        self.decider.knows_written()
    }

    /// The target time of the manual clock, while it moves.
    pub fn advancing_to(&self) -> Option<Timestamp> {
        self.decider.advancing_to()
    }

    /// The last entry that is on disk and known.
    pub fn last_committed(&self) -> u64 {
        self.shared.last_committed()
    }

    /// The last entry that is in the projections.
    pub fn last_flushed(&self) -> u64 {
        self.shared.last_flushed()
    }

    /// The number of items in memory.
    pub fn cached(&self) -> CacheSizes {
        self.decider.sizes()
    }

    /// Hands out effects.
    pub fn outbox(&self) -> OutboxCourier {
        let clock = self.wiring.clock.clone();
        OutboxCourier::new(Reads::new(self.shared.clone(), self.gateway.clone(), clock))
    }

    /// Why the store cannot be used, while it cannot.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem()
    }

    /// An entity as it is on disk.
    pub fn entity(&self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        self.shared.entity(key)
    }

    /// Follows the journal after an entry.
    pub fn follow(&self, after: u64) -> Follower {
        Follower::new(self.shared.clone(), after)
    }
}

impl WriteWorkers {
    /// Flushes the first `most` commits. Does nothing while a flush is under way.
    pub fn flush(&self, most: usize) -> Result<(), StoreError> {
        let Ok(mut writing) = self.0.try_lock() else { return Ok(()) };
        let Writing { shared, committing, flusher, committed } = &mut *writing;
        let most = most.min(committed.len());
        for committed in committed.drain(..most) {
            flusher.take(&committed);
        }
        if flusher.waiting() == 0 {
            return Ok(());
        }
        steps::write_behind(shared, flusher, &mut |seqs| committing.journal("erasing")?.drop_payloads(&seqs))
    }

    /// Work that can wait.
    pub fn tidy(&self) -> Result<bool, StoreError> {
        match self.0.try_lock() {
            Ok(mut writing) => {
                let Writing { shared, flusher, .. } = &mut *writing;
                shared.heal_by(|healing| flusher.heal_rows(healing))?;
                flusher.tidy()
            }
            Err(_) => Ok(true),
        }
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
