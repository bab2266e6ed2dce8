//! Imported entities are checked as a whole: all of them are imported, or none.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, ImportedEntity};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::import_origin::ImportOrigin;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::RankingKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

const JOB: &str = "\
lifecycle: t.job
fields:
  title:  { type: string, default: Untitled }
  size:   { type: integer, minimum: 1, default: 1 }
  boss:   { type: string }
  code:   { type: string }
  holder: { type: string, by: engine }
  until:  { type: time, by: engine }
  long:   { type: boolean, is: size > 5 }
refs: { chief: { to: t.boss, by: boss, inverse: jobs } }
create: { by: human, takes: [title, size, boss, code], same: code }
states:
  OPEN:  { initial: true }
  DOING: { require: { boss: Say whose it is }, deadline: { after: 4h, then: stop } }
  DONE:  { final: true }
slots: { work: { for: 10m, holder: holder, until: until, lost: stop } }
counters: { tries: {} }
rankings: { line: { in: OPEN, by: -size } }
transitions:
  start: { from: OPEN, to: DOING, by: human, count: tries }
  take:  { from: DOING, by: agent, lease: work }
  stop:  { from: [OPEN, DOING], to: DONE, by: human || engine }
invariants:
  led:  { in: [DOING], holds: 'boss != null && chief.state == \"IN\"', says: '{id} is led by nobody' }
  tidy: { holds: 'size < 100', says: 'too large', severity: warning }
";

const BOSS: &str = "\
lifecycle: t.boss
create: { by: human }
states: { IN: { initial: true }, OUT: { final: true } }
transitions: { go: { from: IN, to: OUT, by: human || engine } }
reactions:
  done: { when: 'jobs.DONE > 0', fire: go }
";

fn law() -> Arc<Law> {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
    let lifecycles = vec![sources.add("job.yaml", JOB), sources.add("boss.yaml", BOSS)];
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn world() -> World {
    World::new(law(), Project::default(), Timestamp(0))
}

fn key(text: &str) -> EntityKey {
    EntityKey::parse(text).unwrap()
}

fn admin() -> Actor {
    Actor::new("ann", ActorKind::Human).with_roles(["admin"])
}

fn coming(place: usize, entity: &str, state: &str, fields: &[(&str, Value)]) -> ImportedEntity {
    let fields: Fields = fields.iter().map(|(name, value)| (*name, value.clone())).collect();
    ImportedEntity {
        entity: key(entity),
        state: (!state.is_empty()).then(|| Name::new(state)),
        fields,
        tallies: Vec::new(),
        leases: Vec::new(),
        origin: ImportOrigin {
            name: Arc::from(format!("elsewhere {entity}")),
            file: Some(Arc::from("old.jsonl")),
        },
        place,
    }
}

fn import(world: &mut World, all: Vec<ImportedEntity>) -> Outcome {
    world.submit(&Command::new(admin(), Ask::Import(all)))
}

fn done(outcome: Outcome) {
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
}

fn refused(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn problems(refusal: &Refusal) -> Vec<(String, &str)> {
    refusal.errors.iter().map(|it| (it.field.as_ref().unwrap().to_string(), it.code.as_str())).collect()
}

fn entity<'a>(world: &'a World, text: &str) -> &'a Entity {
    world.view.get(&key(text)).unwrap()
}

fn replays(world: &World) {
    let mut view = View::default();
    world.journal.iter().for_each(|it| apply(&mut view, it));
    assert_eq!(view.entities(), world.view.entities());
}

