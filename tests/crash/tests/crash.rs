//! The process is killed at random moments under load, repeatedly. Every answered command survives.
//!
//! SIGKILL ends the process, not the machine: the system still writes what the process handed over. So
//! these tests cannot detect missing syncs; `powercut` does. They detect answers before the commit, which
//! is their control.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use trackside_crash::consistency::{check_reads, due, projections, repeat_commands};
use trackside_crash::folder::TestFolder;
use trackside_crash::journal::{StoredJournal, WrittenCommand};
use trackside_crash::load::CommandKey;
use trackside_crash::packs::packs;
use trackside_crash::settings::{seed, setting};
use trackside_crash::writer::{options, serve, sqlite};
use trackside_crash::{CheckResult, holds};
use trackside_engine::event::{Entry, Event};
use trackside_lifecycle::time::Span;
use trackside_random::Random;
use trackside_runtime::Runtime;
use trackside_runtime::simulation::{Failpoint, enable_everywhere};
use trackside_store::{Sqlite, Store};

/// Rounds on the same folder before a new one: every round reads the whole folder.
const ON_ONE_FOLDER: u64 = 20;

/// Not a test of its own: the process that the other tests start and kill.
#[test]
fn writer() {
    let Ok(folder) = std::env::var("TRACKSIDE_CRASH_FOLDER") else { return };
    if std::env::var("TRACKSIDE_CRASH_EARLY").is_ok() {
        enable_everywhere(Failpoint::AnsweredEarly);
    }
    serve(Path::new(&folder), std::env::var("TRACKSIDE_CRASH_ROUND").unwrap().parse().unwrap());
}

/// The output of a writer before it was killed.
#[derive(Debug, Default)]
struct WriterOutput {
    asked: BTreeSet<CommandKey>,
    answered: BTreeMap<String, WrittenCommand>,
    refused: BTreeSet<CommandKey>,
}

impl WriterOutput {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [">", key] => drop(self.asked.insert(CommandKey::parse(key).unwrap())),
            ["-", key] => drop(self.refused.insert(CommandKey::parse(key).unwrap())),
            ["+", key, first, entries] => {
                let written =
                    WrittenCommand { first: first.parse().unwrap(), entries: entries.parse().unwrap() };
                self.answered.insert(key.to_owned(), written);
            }
            // Output of the test harness.
            _ => {}
        }
    }

    /// Submitted, with unknown outcome.
    fn open(&self) -> Vec<CommandKey> {
        let unknown =
            |it: &&CommandKey| !self.refused.contains(it) && !self.answered.contains_key(&it.to_string());
        self.asked.iter().filter(unknown).copied().collect()
    }
}

