//! Trackside itself: the runtime on a SQLite store, with tasks of the mission pack going round, each with a clock that runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_runtime::{CommandAnswer, Failure, Figures, Options, PackSource, Runtime};
use trackside_store::sqlite::{Sqlite, SqliteOptions};

use crate::load::Pace;
use crate::subject::{AnswerSender, CommandOutcome, CommitTotals, LoadCommand, Maker, StoreSize, Subject};
use crate::{BenchError, deciding};

/// The number of agents that share the tasks.
pub(crate) const AGENTS: u64 = 256;
/// Commands that are under way at a time while a store is filled.
const FILLING: usize = 2_000;
/// The file with the number of entities, beside the store.
const SIZE: &str = "size.txt";

/// A timer for tasks that every move restarts: the pack has none, and the measured commands should set one.
const CLOCK: &str = "
timers:
  stale: { after: 4h, starts: entry, warn: [100%] }
";

/// The lifecycle it is added to.
const TASK: &str = "lifecycles/task.yaml";

/// The pack with a timer that every command of the load restarts.
fn with_clock(pack: &PackSource) -> Result<PackSource, BenchError> {
    let mut pack = pack.clone();
    let task = pack.files.iter_mut().find(|(path, _)| path == TASK);
    let (_, text) = task.ok_or_else(|| BenchError::other(format!("the pack has no {TASK}")))?;
    text.push_str(CLOCK);
    // The load moves a task round and round, which the pack would take for a loop.
    for (_, text) in pack.files.iter_mut().filter(|(path, _)| path == "pack.yaml") {
        *text = text.replace(
            "{ default: 20, min: 1, about: More comments",
            "{ default: 1000000000, min: 1, about: More comments",
        );
        *text = text.replace(
            "{ default: 6, min: 2, about: This many moves",
            "{ default: 1000000000, min: 2, about: This many moves",
        );
    }
    Ok(pack)
}

/// The folder beside a store that holds its pack, for a server that opens the store later.
pub const PACK: &str = "pack";

fn lay_down(pack: &PackSource, folder: &Path) -> Result<(), BenchError> {
    for (path, text) in &pack.files {
        let file = folder.join(PACK).join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(BenchError::file(parent))?;
        }
        std::fs::write(&file, text).map_err(BenchError::file(&file))?;
    }
    Ok(())
}

/// Opens stores of Trackside.
#[derive(Clone, Debug)]
pub struct TracksideMaker {
    /// The mission pack; its tasks get a clock.
    pub pack: PackSource,
    pub options: Options,
    pub store: SqliteOptions,
}

impl Maker for TracksideMaker {
    fn name(&self) -> &str {
        "Trackside"
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, BenchError> {
        Ok(Box::new(Project::open(self, folder)?))
    }

    fn decide(&self, entities: u64, time: Duration) -> Option<Result<Pace, BenchError>> {
        let pack = with_clock(&self.pack).and_then(|it| it.compile().map_err(BenchError::other));
        Some(pack.and_then(|(pack, _)| deciding::measure_deciding(pack, entities, time)))
    }
}

/// The step of a task that was not read since the store was opened.
const UNKNOWN: u8 = u8::MAX;

/// A task is started, blocked and assigned again, for ever.
pub(crate) const STEPS: u8 = 3;

struct Project {
    runtime: Arc<Runtime>,
    folder: std::path::PathBuf,
    entities: AtomicU64,
    /// The next step of each task.
    next: std::sync::RwLock<Arc<Vec<AtomicU8>>>,
    words: CommandTemplates,
}

/// The contents of every command, made once.
pub(crate) struct CommandTemplates {
    agents: Vec<Actor>,
    pub lead: Actor,
    lifecycle: Name,
    plan: Fields,
    block: Fields,
}

impl Project {
    fn open(maker: &TracksideMaker, folder: &Path) -> Result<Self, BenchError> {
        let store = Sqlite::open(folder, maker.store.clone()).map_err(BenchError::other)?;
        let pack = with_clock(&maker.pack)?;
        lay_down(&pack, folder)?;
        let runtime = Runtime::start(Arc::new(store), &[pack], maker.options.clone());
        let runtime = Arc::new(runtime.map_err(BenchError::other)?);
        let known = std::fs::read_to_string(folder.join(SIZE)).ok().and_then(|it| it.trim().parse().ok());
        let entities: u64 = known.unwrap_or(0);
        let next = std::sync::RwLock::new(Arc::new(steps(entities, UNKNOWN)));
        let (folder, entities) = (folder.to_owned(), AtomicU64::new(entities));
        Ok(Self { runtime, folder, entities, next, words: CommandTemplates::new() })
    }

