//! One simulation: the worker of the next step is drawn at random, and after every step all promises are
//! checked.

mod ending;
mod requests;
mod rotting;
mod upkeep;
mod workers;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_engine::project::{ProjectChange, SettingChange};
use trackside_engine::ranking::RankingKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_random::Random;
use trackside_runtime::simulation::{Failpoint, Packs, SimulatedMachine, Stepper, enable};
use trackside_runtime::{BatchAnswer, CommandAnswer, Failure, Options, PackSource, ProjectClock};
use trackside_store::failpoints::{self, StoreFailpoint};
use trackside_store::{MemoryStore, Store};

use crate::broken::BrokenPromise;
use crate::callers::{Attempt, CallerRequest, CallerResponse, StateQuery, TrackedRequest, alike, all_alike};
use crate::cast::WalkActors;
use crate::counts::GroupCounts;
use crate::disk::{FaultRates, FaultyDisk};
use crate::expected_clock::{ExpectedClock, MachineTime};
use crate::final_checks::{self, all_groups, text};
use crate::followers::JournalListener;
use crate::interference::{DiskBug, InterferedStore, Interference};
use crate::model::{ObservedStep, ReferenceModel};
use crate::packs::WalkPack;
use crate::request_chooser::RequestChooser;
use crate::rot::RottingFiles;
use crate::setup::WalkSetup;
use crate::step_log::StepLog;
use crate::steps::WalkStep;
use crate::{holds, openings, orders};

/// Most requests that are not answered.
const OPEN: usize = 12;
/// The number of attempts of a caller.
const ATTEMPTS: usize = 6;

/// The settings of a simulation.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    ground: Arc<WalkPack>,
    packs: Packs,
    /// The same packs, with a second version beside the first.
    both: Packs,
    /// Whether versions change, payloads are redacted and the sweep runs by schedule.
    pub upkeep: bool,
    pub steps: usize,
    pub bug: Option<Failpoint>,
    pub disk_bug: Option<DiskBug>,
    pub store_bug: Option<StoreFailpoint>,
    /// Whether the store is in files whose bits flip. Then nothing else fails in the store.
    pub rot: bool,
}

impl SimulationOptions {
    /// A pack, by its name.
    pub fn of(pack: &str, steps: usize) -> Self {
        let folder = crate::packs::folder().join(pack);
        let mut files = vec![("pack.yaml".to_owned(), folder.join("pack.yaml"))];
        for path in crate::folder::yaml_in(&folder.join("lifecycles")) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((format!("lifecycles/{name}"), path));
        }
        let files = files.into_iter().map(|(name, path)| (name, std::fs::read_to_string(path).unwrap()));
        let first = PackSource { files: files.collect() };
        let mut second = first.clone();
        second.files[0].1 = second.files[0].1.replace("\nversion: 1\n", "\nversion: 2\n");
        assert_ne!(first.files[0], second.files[0], "the version is found");
        let packs = Packs::compile(std::slice::from_ref(&first)).unwrap();
        let both = Packs::compile(&[first, second]).unwrap();
        let ground = Arc::new(WalkPack::load(pack));
        Self {
            ground,
            packs,
            both,
            upkeep: true,
            steps,
            bug: None,
            disk_bug: None,
            store_bug: None,
            rot: false,
        }
    }
}

/// The amount of simulated work.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulationTotals {
    pub steps: usize,
    pub entries: usize,
    pub answers: usize,
    pub accepted: usize,
    pub replayed: usize,
    pub timers: usize,
    pub crashes: usize,
    pub recoveries: usize,
    pub faults: usize,
    pub flushes: usize,
    /// Times that the decider waited for more requests.
    pub waits: usize,
    /// Requested sweeps that were answered.
    pub sweeps: usize,
    /// Jumps of the machine's clock that were journalled.
    pub clock_alerts: usize,
    /// Bits that flipped, and entities that were rebuilt.
    pub flips: usize,
    pub repairs: usize,
}

