//! Settings bound the memory under any load, and evicted data still counts.

use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command};
use trackside_engine::key::GroupKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{Figures, Options, PackSource, Runtime};
use trackside_store::MemoryStore;

use crate::ground::{accepted, assigned, entity, fields, key, manual, started, team};

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human)
}

fn create(runtime: &Runtime, id: &str, json: serde_json::Value) {
    accepted(runtime, Command::new(hank(), Ask::Create { entity: key(id), fields: fields(json) }));
}

/// A step without requests: everything that may be evicted is.
fn idle(runtime: &Runtime) {
    runtime.wait_until_written().unwrap();
    runtime.gateway().unwrap().evaluate(|_, _, _| Ok(())).unwrap().wait().unwrap();
}

fn options() -> Options {
    Options { sweep_every: None, ..manual() }
}

#[test]
fn entities_are_evicted_under_reads_only() {
    const MOST: u64 = 20;
    let runtime =
        started(Arc::new(MemoryStore::new()), Options { cached_entities: MOST as usize, ..options() });
    team(&runtime);
    for n in 0..200 {
        assigned(&runtime, &format!("T-{n}"));
    }
    let cached = || Figures::get(&runtime.figures().cached);
    // Each step evicts some.
    for _ in 0..20 {
        idle(&runtime);
    }
    assert!(cached() <= MOST, "{} entities", cached());
    // Nothing is written after this.
    let seq = runtime.seq();
    for n in 0..200 {
        let task = key(&format!("mission.task/T-{n}"));
        let title = move |view: &trackside_engine::view::Lookup<'_>| {
            view.entity(&task).here().and_then(|it| it.fields.value("title").as_str().map(str::to_owned))
        };
        let seen =
            runtime.gateway().unwrap().evaluate(move |_, view, _| view.read(&title)).unwrap().wait().unwrap();
        assert_eq!(seen.as_deref(), Some("Write the page"));
        // The entities of the present step come on top.
        assert!(cached() <= MOST + 1, "{} entities after {n}", cached());
    }
    idle(&runtime);
    assert!(cached() <= MOST, "{} entities", cached());
    assert_eq!(runtime.seq(), seq);
}

const BOX: &str = "\
lifecycle: store.box
create: { by: human }
states: { HERE: { initial: true } }
";

const THING: &str = "\
lifecycle: store.thing
fields: { place: { type: string }, weight: { type: integer } }
refs: { box: { to: store.box, by: place, inverse: things } }
create: { by: human, takes: [place, weight] }
states: { OPEN: { initial: true }, TAKEN: {} }
rankings: { heavy: { in: OPEN, by: [-weight], claims: take } }
transitions: { take: { from: OPEN, to: TAKEN, by: human } }
";

fn boxes(options: Options) -> Runtime {
    let files = [
        ("pack.yaml", "pack: store\nversion: 1\n"),
        ("lifecycles/box.yaml", BOX),
        ("lifecycles/thing.yaml", THING),
    ];
    let pack = PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() };
    Runtime::start(Arc::new(MemoryStore::new()), &[pack], options).unwrap()
}

#[test]
fn entities_are_evicted_from_a_full_cache_after_a_flush() {
    const MOST: u64 = 20;
    let runtime = boxes(Options { cached_entities: MOST as usize, ..options() });
    let cached = || Figures::get(&runtime.figures().cached);
    for n in 0..60 {
        create(&runtime, &format!("store.box/B-{n}"), json!({}));
    }
    idle(&runtime);
    assert_eq!(cached(), MOST);
    for n in 0..300 {
        // The least recently read one is evicted.
        let one = key(&format!("store.box/B-{}", n % 60));
        let look = runtime
            .gateway()
            .unwrap()
            .evaluate(move |_, view, _| view.read(|it| it.entity(&one).here().is_some()));
        assert_eq!(look.unwrap().wait(), Ok(true));
        assert!(cached() <= MOST + 1, "{} entities after {n}", cached());
        if n % 50 == 0 {
            create(&runtime, &format!("store.box/C-{n}"), json!({}));
            idle(&runtime);
            assert!(cached() <= MOST + 1, "{} entities after {n}", cached());
        }
    }
}

