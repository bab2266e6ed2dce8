//! Many entities: a sprint reaches its checkpoint, by a person and by its deadline; a claim searches a long queue.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command, Seed};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::compile::{Filter, PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use folder::pack;

const TASKS: usize = 20_000;
const BLOCKED: usize = 5_000;

fn seed(world: &mut World, lifecycle: &str, id: &str, state: &str, fields: &[(&str, Value)]) {
    let mut seed = Seed::new(EntityKey::new(lifecycle, id));
    seed.state = Some(Name::new(state));
    seed.fields = fields.iter().map(|(name, value)| (*name, value.clone())).collect::<Fields>();
    let seeded = world.submit(&Command::new(Actor::engine(), Ask::Seed(seed)));
    assert!(matches!(seeded, Outcome::Accepted { .. }), "{seeded:?}");
}

/// A sprint that ends in an hour, with more tasks than an expression may list.
fn large_sprint() -> World {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/coding");
    let law = Arc::new(Law::new([pack(&folder).0]));
    let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let mut world = World::new(law, Project::default(), start);
    let deadline = Value::Time(start.plus(Span::seconds(3_600)));
    seed(&mut world, "coding.sprint", "S-1", "IN_PROGRESS", &[("deadline", deadline)]);
    let sprint = Value::text("S-1");
    for n in 0..TASKS {
        let id = format!("T-{n:05}");
        if n < BLOCKED {
            let why = ("blocked_reason", Value::text("No access"));
            seed(&mut world, "coding.task", &id, "BLOCKED", &[("sprint_id", sprint.clone()), why]);
        } else {
            seed(&mut world, "coding.task", &id, "APPROVED", &[("sprint_id", sprint.clone())]);
        }
    }
    world
}

fn assert_summarized(world: &World, why: &str) {
    let sprint = world.view.get(&EntityKey::new("coding.sprint", "S-1")).unwrap();
    assert_eq!(sprint.state, "CHECKPOINT");
    assert_eq!(sprint.fields.value("checkpoint_reason"), Value::text(why));
    let Value::Map(summary) = sprint.fields.value("summary") else { panic!("no summary") };
    assert_eq!(summary.get("blocked"), Some(&Value::Int(BLOCKED as i64)));
    let Some(Value::List(questions)) = summary.get("questions") else { panic!("no questions") };
    let tasks: Vec<Value> = questions
        .iter()
        .map(|it| match it {
            Value::Map(it) => it.get("task").cloned().unwrap_or_default(),
            other => panic!("{other:?}"),
        })
        .collect();
    let first: Vec<Value> = (0..100).map(|n| Value::text(&format!("T-{n:05}"))).collect();
    assert_eq!(tasks, first, "the first of the blocked tasks, by id");
}

#[test]
fn a_sprint_of_twenty_thousand_tasks_is_checkpointed_by_a_person_and_by_its_deadline() {
    let mut world = large_sprint();
    let mut on_time = world.clone();
    let hank = Actor::new("hank", ActorKind::Human);
    let sprint = EntityKey::new("coding.sprint", "S-1");
    let fired = world.submit(&Command::fire(hank, sprint, "checkpoint", Fields::default()));
    assert!(matches!(fired, Outcome::Accepted { .. }), "{fired:?}");
    assert_summarized(&world, "A person requested a review");

    on_time.advance(Span::seconds(3_600));
    assert_summarized(&on_time, "The deadline is reached");
}

const LIGHT: &str = "\
lifecycle: small.light
fields: { place: { type: string } }
slots: { work: { for: 1h, lost: drop } }
rankings: { dark: { in: [OFF], by: [id], claims: fix } }
create: { by: human, takes: [place] }
states: { OFF: { initial: true }, FIXING: {} }
transitions:
  fix: { from: OFF, to: FIXING, by: agent, lease: work }
  drop: { from: FIXING, to: OFF, by: engine }
";

/// A world with this many lights, of which only the last hangs in the hall.
fn lights(count: usize) -> World {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: small\nversion: 1\n");
    let lifecycles = vec![sources.add("light.yaml", LIGHT)];
    let pack = compile(&sources, &PackFiles { pack, lifecycles });
    let pack = pack.unwrap_or_else(|it| panic!("{}", it.render(&sources, false))).0;
    let start = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let mut world = World::new(Arc::new(Law::new([pack])), Project::default(), start);
    for n in 1..=count {
        let place = Value::text(if n == count { "hall" } else { "attic" });
        seed(&mut world, "small.light", &format!("L-{n:05}"), "OFF", &[("place", place)]);
    }
    world
}

fn claim_in_hall(world: &mut World) -> Outcome {
    let lifecycle = Name::new("small.light");
    let only = Filter::new(world.law.newest(&lifecycle).unwrap(), "place == 'hall'").unwrap();
    let claim = Claim { lifecycle, event: None, only: Some(only), fields: Fields::default() };
    world.submit(&Command::new(Actor::new("ada", ActorKind::Agent), Ask::Claim(claim)))
}

#[test]
fn a_claim_with_a_filter_searches_far_and_says_when_it_ends_early() {
    let mut world = lights(3_000);
    assert!(matches!(claim_in_hall(&mut world), Outcome::Accepted { .. }));
    assert_eq!(world.view.get(&EntityKey::new("small.light", "L-03000")).unwrap().state, "FIXING");
    let Outcome::Refused(refusal) = claim_in_hall(&mut world) else { panic!("claimed twice") };
    assert_eq!(refusal.code.as_str(), "nothing-claimable");
    let Outcome::Refused(refusal) = claim_in_hall(&mut lights(10_002)) else {
        panic!("searched without end")
    };
    assert_eq!(refusal.code.as_str(), "search-limit", "{refusal}");
}
