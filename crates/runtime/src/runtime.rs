//! A project that is running.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_store::{Chain, Definition, Store, StoreError};

use crate::answer::{Failure, Pending};
use crate::catalog::{Catalog, CatalogError, PackOrigin, PackSource};
use crate::clock::ProjectClock;
use crate::feed::{Feed, Follower};
use crate::figures::Figures;
use crate::gateway::Gateway;
use crate::memory::Limits;
use crate::observers::CommitObserver;
use crate::outbox::OutboxCourier;
use crate::pipeline::{Threads, Wiring, Workers, write_projections};
use crate::queue::{LaneKey, WorkQueue};
use crate::read::Reads;
use crate::requester::Requester;
use crate::shared::{ProblemSource, Shared};
use crate::space::{SpaceLimits, SpaceStatus, SpaceWatch};
use crate::steering::ClockAlarm;
use crate::tally::SinceStart;
use crate::work::Work;

/// Options of the runtime. The defaults suit one machine.
#[derive(Clone, Debug)]
pub struct Options {
    pub clock: ProjectClock,
    /// Most commands of one actor that wait while no other waits; several actors share it. Beyond it the actor is sent
    /// away.
    pub queue: usize,
    /// Most commands in one commit.
    pub batch: usize,
    /// Most entities in memory, without unflushed ones.
    pub cached_entities: usize,
    /// Most groups in memory.
    pub cached_groups: usize,
    /// Most bytes of entities and groups in memory, about, without unflushed ones.
    pub cached_bytes: usize,
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
    /// Bytes of entries that projections may be behind before callers are sent away.
    pub most_behind_bytes: u64,
    /// The interval of the sweep; none for never.
    pub sweep_every: Option<Span>,
    /// The retention of idempotency keys.
    pub keys_last: Span,
    /// Limits of the space of the data folder.
    pub space: SpaceLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: ProjectClock::System,
            queue: 8_192,
            batch: 1_024,
            cached_entities: 200_000,
            cached_groups: 50_000,
            cached_bytes: 128 * 1024 * 1024,
            cached_timers: 100_000,
            cached_values: 50_000,
            cached_keys: 50_000,
            behind: Duration::from_millis(100),
            behind_entries: 15_000,
            most_behind: 600_000,
            most_behind_bytes: 256 * 1024 * 1024,
            sweep_every: Some(Span::seconds(30)),
            keys_last: Span(25 * 60 * 60 * 1_000),
            space: SpaceLimits::default(),
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
    space: Option<SpaceWatch>,
    /// Packs that could not be installed at the start, because there was no space.
    not_installed: AtomicBool,
    /// Other warnings, by their name.
    warnings: Mutex<BTreeMap<&'static str, String>>,
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
        mut options: Options,
        told: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, StartError> {
        let catalog = Catalog::of(store.reader()?.definitions()?)?;
        options.clock = options.clock.begin(store.reader()?.head()?.at);
        let shared = Arc::new(Shared::new(store, Arc::new(catalog.law()), Feed::new()));
        let wiring = options.wiring();
        let workers = Workers::open(&shared, &wiring, told)?;
        shared.tally.begin_at(options.clock.now().max(shared.last_at()));
        let work = WorkQueue::new(options.queue);
        let threads = Threads::start(&shared, &wiring, work.clone(), workers)?;
        let gateway = Gateway::new(work, shared.clone(), &options);
        let catalog = Mutex::new(catalog);
        let guard = Arc::downgrade(&shared.space);
        let watch = SpaceWatch::start(options.space.clone(), move || guard.upgrade());
        let watch = watch.map_err(|it| StoreError::io("starting a thread", it))?;
        let runtime = Self {
            gateway: Some(gateway),
            shared,
            threads: Some(threads),
            options,
            catalog,
            courier: Mutex::default(),
            space: watch,
            not_installed: AtomicBool::new(false),
            warnings: Mutex::default(),
        };
        runtime.install_if_space(packs)?;
        Ok(runtime)
    }

