//! Redacted values are gone from the journal, and a replay still gives the live state.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Redact};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::refusal::Refusal;
use trackside_engine::trace::Trace;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_protocol::EntryBody;
use trackside_study::scenario;

use folder::{add, pack, yaml_in};

const NOTE: &str = "\
lifecycle: t.note
fields:
  text:   { type: string }
  tag:    { type: string }
  boss:   { type: string }
  until:  { type: time, by: engine }
  due:    { type: time }
  n:      { type: integer, default: 0 }
refs: { chief: { to: t.note, by: boss, inverse: notes } }
create: { by: human, takes: [text, tag, boss, due] }
states:
  OPEN:  { initial: true }
  KEPT:  { require: { text: Say something } }
  DONE:  { final: true }
slots: { work: { for: 10m, until: until, lost: drop } }
counters: { edits: {}, by_tag: { key: tag } }
timers: { due: { at: due, runs: [OPEN], then: drop } }
rankings: { line: { in: OPEN, by: text } }
transitions:
  edit: { from: [OPEN, KEPT], by: human, takes: [text, tag, boss, due], count: [edits, by_tag], set: { n: edits } }
  say:  { from: OPEN, by: human, takes: { what: { type: string } }, post: { kind: word, text: '{what}' } }
  hold: { from: OPEN, by: agent, lease: work }
  keep: { from: OPEN, to: KEPT, by: human }
  drop: { from: [OPEN, KEPT], to: DONE, by: human || engine }
";

const PARCEL: &str = "\
lifecycle: t.parcel
fields: { weight: { type: integer }, stamps: { type: integer, default: 1 } }
create: { by: human, takes: [weight], set: { weight: 'weight == null ? 0 : weight' } }
states: { OPEN: { initial: true } }
transitions:
  load:   { from: OPEN, by: human, takes: [weight] }
  unload: { from: OPEN, by: human, clear: [weight] }
  stamp:  { from: OPEN, by: human, set: { stamps: stamps + 1 } }
  send:   { from: OPEN, by: engine, when: [ { check: weight + 1 < 10, says: It is too heavy } ] }
invariants:
  light: { severity: warning, holds: weight + 1 < 10, says: '{weight + 1} is too much for {id}' }
  fresh: { severity: warning, holds: now < createdAt + duration('1h'), says: '{id} lies about', repair: send }
";

