//! Results do not depend on the content of the cache.

use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::key::GroupKey;
use trackside_lifecycle::name::Name;
use trackside_runtime::{
    CommandAnswer, Figures, MigratedEntity, Migration, MigrationProgress, MigrationRange, Options,
    PackSource, Runtime,
};
use trackside_store::MemoryStore;

use crate::ground::{accepted, assigned, fields, key, keyed, manual, started, team};

const PARENT: &str = "\
lifecycle: kin.parent
create: { by: human || engine }
states: { HERE: { initial: true } }
";

const CHILD: &str = "\
lifecycle: kin.child
fields: { of: { type: string } }
refs: { elder: { to: kin.parent, by: of, inverse: children } }
create:
  by: human
  takes: [of]
  create: [ { lifecycle: kin.parent, id: of } ]
states: { SMALL: { initial: true } }
";

fn kin(version: u32, child: &str) -> PackSource {
    let pack = format!("pack: kin\nversion: {version}\nabout: Those who come after.\n");
    let files =
        [("pack.yaml", pack.as_str()), ("lifecycles/parent.yaml", PARENT), ("lifecycles/child.yaml", child)];
    PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() }
}

fn start(store: &MemoryStore, pack: PackSource) -> Runtime {
    Runtime::start(Arc::new(store.reopen()), &[pack], Options { sweep_every: None, ..manual() }).unwrap()
}

fn child(runtime: &Runtime, id: &str, of: &str) {
    let ask = Ask::Create { entity: key(&format!("kin.child/{id}")), fields: fields(json!({ "of": of })) };
    accepted(runtime, Command::new(Actor::new("hank", ActorKind::Human), ask));
}

#[test]
fn a_new_parent_counts_the_child_created_in_the_same_command() {
    let runtime = start(&MemoryStore::new(), kin(1, CHILD));
    child(&runtime, "C-1", "P-1");
    let group = GroupKey { of: key("kin.parent/P-1"), name: Name::new("children") };
    let counted = runtime.gateway().unwrap().evaluate(move |_, view, _| {
        view.read(|it| it.group(&group).here().map_or(0, |it| it.counts.values().sum::<u64>()))
    });
    assert_eq!(counted.unwrap().wait(), Ok(1));
}

#[test]
fn a_migration_is_planned_for_entities_that_are_not_in_memory() {
    let store = MemoryStore::new();
    let runtime = start(&store, kin(1, CHILD));
    for n in 0..3 {
        child(&runtime, &format!("C-{n}"), &format!("P-{n}"));
    }
    runtime.stop();
    let runtime = start(&store, kin(2, &CHILD.replace("SMALL", "YOUNG")));
    let admin = Actor::new("hank", ActorKind::Human).with_roles(["admin"]);
    let migration = |states: &[(&str, &str)]| Migration {
        lifecycle: Name::new("kin.child"),
        to: 2,
        states: states.iter().map(|(from, to)| (Name::new(from), Name::new(to))).collect(),
        fields: Default::default(),
    };
    let planned = |migration: &Migration| {
        let mut all = Vec::new();
        runtime
            .plan_migration(&admin, migration, &MigrationRange::default(), &mut |it| {
                all.push(it.outcome.is_ok())
            })
            .unwrap();
        all
    };
    assert_eq!(planned(&migration(&[])), [false; 3], "its state is not there any more");
    let mapped = migration(&[("SMALL", "YOUNG")]);
    assert_eq!(planned(&mapped), [true; 3]);
    let mut done = 0;
    let mut told = |it: &MigratedEntity| done += usize::from(it.outcome.is_ok());
    runtime.apply_migration(&admin, &mapped, &MigrationRange::default(), &mut told).unwrap();
    assert_eq!(done, 3);
}

#[test]
fn a_migration_continues_with_room_for_one_command() {
    let store = MemoryStore::new();
    let runtime = start(&store, kin(1, CHILD));
    for n in 0..40 {
        child(&runtime, &format!("C-{n:02}"), &format!("P-{n:02}"));
    }
    runtime.stop();
    let options = Options { sweep_every: None, queue: 1, ..manual() };
    let runtime =
        Runtime::start(Arc::new(store.reopen()), &[kin(2, &CHILD.replace("SMALL", "YOUNG"))], options)
            .unwrap();
    let admin = Actor::new("hank", ActorKind::Human).with_roles(["admin"]);
    let migration = Migration {
        lifecycle: Name::new("kin.child"),
        to: 2,
        states: [(Name::new("SMALL"), Name::new("YOUNG"))].into_iter().collect(),
        fields: Default::default(),
    };
    // One range at a time: each entity is reported once, in order.
    let (mut planned, mut part) = (Vec::new(), MigrationRange { after: None, most: Some(16) });
    loop {
        let mut told = |it: &MigratedEntity| planned.push(it.entity.id.to_string());
        let went = runtime.plan_migration(&admin, &migration, &part, &mut told).unwrap();
        assert!(went.looked_at <= 16);
        match went.next {
            Some(next) => part.after = Some(next),
            None => break,
        }
    }
    let all: Vec<String> = (0..40).map(|n| format!("C-{n:02}")).collect();
    assert_eq!(planned, all);
    let mut moved = Vec::new();
    let mut told = |it: &MigratedEntity| moved.push(it.entity.id.to_string());
    let went = runtime.apply_migration(&admin, &migration, &MigrationRange::default(), &mut told).unwrap();
    assert_eq!((moved, went), (all.clone(), MigrationProgress { looked_at: 40, next: None }));
    let mut back = Vec::new();
    let mut told = |it: &MigratedEntity| back.push(it.entity.id.to_string());
    let lifecycle = Name::new("kin.child");
    runtime.undo_migration(&admin, &lifecycle, 2, &MigrationRange::default(), &mut told).unwrap();
    assert_eq!(back, all);
}

#[test]
fn evicted_values_and_keys_still_count() {
    let options = Options { cached_values: 5, cached_keys: 5, sweep_every: None, ..manual() };
    let runtime = started(Arc::new(MemoryStore::new()), options);
    team(&runtime);
    let ask = |task: usize, id: &str| {
        let fields = fields(json!({ "taskId": format!("T-{task}"), "justification": "It is needed" }));
        let ask = Ask::Create { entity: key(&format!("mission.approval/{id}")), fields };
        Command::new(Actor::new("hank", ActorKind::Human), ask)
    };
    let first = |task: usize| keyed(ask(task, &format!("A-{task}")), &format!("k-{task}"));
    for task in 0..30 {
        assigned(&runtime, &format!("T-{task}"));
        accepted(&runtime, first(task));
    }
    for round in 0..3 {
        for task in 0..30 {
            let again = runtime.gateway().unwrap().ask(first(task)).unwrap();
            assert!(matches!(again, CommandAnswer::Replayed { .. }), "{round} {task}: {again:?}");
            let other = accepted(&runtime, ask(task, &format!("B-{round}-{task}")));
            assert_eq!(other.entry().unwrap().entity, key(&format!("mission.approval/A-{task}")));
        }
        // A write and a decision: everything that may be evicted is.
        assigned(&runtime, &format!("U-{round}"));
        runtime.wait_until_written().unwrap();
        runtime.gateway().unwrap().evaluate(|_, _, _| Ok(())).unwrap().wait().unwrap();
        let figures = runtime.figures();
        let kept = [&figures.cached_values, &figures.cached_keys].map(Figures::get);
        assert!(kept.iter().all(|it| *it <= 5), "{kept:?}");
    }
}
