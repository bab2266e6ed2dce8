//! Parts of a decision beside its events.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Fire, RequestDigest, TransitionRef};
use trackside_engine::decide::{allowed, transition_options};
use trackside_engine::event::{Entry, Event};
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_engine::settings::{effective, setting_value};
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, Law, decide, decide_briefly};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Setting;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

const PACK: &str = "pack: t\nversion: 3\nroles: { lead: {} }\nsettings: { most: { default: 2, min: 1, max: 5 }, rates: { a: 1.5, b: 2.5 }, wait: 5m, free: {} }\n";
const THING: &str = "\
lifecycle: t.thing
fields: { n: { type: integer, default: 0 }, owner: { type: string }, note: { type: string } }
refs: { boss: { to: t.thing, by: owner } }
create: { by: human, takes: [owner] }
states: { OPEN: { initial: true }, SHUT: { final: true } }
counters: { fails: { failure: true } }
effects: { printer: {} }
transitions:
  fail: { from: OPEN, to: OPEN, by: human, count: fails, set: { n: fails } }
  print: { from: OPEN, by: human, effects: [printer] }
  shut:
    from: OPEN
    to: SHUT
    by: lead || (human && owner != null)
    takes: { note: Say why }
    when: [ { check: n < settings.most, says: Too many failures, field: n }, { check: boss == null || boss.n == 0, says: The boss has failed } ]
";
/// Several people decide: only the last approval moves it.
const VOTE: &str = "\
lifecycle: t.vote
fields: { approvers: { type: array, items: { type: string }, default: [], by: engine } }
create: { by: human }
states: { ASKED: { initial: true }, TALLIED: { final: true }, DONE: { final: true }, DENIED: { final: true } }
transitions:
  approve:
    from: ASKED
    by: human && !(actor.id in approvers)
    set: { approvers: 'append(approvers, actor.id)' }
    to: [ { when: size(approvers) + 1 >= settings.most, state: DONE }, { stay: true } ]
  deny: { from: ASKED, to: DENIED, by: human }
  tally: { from: ASKED, by: lead, to: [ { when: size(approvers) == 0, state: DENIED }, { state: TALLIED } ] }
  count: { from: ASKED, by: system, to: [ { when: size(approvers) > 0, state: DONE }, { when: size(approvers) < 0, state: ASKED }, { state: TALLIED } ] }
";

fn law() -> Arc<Law> {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", PACK);
    let thing = sources.add("thing.yaml", THING);
    let vote = sources.add("vote.yaml", VOTE);
    match compile(&sources, &PackFiles { pack, lifecycles: vec![thing, vote] }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

fn world() -> World {
    World::new(law(), Project::default(), Timestamp(0))
}

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human)
}

fn key(id: &str) -> EntityKey {
    EntityKey::new("t.thing", id)
}

fn make_task(world: &mut World, id: &str, owner: Option<&str>) {
    let fields: Fields = owner.into_iter().map(|it| ("owner", Value::text(it))).collect();
    let outcome = world.submit(&Command::new(hank(), Ask::Create { entity: key(id), fields }));
    assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
}

#[test]
fn the_answer_is_the_move_and_not_an_earlier_count() {
    let mut world = world();
    make_task(&mut world, "a", None);
    let mut command = Command::fire(hank(), key("a"), "fail", Fields::default());
    command.idempotency_key = Some(Name::new("k"));
    let Outcome::Accepted { entries, root, .. } = world.submit(&command) else { panic!("refused") };
    let written: Vec<&Entry> = world.journal[entries.clone()].iter().collect();
    assert!(matches!(written[0].event, Event::FailureCounted { .. }));
    assert!(matches!(world.journal[root].event, Event::Transitioned { .. }));
    assert_eq!(root, entries.start + 1);
    // The same command again: the same entries, and the same answer among them.
    let Outcome::Replayed { entries: again, root: same } = world.submit(&command) else {
        panic!("not replayed")
    };
    assert_eq!((again, same), (entries, root));
    assert_eq!(world.view.get(&key("a")).unwrap().fields.value("n"), Value::Int(1));
}

#[test]
fn a_brief_decision_differs_only_in_the_advice_of_a_refusal() {
    let mut world = world();
    make_task(&mut world, "a", None);
    let both = |event: &str| {
        let command = Command::fire(hank(), key("a"), event, Fields::default());
        let full = decide(&world.law, &world.view, &command, world.now).unwrap();
        (full, decide_briefly(&world.law, &world.view, &command, world.now).unwrap())
    };
    let (Decision::Accepted(full), Decision::Accepted(brief)) = both("fail") else { panic!("refused") };
    assert_eq!(full.entries, brief.entries);
    let (Decision::Refused(full), Decision::Refused(brief)) = both("shut") else { panic!("accepted") };
    assert_eq!(full.code, brief.code);
    assert!(full.who.is_some() && !full.allowed.is_empty(), "{full:?}");
    assert_eq!((&brief.who, &brief.allowed), (&None, &Vec::new()));
}

