//! Faults that the simulation once found, each as small as possible.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{CommandAnswer, Failure, Options, Runtime};
use trackside_store::MemoryStore;
use trackside_store::memory::{Call, StoreFault};

use crate::ground::{
    accepted, ada, assigned, fields, fire, key, keyed, manual, start_of_time, started, team,
};

#[test]
fn projections_written_despite_an_error_are_not_stuck() {
    let failures = AtomicUsize::new(3);
    let store = MemoryStore::with_faults(move |call: Call| match call {
        Call::Project(_) if failures.load(Ordering::Relaxed) > 0 => {
            failures.fetch_sub(1, Ordering::Relaxed);
            Some(StoreFault::After)
        }
        _ => None,
    });
    let runtime = started(Arc::new(store), Options { behind: Duration::from_millis(1), ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    for _ in 0..2_000 {
        if runtime.lag() == 0 && runtime.problem().is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} entries behind: {:?}", runtime.lag(), runtime.problem());
}

#[test]
fn a_unique_value_is_enforced_before_it_is_flushed() {
    let runtime =
        started(Arc::new(MemoryStore::new()), Options { behind: Duration::from_secs(3_600), ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    let create = |id: &str| {
        let fields = fields(json!({ "taskId": "T-1", "justification": "It is needed" }));
        let ask = Ask::Create { entity: key(&format!("mission.approval/{id}")), fields };
        Command::new(Actor::new("hank", ActorKind::Human), ask)
    };
    let gateway = runtime.gateway().unwrap();
    let first = gateway.ask(create("A-1")).unwrap();
    assert!(matches!(first, CommandAnswer::Accepted(_)), "{first:?}");
    gateway.submit_atomic(vec![create("A-2")], Vec::new()).unwrap().wait().unwrap();
    assert!(runtime.entity(&key("mission.approval/A-1")).unwrap().is_some());
    assert_eq!(runtime.entity(&key("mission.approval/A-2")).unwrap(), None, "it is the same as A-1");
}

/// Waits until a condition is true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came to this: {what}");
}

/// A task, and a question about it that runs out.
fn asks_about(runtime: &Runtime, number: usize) {
    let task = format!("T-{number}");
    assigned(runtime, &task);
    let fields = fields(json!({ "taskId": task, "justification": "It is needed" }));
    let ask = Ask::Create { entity: key(&format!("mission.approval/A-{number}")), fields };
    accepted(runtime, Command::new(Actor::new("hank", ActorKind::Human), ask));
}

#[test]
fn old_keys_are_forgotten_while_commands_never_pause() {
    let store = MemoryStore::new();
    let runtime = started(Arc::new(store), Options { behind: Duration::from_millis(1), ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    let comment = |text: &str| fire(ada(), "mission.task/T-1", "comment", json!({ "text": text }));
    accepted(&runtime, keyed(comment("First"), "first"));
    let later = start_of_time().plus(Span(26 * 60 * 60 * 1_000));
    runtime.gateway().unwrap().advance(later).unwrap().wait().unwrap();
    let is_kept = || {
        let mut reader = runtime.store().reader().unwrap();
        reader.key(&Name::new("ada"), &Name::new("first")).unwrap().is_some()
    };
    until("it is written", || runtime.lag() == 0);
    assert!(is_kept());
    let mut round = 0;
    until("it is forgotten", || {
        // So that there is never a second without a commit.
        for _ in 0..3 {
            round += 1;
            accepted(&runtime, comment(&format!("No. {round}")));
        }
        !is_kept()
    });
}

#[test]
fn keys_that_cannot_expire_are_reported() {
    let failing = Arc::new(AtomicBool::new(true));
    let fails = failing.clone();
    let store = MemoryStore::with_faults(move |call: Call| match call {
        Call::ExpireKeys if fails.load(Ordering::Relaxed) => Some(StoreFault::Before),
        _ => None,
    });
    let runtime = started(Arc::new(store), manual());
    until("it is told", || runtime.problem().is_some_and(|it| it.contains("old idempotency keys")));
    failing.store(false, Ordering::Relaxed);
    until("it is over", || runtime.problem().is_none());
}

#[test]
fn a_sweep_is_answered_after_a_failed_commit() {
    let failures = Arc::new(AtomicUsize::new(0));
    let left = failures.clone();
    let store = MemoryStore::with_faults(move |call: Call| match call {
        Call::Append(_) if left.load(Ordering::Relaxed) > 0 => {
            left.fetch_sub(1, Ordering::Relaxed);
            Some(StoreFault::Before)
        }
        _ => None,
    });
    let runtime = started(Arc::new(store), manual());
    team(&runtime);
    // More than one step covers.
    for number in 0..400 {
        assigned(&runtime, &format!("T-{number}"));
    }
    for _ in 0..8 {
        failures.store(1, Ordering::Relaxed);
        let asked: Vec<_> = (0..3).map(|_| runtime.gateway().unwrap().sweep().unwrap()).collect();
        let comment = fire(ada(), "mission.task/T-1", "comment", json!({ "text": "It fails" }));
        let failed = runtime.gateway().unwrap().ask(comment);
        assert!(matches!(failed, Err(Failure::Unavailable(_))), "{failed:?}");
        for sweep in asked {
            let told = sweep.wait();
            // The caller learns of the failure or gets the answer; it never gets `Stopped`.
            assert!(!matches!(told, Err(Failure::Stopped)), "{told:?}");
        }
    }
}

#[test]
fn timers_wait_while_projections_are_too_far_behind() {
    let failing = Arc::new(AtomicBool::new(false));
    let (fails, attempts) = (failing.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = attempts.clone();
    let store = MemoryStore::with_faults(move |call: Call| match call {
        Call::Project(_) if fails.load(Ordering::Relaxed) => {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(StoreFault::Before)
        }
        _ => None,
    });
    let options =
        Options { most_behind: 100, behind: Duration::from_millis(1), sweep_every: None, ..manual() };
    let runtime = started(Arc::new(store), options);
    team(&runtime);
    for number in 0..500 {
        until("callers are heard", || runtime.lag() < 50);
        asks_about(&runtime, number);
    }
    until("all of it is written", || runtime.lag() == 0);
    failing.store(true, Ordering::Relaxed);
    let before = runtime.seq();
    let later = start_of_time().plus(Span(7 * 24 * 60 * 60 * 1_000));
    let advance = runtime.gateway().unwrap().advance(later).unwrap();
    until("they begin to fire", || runtime.lag() > 100);
    let tried = attempts.load(Ordering::Relaxed);
    until("the flusher has tried again many times", || attempts.load(Ordering::Relaxed) > tried + 200);
    let waiting = runtime.lag();
    assert!(waiting < 300, "{waiting} entries wait to be written");
    failing.store(false, Ordering::Relaxed);
    advance.wait().unwrap();
    until("all of it is written", || runtime.lag() == 0);
    let asked = runtime.seq();
    assert!(asked > before + 500, "{before} entries, then {asked}: timers fired after all");
}

/// Failed reads to wait for, at most one in 5 ms.
const MORE_READS: usize = 20;

#[test]
fn an_unreadable_store_is_reported_and_timers_fire_after_recovery() {
    let failing = Arc::new(AtomicBool::new(false));
    let (fails, reads) = (failing.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = reads.clone();
    let store = MemoryStore::with_faults(move |call: Call| match call {
        Call::Read if fails.load(Ordering::Relaxed) => {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(StoreFault::Before)
        }
        _ => None,
    });
    let options =
        Options { cached_entities: 1, cached_timers: 10, behind: Duration::from_millis(1), ..manual() };
    let runtime = started(Arc::new(store), options);
    team(&runtime);
    for number in 0..40 {
        asks_about(&runtime, number);
    }
    until("all of it is written", || runtime.lag() == 0);
    failing.store(true, Ordering::Relaxed);
    let later = start_of_time().plus(Span(7 * 24 * 60 * 60 * 1_000));
    let advance = runtime.gateway().unwrap().advance(later).unwrap();
    until("it is told", || runtime.problem().is_some_and(|it| it.contains("timers wait")));
    let (before, begun) = (reads.load(Ordering::Relaxed), Instant::now());
    until("it is tried again", || reads.load(Ordering::Relaxed) > before + MORE_READS);
    assert!(begun.elapsed() > Duration::from_millis(MORE_READS as u64 * 5), "it is tried without pauses");
    failing.store(false, Ordering::Relaxed);
    advance.wait().unwrap();
    until("it is over", || runtime.problem().is_none());
}
