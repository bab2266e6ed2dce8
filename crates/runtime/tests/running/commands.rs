//! The answers to callers.

use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::present::PresentedEntity;
use trackside_engine::project::ProjectChange;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{
    BatchAnswer, BatchVerdict, CommandAnswer, Failure, Options, PackSource, Runtime, SubmitOptions,
};
use trackside_store::memory::MemoryStore;

use crate::ground::*;

#[test]
fn an_accepted_command_is_visible_to_its_caller() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    team(&runtime);
    assigned(&runtime, "T-1");
    let done = accepted(&runtime, fire(ada(), "mission.task/T-1", "start", plan()));
    assert_eq!(done.entity.as_ref().unwrap().state, *"IN_PROGRESS");
    assert_eq!(entity(&runtime, "mission.task/T-1").state, *"IN_PROGRESS");
    assert_eq!(done.entry().unwrap().trigger, *"start");
}

#[test]
fn computed_fields_come_with_the_answer_or_are_read() {
    for cached_entities in [100_000, 1] {
        let runtime = started(Arc::new(MemoryStore::new()), Options { cached_entities, ..manual() });
        team(&runtime);
        assigned(&runtime, "T-1");
        let shown = |command| {
            runtime
                .gateway()
                .unwrap()
                .submit_with(command, SubmitOptions { with_entity_view: true, ..SubmitOptions::default() })
                .unwrap()
                .wait()
                .unwrap()
        };
        let CommandAnswer::Accepted(done) = shown(fire(ada(), "mission.task/T-1", "start", plan())) else {
            panic!("it was not accepted")
        };
        let reads = runtime.reads().unwrap();
        let read = reads.present(&key("mission.task/T-1"), &ada()).unwrap();
        let (entity, now) = (done.entity.unwrap(), reads.now());
        if let Some(facts) = done.facts.clone() {
            assert!(!facts.allowed.is_empty(), "{facts:?}");
            assert_eq!(PresentedEntity { entity, facts, now }, read);
        }
        assert!(done.facts.is_some() || cached_entities == 1);
        // Who did not ask for it is not kept waiting for it.
        let block = fire(ada(), "mission.task/T-1", "block", json!({ "blockReason": "It rains" }));
        assert_eq!(accepted(&runtime, block).facts, None);
    }
}

#[test]
fn a_refused_command_changes_nothing() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    team(&runtime);
    assigned(&runtime, "T-1");
    let (seq, before) = (runtime.seq(), entity(&runtime, "mission.task/T-1"));
    assert_eq!(
        refused(&runtime, fire(ada(), "mission.task/T-1", "start", serde_json::json!({}))),
        "requirement-missing"
    );
    assert_eq!((runtime.seq(), entity(&runtime, "mission.task/T-1")), (seq, before));
}

#[test]
fn a_key_counts_once_after_it_is_flushed_and_evicted() {
    let runtime = started(Arc::new(MemoryStore::new()), Options { cached_entities: 1, ..manual() });
    team(&runtime);
    assigned(&runtime, "T-1");
    let start = || keyed(fire(ada(), "mission.task/T-1", "start", plan()), "k-1");
    let first = accepted(&runtime, start());
    for round in 0..3 {
        let CommandAnswer::Replayed { first: seq, entries, .. } =
            runtime.gateway().unwrap().ask(start()).unwrap()
        else {
            panic!("it was done again")
        };
        assert_eq!((seq, entries as usize), (first.entries[0].seq, first.entries.len()));
        if round == 0 {
            while runtime.lag() > 0 {
                std::thread::yield_now();
            }
            // Another decision, so that flushed entities are evicted.
            assigned(&runtime, "T-2");
        }
    }
    let other = keyed(fire(ada(), "mission.task/T-2", "start", plan()), "k-1");
    assert_eq!(refused(&runtime, other), "idempotency-conflict");
}

fn together(runtime: &Runtime, commands: &[Command]) -> BatchAnswer {
    runtime.gateway().unwrap().submit_atomic(commands.to_vec(), Vec::new()).unwrap().wait().unwrap()
}

const BOX: &str = "\
lifecycle: kin.box
create: { by: human }
states: { OPEN: { initial: true }, SHUT: {} }
transitions: { shut: { from: OPEN, to: SHUT, by: human, when: [ { check: things.NEW == 0, says: It is not empty } ] } }
";

const THING: &str = "\
lifecycle: kin.thing
fields: { box: { type: string } }
refs: { inside: { to: kin.box, by: box, inverse: things } }
create: { by: human, takes: [box] }
rankings: { next: { in: [NEW], by: [box], claims: take } }
states: { NEW: { initial: true }, DONE: { final: true, outcome: success } }
transitions: { take: { from: NEW, to: DONE, by: human || agent } }
";