fn law() -> Arc<Law> {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
    let note = sources.add("note.yaml", NOTE);
    let parcel = sources.add("parcel.yaml", PARCEL);
    match compile(&sources, &PackFiles { pack, lifecycles: vec![note, parcel] }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn key() -> EntityKey {
    EntityKey::new("t.note", "N")
}

fn admin() -> Actor {
    Actor::new("ann", ActorKind::Human).with_roles(["admin"])
}

fn fields(all: &[(&str, &str)]) -> Fields {
    all.iter().map(|(name, value)| (*name, Value::text(value))).collect()
}

fn done(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Accepted { root, .. } => root as u64 + 1,
        other => panic!("{other:?}"),
    }
}

fn refused(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn world(first: &[(&str, &str)]) -> World {
    let mut world = World::new(law(), Project::default(), Timestamp(0));
    done(world.submit(&Command::new(admin(), Ask::Create { entity: key(), fields: fields(first) })));
    world
}

fn fire(world: &mut World, event: &str, with: &[(&str, &str)]) -> u64 {
    done(world.submit(&Command::fire(admin(), key(), event, fields(with)).with_reason("because of hush")))
}

fn redact(world: &World, key: &EntityKey, entries: &[u64], becomes: &[(&str, &str)]) -> Command {
    let history = world.journal.iter().filter(|it| it.entity == *key).cloned().collect();
    let ask = Redact { entity: key.clone(), entries: entries.to_vec(), becomes: fields(becomes), history };
    Command::new(admin(), Ask::Redact(ask)).with_reason("A secret got in")
}

fn note(world: &World) -> Entity {
    world.view.get(&key()).expect("the note").clone()
}

/// Checks that a replay of the present journal gives the present view.
fn replays(world: &World, what: &str) {
    let mut again = View::default();
    again.project = world.view.project.clone();
    again.resumed_at = world.view.resumed_at;
    for entry in &world.journal {
        let stored = serde_json::to_string(entry).unwrap();
        apply(&mut again, &serde_json::from_str::<Entry>(&stored).unwrap());
    }
    assert_eq!(again.entities(), world.view.entities(), "{what}");
    assert!(again == world.view, "{what}: groups, orders or values held in common differ");
}

fn world_text(world: &World) -> String {
    let journal = serde_json::to_string(&world.journal).unwrap();
    format!("{journal}{}", serde_json::to_string(&note(world)).unwrap())
}

#[test]
fn a_secret_is_gone_from_the_journal_and_the_entity() {
    let mut world = world(&[("text", "first")]);
    let edit = fire(&mut world, "edit", &[("text", "hush"), ("tag", "hush")]);
    let say = fire(&mut world, "say", &[("what", "hush")]);
    assert!(world_text(&world).contains("hush"));
    let before = note(&world);
    let posted = say + 1;
    let command = redact(&world, &key(), &[edit, say, posted], &[]);
    let seq = done(world.submit(&command));
    assert!(!world_text(&world).contains("hush"), "{}", world_text(&world));
    let after = note(&world);
    assert_eq!(after.fields.get("text"), None, "the older value does not come back");
    assert_eq!(after.tally("edits", "*"), before.tally("edits", "*"), "numbers stay");
    assert_eq!(after.version, before.version + 1);
    let entry = &world.journal[seq as usize - 1];
    assert_eq!(entry.event.kind().as_str(), "REDACTED");
    assert_eq!(
        serde_json::to_value(EntryBody::new(entry)).unwrap()["metadata"]["entries"],
        serde_json::json!([edit, say, posted])
    );
    replays(&world, "after a redaction");
    let command = redact(&world, &key(), &[1], &[]);
    done(world.submit(&command));
    replays(&world, "after a second one");
}

#[test]
fn values_from_other_entries_stay() {
    let mut world = world(&[("text", "hush"), ("tag", "blue")]);
    fire(&mut world, "edit", &[("text", "fine")]);
    let command = redact(&world, &key(), &[1], &[]);
    done(world.submit(&command));
    let after = note(&world);
    assert_eq!(after.fields.value("text"), Value::text("fine"));
    assert_eq!(after.fields.get("tag"), None);
    replays(&world, "the first entry");
}

#[test]
fn a_place_recorded_only_by_the_dropped_entry_is_recorded_again() {
    let mut world = world(&[("tag", "hush")]);
    let command = redact(&world, &key(), &[1], &[]);
    done(world.submit(&command));
    replays(&world, "its place does not depend on what was dropped");
}

#[test]
fn a_required_field_is_replaced_or_the_redaction_is_refused() {
    let mut world = world(&[("text", "hush")]);
    fire(&mut world, "keep", &[]);
    let command = redact(&world, &key(), &[1], &[]);
    let refusal = refused(world.submit(&command));
    assert_eq!(
        (refusal.code.as_str(), refusal.errors[0].field.as_deref()),
        ("cannot-redact", Some("text")),
        "{refusal}"
    );
    let command = redact(&world, &key(), &[1], &[("text", "[redacted]")]);
    done(world.submit(&command));
    assert_eq!(note(&world).fields.value("text"), Value::text("[redacted]"));
    replays(&world, "replaced");
}

/// A parcel that is too heavy, which is known; the entry that made it so.
fn heavy_parcel() -> (World, EntityKey, u64) {
    let mut world = World::new(law(), Project::default(), Timestamp(0));
    let key = EntityKey::new("t.parcel", "P");
    done(
        world.submit(&Command::new(admin(), Ask::Create { entity: key.clone(), fields: Fields::default() })),
    );
    let weight = [("weight", Value::Int(20))].into_iter().collect();
    let load = done(world.submit(&Command::fire(admin(), key.clone(), "load", weight)));
    assert!(world.view.get(&key).unwrap().broken.contains(&Name::new("light")));
    (world, key, load)
}

#[test]
fn a_broken_rule_still_needs_its_values() {
    let (mut world, key, load) = heavy_parcel();
    let command = redact(&world, &key, &[load], &[]);
    let refusal = refused(world.submit(&command));
    assert_eq!(
        (refusal.code.as_str(), refusal.errors[0].code.as_str()),
        ("cannot-redact", "needed"),
        "{refusal}"
    );
    assert_eq!(refusal.errors[0].field.as_deref(), Some("weight"), "{refusal}");
    let mut command = command;
    if let Ask::Redact(redact) = &mut command.ask {
        redact.becomes.put(&Name::new("weight"), Value::Int(1));
    }
    done(world.submit(&command));
    assert!(world.view.get(&key).unwrap().broken.is_empty(), "it is light now");
}

#[test]
fn a_cleared_field_gets_its_default() {
    let mut world = World::new(law(), Project::default(), Timestamp(0));
    let key = EntityKey::new("t.parcel", "P");
    let weight = || [("weight", Value::Int(2))].into_iter().collect();
    let make = Command::new(admin(), Ask::Create { entity: key.clone(), fields: weight() });
    let made = done(world.submit(&make));
    let stamped = done(world.submit(&Command::fire(admin(), key.clone(), "stamp", Fields::default())));
    let mut command = redact(&world, &key, &[made, stamped], &[]);
    if let Ask::Redact(redact) = &mut command.ask {
        redact.becomes.put(&Name::new("weight"), Value::Int(1));
    }
    done(world.submit(&command));
    assert_eq!(world.view.get(&key).unwrap().fields.value("stamps"), Value::Int(1));
    // A rule that reads the value still works.
    done(world.submit(&Command::fire(admin(), key.clone(), "stamp", Fields::default())));
    assert_eq!(world.view.get(&key).unwrap().fields.value("stamps"), Value::Int(2));
}

/// A parcel for which a rule cannot be evaluated, after a late sweep.
fn odd_parcel() -> (World, EntityKey, Command) {
    let (mut world, key, _) = heavy_parcel();
    done(world.submit(&Command::fire(admin(), key.clone(), "unload", Fields::default())));
    world.advance(Span(2 * 60 * 60 * 1_000));
    let ask = Ask::Inspect { entity: key.clone() };
    let inspect = Command::new(Actor::engine(), ask);
    done(world.submit(&inspect));
    (world, key, inspect)
}

#[test]
fn a_rule_that_cannot_be_evaluated_hides_no_other_from_the_sweep() {
    let (world, key, _) = odd_parcel();
    let broken = &world.view.get(&key).unwrap().broken;
    assert_eq!(broken.iter().map(Name::as_str).collect::<Vec<_>>(), ["light", "fresh"]);
}

#[test]
fn a_failed_repair_is_reported_once() {
    let (mut world, _, inspect) = odd_parcel();
    let dropped =
        |it: &&Entry| matches!(&it.event, Event::AlertRaised { kind, .. } if *kind == "dropped-move");
    assert_eq!(world.journal.iter().filter(dropped).count(), 1);
    let told = world.journal.len();
    world.submit(&inspect);
    assert_eq!(world.journal.len(), told);
}

#[test]
fn a_redaction_also_clears_groups_clocks_and_leases() {
    let mut world = world(&[("text", "a"), ("boss", "M"), ("due", "1970-01-02T00:00:00Z")]);
    let ada = Actor::new("ada", ActorKind::Agent);
    done(world.submit(&Command::fire(ada.clone(), key(), "hold", Fields::default())));
    world.advance(Span::parse("5m").unwrap());
    let ask = Ask::Heartbeat { entity: key(), slot: Name::new("work"), fence: Some(1) };
    done(world.submit(&Command::new(ada, ask)));
    let group = GroupKey { of: EntityKey::new("t.note", "M"), name: Name::new("notes") };
    assert_eq!(world.view.group(&group).here().unwrap().counts.len(), 1);
    assert!(note(&world).timer("due").is_some());
    let until = note(&world).fields.value("until");
    let all: Vec<u64> = world.journal.iter().map(|it| it.seq).collect();
    let command = redact(&world, &key(), &all, &[]);
    done(world.submit(&command));
    assert_eq!(world.view.group(&group).here().unwrap().counts.len(), 0);
    assert_eq!(note(&world).timer("due"), None);
    assert_eq!(note(&world).fields.value("until"), until, "a lease shows itself");
    replays(&world, "all of it");
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut world = world(&[("text", "hush")]);
    fire(&mut world, "edit", &[("tag", "blue")]);
    let mut command = redact(&world, &key(), &[1, 99], &[("tag", "x"), ("nose", "x"), ("due", "x")]);
    command.reason = None;
    let refusal = refused(world.submit(&command));
    let told: Vec<&str> = refusal.errors.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(
        told,
        ["missing", "unknown-entry", "not-a-time", "unknown-field", "unexpected-field"],
        "{refusal}"
    );
    let command = redact(&world, &key(), &[], &[]);
    assert_eq!(refused(world.submit(&command)).code.as_str(), "cannot-redact");
    let mut command = redact(&world, &key(), &[1], &[]);
    if let Ask::Redact(redact) = &mut command.ask {
        redact.history.pop();
    }
    assert_eq!(refused(world.submit(&command)).code.as_str(), "version-mismatch");
    for actor in
        [Actor::new("hank", ActorKind::Human), Actor::new("ada", ActorKind::Agent).with_roles(["admin"])]
    {
        let mut command = redact(&world, &key(), &[1], &[]);
        command.actor = actor;
        assert_eq!(refused(world.submit(&command)).code.as_str(), "not-permitted");
    }
    replays(&world, "nothing was dropped");
}

/// Every scenario of every pack, played to its end; then some entries of some of its entities are dropped.
#[test]
fn after_any_redaction_the_journal_of_every_pack_replays_to_the_same_world() {
    let (mut redacted, mut refusals) = (0_u32, 0_u32);
    for name in ["mission", "build", "coding", "turns", "research"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name);
        let (compiled, mut sources) = pack(&folder);
        let law = Arc::new(Law::new([compiled]));
        let mut problems = Problems::default();
        let mut played = 0_usize;
        for path in yaml_in(&folder.join("scenarios")) {
            let file = add(&mut sources, &path);
            let file = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
            scenario::run_watched(&law, &file, &Arc::new(Trace::default()), &mut problems, &mut |it| {
                played += 1;
                let erased = it.world.journal.iter().any(|it| it.event.kind().as_str() == "ERASED");
                if !played.is_multiple_of(5) || erased || it.world.journal.is_empty() {
                    return;
                }
                let pick = &it.world.journal[(played * 7) % it.world.journal.len()];
                let of = |entry: &&Entry| entry.entity == pick.entity;
                let seqs = it.world.journal.iter().filter(of).map(|it| it.seq);
                let some: Vec<u64> = seqs.filter(|seq| *seq == pick.seq || seq.is_multiple_of(3)).collect();
                let mut world = it.world.clone();
                let command = redact(&world, &pick.entity, &some, &[]);
                match world.submit(&command) {
                    Outcome::Accepted { .. } => {
                        redacted += 1;
                        replays(
                            &world,
                            &format!("{name}: {}, entries {some:?} of {}", it.scenario, pick.entity),
                        );
                    }
                    _ => refusals += 1,
                }
            });
        }
    }
    assert!(redacted > 100 && refusals < redacted, "{redacted} redacted, {refusals} refused");
}

#[test]
fn a_redacted_redaction_does_not_need_its_dropped_values() {
    let mut world = world(&[("text", "hush"), ("tag", "hush")]);
    let created = world.journal[0].clone();
    let first = done(world.submit(&redact(&world, &key(), &[1], &[("text", "hush"), ("tag", "hush")])));
    let mut again = redact(&world, &key(), &[first], &[("text", "hush")]);
    if let Ask::Redact(redact) = &mut again.ask {
        // A reader of the journal may still see the bytes that are about to be dropped.
        redact.history[0] = created;
    }
    done(world.submit(&again));
    let mut view = View::default();
    for entry in &world.journal {
        let mut entry = entry.clone();
        if entry.seq == 1 || entry.seq == first {
            entry.part();
        }
        apply(&mut view, &entry);
    }
    assert_eq!(
        view.get(&key()),
        world.view.get(&key()),
        "a replay of the remaining journal gives the live entity"
    );
}

#[test]
fn a_replay_from_an_older_snapshot_gives_the_same_state() {
    let mut world = world(&[("text", "hush"), ("tag", "hush")]);
    let mut whole = vec![world.journal[0].clone()];
    let first = done(world.submit(&redact(&world, &key(), &[1], &[("text", "other")])));
    whole.push(world.journal.last().expect("the redaction").clone());
    done(world.submit(&redact(&world, &key(), &[first], &[("text", "another")])));
    for begun in 0..=whole.len() {
        let mut view = View::default();
        // Starts from a projection written before the bytes were dropped, then applies the remaining
        // journal.
        whole.iter().take(begun).for_each(|it| apply(&mut view, it));
        world.journal.iter().skip(begun).for_each(|it| apply(&mut view, it));
        assert_eq!(view.get(&key()), world.view.get(&key()), "from {begun} entries on");
    }
}
