//! Changes of the project itself are journalled like those of entities.
#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Install};
use trackside_engine::event::{Entry, EventKind};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::project::{ProjectChange, SettingChange, project_key};
use trackside_engine::ranking::RankingKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_protocol::EntryBody;

const PACK: &str = "pack: t\nversion: 3\nsettings: { least: { default: 2, min: 1, max: 9 }, wait: 5m }\n";
const THING: &str = "\
lifecycle: t.thing
fields: { n: { type: integer, default: 0 } }
create: { by: human, takes: [n] }
states: { OPEN: { initial: true }, SHUT: { final: true } }
transitions: { shut: { from: OPEN, to: SHUT, by: human } }
rankings: { big: { in: OPEN, when: n >= settings.least, by: -n } }
";

const DAY: &str = "\
lifecycle: t.day
fields: { met: { type: integer, default: 0, by: engine } }
create: { by: human }
states: { OPEN: { initial: true } }
counters: { spent: { reset: daily 00:00 } }
timers: { standup: { every: daily 09:00, then: meet } }
transitions:
  meet:  { from: OPEN, by: engine, set: { met: met + 1 } }
  spend: { from: OPEN, by: human, count: spent }
";

fn law() -> Arc<Law> {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", PACK);
    let lifecycles = vec![sources.add("thing.yaml", THING), sources.add("day.yaml", DAY)];
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn world() -> World {
    let mut world = World::new(law(), Project::default(), Timestamp(0));
    for n in 1..=3 {
        let fields: Fields = [("n", Value::Int(n))].into_iter().collect();
        let entity = EntityKey::new("t.thing", format!("T-{n}"));
        let outcome = world.submit(&Command::new(admin(), Ask::Create { entity, fields }));
        assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    }
    world
}

fn admin() -> Actor {
    Actor::new("ann", ActorKind::Human).with_roles(["admin"])
}

fn setting(name: &str, value: Value) -> SettingChange {
    SettingChange { pack: Name::new("t"), setting: Name::new(name), value }
}

fn settings(all: impl IntoIterator<Item = SettingChange>) -> ProjectChange {
    ProjectChange { settings: all.into_iter().collect(), ..ProjectChange::default() }
}

fn change_project(world: &mut World, change: ProjectChange) -> Outcome {
    world.submit(&Command::new(admin(), Ask::Configure(change)))
}

fn refused(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn big(world: &World) -> usize {
    let key = RankingKey { lifecycle: Name::new("t.thing"), name: Name::new("big") };
    let ranking = world.view.rankings.get(&key).expect("a ranking");
    (1..=3).filter(|n| ranking.place(&Name::from(format!("T-{n}"))).is_some()).count()
}

#[test]
fn a_change_is_an_entry_under_a_key_that_no_entity_has() {
    let mut world = world();
    let change = ProjectChange {
        zone: Some("Europe/Berlin".to_owned()),
        people: Some(vec![Name::new("ann")]),
        ..settings([setting("least", Value::Int(3)), setting("wait", Value::text("9m"))])
    };
    let Outcome::Accepted { entries, root, .. } = change_project(&mut world, change) else {
        panic!("refused")
    };
    assert_eq!(entries.len(), 1);
    let entry = &world.journal[root];
    assert_eq!((&entry.entity, entry.event.kind().as_str()), (project_key(), "PROJECT_CHANGED"));
    let metadata = serde_json::to_value(EntryBody::new(entry).metadata).unwrap();
    assert_eq!(metadata["settings"]["t"]["least"], 3);
    assert_eq!(metadata["zone"], "Europe/Berlin");
    assert_eq!(world.view.get(project_key()), None);
    let project = &world.view.project;
    assert_eq!(project.settings["t"]["wait"].to_json(), "9m");
    assert_eq!((project.zone.as_str(), project.people.len()), ("Europe/Berlin", 1));
    assert!(
        change_project(&mut world, settings([setting("least", Value::Null), setting("wait", Value::Null)]))
            .is_done()
    );
    assert!(world.view.project.settings.is_empty(), "{:?}", world.view.project);
}

#[test]
fn orders_follow_a_setting_in_the_same_entry_and_a_replay_gives_the_same() {
    let mut world = world();
    assert_eq!(big(&world), 2);
    change_project(&mut world, settings([setting("least", Value::Int(1))]));
    assert_eq!(big(&world), 3);
    change_project(&mut world, settings([setting("least", Value::Int(9))]));
    assert_eq!(big(&world), 0);
    let mut again = View::default();
    for entry in &world.journal {
        let stored = serde_json::to_string(entry).unwrap();
        apply(&mut again, &serde_json::from_str::<Entry>(&stored).unwrap());
    }
    assert!(again == world.view, "replayed equals lived");
}

#[test]
fn a_change_to_the_current_value_is_not_written() {
    let mut world = world();
    change_project(&mut world, settings([setting("least", Value::Int(3))]));
    let before = world.journal.len();
    let zone = Some(String::new());
    assert!(
        change_project(&mut world, ProjectChange { zone, ..settings([setting("least", Value::Int(3))]) })
            .is_done()
    );
    assert_eq!(world.journal.len(), before);
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut world = world();
    let mut change = settings([
        setting("leest", Value::Int(3)),
        setting("least", Value::Int(10)),
        setting("wait", Value::Bool(true)),
        SettingChange { pack: Name::new("u"), ..setting("least", Value::Int(3)) },
    ]);
    change.zone = Some("Mars/Base".to_owned());
    let refusal = refused(change_project(&mut world, change));
    assert_eq!(refusal.code.as_str(), "invalid-setting");
    let codes: Vec<&str> = refusal.errors.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(
        codes,
        ["unknown-setting", "invalid-setting", "invalid-setting", "unknown-pack", "unknown-zone"]
    );
    assert!(refusal.errors[0].message.contains("Did you mean least?"), "{refusal}");
    assert!(world.view.project == Project::default());
}

#[test]
fn only_people_with_role_admin_may() {
    let mut world = world();
    let nobody = [
        Actor::new("hank", ActorKind::Human),
        Actor::new("ada", ActorKind::Agent).with_roles(["admin"]),
        Actor::engine(),
    ];
    for actor in nobody {
        let ask = Ask::Configure(settings([setting("least", Value::Int(3))]));
        assert_eq!(refused(world.submit(&Command::new(actor, ask))).code.as_str(), "not-permitted");
    }
    // The change sets the people and nothing else.
    let people = ProjectChange { people: Some(vec![Name::new("ann")]), ..ProjectChange::default() };
    let own = Actor::engine();
    let outcome = world.submit(&Command::new(own, Ask::Configure(people)));
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
    let install = |actor: Actor, version: u32| {
        Command::new(actor, Ask::Install(Install { pack: Name::new("t"), version, digest: Arc::from("d") }))
    };
    let ada = Actor::new("ada", ActorKind::Agent).with_roles(["admin"]);
    assert_eq!(refused(world.submit(&install(ada, 3))).code.as_str(), "not-permitted");
    assert_eq!(refused(world.submit(&install(admin(), 4))).code.as_str(), "unknown-pack");
    let own = Actor::engine();
    let Outcome::Accepted { root, .. } = world.submit(&install(own, 3)) else { panic!("refused") };
    assert_eq!(serde_json::to_value(EntryBody::new(&world.journal[root]).metadata).unwrap()["digest"], "d");
    assert_eq!(world.journal[root].event.kind().as_str(), "PACK_INSTALLED");
}

#[test]
fn a_partial_view_leaves_the_rankings_to_the_caller() {
    let law = law();
    let mut view = View::default();
    view.partial = true;
    let command = Command::new(admin(), Ask::Configure(settings([setting("least", Value::Int(3))])));
    let Ok(Decision::Accepted(accepted)) = decide(&law, &view, &command, Timestamp(0)) else {
        panic!("refused")
    };
    assert!(accepted.entries[0].reranked.is_empty());
}

#[test]
fn a_key_counts_once() {
    let mut world = world();
    let mut command = Command::new(admin(), Ask::Configure(settings([setting("least", Value::Int(3))])));
    command.idempotency_key = Some(Name::new("k"));
    assert!(matches!(world.submit(&command), Outcome::Accepted { .. }));
    assert!(matches!(world.submit(&command), Outcome::Replayed { .. }));
    command.ask = Ask::Configure(settings([setting("least", Value::Int(4))]));
    assert_eq!(refused(world.submit(&command)).code.as_str(), "idempotency-conflict");
}

#[test]
fn every_kind_of_event_is_listed_once() {
    let mut kinds: Vec<&str> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), EventKind::ALL.len());
    assert!(kinds.contains(&"PROJECT_CHANGED") && kinds.contains(&"PACK_INSTALLED"));
}