    /// Writes the projections of a store up to the end of its journal, without starting the project: nothing is decided,
    /// and no timer fires.
    pub fn write_projections(
        store: Arc<dyn Store>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StartError> {
        let catalog = Catalog::of(store.reader()?.definitions()?)?;
        let shared = Shared::new(store, Arc::new(catalog.law()), Feed::new());
        Ok(write_projections(&shared, &Options::default().wiring(), progress)?)
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

    /// The space of the data folder.
    pub fn space(&self) -> SpaceStatus {
        self.shared.space.status()
    }

    /// Reports a condition that needs attention, or that it is over.
    pub fn set_warning(&self, name: &'static str, why: Option<String>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => warnings.insert(name, why),
            None => warnings.remove(name),
        };
    }

    /// Conditions that need attention while the project runs.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings: Vec<String> = warnings.values().cloned().collect();
        warnings.extend_from_slice(self.catalog.lock().unwrap_or_else(PoisonError::into_inner).outdated());
        if let SpaceStatus::Low(why) = self.space() {
            warnings.push(format!("space is low: {why}"));
        }
        if self.not_installed.load(Ordering::Acquire) {
            warnings.push(
                "the packs of this release were not installed, because there was no space. Start the server again once \
                 there is"
                    .to_owned(),
            );
        }
        warnings
    }

    /// The present problem with the store: the reason why it cannot be used, or the work that waits for it.
    pub fn problem(&self) -> Option<String> {
        self.shared.problem()
    }

    /// Why project time does not follow the machine's clock, if it does not.
    pub fn clock_alarm(&self) -> Option<ClockAlarm> {
        self.shared.clock_alarm()
    }

    /// Puts packs into force, beside the versions that running entities use.
    pub fn install(&self, packs: &[PackSource]) -> Result<Vec<Definition>, StartError> {
        self.install_by(packs, Requester::engine())
    }

    /// Puts packs of the server itself into force.
    pub fn install_own(&self, packs: &[PackSource]) -> Result<Vec<Definition>, StartError> {
        self.install_from(packs, Requester::engine(), PackOrigin::Server)
    }

    /// [`Self::install_if_space`] for packs of the server itself.
    pub fn install_own_if_space(&self, packs: &[PackSource]) -> Result<(), StartError> {
        self.install_from_if_space(packs, PackOrigin::Server)
    }

    /// Puts packs into force at the start. Without space the project runs with the packs it has, which can be read, and
    /// [`Self::warnings`] says so.
    pub fn install_if_space(&self, packs: &[PackSource]) -> Result<(), StartError> {
        self.install_from_if_space(packs, PackOrigin::User)
    }

    fn install_from_if_space(&self, packs: &[PackSource], origin: PackOrigin) -> Result<(), StartError> {
        let known = self.catalog.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A stored pack that is given again need not pass the rules for new ones.
        let packs: Vec<PackSource> = packs.iter().filter(|it| !known.knows(it)).cloned().collect();
        let Err(error) = self.install_from(&packs, Requester::engine(), origin) else { return Ok(()) };
        let new = known.clone().take(&packs, origin)?;
        let has = |pack: &Name| known.law().pack(pack.as_str()).is_some();
        match error {
            StartError::Failure(Failure::NoSpace(_)) if new.iter().all(|it| has(&it.pack)) => {
                self.not_installed.fetch_or(!new.is_empty(), Ordering::AcqRel);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Installs packs, requested by a person with role admin.
    pub fn install_by(&self, packs: &[PackSource], by: Requester) -> Result<Vec<Definition>, StartError> {
        self.install_from(packs, by, PackOrigin::User)
    }

    fn install_from(
        &self,
        packs: &[PackSource],
        by: Requester,
        origin: PackOrigin,
    ) -> Result<Vec<Definition>, StartError> {
        let mut catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let mut with = catalog.clone();
        let new = with.take(packs, origin)?;
        let (ticket, pending) = oneshot::channel();
        self.gateway()?
            .enqueue(LaneKey::system(), Work::Law(Arc::new(with.law()), new.clone(), by, ticket))?;
        Pending(pending).wait()?;
        *catalog = with;
        if let Some(threads) = self.threads.as_ref().filter(|_| !new.is_empty()) {
            threads.search_archived();
        }
        Ok(new)
    }

    /// The packs that were installed before an entry, each in its newest version then.
    pub fn packs_before(&self, seq: u64) -> Result<Vec<Arc<Pack>>, Failure> {
        let installed = self.store().reader()?.installed()?;
        let catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let mut packs = BTreeMap::new();
        for record in installed.iter().map(|it| &it.record).filter(|it| it.seq < seq) {
            if let Event::PackInstalled { pack, version, .. } = record.entry()?.event
                && let Some(found) = catalog.pack(&pack, version)
            {
                packs.insert(pack, found);
            }
        }
        Ok(packs.into_values().collect())
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
        self.space.take();
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
                bytes: self.cached_bytes,
                timers: self.cached_timers,
                unique_values: self.cached_values,
                keys: self.cached_keys,
                keys_last: self.keys_last,
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
