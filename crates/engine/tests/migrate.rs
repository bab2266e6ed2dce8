//! Entities move between versions of their definition, and back.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Migrate};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::RankingKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

const OLD: &str = "\
lifecycle: t.job
fields:
  title:  { type: string, default: Untitled }
  size:   { type: integer, default: 1 }
  colour: { type: string }
  note:   { type: string, default: nothing }
  boss:   { type: string }
  holder: { type: string, by: engine }
refs: { chief: { to: t.boss, by: boss, inverse: jobs } }
create: { by: human, takes: [title, size, colour, note, boss] }
states:
  OPEN:  { initial: true }
  DOING: { deadline: { after: 4h, warn: { 50%: {} }, then: stop } }
  DONE:  { final: true }
slots: { work: { for: 10m, holder: holder, lost: stop } }
counters: { tries: {}, odd: {} }
effects: { bell: {} }
timers: { age: { after: 7d, runs: [OPEN, DOING], starts: once, then: stop } }
rankings: { old_line: { in: OPEN, by: -size } }
transitions:
  start: { from: OPEN, to: DOING, by: human, count: [tries, odd] }
  take:  { from: DOING, by: agent, lease: work }
  ring:  { from: DOING, by: human, effects: [bell] }
  stop:  { from: [OPEN, DOING], to: DONE, by: human || engine }
";

const NEW: &str = "\
lifecycle: t.job
fields:
  title:  { type: string, default: Untitled }
  size:   { type: string }
  note:   { type: string, default: nothing }
  team:   { type: string, default: blue }
  owner:  { type: string }
  boss:   { type: string }
refs: { master: { to: t.boss, by: boss, inverse: work } }
create: { by: human, takes: [title, owner, boss] }
states:
  OPEN:    { initial: true }
  WORKING: { require: { owner: Say whose it is }, deadline: { after: 8h, warn: { 25%: {}, 75%: {} }, then: stop } }
  DONE:    { final: true }
counters: { tries: {} }
timers:
  age:  { after: 7d, runs: [OPEN, WORKING], starts: once, then: stop }
  rest: { after: 3h, runs: [WORKING], starts: entry, then: stop }
rankings: { new_line: { in: OPEN, by: title } }
transitions:
  start: { from: OPEN, to: WORKING, by: human, count: tries }
  stop:  { from: [OPEN, WORKING], to: DONE, by: human || engine }
invariants: { no_red: { holds: 'title != \"Red\"', says: Nothing is called Red } }
";

fn boss(inverse: &str) -> String {
    format!(
        "lifecycle: t.boss\ncreate: {{ by: human }}\nstates: {{ IN: {{ initial: true }}, OUT: {{ final: true }} }}\ntransitions: {{ go: {{ from: IN, to: OUT, by: human, when: [ {{ check: {inverse}.count < 9, says: busy }} ] }} }}\n"
    )
}