impl SimulationTotals {
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.entries += other.entries;
        self.answers += other.answers;
        self.accepted += other.accepted;
        self.replayed += other.replayed;
        self.timers += other.timers;
        self.crashes += other.crashes;
        self.recoveries += other.recoveries;
        self.waits += other.waits;
        self.faults += other.faults;
        self.flushes += other.flushes;
        self.sweeps += other.sweeps;
        self.clock_alerts += other.clock_alerts;
        self.flips += other.flips;
        self.repairs += other.repairs;
    }
}

/// A broken promise, and the steps that led to it.
#[derive(Debug)]
pub struct SimulationFailure {
    pub promise: &'static str,
    pub what: String,
    pub log: Vec<String>,
}

/// Simulates once.
pub fn simulate(scene: &SimulationOptions, seed: u64) -> Result<SimulationTotals, SimulationFailure> {
    enable(scene.bug);
    failpoints::enable(scene.store_bug);
    let mut run = SimulationRun::new(scene, seed);
    let done = run.all();
    enable(None);
    failpoints::enable(None);
    // They refer to each other: without this, nothing of a run would be freed.
    run.interference.move_now(None);
    match done {
        Ok(()) => Ok(run.figures),
        Err(broken) => {
            Err(SimulationFailure { promise: broken.promise, what: broken.what, log: run.log.lines() })
        }
    }
}

/// A decided step, and its waiting callers.
#[derive(Debug)]
struct DecidedStep {
    decider_step: ObservedStep,
    attempts: Vec<Attempt>,
    /// Whether there is something to commit.
    weighs: bool,
}

struct SimulationRun<'a> {
    scene: &'a SimulationOptions,
    dice: Random,
    disk: FaultyDisk,
    interference: Interference,
    /// The store in memory, unless it is in files.
    memory: MemoryStore,
    files: Option<RottingFiles>,
    /// The open store.
    store: Arc<dyn Store>,
    wants_rebuild: Arc<Mutex<Option<String>>>,
    /// Whether bits flipped since the files were known to be whole.
    rotten: bool,
    options: Options,
    /// The time of the manual clock.
    manual: Arc<AtomicI64>,
    /// The clocks of the machine, unless the clock is manual.
    machine: Arc<SimulatedMachine>,
    /// The sum of all steps back of the monotonic clock.
    stepped_back: i64,
    expected_clock: ExpectedClock,
    /// The time of day when the elapsed time was zero.
    started: Timestamp,
    stepper: Option<Stepper>,
    model: ReferenceModel,
    cast: WalkActors,
    setup: WalkSetup,
    requests: Vec<TrackedRequest>,
    /// On their way: the step at which they arrive, and which request.
    mail: Vec<(usize, usize)>,
    waiting: VecDeque<Attempt>,
    decided: VecDeque<DecidedStep>,
    /// Moves of the clock and sweeps that are under way.
    journeys: Vec<Attempt>,
    /// A commit failed, and its entries may be on disk.
    doubt: Option<DecidedStep>,
    listeners: [JournalListener; 2],
    taken: BTreeMap<(Name, Name), usize>,
    counts: GroupCounts,
    again: Option<Command>,
    corrected: bool,
    installed: bool,
    /// Whether the second version was requested.
    renewed: bool,
    step: usize,
    log: StepLog,
    figures: SimulationTotals,
}