#[test]
fn imported_entities_keep_their_state_and_the_journal_records_their_origin() {
    let mut world = world();
    let boss = Value::text("B");
    let mut doing = coming(0, "t.job/J", "DOING", &[("title", Value::text("Old")), ("boss", boss.clone())]);
    doing.tallies = vec![(Name::new("tries"), Name::new(""), 3.0)];
    doing.leases = vec![(Name::new("work"), Name::new("ada"))];
    // The entity it refers to comes later in the same decision.
    let all = vec![doing, coming(1, "t.boss/B", "", &[]), coming(2, "t.job/K", "OPEN", &[("boss", boss)])];
    done(import(&mut world, all));
    let job = entity(&world, "t.job/J");
    assert_eq!((job.state.as_str(), job.version > 0, job.definition), ("DOING", true, 1));
    assert_eq!(job.fields.value("title"), Value::text("Old"));
    assert_eq!(job.fields.value("size"), Value::Int(1), "its default");
    assert_eq!(job.tally("tries", "").unwrap().value, 3.0);
    assert_eq!(job.fields.value("holder"), Value::text("ada"));
    assert_eq!(job.fields.value("until"), Value::Time(Timestamp(600_000)));
    let lease = job.lease("work").unwrap();
    assert_eq!((lease.holder.as_deref(), lease.expires_at), (Some("ada"), Timestamp(600_000)));
    let first = world.journal.iter().find(|it| it.entity == key("t.job/J")).unwrap();
    assert!(matches!(&first.event, Event::Corrected { from: None, to, .. } if to == "DOING"));
    assert_eq!((first.actor.as_str(), first.trigger.as_str()), ("ann", "import"));
    assert_eq!(first.reason.as_deref(), Some("imported from elsewhere t.job/J in old.jsonl"));
    let group = GroupKey { of: key("t.boss/B"), name: Name::new("jobs") };
    let counts = &world.view.group(&group).here().unwrap().counts;
    assert_eq!((counts.get("DOING"), counts.get("OPEN")), (Some(&1), Some(&1)));
    let line = RankingKey { lifecycle: Name::new("t.job"), name: Name::new("line") };
    assert!(world.view.rankings.get(&line).unwrap().place(&Name::new("K")).is_some());
    replays(&world);
    // Imported clocks run from now on: the lease is lost, and then no holder is left to stop it.
    world.advance(Span(11 * 60_000));
    assert_eq!(entity(&world, "t.job/J").state.as_str(), "DONE");
    replays(&world);
}

#[test]
fn an_import_fires_no_reactions() {
    let mut world = world();
    let all =
        vec![coming(0, "t.boss/B", "IN", &[]), coming(1, "t.job/J", "DONE", &[("boss", Value::text("B"))])];
    done(import(&mut world, all));
    assert_eq!(entity(&world, "t.boss/B").state.as_str(), "IN");
    assert_eq!(world.journal.len(), 2);
}

#[test]
fn all_problems_are_reported_at_once_and_nothing_is_imported() {
    let mut world = world();
    done(import(
        &mut world,
        vec![coming(0, "t.boss/B", "", &[]), coming(1, "t.job/T", "", &[("code", Value::text("c"))])],
    ));
    let before = world.journal.len();
    let mut nameless = coming(4, "t.job/D", "", &[]);
    nameless.origin.name = Arc::from(" ");
    nameless.tallies = vec![(Name::new("moods"), Name::new(""), 1.0)];
    nameless.leases = vec![(Name::new("sofa"), Name::new("ada"))];
    let all = vec![
        coming(
            7,
            "t.job/A",
            "DOIN",
            &[("size", Value::Int(0)), ("colour", Value::text("red")), ("long", Value::Bool(true))],
        ),
        coming(2, "t.boss/B", "", &[]),
        coming(3, "t.nothing/X", "", &[]),
        nameless,
        coming(5, "t.job/no id", "", &[]),
        coming(6, "t.job/E", "", &[]),
        coming(8, "t.job/E", "", &[]),
        coming(9, "t.job/F", "", &[("code", Value::text("c"))]),
    ];
    let refusal = refused(import(&mut world, all));
    assert_eq!(refusal.code.as_str(), "cannot-import");
    let expected = [
        ("entities.7.state", "unknown-state"),
        ("entities.7.fields.colour", "unknown-field"),
        ("entities.7.fields.long", "unknown-field"),
        ("entities.7.fields.size", "out-of-range"),
        ("entities.2.id", "already-exists"),
        ("entities.3.lifecycle", "unknown-lifecycle"),
        ("entities.4.origin", "missing"),
        ("entities.4.counts", "unknown-counter"),
        ("entities.4.leases", "unknown-slot"),
        ("entities.5.id", "invalid-id"),
        ("entities.8.id", "already-exists"),
        ("entities.9", "already-exists"),
    ];
    let expected: Vec<(String, &str)> = expected.iter().map(|(it, code)| ((*it).to_owned(), *code)).collect();
    assert_eq!(problems(&refusal), expected, "{refusal}");
    assert!(refusal.errors[0].message.contains("Did you mean DOING?"), "{refusal}");
    assert!(world.view.get(&key("t.job/E")).is_none() && world.journal.len() == before);
}

