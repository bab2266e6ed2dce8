//! A run of the real workers, step by step on one thread, that notes how far the disk was at every answer.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Redact};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_runtime::simulation::{Packs, Stepper};
use trackside_runtime::{CommandAnswer, Pending};
use trackside_store::{Record, Sqlite, SqliteOptions, Store};

use crate::journal::{StoredJournal, WrittenCommand};
use crate::load::{self, CommandKey, command};
use crate::packs::packs;
use crate::writer::options;

/// The task whose first entries are redacted.
pub const REDACTED: &str = "mission.task/0-0-0";

/// The folder on the disk that loses power.
pub const FOLDER: &str = "data";

/// An answer, and the number of disk operations at that time.
#[derive(Clone, Debug)]
pub struct AcknowledgedCommand {
    pub at: u64,
    pub key: String,
    pub written: WrittenCommand,
}

/// The result of a run.
#[derive(Debug)]
pub struct ScriptRun {
    pub answers: Vec<AcknowledgedCommand>,
    pub journal: StoredJournal,
    /// The redaction entry, and the disk position when the payload was gone.
    pub redaction: (u64, u64),
    /// The boundaries before and after each checkpointer pass that moved something.
    pub passes: Vec<(u64, u64)>,
}

/// The packs, compiled once for all the times that a store is opened.
fn compiled_packs() -> &'static Packs {
    static PACKS: OnceLock<Packs> = OnceLock::new();
    PACKS.get_or_init(|| Packs::compile(&packs()).unwrap())
}

/// The law of these tests.
pub fn law() -> &'static Law {
    static LAW: OnceLock<Arc<Law>> = OnceLock::new();
    LAW.get_or_init(|| compiled_packs().law())
}

/// The workers on a store, driven by hand.
#[derive(Debug)]
pub struct ManualWorkers {
    pub store: Arc<Sqlite>,
    pub stepper: Stepper,
}

impl ManualWorkers {
    pub fn open(sqlite: SqliteOptions) -> Result<Self, String> {
        let store = Arc::new(Sqlite::open(Path::new(FOLDER), sqlite).map_err(|it| it.to_string())?);
        let stepper =
            Stepper::open(store.clone(), compiled_packs(), &options(&*store)).map_err(|it| it.to_string())?;
        Ok(Self { store, stepper })
    }

    pub fn install(&mut self) {
        let pending = self.stepper.install(compiled_packs()).unwrap();
        self.turn();
        pending.wait().unwrap();
    }

    /// Decides and commits all that waits.
    pub fn turn(&mut self) {
        loop {
            self.stepper.step(100);
            if !self.stepper.commit() && !self.stepper.is_advancing() {
                return;
            }
        }
    }

    /// Submits several commands, which share a commit.
    pub fn ask(&mut self, commands: Vec<Command>) -> Vec<CommandAnswer> {
        let asked: Vec<Pending> =
            commands.into_iter().map(|it| self.stepper.gateway().submit(it).unwrap()).collect();
        self.turn();
        asked.into_iter().map(|it| it.wait().unwrap()).collect()
    }

    pub fn flush(&mut self) -> Result<(), String> {
        self.stepper.write_workers().flush(usize::MAX).map_err(|it| it.to_string())
    }

    pub fn later(&mut self, span: Span) {
        let to = self.stepper.now().plus(span);
        let done = self.stepper.gateway().advance(to).unwrap();
        self.turn();
        done.wait().unwrap();
    }

    fn trail(&self, key: &EntityKey) -> Vec<Record> {
        let last = self.stepper.entity(key).unwrap().unwrap().seq;
        let mut trail = self.store.reader().unwrap().trail(last, usize::MAX >> 1).unwrap();
        trail.reverse();
        trail
    }

    /// Redacts the first entries of a task. Returns the entry of the redaction.
    fn redact(&mut self) -> u64 {
        let key = EntityKey::parse(REDACTED).unwrap();
        let records = self.trail(&key);
        let entries = records.iter().filter(|it| it.payload.is_some()).take(2).map(|it| it.seq).collect();
        let history = records.iter().map(|it| it.entry().unwrap()).collect();
        let becomes: Fields = [("title", Value::text("taken out"))].into_iter().collect();
        let ask = Ask::Redact(Redact { entity: key, entries, becomes, history });
        let admin = Actor::new("olga", ActorKind::Human).with_roles(["admin"]);
        match self.ask(vec![Command::new(admin, ask).with_reason("it was a secret")]).remove(0) {
            CommandAnswer::Accepted(it) => it.entries[0].seq,
            other => panic!("{other:?}"),
        }
    }
}

/// The entries that an answer names.
pub fn written_command(answer: &CommandAnswer) -> Option<WrittenCommand> {
    match answer {
        CommandAnswer::Accepted(it) => {
            let entries = u32::try_from(it.entries.len()).unwrap();
            it.entries.first().map(|it| WrittenCommand { first: it.seq, entries })
        }
        CommandAnswer::Replayed { first, entries, .. } => {
            Some(WrittenCommand { first: *first, entries: *entries })
        }
        CommandAnswer::Refused(_) => None,
    }
}

/// Runs this many commits of three callers each, with projections, checkpoints, timers and a redaction
/// between them.
pub fn run(sqlite: SqliteOptions, commits: u64, boundary: &dyn Fn() -> u64) -> ScriptRun {
    let mut hand = ManualWorkers::open(sqlite).unwrap();
    hand.install();
    hand.ask(load::agents());
    let mut answers = Vec::new();
    let mut redaction = (0, 0);
    let mut passes = Vec::new();
    for step in 0..commits {
        let keys: Vec<CommandKey> = (0..3).map(|caller| CommandKey { round: 0, caller, step }).collect();
        let told = hand.ask(keys.iter().map(|it| command(*it)).collect());
        let at = boundary();
        for (key, answer) in keys.iter().zip(&told) {
            let written = written_command(answer);
            answers.extend(written.map(|written| AcknowledgedCommand { at, key: key.to_string(), written }));
        }
        // In a server a thread does it, at any time; here it has its turn between two commits, as SQLite lets it.
        let before = boundary();
        if hand.store.keep() {
            passes.push((before, boundary()));
        }
        match step % 6 {
            2 => hand.flush().unwrap(),
            4 => hand.later(Span::seconds(1_200)),
            5 => {
                hand.flush().unwrap();
                hand.stepper.write_workers().tidy().unwrap();
            }
            _ => {}
        }
        if step == commits * 2 / 3 {
            let seq = hand.redact();
            hand.flush().unwrap();
            redaction = (seq, boundary());
        }
    }
    let journal = StoredJournal::read(hand.store.reader().unwrap().as_mut()).unwrap();
    ScriptRun { answers, journal, redaction, passes }
}