    /// The next step of a task, from its state.
    fn step_of(&self, n: u64) -> u8 {
        let found = self.runtime.entity(&self.words.task(n)).ok().flatten();
        found.map_or(0, |it| step_after(&it.state))
    }

    /// Submits many, a few at a time, and waits for all.
    fn all(&self, commands: impl Iterator<Item = Command>, so_far: &dyn Fn(u64)) -> Result<(), BenchError> {
        let mut waiting = std::collections::VecDeque::new();
        let gateway = self.runtime.gateway().map_err(BenchError::other)?;
        let mut done = 0;
        let settle = |one: trackside_runtime::Pending| match one.wait().map_err(BenchError::other)? {
            CommandAnswer::Accepted(_) | CommandAnswer::Replayed { .. } => Ok(()),
            CommandAnswer::Refused(refusal) => Err(BenchError::other(refusal.detail)),
        };
        for command in commands {
            let mut command = Some(command);
            while let Some(it) = command.take() {
                match gateway.submit(it.clone()) {
                    Ok(pending) => waiting.push_back(pending),
                    Err(Failure::Overloaded(_)) => {
                        match waiting.pop_front() {
                            Some(one) => settle(one)?,
                            None => std::thread::sleep(Duration::from_millis(5)),
                        }
                        command = Some(it);
                    }
                    Err(failure) => return Err(BenchError::other(failure)),
                }
            }
            if waiting.len() >= FILLING {
                for one in waiting.drain(..FILLING / 2) {
                    settle(one)?;
                }
            }
            done += 1;
            if done % 10_000 == 0 {
                so_far(done);
            }
        }
        waiting.into_iter().try_for_each(settle)
    }
}

impl Subject for Project {
    fn prepare(&self, size: StoreSize, so_far: &dyn Fn(f64)) -> Result<(), BenchError> {
        let known = self.entities.load(Ordering::Relaxed);
        let seq = self.runtime.seq();
        let new = size.entities.saturating_sub(known);
        let edits = size.entries.saturating_sub(seq + new + AGENTS);
        let whole = (new + edits).max(1) as f64;
        if known == 0 {
            self.all(self.words.agents(), &|_| {})?;
        }
        let tasks = (known..size.entities).map(|n| self.words.seed_command(n));
        self.all(tasks, &|done| so_far(done as f64 / whole))?;
        let edit = |n: u64| {
            let fields: Fields = [("priority", Value::Int((n % 4) as i64 + 1))].into_iter().collect();
            Command::fire(self.words.lead.clone(), self.words.task(n % size.entities.max(1)), "edit", fields)
        };
        let mut n = 0;
        // A field that already has its value writes nothing: the number of entries decides.
        while self.runtime.seq() < size.entries {
            let round = (size.entries - self.runtime.seq()).min(100_000);
            self.all((n..n + round).map(edit), &|_| {})?;
            n += round + 1;
            so_far((new + self.runtime.seq().saturating_sub(seq)) as f64 / whole);
        }
        self.entities.store(size.entities.max(known), Ordering::Relaxed);
        *self.next.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Arc::new(steps(size.entities.max(known), if known == 0 { 0 } else { UNKNOWN }));
        std::fs::write(self.folder.join(SIZE), size.entities.max(known).to_string())
            .map_err(BenchError::file(&self.folder))?;
        self.settle();
        match self.pending_timers() {
            timers if timers < size.entities => Err(BenchError::other(format!(
                "of {} tasks only {timers} have a timer that runs",
                size.entities
            ))),
            _ => Ok(()),
        }
    }

    fn submit(&self, ask: LoadCommand, answer: AnswerSender) {
        let entities = self.entities.load(Ordering::Relaxed);
        let n = ask.entity(entities);
        let next = self.next.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let step = match next.get(n as usize).map_or(0, |it| it.load(Ordering::Relaxed)) {
            UNKNOWN => self.step_of(n),
            step => step % STEPS,
        };
        let mut command = self.words.command(step, self.words.task(n), n);
        command.idempotency_key = Some(Name::from(format!("{}-{}-{}", ask.load, ask.caller, ask.nth)));
        let Ok(gateway) = self.runtime.gateway() else { return answer.give(CommandOutcome::Failed) };
        // Separate from the answer, which must be given in either case.
        let answer = Arc::new(std::sync::Mutex::new(Some(answer)));
        let given = answer.clone();
        let give = move |outcome| {
            if let Some(answer) = given.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
                answer.give(outcome);
            }
        };
        let told = give.clone();
        let handed = gateway.submit_then(command, move |outcome| {
            told(match outcome {
                Ok(CommandAnswer::Accepted(accepted)) => {
                    let state = accepted.entity.as_ref().map_or("", |it| it.state.as_str());
                    if let Some(step) = next.get(n as usize) {
                        step.store(step_after(state), Ordering::Relaxed);
                    }
                    CommandOutcome::Done
                }
                Ok(CommandAnswer::Replayed { .. }) => CommandOutcome::Done,
                Ok(CommandAnswer::Refused(_)) => CommandOutcome::Refused,
                Err(Failure::Overloaded(_)) => CommandOutcome::Overloaded,
                Err(_) => CommandOutcome::Failed,
            });
        });
        if let Err(failure) = handed {
            give(if matches!(failure, Failure::Overloaded(_)) {
                CommandOutcome::Overloaded
            } else {
                CommandOutcome::Failed
            });
        }
    }