#[test]
fn a_command_of_a_batch_sees_the_groups_and_rankings_that_earlier_ones_changed() {
    let pack = "pack: kin\nversion: 1\nabout: Boxes, and things in them.\n";
    let files = [("pack.yaml", pack), ("lifecycles/box.yaml", BOX), ("lifecycles/thing.yaml", THING)];
    let pack = PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() };
    let hank = Actor::new("hank", ActorKind::Human);
    let create =
        |id: &str, with| Command::new(hank.clone(), Ask::Create { entity: key(id), fields: fields(with) });
    let claim = || {
        let lifecycle = Name::new("kin.thing");
        Command::new(
            hank.clone(),
            Ask::Claim(Claim { lifecycle, event: None, only: None, fields: Fields::default() }),
        )
    };
    for cached_entities in [100_000, 1] {
        let options = Options { cached_entities, ..manual() };
        let runtime =
            Runtime::start(Arc::new(MemoryStore::new()), std::slice::from_ref(&pack), options).unwrap();
        for (id, with) in [("kin.box/B", json!({})), ("kin.thing/T", json!({ "box": "B" }))] {
            accepted(&runtime, create(id, with));
        }
        let shut = fire(hank.clone(), "kin.box/B", "shut", json!({}));
        let take = fire(hank.clone(), "kin.thing/T", "take", json!({}));
        let BatchAnswer::Refused(_) = together(&runtime, &[shut.clone(), take.clone()]) else {
            panic!("it was shut with a thing in it")
        };
        // The ranking does not offer what was taken just before.
        let BatchAnswer::Refused(_) = together(&runtime, &[take.clone(), claim()]) else {
            panic!("it was taken twice")
        };
        assert!(together(&runtime, &[take, shut]).into_answers().is_some());
    }
}

#[test]
fn an_atomic_batch_is_all_or_nothing_and_answers_for_each_command() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    team(&runtime);
    ["T-1", "T-2", "T-3"].iter().for_each(|it| assigned(&runtime, it));
    let start = |id: &str, with| fire(ada(), &format!("mission.task/{id}"), "start", with);
    let half = [start("T-1", plan()), start("T-2", json!({})), start("T-3", plan()), start("T-1", plan())];
    let seq = runtime.seq();
    let BatchAnswer::Refused(verdicts) = together(&runtime, &half) else { panic!("one has no plan") };
    let codes: Vec<Option<&str>> = verdicts
        .iter()
        .map(|it| match it {
            BatchVerdict::Refused(refusal) => Some(refusal.code.as_str()),
            BatchVerdict::Passed => None,
        })
        .collect();
    // The last one sees the first.
    assert_eq!(codes, [None, Some("requirement-missing"), None, Some("no-such-edge")]);
    assert_eq!(runtime.seq(), seq, "nothing was changed");
    let all = [start("T-1", plan()), start("T-2", plan())];
    let answers = together(&runtime, &all).into_answers().unwrap();
    let places: Vec<_> = answers
        .iter()
        .map(|it| match it {
            CommandAnswer::Accepted(it) => {
                (it.entry().unwrap().entity.to_string(), it.entity.clone().unwrap())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    for (n, (text, seen)) in places.iter().enumerate() {
        assert_eq!(*text, format!("mission.task/T-{}", n + 1));
        assert_eq!(*seen, entity(&runtime, text));
        assert_eq!(seen.state, *"IN_PROGRESS");
    }
}

#[test]
fn a_repeated_batch_is_answered_from_memory_and_from_the_store() {
    let runtime = started(Arc::new(MemoryStore::new()), Options { cached_entities: 1, ..manual() });
    team(&runtime);
    ["T-1", "T-2", "T-3"].iter().for_each(|it| assigned(&runtime, it));
    let start = |id: &str| keyed(fire(ada(), &format!("mission.task/{id}"), "start", plan()), id);
    let both = [start("T-1"), start("T-2")];
    let first: Vec<(u64, usize, usize)> = together(&runtime, &both)
        .into_answers()
        .unwrap()
        .iter()
        .map(|it| match it {
            CommandAnswer::Accepted(it) => (it.entries[0].seq, it.entries.len(), it.root),
            other => panic!("{other:?}"),
        })
        .collect();
    let replayed = |answer: &CommandAnswer| match answer {
        CommandAnswer::Replayed { first, entries, root } => (*first, *entries as usize, *root as usize),
        other => panic!("it was done again: {other:?}"),
    };
    for _ in 0..2 {
        let again: Vec<_> = together(&runtime, &both).into_answers().unwrap().iter().map(replayed).collect();
        assert_eq!(again, first);
        runtime.wait_until_written().unwrap();
        assigned(&runtime, "T-4");
    }
    // A new one beside a known one; and the same key twice in one batch.
    let mixed = together(&runtime, &[start("T-2"), start("T-3"), start("T-3")]).into_answers().unwrap();
    assert_eq!(replayed(&mixed[0]), first[1]);
    let CommandAnswer::Accepted(new) = &mixed[1] else { panic!("{mixed:?}") };
    assert_eq!(replayed(&mixed[2]).0, new.entries[0].seq);
    let seq = runtime.seq();
    let other = keyed(fire(ada(), "mission.task/T-4", "start", plan()), "T-1");
    let BatchAnswer::Refused(verdicts) = together(&runtime, &[start("T-1"), other]) else {
        panic!("the key is used")
    };
    assert_eq!(verdicts[0], BatchVerdict::Passed);
    assert!(
        matches!(&verdicts[1], BatchVerdict::Refused(it) if it.code.as_str() == "idempotency-conflict"),
        "{verdicts:?}"
    );
    assert_eq!(runtime.seq(), seq);
}

#[test]
fn a_full_queue_rejects_callers() {
    let runtime = started(Arc::new(MemoryStore::new()), Options { queue: 1, ..manual() });
    team(&runtime);
    let gateway = runtime.gateway().unwrap();
    // Keeps the decider busy, so that the queue stays full.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let _busy = gateway.evaluate(move |_, _, _| Ok(wait.lock().unwrap().recv().ok())).unwrap();
    let mut overloaded = None;
    for _ in 0..100 {
        if let Err(failure) = gateway.evaluate(|_, _, _| Ok(())) {
            overloaded = Some(failure);
            break;
        }
    }
    assert!(matches!(overloaded, Some(Failure::Overloaded(_))), "{overloaded:?}");
    drop(go);
}

#[test]
fn after_a_stop_callers_get_an_error() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    let gateway = runtime.gateway().unwrap().clone();
    runtime.stop();
    assert_eq!(gateway.evaluate(|_, _, _| Ok(())).err(), Some(Failure::Stopped));
}

#[test]
fn a_follower_gets_every_entry_once_and_in_order() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    let mut follower = runtime.follow(0);
    team(&runtime);
    let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut seen = Vec::new();
    for n in 0..300 {
        assigned(&runtime, &format!("T-{n}"));
        if n % 50 == 0 {
            seen.extend(rt.block_on(follower.next()).unwrap().iter().map(|it| it.seq));
        }
    }
    while (seen.len() as u64) < runtime.seq() {
        seen.extend(rt.block_on(follower.next()).unwrap().iter().map(|it| it.seq));
    }
    assert_eq!(seen, (1..=runtime.seq()).collect::<Vec<_>>());
}