#[test]
fn the_result_of_an_effect_sent_again_is_recognised() {
    let mut world = world();
    make_task(&mut world, "a", None);
    world.submit(&Command::fire(hank(), key("a"), "print", Fields::default()));
    let effect = world.view.get(&key("a")).unwrap().effects[0].id;
    let ask = Ask::EffectResult { entity: key("a"), effect, ok: true, fields: Fields::default() };
    let mut command = Command::new(Actor::new("outside", ActorKind::System), ask);
    command.idempotency_key = Some(Name::new("k"));
    assert!(matches!(world.submit(&command), Outcome::Accepted { .. }));
    // The entry is the engine's; the key belongs to the sender of the request.
    assert_eq!(world.journal.last().unwrap().actor, "trackside");
    assert!(matches!(world.submit(&command), Outcome::Replayed { .. }));
}

#[test]
fn a_key_belongs_to_the_sender_of_the_command() {
    let mut world = world();
    make_task(&mut world, "a", None);
    let under = |actor: Actor, sender: Option<&str>, said: &str| {
        let mut command = Command::fire(actor, key("a"), "fail", Fields::default());
        (command.idempotency_key, command.key_of) = (Some(Name::new("k")), sender.map(Name::new));
        command.said = Some(RequestDigest { digest: said.into(), place: None });
        command
    };
    let by_another = || Actor::new("outside", ActorKind::Human);
    assert!(matches!(world.submit(&under(by_another(), Some("hank"), "one")), Outcome::Accepted { .. }));
    // The same request of the same sender, carried out by any actor.
    assert!(matches!(world.submit(&under(by_another(), Some("hank"), "one")), Outcome::Replayed { .. }));
    assert!(matches!(world.submit(&under(hank(), None, "one")), Outcome::Replayed { .. }));
    let Outcome::Refused(refusal) = world.submit(&under(hank(), None, "two")) else { panic!("accepted") };
    assert_eq!(refusal.code.as_str(), "idempotency-conflict");
    // The actor that carried it out has its own keys.
    assert!(matches!(world.submit(&under(by_another(), None, "two")), Outcome::Accepted { .. }));
}

#[test]
fn a_refusal_names_every_unmet_condition_with_its_values() {
    let mut world = world();
    make_task(&mut world, "a", Some("b"));
    make_task(&mut world, "b", None);
    for _ in 0..2 {
        world.submit(&Command::fire(hank(), key("a"), "fail", Fields::default()));
    }
    world.submit(&Command::fire(hank(), key("b"), "fail", Fields::default()));
    let Outcome::Refused(refusal) = world.submit(&Command::fire(hank(), key("a"), "shut", Fields::default()))
    else {
        panic!("accepted");
    };
    let codes: Vec<&str> = refusal.errors.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["missing", "guard-failed", "guard-failed"]);
    assert_eq!(refusal.code.as_str(), "requirement-missing");
    assert_eq!(refusal.errors[1].saw[&Name::new("n")], Value::Int(2));
    assert_eq!(refusal.errors[1].saw[&Name::new("settings.most")], Value::Int(2));
    assert_eq!(refusal.errors[2].saw[&Name::new("boss.n")], Value::Int(1));
    assert_eq!(refusal.allowed, [Name::new("OPEN"), Name::new("SHUT")]);
    assert_eq!(refusal.who.as_deref(), Some("lead or (human and owner is set)"));
    let shown = refusal.to_string();
    assert!(shown.contains("- note: Say why (missing)") && shown.contains("it saw n = 2"), "{shown}");
    // An actor that may not shut it learns that first, together with all other unmet conditions.
    let ada = Actor::new("ada", ActorKind::Agent);
    let Outcome::Refused(refusal) = world.submit(&Command::fire(ada, key("a"), "shut", Fields::default()))
    else {
        panic!("accepted");
    };
    assert_eq!(refusal.code.as_str(), "not-permitted");
    assert!(refusal.detail.starts_with("ada may not shut. Who may: lead or"), "{}", refusal.detail);
    assert_eq!(refusal.errors.len(), 4);
    assert!(refusal.allowed.is_empty());
}