fn pack(version: u32, job: &str, inverse: &str) -> Pack {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", format!("pack: t\nversion: {version}\n"));
    let job = sources.add("job.yaml", job);
    let boss = sources.add("boss.yaml", boss(inverse));
    match compile(&sources, &PackFiles { pack, lifecycles: vec![job, boss] }) {
        Ok((pack, _)) => pack,
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn key(id: &str) -> EntityKey {
    EntityKey::new("t.job", id)
}

fn admin() -> Actor {
    Actor::new("ann", ActorKind::Human).with_roles(["admin"])
}

/// A world with entities of version 1, and version 2 installed beside it.
fn world(fields: &[(&str, Value)]) -> World {
    let mut world = World::new(Arc::new(Law::new([pack(1, OLD, "jobs")])), Project::default(), Timestamp(0));
    let entity = EntityKey::new("t.boss", "B");
    done(world.submit(&Command::new(admin(), Ask::Create { entity, fields: Fields::default() })));
    let fields: Fields = fields.iter().map(|(name, value)| (*name, value.clone())).collect();
    done(world.submit(&Command::new(admin(), Ask::Create { entity: key("J"), fields })));
    world
}

fn renew_lease(world: &mut World) {
    let mut law = Law::new([pack(1, OLD, "jobs")]);
    law.add(Arc::new(pack(2, NEW, "work")));
    world.law = Arc::new(law);
}

fn fire(world: &mut World, actor: Actor, event: &str) {
    done(world.submit(&Command::fire(actor, key("J"), event, Fields::default())));
}

fn done(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Accepted { root, .. } => root,
        other => panic!("{other:?}"),
    }
}

fn refused(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn migrate(to: u32, states: &[(&str, &str)], fields: &[(&str, Value)]) -> Command {
    let mut migrate = Migrate::new(key("J"), to);
    migrate.states = states.iter().map(|(from, to)| (Name::new(from), Name::new(to))).collect();
    migrate.fields = fields.iter().map(|(name, value)| (*name, value.clone())).collect();
    Command::new(admin(), Ask::Migrate(migrate))
}

fn undo(world: &World, root: usize) -> Command {
    let migration = Box::new(world.journal[root].clone());
    Command::new(admin(), Ask::UndoMigration { entity: key("J"), migration })
}

fn job(world: &World) -> Entity {
    world.view.get(&key("J")).expect("the job").clone()
}

fn count(world: &World, group: &str, state: &str) -> u64 {
    let group = GroupKey { of: EntityKey::new("t.boss", "B"), name: Name::new(group) };
    let group = world.view.group(&group).here();
    group.and_then(|it| it.counts.get(state).copied()).unwrap_or_default()
}

fn is_ranked(world: &World, ranking: &str) -> bool {
    let key = RankingKey { lifecycle: Name::new("t.job"), name: Name::new(ranking) };
    world.view.rankings.get(&key).is_some_and(|it| it.place(&Name::new("J")).is_some())
}

/// The parts that an undo must restore: all but those that every entry changes.
fn essence(mut entity: Entity) -> Entity {
    (entity.version, entity.seq, entity.updated_at) = (0, 0, Timestamp(0));
    // An undo grants the lease again.
    entity.leases.iter_mut().for_each(|(_, it)| it.granted_at = None);
    // An alert that ended with its timer does not come back.
    entity.alerts.clear();
    entity
}

fn replays(world: &World) {
    let mut again = View::default();
    for entry in &world.journal {
        let stored = serde_json::to_string(entry).unwrap();
        let mut entry: Entry = serde_json::from_str(&stored).unwrap();
        let whole = entry.clone();
        let content = entry.part();
        entry.rejoin(content);
        assert_eq!(entry, whole, "parted and joined again");
        apply(&mut again, &entry);
    }
    assert!(again.entities() == world.view.entities(), "replayed equals lived");
}

const MAPPING: [(&str, &str); 1] = [("DOING", "WORKING")];

fn values() -> [(&'static str, Value); 4] {
    [
        ("size", Value::text("big")),
        ("colour", Value::Null),
        ("owner", Value::text("ann")),
        ("holder", Value::Null),
    ]
}

fn at_work() -> World {
    let mut world =
        world(&[("colour", Value::text("red")), ("size", Value::Int(3)), ("boss", Value::text("B"))]);
    world.advance(Span::parse("1h").unwrap());
    fire(&mut world, admin(), "start");
    world.advance(Span::parse("3h").unwrap());
    renew_lease(&mut world);
    world
}

#[test]
fn all_misfits_are_reported_at_once() {
    let mut world = at_work();
    let ada = Actor::new("ada", ActorKind::Agent);
    fire(&mut world, ada, "take");
    fire(&mut world, admin(), "ring");
    let before = job(&world);
    let refusal =
        refused(world.submit(&migrate(2, &[], &[("team", Value::Int(3)), ("nose", Value::Int(3))])));
    assert_eq!(refusal.code.as_str(), "cannot-migrate");
    let told: Vec<(Option<&str>, &str)> =
        refusal.errors.iter().map(|it| (it.field.as_deref(), it.code.as_str())).collect();
    let expected = [
        (Some("states"), "unknown-state"),
        (Some("colour"), "unknown-field"),
        (Some("holder"), "unknown-field"),
        (Some("size"), "wrong-type"),
        (Some("team"), "wrong-type"),
        (Some("nose"), "unknown-field"),
        (None, "lease-held"),
        (None, "effect-open"),
    ];
    assert_eq!(told, expected, "{refusal}");
    let refusal = refused(world.submit(&migrate(2, &MAPPING, &[])));
    assert!(
        refusal.errors.iter().any(|it| it.field.as_deref() == Some("owner") && it.code.as_str() == "missing"),
        "{refusal}"
    );
    assert_eq!(job(&world), before);
    let refusal = refused(world.submit(&migrate(7, &MAPPING, &[])));
    assert_eq!(refusal.code.as_str(), "unknown-version");
    assert!(refusal.detail.contains("there is 1, 2"), "{refusal}");
}

#[test]
fn fitting_values_stay_and_mapped_ones_change() {
    let mut world = at_work();
    let before = job(&world);
    let root = done(world.submit(&migrate(2, &MAPPING, &values())));
    let entry = &world.journal[root];
    assert_eq!(entry.event.kind().as_str(), "MIGRATED");
    assert_eq!(entry.edge(), (Some(&Name::new("DOING")), Some(&Name::new("WORKING"))));
    let after = job(&world);
    assert_eq!((after.definition, after.state.as_str()), (2, "WORKING"));
    assert_eq!(after.version, before.version + 1);
    let field = |name: &str| after.fields.value(name).to_json();
    assert_eq!(field("size"), "big");
    assert_eq!(field("team"), "blue", "new fields get their default");
    assert_eq!(field("title"), "Untitled");
    assert!(after.fields.get("colour").is_none());
    assert_eq!(after.state_entered_at, before.state_entered_at, "its time in the state continues");
    assert_eq!(after.stay("WORKING").unwrap().visits, 1);
    assert!(after.stay("DOING").is_none());
    assert!(after.tallies("odd").is_none() && after.tallies("tries").is_some());
    assert_eq!(after.timer("age"), before.timer("age"), "a clock of both versions continues");
    assert!(after.timer("DOING").is_none(), "a clock that is unknown there ends");
    let rest = after.timer("rest").expect("a clock that is new there starts");
    assert_eq!(rest.started_at, world.now);
    assert_eq!((count(&world, "jobs", "DOING"), count(&world, "work", "WORKING")), (0, 1));
    replays(&world);
    world.advance(Span::parse("3h").unwrap());
    assert_eq!(job(&world).state, "DONE", "and strikes");
}

#[test]
fn an_undo_restores_the_entity() {
    let mut world = at_work();
    let before = job(&world);
    let root = done(world.submit(&migrate(2, &MAPPING, &values())));
    let migrated = job(&world);
    world.advance(Span::parse("10m").unwrap());
    let command = undo(&world, root);
    let undone = done(world.submit(&command));
    assert_eq!(essence(job(&world)), essence(before));
    assert_eq!((count(&world, "jobs", "DOING"), count(&world, "work", "WORKING")), (1, 0));
    replays(&world);
    let command = undo(&world, undone);
    done(world.submit(&command));
    assert_eq!(essence(job(&world)), essence(migrated), "and the other way round");
    replays(&world);
}

#[test]
fn an_entity_that_changed_since_is_not_undone() {
    let mut world = at_work();
    let root = done(world.submit(&migrate(2, &MAPPING, &values())));
    let struck = {
        let mut world = world.clone();
        world.advance(Span::parse("2h1m").unwrap());
        assert_eq!(job(&world).state, "WORKING");
        assert_eq!(job(&world).version, world.journal[root].version, "a warning is no new version");
        let command = undo(&world, root);
        refused(world.submit(&command))
    };
    assert_eq!(struck.errors[0].code.as_str(), "version-mismatch", "{struck}");
    fire(&mut world, admin(), "stop");
    let command = undo(&world, root);
    let refusal = refused(world.submit(&command));
    assert_eq!(
        (refusal.code.as_str(), refusal.errors[0].code.as_str()),
        ("cannot-migrate", "version-mismatch")
    );
    assert_eq!(job(&world).definition, 2);
    let mut other = undo(&world, 0);
    assert_eq!(refused(world.submit(&other)).code.as_str(), "cannot-migrate");
    other.actor = Actor::new("hank", ActorKind::Human);
    assert_eq!(refused(world.submit(&other)).code.as_str(), "not-permitted");
}

#[test]
fn a_migration_back_to_the_old_version_works() {
    let mut world = at_work();
    done(world.submit(&migrate(2, &MAPPING, &values())));
    let values = [("size", Value::Int(5)), ("team", Value::Null), ("owner", Value::Null)];
    done(world.submit(&migrate(1, &[("WORKING", "DOING")], &values)));
    let after = job(&world);
    assert_eq!((after.definition, after.state.as_str()), (1, "DOING"));
    assert_eq!(after.fields.value("size"), Value::Int(5));
    assert!(after.fields.get("team").is_none());
    assert_eq!((count(&world, "jobs", "DOING"), count(&world, "work", "WORKING")), (1, 0));
    replays(&world);
}

#[test]
fn a_clock_with_another_length_keeps_its_elapsed_time_and_warns_once() {
    let mut world = at_work();
    let longer =
        OLD.replace("after: 4h, warn: { 50%: {} }", "after: 8h, warn: { 25%: {}, 50%: {}, 75%: {} }");
    let mut law = Law::new([pack(1, OLD, "jobs")]);
    law.add(Arc::new(pack(2, &longer, "jobs")));
    world.law = Arc::new(law);
    let before = *job(&world).timer("DOING").expect("a deadline");
    assert_eq!(before.step, 1, "warned at half of four hours");
    done(world.submit(&migrate(2, &[], &[])));
    let after = *job(&world).timer("DOING").expect("a deadline");
    assert_eq!(after.elapsed(world.now), before.elapsed(world.now));
    assert_eq!(after.length, Span::parse("8h").unwrap());
    let first = world.journal.len();
    world.advance(Span::parse("4h59m").unwrap());
    let warned: Vec<u32> = world.journal[first..]
        .iter()
        .filter_map(|it| match &it.event {
            Event::TimeoutWarned { percent, .. } => Some(*percent),
            _ => None,
        })
        .collect();
    assert_eq!(warned, [75]);
    assert_eq!(job(&world).state, "DOING");
    world.advance(Span::parse("1m").unwrap());
    assert_eq!(job(&world).state, "DONE");
}

#[test]
fn an_invariant_of_the_new_version_is_kept() {
    let mut world = world(&[("title", Value::text("Red")), ("size", Value::Int(3))]);
    renew_lease(&mut world);
    let refusal = refused(world.submit(&migrate(2, &[], &values())));
    assert_eq!(refusal.errors.iter().map(|it| it.code.as_str()).collect::<Vec<_>>(), ["invariant-violated"]);
    assert!(refusal.errors[0].message.contains("Nothing is called Red"));
}

#[test]
fn rankings_follow_a_migration() {
    let mut world = world(&[]);
    renew_lease(&mut world);
    assert!(is_ranked(&world, "old_line"));
    let root = done(world.submit(&migrate(2, &[], &values())));
    assert!(is_ranked(&world, "new_line") && !is_ranked(&world, "old_line"));
    let command = undo(&world, root);
    done(world.submit(&command));
    assert!(!is_ranked(&world, "new_line") && is_ranked(&world, "old_line"));
}

#[test]
fn only_an_admin_or_the_engine_may_and_a_plan_is_the_same_decision() {
    let mut world = at_work();
    for actor in
        [Actor::new("hank", ActorKind::Human), Actor::new("ada", ActorKind::Agent).with_roles(["admin"])]
    {
        let mut command = migrate(2, &MAPPING, &values());
        command.actor = actor;
        assert_eq!(refused(world.submit(&command)).code.as_str(), "not-permitted");
    }
    let mut command = migrate(2, &MAPPING, &values());
    command.actor = Actor::engine();
    let Decision::Accepted(plan) = world.dry_run(&command) else { panic!("refused") };
    let first = world.journal.len();
    done(world.submit(&command));
    assert_eq!(plan.entries, world.journal[first..]);
    let before = world.journal.len();
    world.submit(&command);
    assert_eq!(world.journal.len(), before, "what lives by that version already is left as it is");
}
