//! A project that is running.

use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Span;
use trackside_store::{Chain, Definition, Store, StoreError};

use crate::answer::{Failure, Pending};
use crate::catalog::{Catalog, CatalogError, PackSource};
use crate::clock::ProjectClock;
use crate::feed::{Feed, Follower};
use crate::figures::Figures;
use crate::gateway::Gateway;
use crate::memory::Limits;
use crate::observers::CommitObserver;
use crate::outbox::OutboxCourier;
use crate::pipeline::{Threads, Wiring, Workers};
use crate::read::Reads;
use crate::requester::Requester;
use crate::shared::{ProblemSource, Shared};
use crate::tally::SinceStart;
use crate::work::Work;

/// Options of the runtime. The defaults suit one machine.
#[derive(Clone, Debug)]
pub struct Options {
    pub clock: ProjectClock,
    /// Most commands that wait; beyond it callers are sent away.
    pub queue: usize,
    /// Most commands in one commit.
    pub batch: usize,
    /// Most entities in memory, without unflushed ones.
    pub cached_entities: usize,
    /// Most groups in memory.
    pub cached_groups: usize,
    /// Most timers in memory, those due next.
    pub cached_timers: usize,
    /// Most unique values in memory, without unflushed ones.
    pub cached_values: usize,
    /// Idempotency keys that stay in memory.
    pub cached_keys: usize,
    /// The longest that projections are behind while commits follow each other; in a pause they are written at once.
    pub behind: Duration,
    /// Entries that are written behind at once, without waiting.
    pub behind_entries: usize,
    /// Entries that projections may be behind before callers are sent away, and timers and the sweep wait.
    pub most_behind: u64,
    /// The interval of the sweep; none for never.
    pub sweep_every: Option<Span>,
    /// The retention of idempotency keys.
    pub keys_last: Span,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: ProjectClock::System,
            queue: 8_192,
            batch: 1_024,
            cached_entities: 200_000,
            cached_groups: 50_000,
            cached_timers: 100_000,
            cached_values: 50_000,
            cached_keys: 50_000,
            behind: Duration::from_millis(100),
            behind_entries: 15_000,
            most_behind: 600_000,
            sweep_every: Some(Span::seconds(30)),
            keys_last: Span(25 * 60 * 60 * 1_000),
        }
    }
}

/// Why it does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// A project that is running. Stops when dropped, after the commands handed in before are done.
#[derive(Debug)]
pub struct Runtime {
    gateway: Option<Gateway>,
    shared: Arc<Shared>,
    threads: Option<Threads>,
    options: Options,
    catalog: Mutex<Catalog>,
    courier: Mutex<Option<OutboxCourier>>,
}

impl Runtime {
    /// Starts on a store, with packs that are installed if they are new.
    pub fn start(store: Arc<dyn Store>, packs: &[PackSource], options: Options) -> Result<Self, StartError> {
        Self::start_telling(store, packs, options, &mut |_, _| {})
    }

