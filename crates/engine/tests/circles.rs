//! Refs with `acyclic`: circles are refused, and long lines and dense graphs are followed in few rounds.
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, ImportedEntity, Seed};
use trackside_engine::fields::Fields;
use trackside_engine::import_origin::ImportOrigin;
use trackside_engine::key::EntityKey;
use trackside_engine::view::{MOST_REACHED, Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, Law, decide};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

const JOB: &str = "\
lifecycle: t.job
fields:
  needs: { type: array, items: { type: string }, default: [] }
  above: { type: string }
refs:
  needed: { to: t.job, by: needs, many: true, acyclic: true }
  parent: { to: t.job, by: above, acyclic: true }
create: { by: human }
states: { OPEN: { initial: true } }
transitions:
  edit: { from: OPEN, by: human, takes: [needs, above] }
  link: { from: OPEN, by: human, takes: { to: { type: string } }, set: { needs: 'append(needs, to)' } }
  try_link: { from: OPEN, by: human, also: [ { each: needed, fire: back, with: { to: id }, soft: true } ] }
  back: { from: OPEN, by: engine, takes: { to: { type: string } }, set: { needs: 'append(needs, to)' } }
";

fn world() -> World {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
    let lifecycles = vec![sources.add("job.yaml", JOB)];
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => World::new(Arc::new(Law::new([pack])), Project::default(), Timestamp(0)),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn key(id: &str) -> EntityKey {
    EntityKey::new("t.job", id)
}

fn ids(all: &[String]) -> Value {
    Value::list(all.iter().map(|it| Value::text(it)).collect())
}

fn needs(all: &[&str]) -> Fields {
    let all: Vec<String> = all.iter().map(|it| (*it).to_owned()).collect();
    [("needs", ids(&all))].into_iter().collect()
}

fn ann() -> Actor {
    Actor::new("ann", ActorKind::Human).with_roles(["admin"])
}

fn give(world: &mut World, id: &str, needs: Vec<String>) {
    let mut seed = Seed::new(key(id));
    seed.fields = [("needs", ids(&needs))].into_iter().collect();
    let outcome = world.submit(&Command::new(Actor::engine(), Ask::Seed(seed)));
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
}

fn edit(id: &str, fields: Fields) -> Command {
    Command::fire(ann(), key(id), "edit", fields)
}

/// The code and the detail of a refusal; empty if the command is accepted.
fn answer(outcome: Outcome) -> (String, String) {
    match outcome {
        Outcome::Refused(it) => (it.code.to_string(), it.detail.clone()),
        Outcome::Accepted { .. } => (String::new(), String::new()),
        other => panic!("{other:?}"),
    }
}

/// Decides in a view that holds nothing at first. Returns the decision and the number of times it was made.
fn decide_partly(world: &World, command: &Command) -> (Decision, usize) {
    let mut view = View::partial(world.view.seq);
    for round in 1..=16 {
        match decide(&world.law, &view, command, world.now) {
            Ok(decision) => return (decision, round),
            Err(needs) => needs.into_iter().for_each(|it| view.load_from(&world.view, it)),
        }
    }
    panic!("it needs more than 16 rounds");
}

#[test]
fn a_circle_is_refused_and_named() {
    let mut world = world();
    for (id, needs) in [("a", vec![]), ("b", vec!["a"]), ("c", vec!["b"])] {
        give(&mut world, id, needs.into_iter().map(str::to_owned).collect());
    }
    for (needed, circle) in [("a", "a → a"), ("b", "a → b → a"), ("c", "a → c → b → a")] {
        let (code, detail) = answer(world.submit(&edit("a", needs(&[needed]))));
        assert_eq!(code, "circular-reference");
        let told = format!("needs of t.job/a would form a circle: {circle}. Remove one of these references.");
        assert_eq!(detail, told);
        let link =
            Command::fire(ann(), key("a"), "link", [("to", Value::text(needed))].into_iter().collect());
        assert_eq!(answer(world.submit(&link)).1, told);
    }
    assert_eq!(answer(world.submit(&edit("c", needs(&["a", "b"])))).0, "");
    assert_eq!(world.view.get(&key("b")).unwrap().version, 1);
}

#[test]
fn a_single_ref_and_another_ref_are_followed_apart() {
    let mut world = world();
    for id in ["a", "b"] {
        give(&mut world, id, vec![]);
    }
    let above = |it: &str| -> Fields { [("above", Value::text(it))].into_iter().collect() };
    assert_eq!(answer(world.submit(&edit("a", above("b")))).0, "");
    assert_eq!(answer(world.submit(&edit("b", needs(&["a"])))).0, "", "another ref");
    let (code, detail) = answer(world.submit(&edit("b", above("a"))));
    assert_eq!(code, "circular-reference");
    assert!(detail.contains("above of t.job/b would form a circle: b → a → b."), "{detail}");
}

#[test]
fn a_soft_consequence_that_closes_a_circle_is_dropped() {
    let mut world = world();
    give(&mut world, "a", vec!["b".to_owned()]);
    give(&mut world, "b", vec![]);
    let seq = world.view.seq;
    assert_eq!(answer(world.submit(&Command::fire(ann(), key("a"), "try_link", Fields::default()))).0, "");
    assert_eq!(world.view.get(&key("b")).unwrap().ids("needs"), Vec::<Name>::new());
    let kinds: Vec<&str> =
        world.journal.iter().filter(|it| it.seq > seq).map(|it| it.event.kind().as_str()).collect();
    assert_eq!(kinds, ["FIELDS_CHANGED", "ALERT_RAISED"]);
}

#[test]
fn an_import_is_checked_as_a_whole() {
    let mut world = world();
    let coming = |place: usize, id: &str, all: &[&str]| ImportedEntity {
        entity: key(id),
        state: None,
        fields: needs(all),
        tallies: Vec::new(),
        leases: Vec::new(),
        origin: ImportOrigin { name: Arc::from("elsewhere"), file: None },
        place,
    };
    let all = vec![coming(0, "a", &["b"]), coming(1, "b", &["c"]), coming(2, "c", &["a"])];
    let refusal = match world.submit(&Command::new(ann(), Ask::Import(all))) {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal.code.as_str(), "cannot-import");
    assert_eq!(refusal.errors.len(), 1);
    assert_eq!(refusal.errors[0].code.as_str(), "circular-reference");
    assert!(refusal.errors[0].message.contains("a → b → c → a"), "{}", refusal.errors[0].message);
    let all = vec![coming(0, "a", &["b"]), coming(1, "b", &["c"]), coming(2, "c", &[])];
    assert_eq!(answer(world.submit(&Command::new(ann(), Ask::Import(all)))).0, "");
}

#[test]
fn a_circle_that_was_there_refuses_only_what_adds_to_it() {
    let mut world = world();
    give(&mut world, "a", vec!["b".to_owned(), "x".to_owned()]);
    give(&mut world, "b", vec!["a".to_owned()]);
    give(&mut world, "x", vec![]);
    assert_eq!(answer(world.submit(&edit("a", needs(&["b"])))).0, "");
    assert_eq!(
        answer(world.submit(&edit("x", needs(&["b"])))).0,
        "",
        "it leads to the circle, but is not in it"
    );
    assert_eq!(answer(world.submit(&edit("b", needs(&["a", "x"])))).0, "circular-reference");
}

#[test]
fn a_long_line_is_followed_in_few_rounds() {
    let mut world = world();
    give(&mut world, "n0", vec![]);
    for n in 1..2_000 {
        give(&mut world, &format!("n{n}"), vec![format!("n{}", n - 1)]);
    }
    give(&mut world, "top", vec![]);
    let (decision, rounds) = decide_partly(&world, &edit("top", needs(&["n1999"])));
    assert!(matches!(decision, Decision::Accepted(it) if it.entries.len() == 1));
    assert!(rounds <= 3, "{rounds} rounds");
    let (decision, rounds) = decide_partly(&world, &edit("n0", needs(&["n1999"])));
    let Decision::Refused(refusal) = decision else { panic!("{decision:?}") };
    assert!(rounds <= 3, "{rounds} rounds");
    let told = "n0 → n1999 → n1998 → n1997 → n1996 → n1995 → n1994 → n1993 → … (1991 more) … → n1 → n0";
    assert!(refusal.detail.contains(told), "{}", refusal.detail);
}

#[test]
fn a_dense_graph_is_followed_once_per_entity() {
    let mut world = world();
    let layer = |n: usize| -> Vec<String> { (0..20).map(|it| format!("l{n}-{it}")).collect() };
    for n in 0..8 {
        for id in layer(n) {
            give(&mut world, &id, if n == 0 { vec![] } else { layer(n - 1) });
        }
    }
    give(&mut world, "top", vec![]);
    let last = layer(7);
    let last: Vec<&str> = last.iter().map(String::as_str).collect();
    let (decision, rounds) = decide_partly(&world, &edit("top", needs(&last)));
    assert!(matches!(decision, Decision::Accepted(it) if it.entries.len() == 1));
    assert!(rounds <= 3, "{rounds} rounds");
    assert_eq!(answer(world.submit(&edit("l0-7", needs(&["l7-3"])))).0, "circular-reference");
}

#[test]
fn too_many_entities_are_not_followed() {
    let mut world = world();
    give(&mut world, "n0", vec![]);
    for n in 1..=MOST_REACHED {
        give(&mut world, &format!("n{n}"), vec![format!("n{}", n - 1)]);
    }
    give(&mut world, "top", vec![]);
    assert_eq!(answer(world.submit(&edit("top", needs(&[&format!("n{}", MOST_REACHED - 1)])))).0, "");
    let command = edit("top", needs(&[&format!("n{MOST_REACHED}")]));
    assert_eq!(answer(world.submit(&command)).0, "too-many-references");
    let (decision, rounds) = decide_partly(&world, &command);
    assert!(matches!(decision, Decision::Refused(it) if it.code.as_str() == "too-many-references"));
    assert!(rounds <= 4, "{rounds} rounds");
}