#[test]
fn moving_the_clock_fires_each_timer_at_its_moment() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    plant(
        &runtime,
        "mission.approval/A-1",
        "PENDING",
        serde_json::json!({ "justification": "It costs", "expiresAt": "2026-01-01T01:00:00Z" }),
    );
    let before = entity(&runtime, "mission.approval/A-1");
    let due = before.timers.iter().filter_map(|(_, it)| it.due).min().expect("a clock runs");
    let gateway = runtime.gateway().unwrap();
    let early = trackside_lifecycle::time::Timestamp(due.0 - 1);
    assert_eq!(gateway.advance(early).unwrap().wait(), Ok(early));
    assert_eq!(entity(&runtime, "mission.approval/A-1"), before, "nothing was due");
    let late = due.plus(Span::seconds(3_600));
    gateway.advance(late).unwrap().wait().unwrap();
    let mut fired = runtime.follow(before.seq);
    let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let entries = rt.block_on(fired.next()).unwrap();
    assert_eq!(entries[0].at, due, "{:?}", entries[0]);
}

#[test]
fn a_commit_shared_with_an_empty_command_is_visible() {
    let runtime = started(Arc::new(MemoryStore::new()), manual());
    team(&runtime);
    assigned(&runtime, "T-1");
    let hank = Actor::new("hank", ActorKind::Human).with_roles(["admin"]);
    let system = Actor::engine();
    let look = Command::new(system, Ask::Inspect { entity: EntityKey::new("mission.task", "T-1") });
    let change = ProjectChange { zone: Some("Europe/Berlin".to_owned()), ..ProjectChange::default() };
    let both = vec![Command::new(hank.clone(), Ask::Configure(change)), look];
    match runtime.gateway().unwrap().submit_atomic(both, Vec::new()).unwrap().wait().unwrap() {
        BatchAnswer::Done(answers) => match &answers[..] {
            [CommandAnswer::Accepted(_), CommandAnswer::Accepted(nothing)] => {
                assert!(nothing.entries.is_empty())
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
    assert_eq!(runtime.reads().unwrap().project().zone, "Europe/Berlin");
}