trait IsDone {
    fn is_done(&self) -> bool;
}

impl IsDone for Outcome {
    fn is_done(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }
}

fn hours(n: i64) -> Timestamp {
    Timestamp(n * 3_600_000)
}

/// A day that started at midnight UTC, after one count.
fn day(entity: &EntityKey) -> World {
    let mut world = World::new(law(), Project::default(), Timestamp(0));
    let ask = Ask::Create { entity: entity.clone(), fields: Fields::default() };
    assert!(matches!(world.submit(&Command::new(admin(), ask)), Outcome::Accepted { .. }));
    let spend = Command::fire(admin(), entity.clone(), "spend", Fields::default());
    assert!(matches!(world.submit(&spend), Outcome::Accepted { .. }));
    world
}

fn due(world: &World, entity: &EntityKey, timer: &str) -> Option<Timestamp> {
    world.view.get(entity).and_then(|it| it.timer(timer)).and_then(|it| it.due)
}

#[test]
fn daily_timers_follow_the_time_zone() {
    let entity = EntityKey::new("t.day", "D");
    for (zone, standup, reset) in [
        ("America/New_York", hours(14), hours(5)),
        ("Asia/Tokyo", hours(24), hours(15)),
        ("", hours(9), hours(24)),
    ] {
        let mut world = day(&entity);
        assert_eq!(due(&world, &entity, "standup"), Some(hours(9)));
        assert_eq!(due(&world, &entity, "reset.spent"), Some(hours(24)));
        change_project(&mut world, ProjectChange { zone: Some(zone.to_owned()), ..ProjectChange::default() });
        assert_eq!(due(&world, &entity, "standup"), Some(standup), "{zone}");
        assert_eq!(due(&world, &entity, "reset.spent"), Some(reset), "{zone}");
        world.advance(Span(standup.0 - 1));
        assert_eq!(world.view.get(&entity).expect("a day").fields.value("met"), Value::Int(0), "{zone}");
        world.advance(Span(1));
        assert_eq!(world.view.get(&entity).expect("a day").fields.value("met"), Value::Int(1), "{zone}");
        assert_eq!(due(&world, &entity, "standup"), Some(Timestamp(standup.0 + hours(24).0)), "{zone}");
    }
}

#[test]
fn a_daily_timer_at_an_hour_of_an_earlier_zone_does_not_fire() {
    let entity = EntityKey::new("t.day", "D");
    let mut world = day(&entity);
    // As if the server had not yet moved the timer when it is due.
    world.view.project.zone = "America/New_York".to_owned();
    world.now = hours(9);
    let ask = Ask::Due { entity: entity.clone(), timer: Name::new("standup") };
    assert!(matches!(world.submit(&Command::new(Actor::timer(), ask)), Outcome::Accepted { .. }));
    assert_eq!(world.view.get(&entity).expect("a day").fields.value("met"), Value::Int(0));
    assert_eq!(due(&world, &entity, "standup"), Some(hours(14)));
}
