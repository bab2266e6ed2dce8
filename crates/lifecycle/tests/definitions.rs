//! What a definition's author is told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::Sources;

const PACK: &str = "pack: demo\nversion: 1\nroles: { lead: {} }\naudiences: { people: Everybody. }\nsettings: { limit: 3, wait: 15m }\n";

const GOOD: &str = "\
lifecycle: demo.task
fields:
  title: { type: string, minLength: 1 }
  owner: { type: string }
  tries: { type: integer, default: 0 }
create: { by: human, require: { title: A title is required } }
states:
  OPEN:   { initial: true }
  DOING:  { deadline: { after: settings.wait, warn: [80%] } }
  CLOSED: { final: true, outcome: success }
transitions:
  start: { from: OPEN, to: DOING, by: human || lead, set: { owner: actor.id } }
  close: { from: DOING, to: CLOSED, by: human }
";

fn compiled(pack: &str, lifecycle: &str) -> Result<Pack, String> {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", pack);
    let lifecycle = sources.add("task.yaml", lifecycle);
    match compile(&sources, &PackFiles { pack, lifecycles: vec![lifecycle] }) {
        Ok((pack, _)) => Ok(pack),
        Err(problems) => Err(problems.render(&sources, false)),
    }
}

/// The good definition with one thing changed must be refused with all of these words.
fn refused(change: (&str, &str), told: &[&str]) {
    assert!(GOOD.contains(change.0), "{change:?}");
    let said = match compiled(PACK, &GOOD.replacen(change.0, change.1, 1)) {
        Ok(_) => panic!("{change:?} was accepted"),
        Err(said) => said,
    };
    for words in told {
        assert!(said.contains(words), "expected {words:?} in\n{said}");
    }
}

#[test]
fn a_good_definition_is_taken() {
    let pack = compiled(PACK, GOOD).unwrap();
    let task = pack.lifecycles.first().unwrap();
    assert_eq!(task.initial, "OPEN");
    assert_eq!(task.transitions.len(), 2);
    assert_eq!(task.timers.len(), 1);
}

#[test]
fn a_guard_that_mentions_an_unknown_field_is_an_error_at_its_column() {
    refused(
        ("set: { owner: actor.id }", "when: owner == null && tres < 3"),
        &["unknown name `tres`", "task.yaml:12:77", "did you mean `tries`?"],
    );
}

#[test]
fn comparisons_that_cannot_be_true_are_errors() {
    refused(
        ("set: { owner: actor.id }", "when: state == \"OPENED\""),
        &["`OPENED` is not one of OPEN, DOING, CLOSED", "task.yaml:12:69"],
    );
    refused(("set: { owner: actor.id }", "when: tries == \"three\""), &["task.yaml:12:"]);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let broken = GOOD
        .replace("from: OPEN,", "form: OPEN,")
        .replace("to: CLOSED,", "to: CLOSD,")
        .replace("type: integer", "type: integr");
    let said = compiled(PACK, &broken).err().unwrap();
    for words in [
        "`form` is not a key here",
        "did you mean `from`",
        "no state or set of states `CLOSD`",
        "no type `integr`",
    ] {
        assert!(said.to_lowercase().contains(&words.to_lowercase()), "expected {words:?} in\n{said}");
    }
}

#[test]
fn each_construct_says_what_is_wrong_with_it() {
    refused(("by: human }\n", "about: x }\n"), &["does not say who may do it", "by: engine"]);
    refused(("to: DOING", "to: { next: true }"), &["needs a `path`"]);
    refused(("to: DOING", "to: [ { when: tries > 1, state: DOING } ]"), &["the last choice has a condition"]);
    refused(("to: DOING", "to: { field: owner }"), &["is not of type state"]);
    refused(("from: DOING", "from: CLOSED"), &["leaves CLOSED, which is final"]);
    refused(("OPEN:   { initial: true }", "OPEN: {}"), &["no state is the initial one"]);
    refused(
        ("{ after: settings.wait", "{ after: settings.wiat"),
        &["unknown name `settings.wiat`", "settings.wait"],
    );
    refused(("{ after: settings.wait", "{ after: settings.limit"), &["a length of time"]);
    refused(
        ("title: { type: string, minLength: 1 }", "state: { type: string }"),
        &["has a meaning of its own"],
    );
    refused(
        ("title: { type: string, minLength: 1 }", "lead: { type: string }"),
        &["already the name of a role"],
    );
    refused(
        ("set: { owner: actor.id }", "notify: { audience: poeple, message: hi }"),
        &["no audience `poeple`", "people"],
    );
    refused(("set: { owner: actor.id }", "then: finish"), &["no transition of demo.task called `finish`"]);
    refused(("set: { owner: actor.id }", "also: [ { on: owner, fire: close } ]"), &["no ref `owner`"]);
    refused(("set: { owner: actor.id }", "count: [tried]"), &["no counter `tried`"]);
    refused(("set: { owner: actor.id }", "set: { tries: actor.id }"), &["task.yaml:12:"]);
    refused(("default: 0", "default: many"), &["must be a whole number"]);
    refused(
        ("create: {", "reactions: { r: { when: now > createdAt, fire: close } }\ncreate: {"),
        &["cannot depend on the time"],
    );
    refused(("lifecycle: demo.task", "lifecycle: other.task"), &["must start with `demo.`"]);
}

#[test]
fn a_type_that_contains_itself_ends() {
    let pack =
        format!("{PACK}types: {{ Tree: {{ properties: {{ kids: {{ items: {{ type: Tree }} }} }} }} }}\n");
    let broken = GOOD.replace("type: string, minLength: 1", "type: Tree");
    assert!(compiled(&pack, &broken).err().unwrap().contains("contains itself"));
}

#[test]
fn what_is_reserved_is_refused_by_name() {
    refused(("create: {", "line: { of: channel }\ncreate: {"), &["`line`"]);
    refused(("set: { owner: actor.id }", "pick: { order: [tries] }"), &["`pick`"]);
}

#[test]
fn the_schemas_are_of_their_own_grammar() {
    use trackside_lifecycle::syntax::{SchemaOf, schema};
    let lifecycle = schema(SchemaOf::Lifecycle);
    let keys = lifecycle.pointer("/properties").unwrap().as_object().unwrap();
    for key in ["states", "transitions", "counters", "timers", "refs", "gates", "invariants", "reactions"] {
        assert!(keys.contains_key(key), "{key}");
    }
    assert_eq!(lifecycle.pointer("/additionalProperties"), Some(&serde_json::Value::Bool(false)));
    assert!(schema(SchemaOf::Pack).pointer("/properties/policy").is_some());
}