    /// Starts with a progress callback: entries caught up, entries in all.
    pub fn start_telling(
        store: Arc<dyn Store>,
        packs: &[PackSource],
        options: Options,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, StartError> {
        let catalog = Catalog::of(store.reader()?.definitions()?)?;
        let shared = Arc::new(Shared::new(store, Arc::new(catalog.law()), Feed::new()));
        let wiring = options.wiring();
        let workers = Workers::open(&shared, &wiring, told)?;
        shared.tally.begin_at(options.clock.now().max(shared.last_at()));
        let (work, waiting) = sync_channel(options.queue.max(1));
        let threads = Threads::start(&shared, &wiring, waiting, workers)?;
        let gateway = Gateway::new(work, shared.clone(), options.most_behind);
        let catalog = Mutex::new(catalog);
        let runtime = Self {
            gateway: Some(gateway),
            shared,
            threads: Some(threads),
            options,
            catalog,
            courier: Mutex::default(),
        };
        runtime.install(packs)?;
        Ok(runtime)
    }

    /// The way in.
    pub fn gateway(&self) -> Result<&Gateway, Failure> {
        self.gateway.as_ref().ok_or(Failure::Stopped)
    }

    /// The way to see how things are.
    pub fn reads(&self) -> Result<Reads, Failure> {
        Ok(Reads::new(self.shared.clone(), self.gateway()?.clone(), self.options.clock.clone()))
    }

    /// Hands out effects. There is one per project, or things are done twice.
    pub fn outbox(&self) -> Result<OutboxCourier, Failure> {
        let mut courier = self.courier.lock().unwrap_or_else(PoisonError::into_inner);
        match &*courier {
            Some(it) => Ok(it.clone()),
            None => Ok(courier.insert(OutboxCourier::new(self.reads()?)).clone()),
        }
    }

    /// Warnings about packs of the project that would not be installed today.
    pub fn pack_warnings(&self) -> Vec<String> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner).warnings.clone()
    }

    /// The definitions in force.
    pub fn law(&self) -> Arc<Law> {
        self.shared.law()
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn figures(&self) -> &Figures {
        &self.shared.figures
    }

    /// Counters since the start, by kind.
    pub fn since_start(&self) -> SinceStart {
        self.shared.tally.since_start()
    }

    /// The last entry that is on disk.
    pub fn seq(&self) -> u64 {
        self.shared.last_committed()
    }

    /// The number of entries by which the projections are behind.
    pub fn lag(&self) -> u64 {
        self.shared.lag()
    }

    /// The present problem with the store: the reason why it cannot be used, or the work that waits for it.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem()
    }

    /// Puts packs into force, beside the versions that running entities use.
    pub fn install(&self, packs: &[PackSource]) -> Result<Vec<Definition>, StartError> {
        self.install_by(packs, Requester::engine())
    }

    /// Installs packs, requested by a person with role admin.
    pub fn install_by(&self, packs: &[PackSource], by: Requester) -> Result<Vec<Definition>, StartError> {
        let mut catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let mut with = catalog.clone();
        let new = with.take(packs)?;
        let (ticket, pending) = oneshot::channel();
        self.gateway()?.enqueue(Work::Law(Arc::new(with.law()), new.clone(), by, ticket))?;
        Pending(pending).wait()?;
        *catalog = with;
        Ok(new)
    }

    /// An entity as it is on disk.
    pub fn entity(&self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        self.shared.entity(key)
    }

    /// The store: for long reads of all data, and for copies. It shows uncommitted data.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.shared.store()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Drops archived entries from the journal, except those that must stay.
    pub(crate) fn cut(&self, upto: Chain, staying: &Arc<BTreeSet<u64>>) -> Result<(), Failure> {
        let threads = self.threads.as_ref().ok_or(Failure::Stopped)?;
        threads.cut(upto, staying.clone())?;
        Ok(())
    }

    /// Waits until projections show all that is committed now.
    pub fn wait_until_written(&self) -> Result<(), Failure> {
        let upto = self.seq();
        while self.shared.last_flushed() < upto {
            if let Some(problem) =
                self.shared.problem_of(&[ProblemSource::Journal, ProblemSource::Projections])
            {
                return Err(Failure::Unavailable(problem));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Registers an observer of all later commits, behind those registered before.
    pub fn observe(&self, observer: Arc<dyn CommitObserver>) {
        self.shared.observers.add(observer);
    }

    /// Follows the journal after an entry.
    pub fn follow(&self, after: u64) -> Follower {
        Follower::new(self.shared.clone(), after)
    }

    /// Finishes the submitted commands, flushes everything and stops.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(gateway) = self.gateway.take() {
            gateway.stop();
        }
        if let Some(threads) = self.threads.take() {
            threads.join();
        }
        self.shared.feed.close();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.end();
    }
}

impl Options {
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring {
            clock: self.clock.clone(),
            limits: Limits {
                entities: self.cached_entities,
                groups: self.cached_groups,
                timers: self.cached_timers,
                unique_values: self.cached_values,
                keys: self.cached_keys,
                behind: self.most_behind,
            },
            batch: self.batch.max(1),
            behind: self.behind,
            behind_entries: self.behind_entries,
            sweep: self.sweep_every,
            keys_last: self.keys_last,
        }
    }
}