fn start(folder: &Path, round: u64, early: bool) -> (Child, Receiver<String>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writer", "--nocapture", "--test-threads=1"]);
    command.env("TRACKSIDE_CRASH_FOLDER", folder).env("TRACKSIDE_CRASH_ROUND", round.to_string());
    if early {
        command.env("TRACKSIDE_CRASH_EARLY", "1");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (said, hear) = channel();
    std::thread::spawn(move || {
        // Lines are written whole, so the last one is not cut.
        out.lines().map_while(Result::ok).for_each(|line| drop(said.send(line)));
    });
    (child, hear)
}

/// One life of a writer: started, let work, killed.
fn run_and_kill(folder: &Path, round: u64, random: &mut Random, early: bool) -> WriterOutput {
    let (mut child, hear) = start(folder, round, early);
    let mut first = Vec::new();
    if !early && random.below_u64(4) == 0 {
        // While it starts, or catches up.
        std::thread::sleep(Duration::from_millis(random.below_u64(600)));
    } else {
        // Counted in output lines, so that a slow machine is under load too; then at a random point between
        // two lines.
        let (enough, more) = (random.below_u64(400), random.below_u64(5_000));
        let mut ready = false;
        while let Ok(line) = hear.recv() {
            ready |= line == "ready";
            first.push(line);
            if ready && first.len() as u64 > enough {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(more));
    }
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.code().is_none(), "the writer ended by itself: {ended}");
    let mut heard = WriterOutput::default();
    first.into_iter().chain(hear).for_each(|line| heard.hear(&line));
    heard
}

/// Checks the files after a kill three times: as they are, after the start, and after more work.
fn looked_at(
    folder: &Path,
    heard: &WriterOutput,
    all: &BTreeMap<String, WrittenCommand>,
    more: Span,
) -> CheckResult<usize> {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(folder, sqlite()).map_err(|it| it.to_string())?);
    let said = |it: trackside_store::StoreError| it.to_string();
    let journal = StoredJournal::read(store.reader().map_err(said)?.as_mut())?;
    journal.has(all)?;
    journal.has(&heard.answered)?;
    for key in heard.refused.iter().map(CommandKey::to_string) {
        holds(!journal.commands.contains_key(&key), || format!("{key} was refused and is there"))?;
    }
    for key in &heard.asked {
        let there = |it: CommandKey| journal.commands.contains_key(&it.to_string());
        let half = key.together().filter(|it| there(*key) != there(*it));
        holds(half.is_none(), || format!("of {key} and {half:?}, which belong together, one is there"))?;
    }
    projections(store.reader().map_err(said)?.as_mut(), &journal)?;
    let clocks = due(&journal.replay(u64::MAX));

    let options = options(&*store);
    let clock = options.clock.clone();
    let runtime = Runtime::start(store.clone(), &packs(), options).map_err(|it| it.to_string())?;
    check_reads(&runtime, &*store)?;
    let mut again = heard.open();
    again.extend(heard.answered.keys().filter_map(|it| CommandKey::parse(it)).step_by(40));
    repeat_commands(&runtime, &*store, &again)?;

    let later = clock.now().plus(more);
    runtime.gateway().unwrap().advance(later).unwrap().wait().map_err(|it| it.to_string())?;
    let after = check_reads(&runtime, &*store)?;
    let view = after.replay(u64::MAX);
    let late: Vec<_> = due(&view).into_iter().filter(|it| it.due <= later).collect();
    holds(late.is_empty(), || format!("at {later:?} these are still due: {late:?}"))?;
    let mut expired: BTreeMap<_, u32> = BTreeMap::new();
    for entry in after.entries.iter().filter(|it| ran_out(it)) {
        *expired.entry(&entry.entity).or_default() += 1;
    }
    for clock in clocks.iter().filter(|it| it.timer == *"expiry" && it.due <= later) {
        // Some were decided when the lost commands were repeated.
        let gone = expired.get(&clock.entity).copied().unwrap_or(0);
        let state = &view.get(&clock.entity).unwrap().state;
        holds(gone == 1 || (gone == 0 && *state != *"EXPIRED" && *state != *"PENDING"), || {
            format!("{} ran out {gone} times, and is {state}", clock.entity)
        })?;
    }
    holds(expired.values().all(|it| *it == 1), || format!("not all ran out once: {expired:?}"))?;
    runtime.stop();
    Ok(expired.len())
}

/// Whether an entry records that the deadline of a question fired.
fn ran_out(entry: &Entry) -> bool {
    matches!(&entry.event, Event::TimerFired { timer, .. } if *timer == *"expiry")
}

#[test]
fn killed_at_any_moment_nothing_answered_is_lost_and_nothing_is_half() {
    let (seed, rounds) = (seed(), setting("TRACKSIDE_CRASHES", 15));
    println!("seed {seed}: TRACKSIDE_SEED={seed} TRACKSIDE_CRASHES={rounds} tries it again");
    let mut random = Random::new(seed);
    let mut folder = TestFolder::new("kill");
    let mut all: BTreeMap<String, WrittenCommand> = BTreeMap::new();
    let (mut answered, mut open, mut ran_out) = (0, 0, 0);
    for round in 0..rounds {
        if round % ON_ONE_FOLDER == 0 {
            folder = TestFolder::new("kill");
            all.clear();
        }
        let heard = run_and_kill(folder.path(), round, &mut random, false);
        let more = Span::seconds(60 * i64::try_from(random.below_u64(30 * 60)).unwrap());
        let found = looked_at(folder.path(), &heard, &all, more);
        ran_out += found.unwrap_or_else(|what| {
            std::mem::forget(std::mem::replace(&mut folder, TestFolder::new("gone")));
            panic!("round {round} of seed {seed}: {what}")
        });
        answered += heard.answered.len();
        open += heard.open().len();
        all.extend(heard.answered);
    }
    println!(
        "{rounds} kills: {answered} commands answered, {open} without an answer, {ran_out} questions ran out"
    );
    assert!(answered as u64 > rounds * 10, "the writer must be under load: {answered} answers");
    assert!(ran_out > 0, "no question ran out");
    assert!(open > 0, "every kill must happen while a caller waits");
}

/// The control: where callers are answered before the commit, the same kills find it.
#[test]
fn answers_before_the_commit_are_detected() {
    let seed = seed();
    let mut random = Random::new(seed);
    for round in 0..20 {
        let folder = TestFolder::new("early");
        let heard = run_and_kill(folder.path(), round, &mut random, true);
        let nothing = BTreeMap::new();
        if let Err(what) = looked_at(folder.path(), &heard, &nothing, Span::seconds(60)) {
            println!("found after {} kills: {what}", round + 1);
            assert!(what.contains("was answered with"), "{what}");
            return;
        }
    }
    panic!("20 kills of a writer that answers too early, and nothing was found (seed {seed})");
}
