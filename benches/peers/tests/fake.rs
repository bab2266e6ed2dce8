//! A fake subject that stores nothing, to test the loads, the plan and the report.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench_peers::load::{ClosedLoad, OpenLoad, closed, open};
use bench_peers::plan::{InProcessMeasurement, InProcessPlan, run};
use bench_peers::scratch::Scratch;
use bench_peers::{
    AnswerSender, BenchError, CommandOutcome, CommitTotals, LoadCommand, Maker, StoreSize, Subject,
};

/// The behaviour of the fake.
#[derive(Clone, Copy, Debug)]
struct FakeBehaviour {
    /// The number of the one command that is not accepted, and its outcome.
    odd: Option<(u64, CommandOutcome)>,
    /// Commits wait this long, once, after so many commands.
    stall: Option<(u64, Duration)>,
    /// Submitting blocks this long, once, at the command with this number.
    block: Option<(u64, Duration)>,
    /// Answers are dropped, not given.
    silent: bool,
}

const KIND: FakeBehaviour = FakeBehaviour { odd: None, stall: None, block: None, silent: false };

struct Fake {
    manners: FakeBehaviour,
    queue: Mutex<Option<Sender<(LoadCommand, AnswerSender)>>>,
    writer: Option<std::thread::JoinHandle<()>>,
    seen: Arc<FakeLog>,
    entities: AtomicU64,
}

#[derive(Default)]
struct FakeLog {
    asks: Mutex<Vec<LoadCommand>>,
    figures: Mutex<CommitTotals>,
    /// Whether an entity got two commands at a time.
    met: AtomicBool,
}

impl Fake {
    fn new(manners: FakeBehaviour, entities: u64) -> Self {
        let (queue, commands) = channel();
        let seen = Arc::new(FakeLog::default());
        let for_writer = Arc::clone(&seen);
        let writer = std::thread::spawn(move || write(&commands, &for_writer, manners, entities));
        Self {
            manners,
            queue: Mutex::new(Some(queue)),
            writer: Some(writer),
            seen,
            entities: AtomicU64::new(entities),
        }
    }
}

