//! Which actors' refused requests are stored, and how many.
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

const PACK: &str = "pack: t\nversion: 1\nroles: { judge: {}, worker: {} }\n";
const TRIAL: &str = "\
lifecycle: t.trial
evidence: [judge]
create: { by: human }
fields: { text: { type: string } }
states: { OPEN: { initial: true }, HEARD: {}, SHUT: { final: true } }
transitions:
  hear: { from: OPEN, to: HEARD, by: human }
  judge: { from: HEARD, to: SHUT, by: judge, takes: { text: Say what } }
";

fn world() -> World {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", PACK);
    let trial = sources.add("trial.yaml", TRIAL);
    let law = match compile(&sources, &PackFiles { pack, lifecycles: vec![trial] }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    };
    let mut world = World::new(law, Project::default(), Timestamp(0));
    let ask = Ask::Create { entity: trial_key(), fields: Fields::default() };
    let made = world.submit(&Command::new(Actor::new("hank", ActorKind::Human), ask));
    assert!(matches!(made, Outcome::Accepted { .. }), "{made:?}");
    world
}

fn trial_key() -> EntityKey {
    EntityKey::new("t.trial", "T")
}

fn agent(id: &str, roles: &[&str]) -> Actor {
    Actor::new(id, ActorKind::Agent).with_roles(roles.iter().copied())
}

/// The number of requests of one actor that are stored. All of them are refused.
fn count_kept(world: &mut World, actor: &Actor, times: usize) -> usize {
    let mut count = 0;
    for _ in 0..times {
        let fields: Fields = [("text", Value::text("late"))].into_iter().collect();
        match world.submit(&Command::fire(actor.clone(), trial_key(), "judge", fields)) {
            Outcome::Refused(refusal) => count += usize::from(refusal.kept.is_some()),
            other => panic!("{other:?}"),
        }
    }
    count
}

#[test]
fn actors_that_are_not_admitted_have_a_limit_of_their_own() {
    let mut world = world();
    for id in 0..30 {
        assert_eq!(count_kept(&mut world, &agent(&format!("nobody-{id}"), &[]), 10), 0, "no role at all");
        assert_eq!(
            count_kept(&mut world, &agent(&format!("guest-{id}"), &["other:judge"]), 10),
            0,
            "elsewhere"
        );
    }
    let heard: usize =
        (0..30).map(|id| count_kept(&mut world, &agent(&format!("w{id}"), &["worker"]), 10)).sum();
    assert_eq!(heard, 50, "a role in the pack: five each, fifty of all");
    assert_eq!(
        count_kept(&mut world, &agent("late", &["judge"]), 30),
        20,
        "there is room for a late verdict"
    );
    assert_eq!(count_kept(&mut world, &agent("later", &["t:judge"]), 30), 20);
    assert_eq!(count_kept(&mut world, &agent("last", &["judge"]), 30), 10, "a hundred in all");
}

#[test]
fn evidence_is_counted_per_actor_and_per_subject() {
    let mut world = world();
    assert_eq!(count_kept(&mut world, &agent("w1", &["worker"]), 9), 5);
    assert_eq!(count_kept(&mut world, &agent("w2", &["worker"]), 9), 5);
    let judge = agent("j", &["judge"]);
    assert_eq!(count_kept(&mut world, &judge.clone().asking_for(Some("w1".into())), 30), 20);
    assert_eq!(count_kept(&mut world, &judge, 30), 20);
}
