//! The measured system: it accepts commands and answers them.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::load::Pace;
use crate::start::{self, StoreStart};

/// Opens subjects, each in a folder of its own.
pub trait Maker {
    /// Its name in the report.
    fn name(&self) -> &str;

    /// Opens the store in a folder, or creates one there. When it returns, commands can be submitted;
    /// dropping the result closes the store.
    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, BenchError>;

    /// The pace at which the same commands are only decided, on one core; none if deciding cannot be
    /// measured alone.
    fn decide(&self, _entities: u64, _time: Duration) -> Option<Result<Pace, BenchError>> {
        None
    }

    /// Opens a closed store, submits one command, closes it again.
    ///
    /// Memory is measured best in a process that has done nothing else: a program that can start itself
    /// does so and calls [`start::here`] there; see [`start::start_apart`].
    fn start(&self, folder: &Path) -> Result<StoreStart, BenchError> {
        start::here(&|it| self.open(it), folder)
    }
}

/// A store with its pipeline, open.
pub trait Subject: Send + Sync {
    /// Fills the store until it holds this much. `so_far` receives the progress from 0 to 1.
    fn prepare(&self, size: StoreSize, so_far: &dyn Fn(f64)) -> Result<(), BenchError>;

    /// Submits a command and does not wait: `answer` is given once the command is durable, on any
    /// thread. A full queue is answered at once with [`CommandOutcome::Overloaded`].
    ///
    /// [`LoadCommand::entity`] selects the entity. In a closed load, no entity has two commands at a time.
    fn submit(&self, ask: LoadCommand, answer: AnswerSender);

    /// Waits until all background work is done, so that the next measurement runs alone.
    fn settle(&self) {}

    /// Totals since the store was opened. Called between loads, when all is answered.
    fn figures(&self) -> CommitTotals;

    /// The number of entities in the store.
    fn entities(&self) -> u64;

    /// The number of running timers, if there are timers.
    fn pending_timers(&self) -> u64 {
        0
    }
}

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    pub entities: u64,
    /// Entries of the journal, at least.
    pub entries: u64,
}

/// The place of a command in a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadCommand {
    /// The number of the load. With `caller` and `nth` it names the command, as an idempotency key.
    pub load: u32,
    pub caller: u32,
    pub callers: u32,
    /// The number of commands that this caller has sent before.
    pub nth: u64,
}

impl LoadCommand {
    /// The index of this command's entity among `entities`.
    ///
    /// Each caller has its own entities and visits all of them in scattered order before it starts again:
    /// no two callers share an entity, and neighbours are not visited in sequence.
    pub fn entity(&self, entities: u64) -> u64 {
        let (caller, callers) = (u64::from(self.caller), u64::from(self.callers.max(1)));
        let own = entities.saturating_sub(caller).div_ceil(callers).max(1);
        // Each load begins at another entity, or the first ones would be visited more often than the last.
        let nth = self.nth.wrapping_add(u64::from(self.load) * 611_953) % own;
        (caller + callers * scatter(nth, own)) % entities.max(1)
    }
}

/// The `nth` of 0 to `of`, each once, far from the one before.
fn scatter(nth: u64, of: u64) -> u64 {
    // A prime larger than any number of entities: it has no divisor in common with any.
    const PRIME: u128 = 2_654_435_761;
    (u128::from(nth) * PRIME % u128::from(of)) as u64
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// Accepted and durable.
    Done,
    /// Refused by the law.
    Refused,
    /// The queue was full.
    Overloaded,
    /// Not committed, or never answered.
    Failed,
}

/// The receiver of the answer to one command.
#[derive(Debug)]
pub struct AnswerSender {
    pub(crate) to: Sender<TimedAnswer>,
    pub(crate) caller: u32,
    pub(crate) since: Instant,
    pub(crate) given: bool,
}

/// An answer on its way to the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedAnswer {
    pub(crate) caller: u32,
    pub(crate) since: Instant,
    pub(crate) at: Instant,
    pub(crate) outcome: CommandOutcome,
}

impl AnswerSender {
    pub(crate) fn new(to: Sender<TimedAnswer>, caller: u32, since: Instant) -> Self {
        Self { to, caller, since, given: false }
    }