#[test]
fn the_cache_is_bounded_in_bytes() {
    const MOST: u64 = 200_000;
    let runtime = boxes(Options { cached_bytes: MOST as usize, ..options() });
    let bytes = || Figures::get(&runtime.figures().cached_bytes);
    let place = |n: u32| format!("{n:03}{}", "p".repeat(5_000));
    for n in 0..200 {
        create(&runtime, &format!("store.thing/T-{n}"), json!({ "place": place(n), "weight": n }));
    }
    idle(&runtime);
    assert!(bytes() <= MOST, "{} bytes", bytes());
    assert!(bytes() > MOST / 4, "{} bytes: hardly anything stays", bytes());
    for n in 0..200 {
        let one = key(&format!("store.thing/T-{n}"));
        let look = runtime.gateway().unwrap().evaluate(move |_, view, _| {
            view.read(|it| it.entity(&one).here().map(|it| it.fields.value("place")))
        });
        let found = look.unwrap().wait().unwrap().unwrap();
        assert_eq!(found.as_str(), Some(place(n).as_str()));
        // The entity of the present step comes on top.
        assert!(bytes() <= MOST + 8_000, "{} bytes after {n}", bytes());
    }
}

#[test]
fn groups_are_evicted_and_counted_correctly() {
    const MOST: u64 = 8;
    let runtime = boxes(Options { cached_groups: MOST as usize, ..options() });
    for n in 0..60 {
        create(&runtime, &format!("store.box/B-{n}"), json!({}));
    }
    let held = || Figures::get(&runtime.figures().cached_groups);
    for round in 1..=3 {
        for n in 0..60 {
            let place = format!("B-{n}");
            create(&runtime, &format!("store.thing/T-{round}-{n}"), json!({ "place": place, "weight": n }));
        }
        idle(&runtime);
        assert!(held() <= MOST, "{} groups", held());
        for n in 0..60 {
            let group = GroupKey { of: key(&format!("store.box/B-{n}")), name: Name::new("things") };
            let counted = runtime.gateway().unwrap().evaluate(move |_, view, _| {
                view.read(|view| {
                    let listed = view.group_with_members(&group).here();
                    let listed = listed.map_or(0, |it| it.members.values().flatten().count());
                    (view.group(&group).here().map_or(0, |it| it.counts.values().sum::<u64>()), listed)
                })
            });
            assert_eq!(counted.unwrap().wait(), Ok((round, round as usize)), "of B-{n}");
            assert!(held() <= MOST + 1, "{} groups", held());
        }
    }
}

#[test]
fn unused_rankings_are_evicted_and_stay_correct() {
    let runtime = boxes(Options { cached_entities: 10, ..options() });
    let thing = |n: i64| create(&runtime, &format!("store.thing/T-{n}"), json!({ "weight": n }));
    let claim = || {
        let claim = Claim {
            lifecycle: Name::new("store.thing"),
            event: None,
            only: None,
            fields: Default::default(),
        };
        accepted(&runtime, Command::new(hank(), Ask::Claim(claim))).entry().unwrap().entity.id.clone()
    };
    (1..=50).for_each(thing);
    assert_eq!(claim(), *"T-50");
    let places = || Figures::get(&runtime.figures().cached_places);
    assert!(places() >= 49, "it is in memory: {} places", places());
    for n in 0..3 {
        create(&runtime, &format!("store.box/B-{n}"), json!({}));
        idle(&runtime);
    }
    assert_eq!(places(), 0);
    // Requests that arrive meanwhile are loaded instead, flushed or not.
    thing(99);
    thing(7_000);
    assert_eq!(claim(), *"T-7000");
    assert_eq!(claim(), *"T-99");
    assert_eq!(claim(), *"T-49");
}

#[test]
fn later_timers_stay_in_the_store_and_fire_on_time() {
    const MOST: u64 = 10;
    let runtime =
        started(Arc::new(MemoryStore::new()), Options { cached_timers: MOST as usize, ..options() });
    team(&runtime);
    let near = || Figures::get(&runtime.figures().cached_timers);
    let mut now = runtime.reads().unwrap().now();
    for n in 0..60 {
        assigned(&runtime, &format!("T-{n}"));
        let question = json!({ "taskId": format!("T-{n}"), "justification": "It is needed" });
        create(&runtime, &format!("mission.approval/A-{n}"), question);
        now = now.plus(Span::seconds(1));
        runtime.gateway().unwrap().advance(now).unwrap().wait().unwrap();
        assert!(near() <= MOST, "{} timers", near());
    }
    idle(&runtime);
    let waiting = runtime.store().reader().unwrap().census().unwrap().value.timers;
    assert!(waiting >= 60, "{waiting} timers are waited for");
    now = now.plus(Span::seconds(3 * 24 * 60 * 60));
    runtime.gateway().unwrap().advance(now).unwrap().wait().unwrap();
    assert!(near() <= MOST, "{} timers", near());
    for n in 0..60 {
        assert_eq!(entity(&runtime, &format!("mission.approval/A-{n}")).state, *"EXPIRED");
    }
}