impl<'a> SimulationRun<'a> {
    fn new(scene: &'a SimulationOptions, seed: u64) -> Self {
        let mut dice = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(seed));
        let disk = FaultyDisk::new(seed ^ 0x5151);
        let start = Timestamp::parse("2026-01-01T08:00:00Z").unwrap();
        let by_hand = dice.percent(30);
        let manual = Arc::new(AtomicI64::new(start.0));
        let machine = Arc::new(SimulatedMachine::default());
        machine.wall.store(start.0, Ordering::Release);
        let options = Options {
            clock: if by_hand {
                ProjectClock::Manual(manual.clone())
            } else {
                ProjectClock::Simulated(machine.clone())
            },
            queue: 4 + dice.below(40),
            batch: 8,
            cached_entities: dice.below(8),
            cached_groups: dice.below(5),
            cached_bytes: [usize::MAX, 20_000, 2_000][(seed % 3) as usize],
            most_behind_bytes: u64::MAX,
            cached_timers: 2 + dice.below(25),
            cached_values: (seed % 3) as usize,
            cached_keys: (seed % 4) as usize,
            behind: Duration::ZERO,
            behind_entries: 1,
            most_behind: 40 + dice.below(400) as u64,
            // With a manual clock, the sweep runs only on request.
            sweep_every: (scene.upkeep && !by_hand).then_some(upkeep::SWEEP),
            keys_last: Span(25 * 60 * 60 * 1_000),
            ..Options::default()
        };
        let often = [0, 3, 15][dice.below(3)];
        let setup = WalkSetup::random(&scene.ground, &mut dice);
        let memory = MemoryStore::with_faults(disk.clone());
        let files = scene.rot.then(|| RottingFiles::new(seed ^ 0x2222));
        Self {
            scene,
            store: Arc::new(memory.clone()),
            memory,
            files,
            wants_rebuild: Arc::default(),
            rotten: false,
            interference: Interference::new(seed ^ 0x7777, often, scene.disk_bug),
            model: ReferenceModel::new(start, options.keys_last, scene.upkeep),
            options,
            manual,
            machine,
            stepped_back: 0,
            expected_clock: ExpectedClock::default(),
            started: start,
            stepper: None,
            cast: WalkActors::of(&scene.ground),
            setup,
            requests: Vec::new(),
            mail: Vec::new(),
            waiting: VecDeque::new(),
            decided: VecDeque::new(),
            journeys: Vec::new(),
            doubt: None,
            listeners: [JournalListener::new(), JournalListener::new()],
            taken: BTreeMap::new(),
            counts: GroupCounts::default(),
            again: None,
            corrected: false,
            installed: false,
            renewed: false,
            step: 0,
            log: StepLog::default(),
            figures: SimulationTotals::default(),
            dice,
            disk,
        }
    }

    fn all(&mut self) -> Result<(), BrokenPromise> {
        self.open()?;
        let install = CallerRequest::Install(self.scene.packs.clone());
        self.request(install);
        while self.step < self.scene.steps {
            self.step += 1;
            self.figures.steps += 1;
            self.next_step()?;
        }
        self.end()
    }

    fn next_step(&mut self) -> Result<(), BrokenPromise> {
        self.deliver();
        let is_broken = self.stepper.as_ref().is_none_or(Stepper::is_broken);
        let weights = [
            30,                                    // somebody asks
            34,                                    // a step
            34,                                    // a commit
            8,                                     // write behind
            if is_broken { 60 } else { 0 },        // recover
            2,                                     // a crash
            6,                                     // time
            10,                                    // somebody reads
            8,                                     // somebody listens
            3,                                     // the weather changes
            3,                                     // tidying
            if self.scene.upkeep { 5 } else { 0 }, // upkeep
            if self.scene.rot { 12 } else { 0 },   // bits flip
        ];
        match self.dice.pick_weighted(&weights) {
            0 => self.ask(),
            1 => self.decider_step()?,
            2 => self.commit()?,
            3 => self.flush()?,
            4 => self.recover()?,
            5 => self.crash()?,
            6 => self.time()?,
            7 => self.read()?,
            8 => self.listen()?,
            9 => {
                let fault_rates = FaultRates::random(&mut self.dice);
                self.log.add(format!("{fault_rates:?}"));
                self.disk.set(fault_rates);
            }
            11 => self.upkeep(),
            12 => self.flip()?,
            _ => {
                if let Some(stepper) = &self.stepper {
                    stepper.write_workers().tidy().ok();
                }
            }
        }
        Ok(())
    }

    /// A process begins.
    fn open(&mut self) -> Result<(), BrokenPromise> {
        self.interference.move_now(None);
        if !self.open_files()? {
            return Ok(());
        }
        let store = InterferedStore {
            store: self.store.clone(),
            interference: self.interference.clone(),
            wants_rebuild: self.wants_rebuild.clone(),
        };
        let store: Arc<dyn Store> = Arc::new(store);
        match Stepper::open(store, &self.scene.both, &self.options) {
            Ok(stepper) => {
                self.interference.move_now(Some(stepper.write_workers()));
                self.log.add(format!("it starts at {}", stepper.last_committed()));
                self.stepper = Some(stepper);
                let last = self.disk.quietly(|| self.store.reader().unwrap().head().unwrap().at);
                self.expected_clock = match self.options.clock.is_manual() {
                    true => ExpectedClock::manual(self.clock_now()),
                    false => ExpectedClock::start(last, self.machine_time()),
                };
                self.settle_doubt()?;
                self.disk.read_failed();
            }
            Err(why) => {
                self.log.add(format!("it does not start: {why}"));
                // Nothing in memory survives.
                self.forget_memory();
                if self.files.is_some() {
                    self.refused(&why.to_string())?;
                }
            }
        }
        Ok(())
    }

    /// The journal after a failure: with or without the commit in doubt.
    fn settle_doubt(&mut self) -> Result<(), BrokenPromise> {
        let head = self.disk.quietly(|| self.store.reader().unwrap().head().unwrap().chain.seq);
        let doubt = self.doubt.take();
        if head != self.model.seq() {
            let Some(doubt) = doubt else {
                let what = format!("the journal ends at {head}, {} was committed", self.model.seq());
                return Err(BrokenPromise::new("an acknowledged command survives", what));
            };
            self.explain(&doubt.decider_step)?;
            self.log.add("  the commit in doubt is there");
        }
        let committed = self.stepper.as_ref().map_or(0, Stepper::last_committed);
        if committed != self.model.seq() {
            let what = format!("it knows of {committed} entries, there are {}", self.model.seq());
            return Err(BrokenPromise::new("what is on disk is known again", what));
        }
        let now = self.clock_now();
        let advance = self.stepper.as_ref().and_then(Stepper::advancing_to);
        self.model.began_again(now, advance);
        Ok(())
    }

    /// Has the model follow a step that is on disk.
    fn explain(&mut self, decider_step: &ObservedStep) -> Result<Vec<Option<CallerResponse>>, BrokenPromise> {
        let after = self.model.seq();
        let records = self.disk.quietly(|| self.store.reader().unwrap().records(after, usize::MAX).unwrap());
        let expected = self.model.follow(decider_step, &records)?;
        for entry in &self.model.world.journal[after as usize..] {
            if matches!(entry.event, Event::Transitioned { .. } | Event::FieldsChanged { .. }) {
                let key = (entry.entity.lifecycle.clone(), entry.trigger.clone());
                *self.taken.entry(key).or_default() += 1;
            }
            if let Some(line) = crate::describe::describe_entry(entry) {
                self.log.add(format!("    {} {line}", entry.seq));
            }
            self.corrected |= matches!(entry.event, Event::Corrected { from: Some(_), .. });
        }
        self.figures.entries += records.len();
        Ok(expected)
    }

    /// The time of the manual clock, or the expected project time.
    fn clock_now(&self) -> Timestamp {
        match self.options.clock.is_manual() {
            true => Timestamp(self.manual.load(Ordering::Acquire)),
            false => self.expected_clock.now(self.machine_time()),
        }
    }

    fn machine_time(&self) -> MachineTime {
        let read = |it: &AtomicI64| it.load(Ordering::Acquire);
        let elapsed = read(&self.machine.monotonic) + self.stepped_back;
        MachineTime { elapsed, day: read(&self.machine.wall) }
    }
}
