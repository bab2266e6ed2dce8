//! People see alerts, and see to them.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{AlertAction, Ask, Command, ServerAlert};
use trackside_engine::entity::OpenAlert;
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_protocol::EntryBody;

use AlertAction::{Acknowledge, Resolve};

const PUMP: &str = "\
lifecycle: t.pump
read: human || actor.id == keeper
fields: { keeper: { type: string } }
create: { by: human, takes: [keeper] }
states: { ON: { initial: true } }
transitions:
  leak: { from: ON, by: human || agent, alert: { kind: leak, severity: error, message: 'It leaks' } }
";

const TANK: &str = "\
lifecycle: t.tank
create: { by: human }
states:
  FULL: { initial: true }
  LOW:  { deadline: { after: 10m, warn: [50%] } }
transitions:
  drain: { from: FULL, to: LOW, by: human, alert: { kind: low, severity: warning, message: 'It is low' } }
  touch: { from: LOW, by: human }
  fill:  { from: LOW, to: FULL, by: human }
alerts: { low: state == \"LOW\" }
";

fn tank() -> EntityKey {
    EntityKey::new("t.tank", "T")
}

fn key() -> EntityKey {
    EntityKey::new("t.pump", "P")
}

fn person(id: &str) -> Actor {
    Actor::new(id, ActorKind::Human)
}

fn world() -> World {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
    let lifecycles = vec![sources.add("pump.yaml", PUMP), sources.add("tank.yaml", TANK)];
    let law = match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    };
    let mut world = World::new(law, Project::default(), Timestamp(0));
    let fields = [("keeper", Value::text("kim"))].into_iter().collect();
    done(world.submit(&Command::new(person("ann"), Ask::Create { entity: key(), fields })));
    world
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

/// The number of an alert that was just raised.
fn leak(world: &mut World) -> u64 {
    done(world.submit(&Command::fire(person("ann"), key(), "leak", Fields::default())));
    let raised = |it: &&Entry| matches!(it.event, Event::AlertRaised { .. });
    world.journal.iter().rfind(raised).expect("an alert").seq
}

fn attend(actor: Actor, alert: u64, action: AlertAction) -> Command {
    Command::new(actor, Ask::HandleAlert { entity: key(), alert, action })
}

fn open(world: &World) -> Vec<OpenAlert> {
    world.view.get(&key()).unwrap().alerts.clone()
}

/// The journal, as it is stored, gives the world as it is.
fn replays(world: &World) {
    let mut again = View::default();
    again.project = world.view.project.clone();
    for entry in &world.journal {
        let mut parted = entry.clone();
        let content = parted.part();
        parted.rejoin(content);
        let stored = serde_json::to_string(&parted).unwrap();
        apply(&mut again, &serde_json::from_str::<Entry>(&stored).unwrap());
    }
    assert_eq!(again.get(&key()), world.view.get(&key()));
    assert_eq!(again.get(&tank()), world.view.get(&tank()));
}

#[test]
fn the_first_acknowledgement_stays_and_a_resolution_ends_the_alert() {
    let mut world = world();
    let (first, second) = (leak(&mut world), leak(&mut world));
    assert_eq!(open(&world).iter().map(|it| it.seq).collect::<Vec<_>>(), [first, second]);
    let version = world.view.get(&key()).unwrap().version;
    world.advance(Span::seconds(5));
    let seen = world.now;
    done(world.submit(&attend(person("ann"), first, Acknowledge).with_reason("I am on it")));
    let entry = world.journal.last().unwrap().clone();
    assert_eq!(
        (entry.event.kind().as_str(), entry.reason.as_deref()),
        ("ALERT_ACKNOWLEDGED", Some("I am on it"))
    );
    assert_eq!((entry.actor.as_str(), entry.trigger.as_str()), ("ann", "acknowledge"));
    assert_eq!(serde_json::to_value(EntryBody::new(&entry).metadata).unwrap()["alert"], first);
    // A second actor acknowledges later: nothing is written, the first acknowledgement stays.
    world.advance(Span::seconds(5));
    let before = world.journal.len();
    done(world.submit(&attend(person("bob"), first, Acknowledge)));
    assert_eq!(world.journal.len(), before);
    assert_eq!(open(&world)[0].acknowledged, Some((Name::new("ann"), seen)));
    assert_eq!(open(&world)[1].acknowledged, None);

    done(world.submit(&attend(person("bob"), first, Resolve)));
    assert_eq!(world.journal.last().unwrap().event, Event::AlertResolved { alert: first });
    assert_eq!(open(&world).iter().map(|it| it.seq).collect::<Vec<_>>(), [second]);
    for action in [Acknowledge, Resolve] {
        assert_eq!(
            refused(world.submit(&attend(person("ann"), first, action))).code.as_str(),
            "alert-resolved"
        );
    }
    assert_eq!(world.view.get(&key()).unwrap().version, version, "no new version of the entity");
    // The same alert raised again is a new one.
    let third = leak(&mut world);
    assert_eq!(open(&world).iter().map(|it| it.seq).collect::<Vec<_>>(), [second, third]);
    done(world.submit(&attend(person("ann"), third, Resolve)));
    replays(&world);
}

#[test]
fn only_people_who_may_see_it_attend_to_an_alert() {
    let mut world = world();
    let alert = leak(&mut world);
    for action in [Acknowledge, Resolve] {
        let keeper = refused(world.submit(&attend(Actor::new("kim", ActorKind::Agent), alert, action)));
        assert_eq!((keeper.code.as_str(), keeper.who.as_deref()), ("not-permitted", Some("human")));
        for kind in [ActorKind::Agent, ActorKind::System] {
            let stranger = refused(world.submit(&attend(Actor::new("sam", kind), alert, action)));
            assert_eq!(stranger.code.as_str(), "unknown-entity");
        }
        let other = refused(world.submit(&attend(person("ann"), alert + 1, action)));
        assert_eq!(other.code.as_str(), "alert-resolved");
    }
    let elsewhere = Ask::HandleAlert { entity: EntityKey::new("t.pump", "Q"), alert, action: Resolve };
    assert_eq!(
        refused(world.submit(&Command::new(person("ann"), elsewhere))).code.as_str(),
        "unknown-entity"
    );
    assert_eq!(open(&world).len(), 1);
    replays(&world);
}

#[test]
fn a_key_counts_once_and_belongs_to_one_request() {
    let mut world = world();
    let alert = leak(&mut world);
    let keyed = |action| {
        let mut command = attend(person("ann"), alert, action);
        command.idempotency_key = Some(Name::new("k"));
        command
    };
    done(world.submit(&keyed(Acknowledge)));
    assert!(matches!(world.submit(&keyed(Acknowledge)), Outcome::Replayed { .. }));
    assert_eq!(refused(world.submit(&keyed(Resolve))).code.as_str(), "idempotency-conflict");
}

#[test]
fn beyond_the_limit_the_oldest_alert_is_dropped() {
    let mut world = world();
    let first = leak(&mut world);
    for _ in 0..255 {
        leak(&mut world);
    }
    assert_eq!((open(&world).len(), open(&world)[0].seq), (256, first));
    leak(&mut world);
    assert_eq!(open(&world).len(), 256);
    let entry = world.journal.last().unwrap();
    assert_eq!(entry.event, Event::AlertResolved { alert: first });
    assert_eq!(entry.actor.as_str(), "trackside");
    replays(&world);
}

/// A world with a tank that is low.
fn drained() -> World {
    let mut world = world();
    done(
        world.submit(&Command::new(person("ann"), Ask::Create { entity: tank(), fields: Fields::default() })),
    );
    fire(&mut world, "drain");
    world
}

fn fire(world: &mut World, event: &str) {
    done(world.submit(&Command::fire(person("ann"), tank(), event, Fields::default())));
}

/// The kinds of the open alerts of the tank, in order.
fn open_kinds(world: &World) -> Vec<String> {
    let kind = |alert: &OpenAlert| match &world.journal.iter().find(|it| it.seq == alert.seq).unwrap().event {
        Event::AlertRaised { kind, .. } => kind.to_string(),
        other => panic!("{other:?}"),
    };
    world.view.get(&tank()).unwrap().alerts.iter().map(kind).collect()
}

/// The reasons for which alerts of the tank were resolved.
fn reasons(world: &World) -> Vec<String> {
    let resolved = |it: &&Entry| it.entity == tank() && matches!(it.event, Event::AlertResolved { .. });
    world.journal.iter().filter(resolved).map(|it| it.reason.as_deref().unwrap().to_owned()).collect()
}

#[test]
fn an_alert_ends_when_its_condition_is_false_and_a_warning_when_its_timer_stops() {
    let mut world = drained();
    assert_eq!(open_kinds(&world), ["low"]);
    world.advance(Span::seconds(300));
    assert_eq!(open_kinds(&world), ["low", "timeout"]);
    fire(&mut world, "touch");
    assert_eq!(open_kinds(&world), ["low", "timeout"], "nothing has ended");
    fire(&mut world, "fill");
    assert_eq!(open_kinds(&world), Vec::<String>::new());
    assert_eq!(reasons(&world), ["`state == \"LOW\"` is not true any more", "The timer LOW has stopped"]);
    // The next run of the timer warns again.
    fire(&mut world, "drain");
    world.advance(Span::seconds(300));
    assert_eq!(open_kinds(&world), ["low", "timeout"]);
    replays(&world);
}

#[test]
fn the_server_raises_one_alert_of_a_kind_and_a_person_resolves_it() {
    let mut world = drained();
    let alert = ServerAlert {
        kind: Name::new("late"),
        severity: Severity::Warning,
        message: Arc::from("It is late"),
    };
    let raise = |actor: Actor| Command::new(actor, Ask::RaiseAlert { entity: tank(), alert: alert.clone() });
    let refusal = refused(world.submit(&raise(person("ann"))));
    assert!(refusal.detail.contains("raise an alert"), "{refusal:?}");
    for _ in 0..2 {
        done(world.submit(&raise(Actor::engine())));
        assert_eq!(open_kinds(&world), ["low", "late"]);
    }
    fire(&mut world, "fill");
    assert_eq!(open_kinds(&world), ["late"], "no condition is declared for it");
    let number = world.view.get(&tank()).unwrap().alerts.first().unwrap().seq;
    let resolve = Ask::HandleAlert { entity: tank(), alert: number, action: Resolve };
    done(world.submit(&Command::new(person("ann"), resolve)));
    assert_eq!(open_kinds(&world), Vec::<String>::new());
    replays(&world);
}
