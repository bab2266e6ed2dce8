//! Every command of the load sets a timer, as the one by hand with PostgreSQL does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bench_peers::load::{ClosedLoad, closed};
use bench_peers::scratch::Scratch;
use bench_peers::trackside::TracksideMaker;
use bench_peers::{Maker as _, StoreSize};
use trackside_engine::event::Event;
use trackside_lifecycle::name::Name;
use trackside_runtime::{Options, PackSource, Runtime};
use trackside_store::{Sqlite, SqliteOptions, Store as _};

const TASKS: u64 = 40;

#[test]
fn every_task_has_a_timer_that_every_command_restarts() {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/mission");
    let pack = PackSource::read(&pack).unwrap();
    let makes = TracksideMaker { pack, options: Options::default(), store: SqliteOptions::default() };
    let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
    let folder = scratch.path().join("timed");
    let subject = makes.open(&folder).unwrap();
    subject.prepare(StoreSize { entities: TASKS, entries: 0 }, &|_| {}).unwrap();
    let filled = subject.pending_timers();
    assert!(filled >= TASKS, "{filled} timers");
    // A short load: every accepted command is checked.
    let load = ClosedLoad { load: 1, callers: 4, threads: 1, time: Duration::from_millis(300) };
    closed(subject.as_ref(), &load, &|_| {}).unwrap();
    drop(subject);

    let store: Arc<Sqlite> = Arc::new(Sqlite::open(&folder, SqliteOptions::default()).unwrap());
    let runtime = Runtime::start(store.clone(), &[], Options::default()).unwrap();
    runtime.wait_until_written().unwrap();
    let (mut moves, mut started) = (0_u64, 0_u64);
    for record in store.reader().unwrap().records(0, usize::MAX >> 1).unwrap() {
        let entry = record.entry().unwrap();
        let Event::Transitioned { changes, .. } = &entry.event else { continue };
        if entry.entity.lifecycle == *"mission.task" {
            moves += 1;
            let starts = |(name, it): &(Name, Option<_>)| *name == *"stale" && it.is_some();
            started += u64::from(changes.timers.iter().any(starts));
        }
    }
    assert!(moves > 0 && moves == started, "{started} of {moves} moves start a timer");
}

#[test]
fn the_same_commands_can_be_decided_alone() {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/mission");
    let pack = PackSource::read(&pack).unwrap();
    let makes = TracksideMaker { pack, options: Options::default(), store: SqliteOptions::default() };
    // Each task repeats its cycle several times: an impossible step would end it.
    let decided = makes.decide(TASKS, Duration::from_millis(300)).unwrap().unwrap();
    assert!(decided.commands > 3.0 * TASKS as f64, "{}", decided.commands);
}