#[test]
fn every_target_of_an_arm_counts() {
    let mut world = world();
    let vote = EntityKey::new("t.vote", "v");
    let person = |id: &str| Actor::new(id, ActorKind::Human);
    let create = Ask::Create { entity: vote.clone(), fields: Fields::default() };
    assert!(matches!(world.submit(&Command::new(hank(), create)), Outcome::Accepted { .. }));
    let targets = |world: &World, who: &str| {
        let entity = world.view.get(&vote).unwrap();
        let names = allowed(&world.law, &world.view, entity, &person(who), world.now).unwrap();
        names.iter().map(Name::to_string).collect::<Vec<_>>()
    };
    let to_done = |who: &str| {
        let (entity, what) = (vote.clone(), TransitionRef::To(Name::new("DONE")));
        let fire = Fire { entity, what, fields: Fields::default(), fence: None, if_version: None };
        Command::new(person(who), Ask::Fire(fire))
    };
    // The first approval would not move it: explain names the state that approvals lead to, and the refusal says when.
    assert_eq!(targets(&world, "ann"), ["DENIED"]);
    let entity = world.view.get(&vote).unwrap();
    let options = transition_options(&world.law, &world.view, entity, &person("ann"), world.now).unwrap();
    assert_eq!(options[0].to, [Name::new("DONE")]);
    let Outcome::Refused(refusal) = world.submit(&to_done("ann")) else { panic!("accepted") };
    assert_eq!(
        refusal.errors[0].message,
        "approve leads to DONE only if `size(approvers) + 1 >= settings.most`; now it stays as it is"
    );
    assert_eq!(refusal.code.as_str(), "guard-failed");
    // The second one would.
    let approve = Command::fire(person("ann"), vote.clone(), "approve", Fields::default());
    assert!(matches!(world.submit(&approve), Outcome::Accepted { .. }));
    assert_eq!(targets(&world, "bob"), ["DONE", "DENIED"]);
    assert!(matches!(world.submit(&to_done("bob")), Outcome::Accepted { .. }));
    assert_eq!(world.view.get(&vote).unwrap().state, Name::new("DONE"));
}

#[test]
fn a_target_reaches_every_choice_of_an_arm_and_a_false_condition_is_named() {
    let mut world = world();
    let vote = EntityKey::new("t.vote", "v");
    let create = Ask::Create { entity: vote.clone(), fields: Fields::default() };
    assert!(matches!(world.submit(&Command::new(hank(), create)), Outcome::Accepted { .. }));
    let to = |actor: Actor, state: &str| {
        let (entity, what) = (vote.clone(), TransitionRef::To(Name::new(state)));
        Command::new(
            actor,
            Ask::Fire(Fire { entity, what, fields: Fields::default(), fence: None, if_version: None }),
        )
    };
    let system = || Actor::new("clock", ActorKind::System);
    let lead = || Actor::new("ann", ActorKind::Agent).with_roles(["t:lead"]);
    let targets = |world: &World, actor: &Actor| {
        let names =
            allowed(&world.law, &world.view, world.view.get(&vote).unwrap(), actor, world.now).unwrap();
        names.iter().map(Name::to_string).collect::<Vec<_>>()
    };
    // The first choice of two, neither of which stays: the condition is false now.
    let Outcome::Refused(refusal) = world.submit(&to(system(), "DONE")) else { panic!("accepted") };
    assert_eq!(
        refusal.errors[0].message,
        "count leads to DONE only if `size(approvers) > 0`; now it leads to TALLIED"
    );
    assert_eq!(targets(&world, &system()), ["TALLIED"]);
    // Here it is true: the target that the rules would choose is allowed, too.
    assert_eq!(targets(&world, &lead()), ["TALLIED", "DENIED"]);
    assert!(matches!(world.submit(&to(lead(), "DENIED")), Outcome::Accepted { .. }));
    assert_eq!(world.view.get(&vote).unwrap().state, Name::new("DENIED"));
}

#[test]
fn a_refusal_names_the_role_that_alone_would_admit_the_caller() {
    let mut world = world();
    make_task(&mut world, "a", None);
    let mut grant = |actor: Actor, event: &str| match world.submit(&Command::fire(
        actor,
        key("a"),
        event,
        Fields::default(),
    )) {
        Outcome::Refused(refusal) => refusal.grant,
        _ => panic!("accepted"),
    };
    let ada = || Actor::new("ada", ActorKind::Agent);
    let command = "trackside token create ada --kind agent --role t:lead";
    assert_eq!(grant(ada(), "shut").as_deref(), Some(command));
    // No role admits to it; the caller acts for another; the role is there already.
    assert_eq!(grant(ada(), "fail"), None);
    assert_eq!(grant(ada().asking_for(Some(Name::new("eve"))), "shut"), None);
    assert_eq!(grant(ada().with_roles(["t:lead"]), "shut"), None);
}

