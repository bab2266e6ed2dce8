//! The workers without their threads: whoever holds this says who takes the next step. For simulations.
//!
//! Every step is the one that the threads take. In between, everything may happen: the store fails, the clock
//! jumps, the process dies.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Definition, Store, StoreError};

use crate::answer::{Failure, Pending};
use crate::by::By;
use crate::catalog::{Catalog, CatalogError, PackSource};
use crate::feed::{Feed, Follower};
use crate::gateway::Gateway;
use crate::outbox::OutboxCourier;
use crate::pipeline::{Committed, Committing, Decider, Flusher, Turn, Wiring, Workers, steps};
use crate::planted::{Bug, is_planted};
use crate::read::Reads;
use crate::runtime::{Options, StartError};
use crate::shared::{Part, Shared};
use crate::work::Work;

/// A project that runs by hand.
#[derive(Debug)]
pub struct Stepper {
    shared: Arc<Shared>,
    wiring: Wiring,
    gateway: Gateway,
    waiting: Receiver<Work>,
    decider: Decider,
    /// Handed to the committer.
    committing: Option<Turn>,
    /// Decided meanwhile, and no further.
    next: Option<Turn>,
    behind: Behind,
}

/// Packs that are compiled once for many stores.
#[derive(Clone, Debug, Default)]
pub struct Packs(Catalog);

impl Packs {
    pub fn compile(packs: &[PackSource]) -> Result<Self, CatalogError> {
        let mut catalog = Catalog::default();
        catalog.take(packs)?;
        Ok(Self(catalog))
    }

    pub fn law(&self) -> Arc<Law> {
        Arc::new(self.0.law())
    }

    /// The rows that keep them.
    pub fn definitions(&self) -> Vec<Definition> {
        self.0.definitions()
    }
}

/// How much is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    pub entities: usize,
    pub groups: usize,
    pub values: usize,
    pub keys: usize,
}

/// What a turn was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turned {
    /// How many of those that waited were taken.
    pub taken: usize,
    /// How many entries were decided.
    pub entries: usize,
    /// Whether there is something to commit.
    pub to_commit: bool,
}

/// The committer and the flusher: they write while the decider reads, so others may move them too.
#[derive(Clone, Debug)]
pub struct Behind(Arc<Mutex<Writing>>);

#[derive(Debug)]
struct Writing {
    shared: Arc<Shared>,
    committing: Committing,
    flusher: Flusher,
    /// Committed, on its way to the flusher.
    committed: Vec<Arc<Committed>>,
}

impl Stepper {
    /// Opens a store. What was committed and not written behind is known again.
    pub fn open(store: Arc<dyn Store>, packs: &Packs, options: &Options) -> Result<Self, StartError> {
        let known = packs.0.among(&store.reader()?.definitions()?);
        let shared = Arc::new(Shared::new(store, Arc::new(known.law()), Feed::new()));
        let wiring = options.wiring();
        let Workers { decider, unpublished, committer, flusher } =
            Workers::open(&shared, &wiring, &mut |_, _| {})?;
        let committing = Committing::new(shared.clone(), committer);
        let committed = committing.publish(unpublished).into_iter().collect();
        let writing = Writing { shared: shared.clone(), committing, flusher, committed };
        let behind = Behind(Arc::new(Mutex::new(writing)));
        let (work, waiting) = sync_channel(options.queue.max(1));
        let gateway = Gateway::new(work, shared.clone(), options.most_behind);
        Ok(Self { shared, wiring, gateway, waiting, decider, committing: None, next: None, behind })
    }

    /// The way in, as everywhere.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Takes packs into force.
    pub fn install(&self, packs: &Packs) -> Result<Pending<()>, Failure> {
        let (ticket, pending) = oneshot::channel();
        let (law, definitions) = (Arc::new(packs.0.law()), packs.0.definitions());
        self.gateway.hand_in(Work::Law(law, definitions, By::own(), ticket))?;
        Ok(Pending(pending))
    }

    /// Whether it is moving the manual clock and must be turned again.
    pub fn is_advancing(&self) -> bool {
        self.decider.is_advancing()
    }

    /// Whether a pass over everything is under way.
    pub fn is_sweeping(&self) -> bool {
        self.decider.is_sweeping()
    }