/// One writer that takes all that wait, as the real one does.
fn write(
    commands: &Receiver<(LoadCommand, AnswerSender)>,
    seen: &FakeLog,
    manners: FakeBehaviour,
    entities: u64,
) {
    let mut done = 0;
    while let Ok(first) = commands.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(commands.try_iter()).collect();
        let met: BTreeSet<u64> = batch.iter().map(|(ask, _)| ask.entity(entities)).collect();
        seen.met.fetch_or(met.len() < batch.len(), Ordering::Relaxed);
        {
            let mut figures = seen.figures.lock().unwrap();
            let commands = batch.len() as u64;
            figures.commands += commands;
            figures.entries += commands * 2;
            figures.commits += 1;
            figures.largest_batch = figures.largest_batch.max(commands);
            figures.header_bytes += commands * 2 * 100;
            figures.payload_bytes += commands * 2 * 200;
            figures.digest_bytes += commands * 2 * 32;
            figures.hash_bytes += commands * 2 * 32;
        }
        for (ask, answer) in batch {
            seen.asks.lock().unwrap().push(ask);
            if let Some((_, time)) = manners.stall.filter(|(after, _)| *after == done) {
                std::thread::sleep(time);
            }
            match manners.odd {
                _ if manners.silent => drop(answer),
                Some((nth, outcome)) if nth == done => answer.give(outcome),
                _ => answer.give(CommandOutcome::Done),
            }
            done += 1;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

impl Subject for Fake {
    fn prepare(&self, size: StoreSize, so_far: &dyn Fn(f64)) -> Result<(), BenchError> {
        self.entities.store(size.entities, Ordering::Relaxed);
        so_far(1.0);
        Ok(())
    }

    fn submit(&self, ask: LoadCommand, answer: AnswerSender) {
        if let Some((_, time)) = self.manners.block.filter(|(nth, _)| *nth == ask.nth) {
            std::thread::sleep(time);
        }
        if let Some(queue) = self.queue.lock().unwrap().as_ref() {
            queue.send((ask, answer)).unwrap();
        }
    }

    fn figures(&self) -> CommitTotals {
        *self.seen.figures.lock().unwrap()
    }

    fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.queue.lock().unwrap().take();
        self.writer.take().unwrap().join().unwrap();
    }
}

struct FakeMaker(FakeBehaviour);

impl Maker for FakeMaker {
    fn name(&self) -> &str {
        "a fake"
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Subject>, BenchError> {
        Ok(Box::new(Fake::new(self.0, 1_000)))
    }
}

const CLOSED: ClosedLoad = ClosedLoad { load: 3, callers: 16, threads: 2, time: Duration::from_millis(60) };

#[test]
fn every_closed_caller_sends_one_command_at_a_time() {
    let fake = Fake::new(KIND, 1_000);
    let pace = closed(&fake, &CLOSED, &|_| ()).unwrap();
    let asks = fake.seen.asks.lock().unwrap().clone();
    assert!(asks.len() >= 16 && pace.commands <= asks.len() as f64);
    assert!(asks.len() as f64 - pace.commands <= 16.0, "only the last of each caller may come too late");
    let callers: BTreeSet<u32> = asks.iter().map(|it| it.caller).collect();
    assert_eq!(callers.len(), 16);
    for caller in callers {
        let nths: Vec<u64> = asks.iter().filter(|it| it.caller == caller).map(|it| it.nth).collect();
        assert_eq!(nths, (0..nths.len() as u64).collect::<Vec<_>>(), "caller {caller} asks in order");
    }
    assert!(!fake.seen.met.load(Ordering::Relaxed), "no two callers meet at an entity");
    assert!(fake.figures().largest_batch <= 16, "no more commands wait than there are callers");
}

#[test]
fn a_refusal_is_not_counted_as_speed() {
    for outcome in [CommandOutcome::Refused, CommandOutcome::Failed] {
        let fake = Fake::new(FakeBehaviour { odd: Some((7, outcome)), ..KIND }, 1_000);
        let trouble = closed(&fake, &CLOSED, &|_| ()).unwrap_err();
        assert!(matches!(trouble, BenchError::NotAccepted { refused: 1, .. }), "{trouble}");
    }
    let fake = Fake::new(FakeBehaviour { silent: true, ..KIND }, 1_000);
    assert!(matches!(closed(&fake, &CLOSED, &|_| ()), Err(BenchError::NotAccepted { .. })));
}

#[test]
fn a_full_queue_is_asked_again() {
    let fake = Fake::new(FakeBehaviour { odd: Some((7, CommandOutcome::Overloaded)), ..KIND }, 1_000);
    let pace = closed(&fake, &CLOSED, &|_| ()).unwrap();
    let asked = fake.seen.asks.lock().unwrap().len();
    assert!(pace.commands < asked as f64, "what found the queue full is no answer");
}

#[test]
fn a_stall_counts_against_everything_that_was_due_meanwhile() {
    let stall = Duration::from_millis(200);
    let fake = Fake::new(FakeBehaviour { stall: Some((250, stall)), ..KIND }, 1_000_000);
    let how = OpenLoad { load: 1, per_second: 1_000.0, time: Duration::from_secs(1) };
    let steady = open(&fake, &how, &|_| ()).unwrap();
    assert_eq!(steady.latency.count(), 1_000, "every command that was due was sent and answered");
    assert_eq!((steady.overloaded, steady.unsent), (0, 0));
    // About 200 of 1,000 were due during the stall, one after the other: the median of those waited for
    // half of it. A closed load would have seen one slow answer.
    assert!(steady.latency.at(0.95) >= stall / 2, "{:?}", steady.latency.at(0.95));
    assert!(steady.latency.max() >= stall);
    assert_eq!(steady.seconds.len(), 1);
    assert_eq!(steady.seconds[0].max, steady.latency.max());
    let nths: Vec<u64> = fake.seen.asks.lock().unwrap().iter().map(|it| it.nth).collect();
    assert_eq!(nths, (0..1_000).collect::<Vec<_>>());
}

#[test]
fn a_sender_that_is_held_up_does_not_hide_it() {
    let block = Duration::from_millis(200);
    let fake = Fake::new(FakeBehaviour { block: Some((250, block)), ..KIND }, 1_000_000);
    let how = OpenLoad { load: 1, per_second: 1_000.0, time: Duration::from_secs(1) };
    let steady = open(&fake, &how, &|_| ()).unwrap();
    assert_eq!(steady.latency.count(), 1_000);
    assert!(steady.latency.at(0.95) >= block / 2, "{:?}", steady.latency.at(0.95));
    assert!(steady.sender.at(0.95) >= block / 2, "the sender's own delay is reported");
}

#[test]
fn on_a_schedule_a_full_queue_is_reported_and_a_refusal_stops() {
    let how = OpenLoad { load: 1, per_second: 1_000.0, time: Duration::from_millis(100) };
    let full = Fake::new(FakeBehaviour { odd: Some((7, CommandOutcome::Overloaded)), ..KIND }, 1_000);
    assert_eq!(open(&full, &how, &|_| ()).unwrap().overloaded, 1);
    let refusing = Fake::new(FakeBehaviour { odd: Some((7, CommandOutcome::Refused)), ..KIND }, 1_000);
    assert!(matches!(
        open(&refusing, &how, &|_| ()),
        Err(BenchError::NotAccepted { refused: 1, asked: 100, .. })
    ));
}

fn plan(parts: &[InProcessMeasurement]) -> InProcessPlan {
    InProcessPlan {
        parts: parts.to_vec(),
        callers: 8,
        entities: 1_000,
        time: Duration::from_millis(300),
        large: 2_000,
        small: 100,
        ..InProcessPlan::default()
    }
}

#[test]
fn a_plan_measures_the_selected_parts_with_their_controls() {
    let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
    let told = Mutex::new(BTreeSet::new());
    let so_far = |what: &str, share: f64| {
        assert!(share.is_finite());
        told.lock().unwrap().insert(what.to_owned());
    };
    let parts = [
        InProcessMeasurement::Throughput,
        InProcessMeasurement::Latency,
        InProcessMeasurement::Scale,
        InProcessMeasurement::Start,
    ];
    let report = run(&plan(&parts), &FakeMaker(KIND), scratch.path(), &so_far);
    let names: Vec<&str> = report.rows.iter().map(|it| it.name).collect();
    let around_the_peak = [
        "throughput",
        "sqliteRows",
        "sqliteBatches",
        "file",
        "processorTime",
        "bareTime",
        "latency",
        "latencyAlone",
    ];
    let expected = [&around_the_peak[..], &["small", "scale", "start", "memory"]].concat();
    assert_eq!(names, expected, "{:?}", report.rows);
    assert!(report.rows[0].what.starts_with("a fake, 8 callers"), "{:?}", report.rows[0]);
    let of = |name: &str| report.rows.iter().find(|it| it.name == name).unwrap();
    for name in ["sqliteRows", "sqliteBatches", "file", "scale"] {
        let row = of(name);
        assert!(row.per_second.unwrap() > 0.0 && row.figure.unwrap().value > 0.0, "{row:?}");
    }
    assert!(of("throughput").note.as_ref().unwrap().contains("2.00 entries a command, 364 bytes an entry"));
    assert!(told.lock().unwrap().contains("half of the peak, on a schedule"));
    let json = report.to_json();
    assert_eq!((json["subject"].as_str(), json["how"]["callers"].as_u64()), (Some("a fake"), Some(8)));
    assert_eq!(json["rows"].as_array().unwrap().len(), expected.len());
    assert!(json["rows"][0]["latency"]["p99Micros"].as_f64().unwrap() > 0.0);
    assert_eq!(json["rows"][1]["aim"]["atLeast"], 0.6);
    assert_eq!(json["rows"][1]["figure"]["unit"], "times");
}

#[test]
fn the_peak_is_found_without_controls_where_only_latency_is_wanted() {
    let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
    let report = run(&plan(&[InProcessMeasurement::Latency]), &FakeMaker(KIND), scratch.path(), &|_, _| ());
    let names: Vec<&str> = report.rows.iter().map(|it| it.name).collect();
    assert_eq!(names, ["throughput", "latency", "latencyAlone"]);
    let alone = report.rows.last().unwrap();
    assert!(alone.per_second.unwrap() > 0.0 && alone.aim.is_none() && !alone.failed, "{alone:?}");
    assert!(!report.seconds.is_empty());
}

#[test]
fn a_failed_measurement_is_a_row_with_the_reason_and_the_rest_continues() {
    let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
    let refusing = FakeMaker(FakeBehaviour { odd: Some((3, CommandOutcome::Refused)), ..KIND });
    let report = run(
        &plan(&[InProcessMeasurement::Throughput, InProcessMeasurement::Scale]),
        &refusing,
        scratch.path(),
        &|_, _| (),
    );
    assert_eq!(report.rows.len(), 2, "{:?}", report.rows);
    assert!(report.rows.iter().all(|it| it.failed && it.note.as_ref().unwrap().contains("1 refused")));
    assert!(!report.reached());
}