#[test]
fn invariants_are_checked_after_all_entities_are_imported() {
    let mut world = world();
    let lonely = vec![
        coming(0, "t.job/J", "DOING", &[]),
        coming(1, "t.job/K", "DOING", &[("boss", Value::text("B"))]),
    ];
    let refusal = refused(import(&mut world, lonely));
    assert_eq!(
        problems(&refusal),
        [("entities.0".to_owned(), "invariant-violated"), ("entities.1".to_owned(), "invariant-violated")]
    );
    assert!(refusal.errors[0].message.contains("J is led by nobody"), "{refusal}");
    assert!(world.journal.is_empty());
    // An entity that breaks a warning-level invariant is imported, and the violation is journalled.
    done(import(&mut world, vec![coming(0, "t.job/L", "", &[("size", Value::Int(100))])]));
    assert!(world.journal.iter().any(|it| it.event.kind().as_str() == "VIOLATION"));
    replays(&world);
}

#[test]
fn only_people_with_role_admin_may() {
    for actor in
        [Actor::new("pia", ActorKind::Human), Actor::new("bot", ActorKind::Agent).with_roles(["admin"])]
    {
        let ask = Ask::Import(vec![coming(0, "t.boss/B", "", &[])]);
        let refusal = refused(world().submit(&Command::new(actor, ask)));
        assert_eq!(
            (refusal.code.as_str(), refusal.who.as_deref()),
            ("not-permitted", Some("human and admin"))
        );
    }
}

#[test]
fn the_same_origin_is_recognised_whatever_the_file() {
    let mut world = world();
    done(import(&mut world, vec![coming(0, "t.boss/B", "", &[])]));
    let entry = world.journal.last().unwrap().clone();
    let origin = |name: &str, file: &str| ImportOrigin {
        name: Arc::from(name),
        file: (!file.is_empty()).then(|| Arc::from(file)),
    };
    assert_eq!(ImportOrigin::of(&entry), Some(origin("elsewhere t.boss/B", "old.jsonl")));
    assert!(origin("elsewhere t.boss/B", "other.jsonl").is_of(&entry));
    assert!(origin("elsewhere t.boss/B", "").is_of(&entry));
    for other in ["elsewhere t.boss/B2", "elsewhere t.boss", "nowhere t.boss/B"] {
        assert!(!origin(other, "old.jsonl").is_of(&entry), "{other}");
    }
    // A name may end like the sentence of an old journal.
    assert!(!origin("elsewhere t.boss/B in old.jsonl", "").is_of(&entry));
    let corrected = Entry { trigger: Name::new("correct"), ..entry };
    assert!(!origin("elsewhere t.boss/B", "").is_of(&corrected));
}

#[test]
fn the_origin_is_recognised_in_the_reason_of_an_old_journal() {
    let mut world = world();
    done(import(&mut world, vec![coming(0, "t.boss/B", "", &[])]));
    let entry = world.journal.last().unwrap().clone();
    let old = |reason: &str| Entry { origin: None, reason: Some(Arc::from(reason)), ..entry.clone() };
    let origin = ImportOrigin { name: Arc::from("elsewhere t.boss/B"), file: None };
    assert!(origin.is_of(&old("imported from elsewhere t.boss/B")));
    assert!(origin.is_of(&old("imported from elsewhere t.boss/B in other.jsonl")));
    assert!(!origin.is_of(&old("imported from elsewhere t.boss/B2")));
    assert!(!origin.is_of(&old("imported from nowhere t.boss/B")));
    assert!(!origin.is_of(&old("because")));
    assert_eq!(ImportOrigin::of(&old("imported from elsewhere t.boss/B")), Some(origin.clone()));
    // An old entry reads as one without an origin, and a redacted one may have any.
    let stored = serde_json::to_value(old("imported from x")).unwrap();
    assert!(stored.get("origin").is_none());
    assert!(origin.is_of(&Entry { origin: None, reason: None, ..entry }));
}