    /// Decides at most so many of those that wait. None if the one before has not been taken yet, or a commit failed.
    pub fn turn(&mut self, most: usize) -> Option<Turned> {
        if self.next.is_some() || self.shared.is_broken() {
            return None;
        }
        let taken = Cell::new(0);
        let mut work = self.waiting.try_iter().inspect(|_| taken.set(taken.get() + 1)).take(most);
        let turn = steps::decide(&self.shared, &mut self.decider, &mut work);
        let entries = turn.entries.iter().map(|it| it.len()).sum();
        let to_commit = !turn.is_empty();
        drop(work);
        self.hand_over(turn);
        Some(Turned { taken: taken.get(), entries, to_commit })
    }

    fn hand_over(&mut self, mut turn: Turn) {
        if is_planted(Bug::AnsweredEarly) {
            turn.sayings.drain(..).for_each(|say| say(Ok(())));
        }
        if is_planted(Bug::ShownEarly) {
            self.shared.show(turn.touched.iter().map(|it| &it.entity), 0);
        }
        if turn.is_empty() {
            return;
        }
        match self.committing {
            None => self.committing = Some(turn),
            Some(_) => self.next = Some(turn),
        }
    }

    /// Whether something is decided and not committed.
    pub fn has_decided(&self) -> bool {
        self.committing.is_some()
    }

    /// Commits what was decided first. Whether there was something.
    pub fn commit(&mut self) -> bool {
        let Some(turn) = self.committing.take() else { return false };
        let mut writing = self.behind.writing();
        let committed = writing.committing.commit(turn);
        writing.committed.extend(committed);
        drop(writing);
        self.committing = self.next.take();
        true
    }

    /// Whether a commit failed: nothing is decided until it was recovered.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken()
    }

    /// Drops memory and reads it again, after a commit that failed. Where that fails too, callers are sent away.
    pub fn recover(&mut self) -> Result<(), StoreError> {
        if is_planted(Bug::MemoryKept) {
            self.behind.writing().committing.reopen()?;
            self.shared.set_broken(false);
            return Ok(());
        }
        let mut writing = self.behind.writing();
        let reopened = writing.committing.reopen();
        drop(writing);
        match reopened.and_then(|end| steps::reload(&self.shared, &self.wiring, &mut self.decider, end)) {
            Ok((decider, turn)) => {
                self.shared.set_broken(false);
                self.shared.set_trouble(Part::Journal, None);
                let mut writing = self.behind.writing();
                let committed = writing.committing.publish(turn);
                writing.committed.extend(committed);
                drop(writing);
                self.decider = decider;
                Ok(())
            }
            Err(error) => {
                for work in self.waiting.try_iter() {
                    steps::turn_away(&self.shared, work, &Failure::Unavailable(error.to_string()));
                }
                Err(error)
            }
        }
    }

    /// The committer and the flusher, for those who move them while the decider reads.
    pub fn behind(&self) -> Behind {
        self.behind.clone()
    }

    /// The time of the last decision.
    pub fn now(&self) -> Timestamp {
        self.decider.now()
    }

    /// The entry up to which the last turn took projections for written.
    pub fn knows_written(&self) -> u64 {
        self.decider.knows_written()
    }

    /// Where the manual clock is going, while it is under way.
    pub fn advancing_to(&self) -> Option<Timestamp> {
        self.decider.advancing_to()
    }

    /// The last entry that is on disk and known.
    pub fn committed(&self) -> u64 {
        self.shared.committed()
    }

    /// The last entry that is in the projections.
    pub fn written(&self) -> u64 {
        self.shared.written()
    }

    /// How much is in memory.
    pub fn cached(&self) -> Cached {
        let (groups, _, _) = self.decider.held_beside();
        let (values, keys) = self.decider.remembered();
        Cached { entities: self.decider.cached(), groups, values, keys }
    }

    /// Hands out what is to be done outside.
    pub fn outbox(&self) -> OutboxCourier {
        let clock = self.wiring.clock.clone();
        OutboxCourier::new(Reads::new(self.shared.clone(), self.gateway.clone(), clock))
    }

    /// Why the store cannot be used, while it cannot.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble()
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

impl Behind {
    /// Writes what was committed, the first so many commits of it. Nothing is done while it is writing already.
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
        steps::write_behind(shared, flusher, &mut |seqs| committing.drop_payloads(&seqs))
    }

    /// Work that can wait.
    pub fn tidy(&self) -> Result<bool, StoreError> {
        match self.0.try_lock() {
            Ok(mut writing) => writing.flusher.tidy(),
            Err(_) => Ok(true),
        }
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