    pub fn give(mut self, outcome: CommandOutcome) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: CommandOutcome) {
        self.given = true;
        let answered = TimedAnswer { caller: self.caller, since: self.since, at: Instant::now(), outcome };
        // The receiver may be gone; then the answer is dropped.
        let _ = self.to.send(answered);
    }
}

/// A dropped answer counts as failed, not as missing.
impl Drop for AnswerSender {
    fn drop(&mut self) {
        if !self.given {
            self.send(CommandOutcome::Failed);
        }
    }
}

/// Committed totals since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitTotals {
    pub commands: u64,
    /// Entries of the journal; a command may make several.
    pub entries: u64,
    pub commits: u64,
    /// Commands of the largest batch.
    pub largest_batch: u64,
    pub header_bytes: u64,
    pub payload_bytes: u64,
    pub digest_bytes: u64,
    pub hash_bytes: u64,
}

impl CommitTotals {
    /// The difference to `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            commands: self.commands.saturating_sub(before.commands),
            entries: self.entries.saturating_sub(before.entries),
            commits: self.commits.saturating_sub(before.commits),
            largest_batch: self.largest_batch,
            header_bytes: self.header_bytes.saturating_sub(before.header_bytes),
            payload_bytes: self.payload_bytes.saturating_sub(before.payload_bytes),
            digest_bytes: self.digest_bytes.saturating_sub(before.digest_bytes),
            hash_bytes: self.hash_bytes.saturating_sub(before.hash_bytes),
        }
    }

    /// Adds the figures of another period.
    pub fn add(&mut self, more: &Self) {
        self.commands += more.commands;
        self.entries += more.entries;
        self.commits += more.commits;
        self.largest_batch = self.largest_batch.max(more.largest_batch);
        self.header_bytes += more.header_bytes;
        self.payload_bytes += more.payload_bytes;
        self.digest_bytes += more.digest_bytes;
        self.hash_bytes += more.hash_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn callers_share_all_entities_and_no_two_share_one() {
        for (entities, callers) in [(10, 3), (64, 64), (1_000, 7), (997, 64), (12, 1), (100_000, 64)] {
            let mut seen = BTreeSet::new();
            for caller in 0..callers {
                let own = (entities - u64::from(caller)).div_ceil(u64::from(callers));
                for nth in 0..own {
                    let entity = LoadCommand { load: 0, caller, callers, nth }.entity(entities);
                    assert!(entity < entities, "{entity} of {entities}");
                    assert!(seen.insert(entity), "{entity} twice, of {entities} with {callers} callers");
                }
                let again = LoadCommand { load: 0, caller, callers, nth: own }.entity(entities);
                assert_eq!(again, LoadCommand { load: 0, caller, callers, nth: 0 }.entity(entities));
            }
            assert_eq!(seen.len() as u64, entities);
        }
    }

    #[test]
    fn neighbours_are_not_asked_for_in_turn() {
        let visit = |nth| LoadCommand { load: 0, caller: 0, callers: 1, nth }.entity(100_000);
        assert!((0..1_000).all(|nth| visit(nth).abs_diff(visit(nth + 1)) > 1_000));
    }

    #[test]
    fn an_answer_that_is_dropped_has_failed() {
        let (to, answers) = std::sync::mpsc::channel();
        drop(AnswerSender::new(to.clone(), 3, Instant::now()));
        AnswerSender::new(to, 4, Instant::now()).give(CommandOutcome::Done);
        let all: Vec<_> = answers.iter().map(|it| (it.caller, it.outcome)).collect();
        assert_eq!(all, [(3, CommandOutcome::Failed), (4, CommandOutcome::Done)]);
    }

    #[test]
    fn figures_of_a_load_are_a_difference() {
        let before = CommitTotals { commands: 10, entries: 12, commits: 5, ..CommitTotals::default() };
        let after = CommitTotals { commands: 110, entries: 132, commits: 7, payload_bytes: 9, ..before };
        let load = after.since(&before);
        assert_eq!((load.commands, load.entries, load.commits, load.payload_bytes), (100, 120, 2, 9));
    }
}