#[test]
fn missing_data_is_requested_until_the_decision_is_the_same() {
    let mut world = world();
    make_task(&mut world, "a", Some("b"));
    make_task(&mut world, "b", None);
    let note: Fields = [("note", Value::text("done"))].into_iter().collect();
    let command = Command::fire(hank(), key("a"), "shut", note);
    let Ok(Decision::Accepted(whole)) = decide(&world.law, &world.view, &command, world.now) else {
        panic!("refused")
    };
    let mut partial = View::partial(world.view.seq);
    let mut asked = Vec::new();
    let accepted = loop {
        match decide(&world.law, &partial, &command, world.now) {
            Err(needs) => {
                assert!(needs.iter().count() > 0, "it names its needs");
                for key in needs {
                    asked.push(key.to_string());
                    partial.load_from(&world.view, key);
                }
            }
            Ok(Decision::Accepted(accepted)) => break accepted,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(asked, ["t.thing/a", "t.thing/b"]);
    assert_eq!(accepted.entries, whole.entries);
}

#[test]
fn versions_grow_with_changes_and_entities_keep_their_version() {
    let mut world = world();
    make_task(&mut world, "a", None);
    let entity = world.view.get(&key("a")).unwrap();
    assert_eq!((entity.version, entity.definition), (1, 3));
    world.submit(&Command::fire(hank(), key("a"), "fail", Fields::default()));
    assert_eq!(world.view.get(&key("a")).unwrap().version, 2);
}

fn setting(name: &str) -> Setting {
    law().pack("t").unwrap().settings.iter().find(|it| it.name == *name).unwrap().clone()
}

#[test]
fn overrides_must_be_of_the_shape_and_within_the_bounds() {
    let map = |entries: &[(&str, Value)]| {
        Value::map(
            entries.iter().map(|(name, value)| (Name::new(name), value.clone())).collect::<BTreeMap<_, _>>(),
        )
    };
    assert_eq!(setting_value(&setting("most"), &Value::Int(5)), Ok(Value::Int(5)));
    assert_eq!(setting_value(&setting("most"), &Value::Int(6)), Err("most must be at most 5".to_owned()));
    assert_eq!(setting_value(&setting("most"), &Value::Int(0)), Err("most must be at least 1".to_owned()));
    assert!(setting_value(&setting("most"), &Value::text("two")).unwrap_err().contains("whole number"));
    assert_eq!(setting_value(&setting("wait"), &Value::text("90s")), Ok(Value::Span(Span::seconds(90))));
    assert!(setting_value(&setting("wait"), &Value::text("soon")).unwrap_err().contains("15m"));
    assert_eq!(
        setting_value(&setting("rates"), &map(&[("a", Value::Int(3))])),
        Ok(map(&[("a", Value::Float(3.0))]))
    );
    assert!(
        setting_value(&setting("rates"), &map(&[("aa", Value::Int(3))]))
            .unwrap_err()
            .contains("rates has no aa")
    );
    assert_eq!(
        setting_value(&setting("free"), &map(&[("x", Value::Int(3))])),
        Ok(map(&[("x", Value::Int(3))]))
    );
}

#[test]
fn a_setting_of_the_entity_overrides_the_project_and_the_pack() {
    let pack = Name::new("t");
    let mut project = Project::default();
    let most = setting("most");
    assert_eq!(effective(&most, &pack, &project, None), Value::Int(2));
    project.settings.insert(pack.clone(), BTreeMap::from([(Name::new("most"), Value::Int(4))]));
    assert_eq!(effective(&most, &pack, &project, None), Value::Int(4));
    assert_eq!(effective(&most, &pack, &project, Some(Value::Int(3))), Value::Int(3));
    assert_eq!(
        effective(&most, &pack, &project, Some(Value::Int(9))),
        Value::Int(5),
        "as far as the bounds allow"
    );
    let one = Value::map(BTreeMap::from([(Name::new("a"), Value::Float(9.0))]));
    project.settings.insert(pack.clone(), BTreeMap::from([(Name::new("rates"), one)]));
    let rates = effective(&setting("rates"), &pack, &project, None);
    assert_eq!(rates.to_json(), serde_json::json!({ "a": 9.0, "b": 2.5 }), "key by key");
}

#[test]
fn ids_have_a_form() {
    for good in ["T-1", "a.b_c@d", "room:ada", &"x".repeat(128)] {
        assert!(is_valid_id(good), "{good}");
    }
    for bad in ["", "a b", "a/b", "ä", &"x".repeat(129)] {
        assert!(!is_valid_id(bad), "{bad}");
    }
}