    fn settle(&self) {
        while self.runtime.lag() > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn figures(&self) -> CommitTotals {
        let counted = self.runtime.figures();
        let payloads = Figures::get(&counted.payloads);
        CommitTotals {
            commands: Figures::get(&counted.commands),
            entries: Figures::get(&counted.entries),
            commits: Figures::get(&counted.commits),
            largest_batch: Figures::get(&counted.largest_commit),
            header_bytes: Figures::get(&counted.header_bytes),
            payload_bytes: Figures::get(&counted.payload_bytes),
            digest_bytes: payloads * 32,
            hash_bytes: Figures::get(&counted.entries) * 32,
        }
    }

    fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }

    fn pending_timers(&self) -> u64 {
        let counted = self.runtime.store().reader().and_then(|mut it| it.census());
        counted.map_or(0, |it| it.value.timers)
    }
}

fn steps(entities: u64, step: u8) -> Vec<AtomicU8> {
    (0..entities).map(|_| AtomicU8::new(step)).collect()
}

/// The step that leaves a state.
pub(crate) fn step_after(state: &str) -> u8 {
    match state {
        "IN_PROGRESS" => 1,
        "BLOCKED" => 2,
        _ => 0,
    }
}

impl CommandTemplates {
    pub fn new() -> Self {
        let agent = |n| Actor::new(format!("agent-{n}"), ActorKind::Agent).with_roles(["specialist"]);
        let bullets = ["Read it", "Write it", "Check it"].map(Value::from).to_vec();
        let plan = Value::map([(Name::new("bullets"), Value::list(bullets))].into_iter().collect());
        Self {
            agents: (0..AGENTS).map(agent).collect(),
            lead: Actor::new("hank", ActorKind::Human),
            lifecycle: Name::new("mission.task"),
            plan: [("workPlan", plan)].into_iter().collect(),
            block: [("blockReason", Value::from("Waits for the index"))].into_iter().collect(),
        }
    }

    fn agent(&self, n: u64) -> &Actor {
        self.agents.get((n % AGENTS) as usize).unwrap_or(&self.lead)
    }

    pub fn task(&self, n: u64) -> EntityKey {
        EntityKey { lifecycle: self.lifecycle.clone(), id: Name::from(format!("T-{n}")) }
    }

    /// Creates the agents.
    pub fn agents(&self) -> impl Iterator<Item = Command> {
        (0..AGENTS).map(|n| {
            let key = EntityKey::new("mission.agent", self.agent(n).id.clone());
            seed(key, "ACTIVE", [("role", Value::from("specialist"))].into_iter().collect())
        })
    }

    /// Creates a task that is assigned to an agent.
    pub fn seed_command(&self, n: u64) -> Command {
        let agent = Value::list(vec![Value::from(&self.agent(n).id)]);
        let fields =
            [("title", Value::from("Write the page")), ("assigneeIds", agent), ("type", Value::from("DOCS"))];
        seed(self.task(n), "ASSIGNED", fields.into_iter().collect())
    }

    pub fn command(&self, step: u8, task: EntityKey, n: u64) -> Command {
        match step {
            0 => Command::fire(self.agent(n).clone(), task, "start", self.plan.clone()),
            1 => Command::fire(self.agent(n).clone(), task, "block", self.block.clone()),
            _ => {
                let agent = Value::list(vec![Value::from(&self.agent(n).id)]);
                let fields = [("assigneeIds", agent)].into_iter().collect();
                Command::fire(self.lead.clone(), task, "assign", fields)
            }
        }
    }
}

fn seed(key: EntityKey, state: &str, fields: Fields) -> Command {
    let seed = Seed { state: Some(Name::new(state)), fields, ..Seed::new(key) };
    Command::new(Actor::new("bench", ActorKind::System), Ask::Seed(seed))
}
