//! Messages to the author of a definition.
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

use trackside_lifecycle::compile::{Filter, PackFiles, compile};
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
fn several_mistakes_are_reported_at_once() {
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
fn each_construct_reports_its_mistakes() {
    refused(("by: human }\n", "about: x }\n"), &["has no `by` that says who may fire it", "by: engine"]);
    refused(("to: DOING", "to: { next: true }"), &["needs a `path`"]);
    refused(("to: DOING", "to: [ { when: tries > 1, state: DOING } ]"), &["the last choice has a condition"]);
    refused(("to: DOING", "to: { field: owner }"), &["is not of type state"]);
    refused(("from: DOING", "from: CLOSED"), &["leaves CLOSED, which is final"]);
    refused(("OPEN:   { initial: true }", "OPEN: {}"), &["no state has `initial: true`"]);
    refused(
        ("{ after: settings.wait", "{ after: settings.wiat"),
        &["unknown name `settings.wiat`", "settings.wait"],
    );
    refused(("{ after: settings.wait", "{ after: settings.limit"), &["a length of time"]);
    refused(("title: { type: string, minLength: 1 }", "state: { type: string }"), &["is a reserved word"]);
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
    refused(
        ("create: {", "refs: { boss: { to: demo.boss, by: owner, acyclic: true } }\ncreate: {"),
        &["error[acyclic-elsewhere]", "ref `boss` cannot form a circle", "leave out `acyclic`"],
    );
    refused(("create: {", "log: { line: { event: it.evnt } }\ncreate: {"), &["evnt", "event"]);
    refused(
        ("create: {", "log: { when: it.from != null }\ncreate: {"),
        &["error[empty-log]", "does not say what a line contains"],
    );
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
fn a_reason_that_is_required_has_no_default() {
    let both = "by: human, reason: Say why, default_reason: 'It was time' }\n";
    refused(
        ("by: human }\n", both),
        &["an arm has `reason` or `default_reason`, not both", "the default is never used"],
    );
    refused(("by: human }\n", "by: human, default_reason: '{ownr}' }\n"), &["unknown name `ownr`"]);
}

#[test]
fn a_type_that_contains_itself_ends() {
    let pack =
        format!("{PACK}types: {{ Tree: {{ properties: {{ kids: {{ items: {{ type: Tree }} }} }} }} }}\n");
    let broken = GOOD.replace("type: string, minLength: 1", "type: Tree");
    assert!(compiled(&pack, &broken).err().unwrap().contains("contains itself"));
}

#[test]
fn a_promise_is_of_one_kind_and_says_what() {
    let promise = |it: &str| format!("prove: [ {it} ]\ncreate: {{");
    let wrong = |it: &str, said: &[&str]| refused(("create: {", &promise(it)), said);
    wrong("{ never: tries > 3 }", &["`says` is missing"]);
    wrong("{ says: x }", &["needs one of `never`", "add one of these keys"]);
    wrong(
        "{ says: x, never: tries > 3, always: tries < 3 }",
        &["only one of `never`", "split it into two promises"],
    );
    wrong("{ says: x, never: tries > 3, from: tries > 1 }", &["`from` belongs to `alone`"]);
    wrong("{ says: x, never: tries > 3, when: tries > 1 }", &["`when` belongs to `eventually`"]);
    wrong("{ says: x, never: tries > 3, within: 2h }", &["`within` belongs to `eventually`"]);
    wrong("{ says: x, reachable: tries > 3, on: start }", &["`on` belongs to `never` or `always`"]);
    wrong("{ says: x, alone: agent, to: tries > 1 }", &["`alone` needs `from` and `to`"]);
    wrong("{ says: x, never: triez > 3 }", &["triez"]);
    wrong("{ says: x, never: tries }", &["true or false"]);
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

/// The good definition with further keys at its end must be refused with all of these words.
fn refused_with(more: &str, told: &[&str]) {
    told_of(PACK, &format!("{GOOD}{more}\n"), told);
}

fn told_of(pack: &str, lifecycle: &str, told: &[&str]) {
    let Err(said) = compiled(pack, lifecycle) else { panic!("accepted:\n{lifecycle}") };
    for words in told {
        assert!(said.contains(words), "expected {words:?} in\n{said}");
    }
}

#[test]
fn every_pack_of_the_repository_loads_without_a_word() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let packs = std::fs::read_dir(root.join("../../packs")).unwrap().map(|it| it.unwrap().path());
    let mut folders: Vec<_> = packs.filter(|it| it.is_dir()).collect();
    assert!(!folders.is_empty());
    folders.push(root.join("../engine/tests/constructs"));
    for folder in folders {
        let mut sources = Sources::default();
        let mut add = |path: &std::path::Path| {
            sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap())
        };
        let pack = add(&folder.join("pack.yaml"));
        let files = std::fs::read_dir(folder.join("lifecycles")).unwrap().map(|it| it.unwrap().path());
        let mut files: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "yaml")).collect();
        files.sort();
        let lifecycles = files.iter().map(|it| add(it)).collect();
        let problems = match compile(&sources, &PackFiles { pack, lifecycles }) {
            Ok((_, problems)) | Err(problems) => problems,
        };
        assert!(problems.is_empty(), "{}", problems.render(&sources, false));
    }
}

#[test]
fn the_window_of_a_counter_depends_on_no_counter() {
    let told = &["cannot depend on a counter", "a setting or a field"];
    refused_with("counters: { a: { last: a } }", told);
    refused_with("counters: { a: { within: 'b > 1 ? settings.wait : settings.wait' }, b: {} }", told);
    refused_with("counters: { a: { last: 'a[\"OPEN\"]', per: state } }", told);
    let through = GOOD.replace("tries: {", "all: { is: a + 1 }\n  tries: {");
    told_of(PACK, &format!("{through}counters: {{ a: {{ last: all }} }}\n"), told);
    let related = GOOD.replace("create: {", "relations: { busy: a > 1 }\ncreate: {");
    told_of(PACK, &format!("{related}counters: {{ a: {{ last: 'busy ? 1 : 2' }} }}\n"), told);
    refused_with("refs: { other: { to: demo.task, by: owner } }\ncounters: { a: { last: other.a } }", told);
    let pack = PACK.replace("limit: 3", "limit: { default: 3, from: other.a }");
    let by_setting =
        "refs: { other: { to: demo.task, by: owner } }\ncounters: { a: { last: settings.limit } }";
    told_of(&pack, &format!("{GOOD}{by_setting}\n"), told);
    refused_with("counters: { a: { limit: a + 1 } }", &["the limit of `a` depends on `a` itself"]);
    compiled(PACK, &format!("{GOOD}counters: {{ a: {{ limit: settings.limit + b }}, b: {{}} }}\n")).unwrap();
}

#[test]
fn definitions_that_are_too_costly_are_refused() {
    let chain = |step: &dyn Fn(usize) -> String| {
        let mut fields = "c0: { is: tries }\n  c1: { is: tries }\n".to_owned();
        for n in 2..40 {
            fields += &format!("  c{n}: {{ is: {} }}\n", step(n));
        }
        GOOD.replace("title: {", &format!("{fields}  title: {{"))
    };
    let told = &["too-costly", "at most 200"];
    told_of(PACK, &chain(&|n| format!("c{} + c{}", n - 1, n - 1)), told);
    told_of(PACK, &chain(&|n| format!("c{} + c{}", n - 1, n - 2)), told);
    compiled(PACK, &chain(&|n| format!("c{} + 1", n - 1))).unwrap();
    let mut relations = "relations:\n  r0: human\n".to_owned();
    for n in 1..12 {
        relations += &format!("  r{n}: r{0} || !r{0}\n", n - 1);
    }
    refused_with(&relations, told);
    let mut settings = "settings: { wait: 15m, s0: { default: 1, from: tries }".to_owned();
    for n in 1..12 {
        settings += &format!(", s{n}: {{ default: 1, from: settings.s{0} + settings.s{0} }}", n - 1);
    }
    told_of(&PACK.replace("settings: { limit: 3, wait: 15m", &settings), GOOD, told);
}

#[test]
fn a_computed_field_hides_the_value_it_is_named_after() {
    use trackside_lifecycle::model::Read;
    let shown = GOOD
        .replace("tries: {", "timeInState: { is: minutes(timeInState) }\n  tries: {")
        .replace("to: CLOSED, by: human", "to: CLOSED, by: human, when: timeInState > 5.0");
    let pack = compiled(PACK, &shown).unwrap();
    let task = pack.lifecycles.first().unwrap();
    let check = task.transition("close").unwrap().arms.first().unwrap().checks.first().unwrap();
    let slot = check.guard.reads().first().unwrap().slot;
    let Some(Read::Computed(shown)) = task.reads.get(slot.0 as usize) else { panic!("{:?}", task.reads) };
    let slot = shown.reads().first().unwrap().slot;
    assert!(matches!(task.reads.get(slot.0 as usize), Some(Read::TimeInState)));
}

#[test]
fn a_reaction_is_triggered_by_its_counts() {
    let many = GOOD.replace("tries: {", "needs: { items: { type: string } }\n  tries: {")
        + "refs: { needed: { to: demo.task, by: needs, many: true } }\n";
    let told = &["does not run when they move", "give the ref an `inverse`"];
    told_of(PACK, &format!("{many}reactions: {{ r: {{ when: needed.open == 0, fire: close }} }}\n"), told);
    let through = many.replace("tries: {", "left: { is: needed.open }\n  tries: {");
    told_of(PACK, &format!("{through}reactions: {{ r: {{ when: left == 0, fire: close }} }}\n"), told);
    let many = many.replace("many: true", "many: true, inverse: needing");
    compiled(PACK, &format!("{many}reactions: {{ r: {{ when: needed.open == 0, fire: close }} }}\n"))
        .unwrap();
    compiled(PACK, &format!("{many}reactions: {{ r: {{ when: needing.open == 0, fire: close }} }}\n"))
        .unwrap();
    compiled(PACK, &format!("{many}invariants: {{ i: {{ holds: needed.missing == 0, says: Gone }} }}\n"))
        .unwrap();
}

#[test]
fn a_step_of_a_warning_makes_no_move() {
    let step = |does: &str| {
        let steps = GOOD.replace("warn: [80%]", &format!("warn: {{ 80%: {{ {does} }} }}"));
        format!("{steps}counters: {{ a: {{}}, b: {{ per: state }} }}\nslots: {{ work: {{ for: 5m }} }}\n")
    };
    let hint = "use `then` to fire a transition that does it";
    for (does, told) in [
        ("set: { a: 1 }", "cannot set a counter"),
        ("set: { 'b[\"OPEN\"]': 1 }", "cannot set a counter"),
        ("reset: [a]", "cannot reset a counter"),
        ("lease: work", "cannot grant a lease"),
        ("lease: { slot: work, to: owner }", "cannot grant a lease"),
        ("release: work", "cannot release a lease"),
    ] {
        told_of(PACK, &step(does), &[told, hint]);
    }
    compiled(PACK, &step("set: { tries: 1 }, clear: [owner], then: close, severity: none")).unwrap();
    refused_with("counters: { a: { limit: 3, warn: { 80%: { reset: a } } } }", &["cannot reset", hint]);
}

#[test]
fn a_tally_is_named_by_its_key() {
    let set = GOOD.replace("set: { owner: actor.id }", "set: { a: 1 }");
    told_of(
        PACK,
        &format!("{set}counters: {{ a: {{ key: [actor.id] }} }}\n"),
        &["several tallies", "say which: `a[KEY]`"],
    );
    compiled(PACK, &format!("{set}counters: {{ a: {{ per: state }} }}\n")).unwrap();
}

#[test]
fn settings_have_one_type_at_every_level() {
    let from = |setting: &str| PACK.replace("limit: 3", &format!("limit: {{ {setting} }}"));
    let told = &["setting `limit` is a whole number, but in demo.task this is text"];
    told_of(&from("default: 3, from: owner"), GOOD, told);
    told_of(&from("default: 3, from: tries + 0.5"), GOOD, &["this is a number"]);
    told_of(&from("default: 3.5, from: owner"), GOOD, &["is a number, but"]);
    told_of(&from("default: x, from: tries"), GOOD, &["is text, but"]);
    compiled(&from("default: 3.5, from: tries"), GOOD).unwrap();
    told_of(
        &from("default: 15m, min: 1"),
        GOOD,
        &["`min` and `max` are for numbers", "`limit` is a length of time"],
    );
    told_of(&from("default: [1], max: 1"), GOOD, &["`min` and `max` are for numbers"]);
    told_of(&from("default: 3, min: 5, max: 2"), GOOD, &["no value fits"]);
}

#[test]
fn the_check_of_a_setting_is_a_condition_on_settings_that_the_defaults_fulfil() {
    let from = |setting: &str| PACK.replace("limit: 3", &format!("limit: {{ {setting} }}"));
    compiled(&from("default: 3, check: settings.limit > 0, says: At least one"), GOOD).unwrap();
    let wrong = &["`settings.limit > 3` is false with the defaults", "change the condition or a default"];
    told_of(&from("default: 3, check: settings.limit > 3"), GOOD, wrong);
    told_of(&from("default: 3, check: settings.limt > 0"), GOOD, &["settings.limt", "settings.limit"]);
    told_of(&from("default: 3, check: settings.limit + 1"), GOOD, &["true or false"]);
    told_of(&from("default: 3, says: At least one"), GOOD, &["`limit` has `says` and no `check`"]);
}

#[test]
fn timers_have_names_and_lengths_of_their_own() {
    refused_with("timers: { OPEN: { after: 5m } }", &["already the name of a state", "its deadline"]);
    refused_with("timers: { a.b: { after: 5m } }", &["the name of a timer cannot contain a dot", "`a_b`"]);
    refused(("OPEN:   {", "A.B: {}\n  OPEN:   {"), &["the name of a state cannot contain a dot"]);
    refused_with("timers: { t: { after: 0s } }", &["`0s` is zero, but the time must be longer"]);
    refused_with("timers: { t: { after: 'duration(\"-5s\")' } }", &["is zero, but the time must be longer"]);
    refused(("after: settings.wait", "after: 0m"), &["`0m` is zero, but the time must be longer"]);
    refused(
        ("OPEN:   { initial: true", "OPEN: { initial: true, retain: { for: 0s, then: start }"),
        &["is zero"],
    );
    refused_with("slots: { work: { for: 0s } }", &["is zero"]);
    refused_with("counters: { a: { within: 0s } }", &["is zero"]);
    refused_with("timers: { t: { every: 500ms } }", &["at least one second"]);
    refused_with("counters: { a: { reset: 500ms } }", &["at least one second"]);
    let at = GOOD.replace("tries: {", "due: { type: time }\n  tries: {");
    told_of(PACK, &format!("{at}timers: {{ t: {{ at: due, starts: entry }} }}\n"), &["has no `starts`"]);
    told_of(
        PACK,
        &format!("{at}timers: {{ t: {{ at: due, restarts: [start] }} }}\n"),
        &["has no `restarts`"],
    );
}

#[test]
fn a_final_state_asks_for_no_way_out() {
    let ends = |key: &str| ("outcome: success", format!("outcome: success, {key}"));
    for (key, told) in [
        ("always: [ { state: OPEN } ]", "CLOSED is final, so its `always` has no effect"),
        ("deadline: { after: 5m }", "so its `deadline` has no effect"),
        ("retain: { for: 5m, then: close }", "so its `retain` has no effect"),
    ] {
        let (from, to) = ends(key);
        refused((from, &to), &[told]);
    }
}

#[test]
fn a_target_is_one_and_always_there() {
    refused(("to: DOING", "to: { DOING: CLOSED }"), &["has no target for OPEN", "add `OPEN: STATE`"]);
    refused(
        ("to: DOING", "to: [ { when: tries > 1, table: { DOING: CLOSED } }, { state: DOING } ]"),
        &["has no target for OPEN"],
    );
    refused(("to: DOING", "to: []"), &["the list of choices is empty"]);
    refused(("OPEN:   {", "OPEN:   { always: [],"), &["the list of choices is empty"]);
    refused(("to: DOING", "to: [ { set: { tries: 1 } } ]"), &["has no target", "`stay: true`"]);
    refused(
        ("to: DOING", "to: [ { state: DOING, stay: true } ]"),
        &["more than one target: `state`, `stay`"],
    );
    refused(("to: DOING", "to: [ { stay: false } ]"), &["the only allowed value is `true`"]);
    refused(("to: DOING", "to: [ { ask: [DOING] }, { state: DOING } ]"), &["can never be taken"]);
    refused(("to: DOING", "to: [ { table: { OPEN: DOING } }, { state: DOING } ]"), &["can never be taken"]);
}

#[test]
fn transitions_fired_by_the_engine_must_leave_the_state() {
    refused(
        ("warn: [80%]", "then: start"),
        &["`start` does not leave DOING, so the deadline has no effect", "one that leaves it: `close`"],
    );
    refused(("OPEN:   {", "OPEN:   { retain: { for: 5m, then: close },"), &["`close` does not leave OPEN"]);
    refused_with(
        "timers: { t: { after: 5m, runs: [OPEN], then: { fire: close } } }",
        &["`close` does not leave OPEN, so the timer has no effect"],
    );
    compiled(PACK, &format!("{GOOD}timers: {{ t: {{ after: 5m, then: close }} }}\n")).unwrap();
    refused_with(
        "reactions: { r: { when: tries > 3, fire: start, in: [DOING, CLOSED] } }",
        &["`start` leaves none of DOING, CLOSED, so the reaction has no effect"],
    );
    refused_with(
        "invariants: { i: { holds: tries < 3, says: Too many, in: DOING, repair: start } }",
        &["the repair has no effect"],
    );
}

#[test]
fn reserved_names_cannot_be_declared() {
    let told = &["is a reserved word"];
    refused_with("sets: { any: [OPEN] }", told);
    refused_with("sets: { stay: [OPEN] }", told);
    refused_with("sets: { OPEN: [DOING] }", &["already the name of a state"]);
    for name in ["create", "always", "heartbeat", "correct", "given"] {
        refused(("close: {", &format!("{name}: {{")), told);
    }
    for name in ["human", "agent", "system", "engine", "admin", "state", "settings"] {
        told_of(&PACK.replace("lead: {}", &format!("lead: {{}}, {name}: {{}}")), GOOD, &["for this role"]);
    }
    let inverse = |name: &str| {
        format!(
            "{GOOD}relations: {{ mine: actor.id == owner }}\nslots: {{ work: {{ for: 5m }} }}\nrefs: {{ other: {{ to: demo.task, by: owner, inverse: {name} }} }}\n"
        )
    };
    told_of(PACK, &inverse("state"), &["for this inverse"]);
    for name in ["mine", "work", "lead", "title", "other"] {
        told_of(PACK, &inverse(name), &["already has a meaning in demo.task"]);
    }
    compiled(PACK, &inverse("others")).unwrap();
}

#[test]
fn fields_that_name_actors_or_entities_hold_ids() {
    let typed =
        GOOD.replace("title: {", "ids: { items: { type: string } }\n  loose: { type: array }\n  title: {");
    let with = |more: &str| format!("{typed}{more}\n");
    told_of(
        PACK,
        &with("refs: { r: { to: demo.task, by: tries } }"),
        &["`tries` holds a whole number, not an id"],
    );
    told_of(PACK, &with("refs: { r: { to: demo.task, by: ids } }"), &["not an id", "add `many: true`"]);
    told_of(PACK, &with("refs: { r: { to: demo.task, by: owner, many: true } }"), &["not a list of ids"]);
    told_of(PACK, &with("refs: { r: { to: demo.task, by: loose, many: true } }"), &["not a list of ids"]);
    told_of(PACK, &with("assignee: tries"), &["not who works on it"]);
    told_of(PACK, &with("slots: { work: { for: 5m, holder: tries } }"), &["not who holds it"]);
    told_of(PACK, &with("slots: { work: { for: 5m, until: owner } }"), &["not a moment"]);
    compiled(PACK, &with("assignee: ids\nrefs: { r: { to: demo.task, by: ids, many: true } }")).unwrap();
}

#[test]
fn a_key_of_a_type_says_something_about_it() {
    let field = |ty: &'static str| ("type: string, minLength: 1", ty);
    let hint = "leave it out, or write `type: string`";
    refused(
        field("type: integer, minLength: 1"),
        &["`minLength` does not apply to a value of type integer", hint],
    );
    refused(field("type: integer, maxLength: 1"), &["`maxLength` does not apply"]);
    refused(field("type: boolean, pattern: x"), &["`pattern` does not apply"]);
    refused(field("type: integer, enum: [A]"), &["`enum` does not apply"]);
    refused(
        field("type: string, minimum: 1"),
        &["`minimum` does not apply", "`type: integer` or `type: number`"],
    );
    refused(field("type: span, maximum: 1"), &["`maximum` does not apply"]);
    refused(field("type: string, items: { type: string }"), &["`items` does not apply"]);
    refused(field("type: string, minLength: 5, maxLength: 2"), &["no value fits", "`minLength` is 5"]);
    refused(field("type: integer, minimum: 5, maximum: 2"), &["no value fits"]);
    refused(field("type: array, minItems: 5, maxItems: 2"), &["no value fits"]);
    let pack = format!("{PACK}types: {{ Short: {{ type: string, maxLength: 9 }} }}\n");
    let named = GOOD.replace("type: string, minLength: 1", "type: Short, minLength: 1");
    told_of(&pack, &named, &["value of type Short", "put it where `Short` is declared"]);
    compiled(PACK, &GOOD.replace("tries: {", "twice: { type: number, is: tries * 2 }\n  tries: {")).unwrap();
}

#[test]
fn a_state_that_nothing_leads_to_is_a_warning() {
    let warned = |lifecycle: &str| {
        let mut sources = Sources::default();
        let pack = sources.add("pack.yaml", PACK);
        let lifecycle = sources.add("task.yaml", lifecycle);
        match compile(&sources, &PackFiles { pack, lifecycles: vec![lifecycle] }) {
            Ok((_, problems)) => problems.render(&sources, false),
            Err(problems) => panic!("{}", problems.render(&sources, false)),
        }
    };
    assert_eq!(warned(GOOD), "");
    let lost = GOOD.replace("OPEN:   {", "LOST: {}\n  OPEN:   {");
    assert!(warned(&lost).contains("no transition leads to LOST"), "{}", warned(&lost));
    assert_eq!(warned(&lost.replace("to: CLOSED", "to: { ask: [CLOSED, LOST] }")), "");
    assert_eq!(
        warned(
            &lost.replace(
                "DOING:  {",
                "DOING:  { always: [ { when: tries > 3, state: LOST }, { stay: true } ],"
            )
        ),
        ""
    );
    let path = format!("{lost}path: [OPEN, DOING, LOST, CLOSED]\n");
    assert_eq!(
        warned(&path.replace("from: DOING, to: CLOSED", "from: [DOING, LOST], to: { next: true }")),
        ""
    );
}

#[test]
fn an_undeclared_name_says_where_to_declare_it() {
    refused(
        ("set: { owner: actor.id }", "count: [tried]"),
        &["no counter `tried`", "declare it under `counters`"],
    );
    refused(("set: { owner: actor.id }", "lease: work"), &["no slot `work`", "declare it under `slots`"]);
    refused(
        ("set: { owner: actor.id }", "effects: [print]"),
        &["no effect `print`", "declare it under `effects`"],
    );
    refused(("set: { owner: actor.id }", "also: { on: boss, fire: close }"), &["declare it under `refs`"]);
    refused(
        ("set: { owner: actor.id }", "then: { fire: close, with: { note: owner } }"),
        &["declare it under its `takes`"],
    );
}

/// Two refs of which the other side knows, one that is deaf, one of many; one counter fades, one does not.
const ORDERED: &str = "\
refs:
  parent: { to: demo.task, by: owner, inverse: kids }
  second: { to: demo.task, by: title, inverse: others }
  deaf:   { to: demo.task, by: title }
  needed: { to: demo.task, by: needs, many: true, inverse: needing }
  silent: { to: demo.task, by: needs, many: true }
counters: { words: { within: 10m }, hits: { last: 5 }, sum: { add: tries } }
slots: { work: { for: 5m } }
relations: { mine: actor.id == owner }
";

fn ordered() -> String {
    GOOD.replace("  tries: {", "  needs: { items: { type: string } }\n  soon: { is: now }\n  tries: {")
        + ORDERED
}

fn ranked(by: &str) -> String {
    format!("{}rankings: {{ r: {{ {by} }} }}\n", ordered())
}

#[test]
fn a_ranking_reads_only_values_whose_changes_are_events() {
    for reads in [
        "in: [OPEN, DOING], when: 'state == \"OPEN\" && previousState == null && visits[\"OPEN\"] < 3'",
        "by: [-tries, createdAt, hits, sum, settings.limit]",
        "when: 'work.held && kids.open == 0 && needing.count == 0'",
        "when: 'needed.CLOSED == needed.count && parent.state == \"DOING\" && parent.kids.open < 3'",
        "within: [parent, deaf], open: 'parent.state == \"OPEN\" && deaf.tries < settings.limit'",
        "within: parent, open: parent.kids.open < 3",
        "for: 'parent.state == \"OPEN\" ? owner : null', claims: start",
    ] {
        compiled(PACK, &ranked(reads)).unwrap_or_else(|said| panic!("{reads}: {said}"));
    }
    let now = &["error[now]", "a ranking cannot depend on the time", "let a timer fire a transition"];
    let asked = &["error[ranking-reads-request]", "the same for every caller", "use `for`"];
    let deaf = &["error[deaf-ranking]", "is not updated when that entity moves", "give the ref an `inverse`"];
    let fades = &["error[fading-counter]", "changes without an event"];
    let told: [(&str, &[&str]); 20] = [
        ("when: createdAt < now", now),
        ("by: timeInState", now),
        ("by: totalTime", now),
        ("by: 'overdue ? 1 : 2'", now),
        ("by: soon", now),
        ("when: human", asked),
        ("when: mine", asked),
        ("when: lead", asked),
        ("for: actor.id", asked),
        ("for: subject.id", asked),
        ("by: reason", asked),
        ("by: was.tries", asked),
        ("when: size(project.people) > 0", asked),
        ("by: r.rank", asked),
        ("by: kids.movedAt", asked),
        ("by: deaf.tries", deaf),
        ("when: deaf == null", deaf),
        ("when: silent.open == 0", deaf),
        ("by: words", fades),
        ("for: 'parent.words > 3 ? owner : null'", fades),
    ];
    for (reads, told) in told {
        told_of(PACK, &ranked(reads), told);
    }
    let by_setting = PACK.replace("limit: 3", "limit: { default: 3, from: deaf.tries }");
    told_of(&by_setting, &ranked("by: settings.limit"), deaf);
}

#[test]
fn an_order_is_kept_within_one_and_opened_by_it() {
    told_of(PACK, &ranked("within: sibling"), &["error[unknown-ref]", "no ref `sibling`"]);
    told_of(PACK, &ranked("within: needed"), &["error[within-many]", "`needed` names many entities"]);
    told_of(PACK, &ranked("within: kids"), &["error[unknown-ref]"]);
    told_of(PACK, &ranked("within: [parent, parent]"), &["error[name-taken]", "`parent` is named twice"]);
    told_of(
        PACK,
        &ranked("open: settings.limit > 2"),
        &["error[open-without-within]", "without `within`, use `when`"],
    );
    let own = &["error[open-reads-entity]", "only the refs in `within`", "in `when`"];
    for open in [
        "tries > 2",
        "state == 'OPEN'",
        "id == 'x'",
        "human",
        "createdAt < now",
        "kids.open == 0",
        "needed.open == 0",
        "hits > 1",
        "second.state == 'OPEN'",
        "parent.hits > 1",
        "work.held",
    ] {
        told_of(PACK, &ranked(&format!("within: parent, open: \"{open}\"")), own);
    }
    let by_setting = PACK.replace("limit: 3", "limit: { default: 3, from: tries }");
    told_of(&by_setting, &ranked("within: parent, open: settings.limit > 2"), own);
}

#[test]
fn a_ranking_needs_its_keys() {
    for (keys, told) in [
        ("in: NOWHERE", &["error[unknown-state]", "`NOWHERE`"][..]),
        ("by: [-tires]", &["unknown name `tires`", "did you mean `tries`?"]),
        ("by: [tries, -ownr]", &["unknown name `ownr`", "did you mean `owner`?"]),
        ("when: tries", &["expected true or false, this gives a whole number"]),
        ("for: tries", &["expected text, this gives a whole number"]),
        ("within: parent, open: parent.state", &["expected true or false"]),
        ("claims: grab", &["error[unknown-transition]", "`grab`"]),
        (
            "in: DOING, claims: start",
            &["error[nothing-to-leave]", "`start` does not leave DOING, so claiming"],
        ),
        ("in: [OPEN, DOING], order: tries", &["error[unknown-key]", "`order` is not a key here"]),
    ] {
        told_of(PACK, &ranked(keys), told);
    }
    let two = |second: &str| {
        format!("{}, s: {{ {second} }} }}\n", ranked("claims: start").trim_end_matches(" }\n"))
    };
    told_of(PACK, &two("claims: start"), &["error[claimed-twice]", "already claims from another ranking"]);
    compiled(PACK, &two("in: DOING, claims: close")).unwrap();
    let named = |name: &str| format!("{}rankings: {{ {name}: {{ by: tries }} }}\n", ordered());
    for name in ["title", "parent", "words", "work", "mine", "lead"] {
        told_of(PACK, &named(name), &["error[name-taken]", "already the name of a"]);
    }
    told_of(PACK, &named("count"), &["error[reserved-name]", "for this ranking"]);
    told_of(PACK, &named("kids"), &["error[name-taken]", "already has a meaning in demo.task"]);
    let read = |what: &str| ranked("by: tries").replace("set: { owner: actor.id }", &format!("when: {what}"));
    compiled(PACK, &read("r.rank == null || r.rank <= r.size")).unwrap();
    told_of(PACK, &read("r.place == 1"), &["unknown name `r.place`"]);
    told_of(PACK, &read("r == 1"), &["unknown name `r`"]);
}

#[test]
fn a_share_is_of_an_order_within_the_one_that_moves_it() {
    let also = |keys: &str| {
        let rankings = "rankings: { r: { by: tries, within: parent }, down: { by: -tries, within: parent }, bare: { within: parent }, two: { by: tries, within: [parent, second] }, all: { by: tries } }\n";
        ordered().replace("set: { owner: actor.id }", &format!("also: {{ {keys}, fire: close }}")) + rankings
    };
    for keys in [
        "each: kids, ranked: r, first: 10%",
        "each: kids, ranked: down, last: 100%, willing: true",
        "each: kids, ranked: bare, first: tries + 1, in: [OPEN]",
        "each: kids, ranked: r, below: tries - settings.limit, soft: true",
    ] {
        compiled(PACK, &also(keys)).unwrap_or_else(|said| panic!("{keys}: {said}"));
    }
    let other = &["error[other-ranking]", "the inverse of the only ref in its `within`"][..];
    let which = &["error[which-part]", "one of `first`, `last` and `below`"][..];
    let order = &["error[no-ranking]", "need a ranking", "name it with `ranked`"][..];
    let below = &["error[below-what]", "needs a ranking whose first `by` has no `-`"][..];
    for (keys, told) in [
        ("each: kids, first: 1", order),
        ("each: kids, below: 3", order),
        ("on: parent, last: 10%", order),
        ("each: kids, ranked: q, first: 1", &["error[unknown-ranking]", "ranking of demo.task called `q`"]),
        ("each: others, ranked: r, first: 1", other),
        ("each: needing, ranked: r, first: 1", other),
        ("each: needed, ranked: r, first: 1", other),
        ("on: parent, ranked: r, first: 1", other),
        ("each: kids, ranked: two, first: 1", other),
        ("each: kids, ranked: all, first: 1", other),
        ("each: kids, ranked: r", which),
        ("each: kids, ranked: r, first: 1, last: 1", which),
        ("each: kids, ranked: r, first: 1, below: 1", which),
        ("each: kids, ranked: r, first: title", &["expected a number, this gives text"]),
        ("each: kids, ranked: r, last: tires", &["unknown name `tires`"]),
        (
            "each: kids, ranked: r, first: 0%",
            &["error[bad-percentage]", "a share must be between 1% and 100%"],
        ),
        ("each: kids, ranked: r, last: 101%", &["error[bad-percentage]"]),
        ("each: kids, ranked: down, below: 3", below),
        ("each: kids, ranked: bare, below: 3", below),
    ] {
        told_of(PACK, &also(keys), told);
    }
}

#[test]
fn leaving_grants_nothing_and_ends_nowhere() {
    let exit = |does: &str| ordered().replace("DOING:  {", &format!("DOING:  {{ exit: {{ {does} }},"));
    compiled(PACK, &exit("set: { tries: tries + 1 }, clear: [owner], release: work, reset: [hits]")).unwrap();
    compiled(PACK, &exit("also: { each: kids, fire: close }, then: close, post: { kind: X, text: '{id}' }"))
        .unwrap();
    let told = &["error[exit-lease]", "cannot grant a lease", "`enter` of the next state"];
    told_of(PACK, &exit("lease: work"), told);
    told_of(PACK, &exit("lease: { slot: work, to: owner }"), told);
    refused(
        ("outcome: success", "outcome: success, exit: { clear: [owner] }"),
        &["error[final-state]", "CLOSED is final, so its `exit` has no effect"],
    );
    let erase =
        |fields: &str| ordered().replace("outcome: success", &format!("outcome: success, erase: [{fields}]"));
    compiled(PACK, &erase("")).unwrap();
    compiled(PACK, &erase("title, owner")).unwrap();
    compiled(PACK, &GOOD.replace("initial: true", "initial: true, known_as: [\"[ ]\", to do]")).unwrap();
    for (twice, meant) in [("DOING:  { known_as: todo,", "OPEN"), ("DOING:  { known_as: CLOSED,", "CLOSED")] {
        let one = GOOD.replace("OPEN:   {", "OPEN: { known_as: todo,").replace("DOING:  {", twice);
        told_of(PACK, &one, &["error[name-taken]", &format!("already stands for {meant}")]);
    }
    refused(
        ("OPEN:   { initial: true", "OPEN: { initial: true, known_as: \" x\""),
        &["error[known-as]", "without leading, trailing"],
    );
    refused(
        ("OPEN:   { initial: true", "OPEN: { initial: true, erase: []"),
        &["error[erase-final]", "OPEN erases, so it must be final"],
    );
    let archives = compiled(PACK, &GOOD.replace("outcome: success", "outcome: success, archive: true"));
    let archived = |it: &trackside_lifecycle::model::Lifecycle| {
        it.states.iter().filter(|it| it.archive).map(|it| it.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        archives.unwrap().lifecycles.iter().flat_map(|it| archived(it)).collect::<Vec<_>>(),
        ["CLOSED"]
    );
    refused(
        ("OPEN:   { initial: true", "OPEN: { initial: true, archive: true"),
        &["error[archive-final]", "OPEN is long-term storage, so it must be final"],
    );
    told_of(
        PACK,
        &format!("{}rankings: {{ r: {{ in: [OPEN, CLOSED] }} }}\n", erase("title")),
        &["error[ranks-erased]", "CLOSED erases the fields that the ranking reads"],
    );
    compiled(PACK, &format!("{}rankings: {{ r: {{ by: tries }} }}\n", erase("title"))).unwrap();
    told_of(PACK, &erase("titel"), &["error[unknown-field]", "did you mean `title`?"]);
    told_of(PACK, &erase("soon"), &["error[unknown-field]", "`soon`"]);
    refused_with("evidence: [start, stop]", &["error[unknown-transition]", "`stop`"]);
    refused_with("evidence: create", &["error[unknown-transition]", "`create`"]);
    compiled(PACK, &format!("{GOOD}evidence: close\n")).unwrap();
}

#[test]
fn readers_and_observers_are_declared_and_filters_keep_out_of_restricted_fields() {
    let with = |more: &str| format!("{GOOD}{more}\n");
    let observe = "relations: { own: actor.id == owner }\n\
                   observe: { by: human || own, since: tries, before: settings.limit, evidence: human, says: 'Ask {owner}' }";
    compiled(PACK, &with(observe)).unwrap();
    let hidden = GOOD.replace("owner: { type: string }", "owner: { type: string, read: human || lead }");
    let pack = compiled(PACK, &hidden).unwrap();
    let task = pack.lifecycles.first().unwrap();
    assert!(!task.is_open_to_all());
    let told = Filter::new(task, "owner == 'ada'").err().unwrap();
    assert!(told[0].to_string().contains("unknown name `owner`"), "{told:?}");
    Filter::new(task, "title == 'x'").unwrap();
    told_of(PACK, &with("observe: { since: tries }"), &["`by`"]);
    told_of(PACK, &with("observe: { by: title }"), &["expected true or false, this gives text"]);
    told_of(
        PACK,
        &with("observe: { by: human, since: title }"),
        &["expected a whole number, this gives text"],
    );
    told_of(PACK, &with("observe: { by: human, before: 5 }"), &["`before` needs `since`"]);
    told_of(PACK, &with("observe: { by: human, until: 5 }"), &["`until` is not a key here"]);
    told_of(
        PACK,
        &GOOD.replace("type: integer,", "type: integer, read: tris > 1,"),
        &["did you mean `tries`?"],
    );
}

#[test]
fn referring_entities_are_listed_by_their_owner_and_counted_elsewhere() {
    let arm = |does: &str| ordered().replace("set: { owner: actor.id }", does);
    for does in [
        "set: { title: digest(kids.all) }",
        "set: { title: string(kids.listed.OPEN) }",
        "also: { on: parent, fire: note, with: { list: kids.all } }",
        "create: { lifecycle: demo.task, id: \"'x'\", fields: { title: string(kids.all) } }",
        "when: parent.kids.open < 3 && kids.movedAt < now",
        "post: { kind: X, each: needs, to: it, from: it, when: it != owner, text: '{it}' }",
        "notify: { audience: people, each: '[1, 2]', to: '[owner]', message: '{it}' }",
        "when: \"index(needs, owner) >= 0 && before(title, '/') != '' && digest(needs) != ''\"",
    ] {
        let noted = arm(does).replace(
            "  close: {",
            "  note: { from: OPEN, by: engine, takes: { list: { type: array } } }\n  close: {",
        );
        compiled(PACK, &noted).unwrap_or_else(|said| panic!("{does}: {said}"));
    }
    for (does, told) in [
        ("when: size(kids.all) > 1", "unknown name `kids.all`"),
        ("when: size(kids.listed.OPEN) > 1", "unknown name `kids.listed`"),
        ("set: { title: string(kids.listed) }", "kids.listed.OPEN"),
        ("set: { title: string(kids.listed.OPN) }", "did you mean `kids.listed.OPEN`?"),
        ("set: { title: string(needed.listed.OPEN) }", "unknown name `needed.listed`"),
        ("then: { fire: close, for: tries }", "expected text"),
        ("post: { kind: X, text: '{kids.all}' }", "unknown name `kids.all`"),
        ("post: { kind: X, each: kids.all, text: x }", "unknown name `kids.all`"),
        ("set: { title: string(needed.all) }", "unknown name `needed.all`"),
        ("set: { title: string(parent.kids.all) }", "unknown name `parent.kids.all`"),
        ("when: needed.movedAt < now", "unknown name `needed.movedAt`"),
        ("when: parent.kids.movedAt < now", "unknown name `parent.kids.movedAt`"),
        ("when: parent.kids.NOWHERE > 1", "unknown name `parent.kids.NOWHERE`"),
        ("when: parent.kids > 1", "unknown name `parent.kids`"),
        ("post: { kind: X, text: '{it}' }", "unknown name `it`"),
        ("post: [ { kind: X, each: needs, text: x }, { kind: X, text: '{it}' } ]", "unknown name `it`"),
        ("post: { kind: X, each: title, text: x }", "expected a list"),
        ("when: 'index(title, owner) >= 0'", "`index` needs a list, this gives text"),
        ("when: \"before(tries, '/') == ''\"", "`before` needs text, this gives a whole number"),
        ("when: 'digest(title, 1) == owner'", "`digest` does not take 2 values"),
    ] {
        told_of(PACK, &arm(does), &[told]);
    }
    told_of(
        PACK,
        &format!("{}reactions: {{ q: {{ when: r.rank > 3, fire: close }} }}\n", ranked("by: tries")),
        &["error[deaf-reaction]", "does not run when others move past", "`also` with `ranked`"],
    );
    compiled(PACK, &format!("{}reactions: {{ q: {{ when: parent.tries > 3, fire: close }} }}\n", ordered()))
        .unwrap();
}

#[test]
fn a_field_may_be_called_agent_and_then_it_is_the_field() {
    let called = GOOD
        .replace("owner: {", "agent: {")
        .replace("set: { owner: actor.id }", "set: { agent: actor.id }, when: agent == null");
    compiled(PACK, &called).unwrap();
    told_of(
        PACK,
        &called.replace("by: human }", "by: agent }"),
        &["expected true or false, this gives text"],
    );
    told_of(
        PACK,
        &format!("{called}refs: {{ agent: {{ to: demo.task, by: agent }} }}\n"),
        &["error[name-taken]", "`agent` is already the name of a field"],
    );
    for name in ["human", "system", "it", "count"] {
        refused(("owner: {", &format!("{name}: {{")), &["error[reserved-name]", "is a reserved word"]);
    }
}

#[test]
fn a_query_gives_rows_or_values() {
    let with = |queries: &str| {
        compiled(
            &format!(
                "{PACK}queries: {{ rows: {{ of: demo.task }}, mine: {{ of: demo.task, takes: {{ who: {{ type: string }} }}, where: owner == ask.who }}, values: {{ answers: {{ n: 1 }} }}, story: {{ of: demo.task, takes: {{ who: {{ type: string }} }}, history: ask.who }}, {queries} }}\n"
            ),
            &ranked("for: owner"),
        )
    };
    for fine in [
        "q: { of: demo.task, ranked: r }",
        "q: { of: demo.task, ranked: r, takes: { who: { type: string } }, for: ask.who, where: tries > 1 }",
        "q: { counts: rows, answers: { none: count.rows == 0, limit: settings.limit } }",
        "q: { takes: { who: { type: string } }, counts: [rows, mine], answers: { n: count.rows - count.mine, who: ask.who } }",
        "q: { of: demo.task, takes: { who: { type: string } }, history: ask.who, line: { was: it.from, who: ask.who, by: owner } }",
        "q: { of: demo.task, where: tries > 0, groups: { a: { by: { state: state } }, b: { each: needs, by: { need: it, owner: owner }, measure: { tries: tries } } } }",
    ] {
        with(fine).unwrap_or_else(|said| panic!("{fine}: {said}"));
    }
    for (query, told) in [
        ("q: { where: tries > 1 }", &["error[missing-key]", "has no `of`"][..]),
        ("q: { of: demo.tsk }", &["error[unknown-lifecycle]", "`demo.tsk`"]),
        ("q: { of: demo.task, ranked: s }", &["error[unknown-ranking]", "no ranking `s`"]),
        ("q: { of: demo.task, for: \"'x'\" }", &["error[no-ranking]", "`for` needs a ranking"]),
        (
            "q: { of: demo.task, ranked: r, for: owner }",
            &["error[for-whom]", "evaluated once", "`for: ask.agent`"],
        ),
        ("q: { of: demo.task, ranked: r, for: string(settings.limit) }", &["error[for-whom]"]),
        ("q: { of: demo.task, ranked: r, for: 3 }", &["expected text"]),
        ("q: { of: demo.task, ranked: r, order: [title] }", &["error[two-orders]", "leave out `order`"]),
        ("q: { of: demo.task, ranked: r, history: \"'x'\" }", &["error[two-orders]", "leave out `ranked`"]),
        ("q: { of: demo.task, history: \"'x'\", where: it.form != null }", &["it.form", "from"]),
        ("q: { of: demo.task, where: it.from != null }", &["`it`"]),
        (
            "q: { of: demo.task, history: \"'x'\", where: parent.state == 'OPEN' }",
            &["error[history-where]", "cannot read other entities"],
        ),
        ("q: { of: demo.task, history: \"'x'\", line: { was: it.form } }", &["it.form", "from"]),
        (
            "q: { of: demo.task, line: { was: state } }",
            &["error[line-alone]", "`line` only works with `history`", "leave out `line`"],
        ),
        ("q: { answers: { n: 1 }, line: { n: '1' } }", &["error[answers-alone]", "has no rows"]),
        (
            "q: { of: demo.task, counts: rows }",
            &["error[counts-alone]", "`counts` only works with `answers`"],
        ),
        (
            "q: { of: demo.task, order: title, groups: { a: { by: { state: state } } } }",
            &["error[groups-alone]", "has tables instead of rows"],
        ),
        ("q: { of: demo.task, groups: { a: { by: { it: it } } } }", &["unknown name `it`"]),
        ("q: { of: demo.task, groups: { a: { each: title, by: { it: it } } } }", &["expected a list"]),
        ("q: { of: demo.task, groups: { a: { by: { count: tries } } } }", &["error[column-count]"]),
        (
            "q: { of: demo.task, groups: { a: { by: { n: tries }, measure: { n: tries } } } }",
            &["error[column-twice]", "`n` is already a name of `by`"],
        ),
        ("q: { of: demo.task, groups: { a: { measure: { n: title } } } }", &["expected a number"]),
        (
            "t: { of: demo.task, groups: { a: { by: { state: state } } } }, q: { counts: t, answers: { n: 1 } }",
            &["error[counts-rows]", "`t` has no rows"],
        ),
        ("q: { counts: rws, answers: { n: 1 } }", &["error[unknown-query]", "did you mean `rows`?"]),
        ("q: { counts: values, answers: { n: 1 } }", &["error[counts-rows]", "`values` has no rows"]),
        (
            "q: { counts: story, takes: { who: { type: string } }, answers: { n: 1 } }",
            &["error[counts-rows]", "`story` has no rows"],
        ),
        (
            "q: { counts: mine, answers: { n: 1 } }",
            &["error[counts-rows]", "`mine` takes the parameter `who`, which is not given here"],
        ),
        (
            "q: { counts: mine, takes: { who: { type: integer } }, answers: { n: 1 } }",
            &["error[counts-rows]", "`mine` takes the parameter `who`"],
        ),
        ("q: { answers: { n: count.rows } }", &["unknown name `count.rows`"]),
        ("q: { answers: { n: ask.who } }", &["unknown name `ask.who`"]),
        ("q: { answers: { n: settings.lmit } }", &["unknown name `settings.lmit`", "settings.limit"]),
        ("q: { answers: { n: title } }", &["unknown name `title`"]),
        ("q: { answers: { n: now } }", &["unknown name `now`"]),
        (
            "q: { counts: rows, answers: { n: 'count.rows > \"x\"' } }",
            &["cannot compare a whole number with text"],
        ),
    ] {
        let Err(said) = with(query) else { panic!("accepted: {query}") };
        for words in told {
            assert!(said.contains(words), "{query}: expected {words:?} in\n{said}");
        }
    }
    for alone in [
        "groups: { a: { by: { x: 1 } } }",
        "of: demo.task",
        "ranked: r",
        "where: 'true'",
        "history: \"'x'\"",
        "for: \"'x'\"",
        "order: title",
    ] {
        let said = with(&format!("q: {{ {alone}, answers: {{ n: 1 }} }}")).err().unwrap();
        assert!(said.contains("error[answers-alone]"), "{alone}: {said}");
    }
}

#[test]
fn a_heartbeat_checks_the_invariants_of_its_entity_and_of_single_refs() {
    let slot = |of: &str| ordered().replace("{ for: 5m }", &format!("{{ for: 5m, invariants: {of} }}"));
    compiled(PACK, &slot("this")).unwrap();
    compiled(PACK, &slot("[this, parent]")).unwrap();
    told_of(PACK, &slot("[parnt]"), &["error[unknown-ref]", "did you mean `parent`?"]);
    told_of(PACK, &slot("[needed]"), &["error[on-or-each]", "`needed` names many entities"]);
}

#[test]
fn the_request_of_a_policy_names_queries_and_transitions() {
    let with = |request: &str| {
        compiled(
            &format!(
                "{PACK}queries: {{ mine: {{ of: demo.task, takes: {{ agent: {{ type: string }} }}, where: owner == ask.agent }}, asked: {{ of: demo.task, takes: {{ entity: {{ type: string }}, arguments: {{ type: any }} }}, where: id == ask.entity && string(ask.arguments) == title }}, values: {{ answers: {{ n: 1 }} }}, far: {{ of: demo.task, takes: {{ zone: {{ type: string }} }} }} }}\npolicy: {{ levels: [LOW], unknown: LOW, rules: [], roles: {{}}, tools: {{}}, request: {{ {request} }} }}\n"
            ),
            &GOOD.replace("to: CLOSED, by: human", "to: CLOSED, by: human, takes: [title]"),
        )
    };
    let fine = "work: mine, fire: close, use: close, approvals: asked, with: { title: 'action + level + why + string(arguments)' }";
    with(fine).unwrap_or_else(|said| panic!("{fine}: {said}"));
    for (from, to, told) in [
        ("work: mine", "work: mne", &["error[unknown-query]", "did you mean `mine`?"][..]),
        (
            "work: mine",
            "work: far",
            &["error[policy-request]", "takes the parameter `zone`", "it can take agent"],
        ),
        ("work: mine", "work: values", &["error[policy-request]", "`values` has no rows"]),
        ("approvals: asked", "approvals: askd", &["error[unknown-query]"]),
        ("fire: close", "fire: clse", &["error[unknown-transition]", "has no transition `clse`"]),
        ("use: close", "use: clos", &["error[unknown-transition]", "did you mean `close`?"]),
        ("title:", "owner:", &["error[policy-request]", "neither `close` nor `close` takes `owner`"]),
        ("action +", "acton +", &["unknown name `acton`"]),
    ] {
        let said = with(&fine.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} was accepted"));
        for word in told {
            assert!(said.contains(word), "{to}: {said}");
        }
    }
}

#[test]
fn supervision_has_a_rule_for_every_exit() {
    let with = |rules: &str| {
        compiled(
            &format!(
                "{PACK}queries: {{ rows: {{ of: demo.task, takes: {{ agent: {{ type: string }}, role: {{ type: string }} }}, where: owner == ask.agent || title == ask.role }}, values: {{ answers: {{ n: 1 }} }}, story: {{ of: demo.task, takes: {{ agent: {{ type: string }} }}, history: ask.agent }}, far: {{ of: demo.task, takes: {{ zone: {{ type: string }} }} }}, odd: {{ of: demo.task, takes: {{ agent: {{ type: integer }} }} }} }}\nsupervise: {{ {rules} }}\n"
            ),
            &GOOD.replace("to: CLOSED, by: human", "to: CLOSED, by: human, takes: [title]"),
        )
    };
    for fine in [
        "lead: { exits: { other: stop } }",
        "lead: { exits: { 42: { restart: 2s }, other: stop }, stopped: 42 }",
        "lead: { exits: { 0: stop, 255: { restart: 2s }, other: { restart: settings.wait, most: 1h, growth: 1.5, limit: settings.limit } }, work: rows, ends: rows, holds: rows, waits: [ { while: rows, for: 5s, most: 1m, says: '{n} left' } ], reruns: 3, gives_up: { on: demo.task, fire: close, with: { title: 'string(exit + restarts)' } } }",
    ] {
        with(fine).unwrap_or_else(|said| panic!("{fine}: {said}"));
    }
    let other = &["error[missing-key]", "has no `other`", "`other: stop`"][..];
    for (rules, told) in [
        ("boss: { exits: { other: stop } }", &["error[unknown-role]", "no role `boss`"][..]),
        ("lead: {}", other),
        ("lead: { exits: { 0: stop } }", other),
        ("lead: { exits: { other: halt } }", &["error[bad-exit]", "not an action", "`{ restart: 2s }`"]),
        (
            "lead: { exits: { 256: stop, other: stop } }",
            &["error[bad-exit]", "`256` is not an exit code", "0 to 255"],
        ),
        ("lead: { exits: { other: stop }, stopped: 256 }", &["error[bad-exit]", "`256` is not an exit code"]),
        ("lead: { exits: { -1: stop, other: stop } }", &["error[bad-exit]", "`-1` is not an exit code"]),
        ("lead: { exits: { 7: stop, 07: stop, other: stop } }", &["error[bad-exit]", "`07` is named twice"]),
        ("lead: { exits: { other: { restart: 5s, limit: 0 } } }", &["error[bad-exit]", "at least 1"]),
        (
            "lead: { exits: { other: { restart: 5 } } }",
            &["expected a length of time, this gives a whole number"],
        ),
        ("lead: { exits: { other: { restart: 5s, most: settings.limit } } }", &["expected a length of time"]),
        ("lead: { exits: { other: { restart: 5s, limit: settings.wait } } }", &["expected a whole number"]),
        (
            "lead: { exits: { other: { restart: 5s, limt: 3 } } }",
            &["error[unknown-key]", "Did you mean `limit`?"],
        ),
        ("lead: { exits: { other: stop }, reruns: tries }", &["unknown name `tries`"]),
        ("lead: { exits: { other: stop }, work: rws }", &["error[unknown-query]", "did you mean `rows`?"]),
        ("lead: { exits: { other: stop }, ends: rws }", &["error[unknown-query]"]),
        ("lead: { exits: { other: stop }, holds: rws }", &["error[unknown-query]"]),
        ("lead: { exits: { other: stop }, waits: [ { while: rws, for: 5s } ] }", &["error[unknown-query]"]),
        ("lead: { exits: { other: stop }, ends: values }", &["error[counts-rows]", "`values` has no rows"]),
        ("lead: { exits: { other: stop }, holds: story }", &["error[counts-rows]", "`story` has no rows"]),
        (
            "lead: { exits: { other: stop }, work: far }",
            &["error[counts-rows]", "takes the parameter `zone`"],
        ),
        (
            "lead: { exits: { other: stop }, waits: [ { while: odd, for: 5s } ] }",
            &["error[counts-rows]", "takes the parameter `agent`"],
        ),
        (
            "lead: { exits: { other: { restart: 5s } }, waits: [ { while: rows, for: 5s } ] }",
            &["error[no-stop]", "`waits` has no effect"],
        ),
        (
            "lead: { exits: { other: { restart: 5s } }, gives_up: { on: demo.task, fire: close } }",
            &["error[no-limit]", "`gives_up` can never happen"],
        ),
        (
            "lead: { exits: { other: stop }, reruns: 3, gives_up: { on: demo.tsk, fire: close } }",
            &["error[unknown-lifecycle]"],
        ),
        (
            "lead: { exits: { other: stop }, reruns: 3, gives_up: { on: demo.task, fire: clse } }",
            &["error[unknown-transition]", "`clse`"],
        ),
        (
            "lead: { exits: { other: stop }, reruns: 3, gives_up: { on: demo.task, fire: close, with: { owner: exit } } }",
            &["error[unknown-field]", "does not take `owner`"],
        ),
        (
            "lead: { exits: { other: stop }, reruns: 3, gives_up: { on: demo.task, fire: close, with: { title: agent } } }",
            &["unknown name `agent`"],
        ),
    ] {
        let Err(said) = with(rules) else { panic!("accepted: {rules}") };
        for words in told {
            assert!(said.contains(words), "{rules}: expected {words:?} in\n{said}");
        }
    }
}

/// A face names the transitions and fields it goes by; without a word they are found.
#[test]
fn a_face_names_the_transitions_that_decide() {
    let request = "\
lifecycle: demo.task
FACE
fields: { why: { type: string }, note: { type: string }, soon: { type: boolean } }
create: { by: agent }
states:
  ASKED: { initial: true }
  GIVEN: { final: true, outcome: success }
  KEPT:  { final: true, outcome: failure }
transitions:
  give:   { from: ASKED, to: GIVEN, by: human }
  keep:   { from: ASKED, to: KEPT, by: human }
  expire: { from: ASKED, to: KEPT, by: engine }
";
    let face = |words: &str| {
        let pack = compiled(PACK, &request.replace("FACE", words)).unwrap_or_else(|it| panic!("{it}"));
        let face = pack.lifecycles.first().unwrap().face.clone().unwrap();
        [face.approve, face.deny, face.note, face.urgent]
            .map(|it| it.map(|it| it.to_string()).unwrap_or_default())
    };
    assert_eq!(face("face: approval"), ["give", "keep", "note", ""], "by how they end");
    assert_eq!(
        face("face: { is: approval, approve: keep, deny: give, note: why, urgent: soon }"),
        ["keep", "give", "why", "soon"]
    );
    assert_eq!(face("face: work"), ["", "", "", ""]);
    let told = |words: &str| compiled(PACK, &request.replace("FACE", words)).err().unwrap();
    assert!(told("face: aproval").contains("did you mean `approval`?"));
    assert!(told("face: { is: approval, approve: giv }").contains("no transition of demo.task called `giv`"));
    assert!(told("face: { is: approval, urgent: son }").contains("did you mean `soon`?"));
    assert!(told("face: { is: work, approve: give }").contains("only allowed with `is: approval`"));

    let usual = request.replace("  give:", "  approve:").replace("FACE", "face: approval");
    let more = usual.replace("  expire:", "  give: { from: ASKED, to: GIVEN, by: human }\n  expire:");
    let approve =
        |text: &str| compiled(PACK, text).unwrap().lifecycles.first().unwrap().face.clone().unwrap().approve;
    assert_eq!(approve(&more).as_deref(), Some("approve"), "by its name");
    assert_eq!(approve(&more.replace("  approve:", "  allow:")), None, "two could be meant");
}

const WORKED: &str = "\
lifecycle: demo.task
fields:
  title:  { type: string }
  commit: { type: string }
  size:   { type: integer }
create: { by: human }
states: { OPEN: { initial: true }, DOING: {}, CLOSED: { final: true, outcome: success } }
transitions:
  start: { from: OPEN, to: DOING, by: lead, lease: desk }
  close: { from: DOING, to: CLOSED, by: lead, takes: { commit: Which commit, size: {} } }
slots: { desk: { for: 5m, lost: close } }
rankings: { open: { in: [OPEN], claims: start } }
work:
  lead:
    claim: start
    ask: 'You are {agent} ({role}): {title}'
    offers: [close]
    creates: [demo.task]
    feedback: title
    handoff: 'size == null ? null : {\"size\": size}'
    done: { fire: close, with: { commit: run.commit, size: run.output }, when: run.commit != null, reason: run.exitText }
    failed: close
    agent: { in: demo.task, with: { title: agent + role }, ready: start, leave: close }
";

#[test]
fn work_is_compiled() {
    let pack = compiled(PACK, WORKED).unwrap_or_else(|it| panic!("{it}"));
    let life = pack.lifecycles.first().unwrap();
    let work = life.work.get("lead").unwrap();
    assert!(life.claims_by_ranking(work));
    assert_eq!((work.claim.as_deref(), work.query.as_deref()), (Some("start"), None));
    let steps: Vec<(&str, &str)> =
        work.events.iter().map(|(step, event)| (step.as_str(), event.fire.as_str())).collect();
    assert_eq!(steps, [("done", "close"), ("failed", "close")]);
    assert_eq!(work.creates, ["demo.task"]);
    let agent = work.agent.as_ref().unwrap();
    assert_eq!((agent.ready.as_deref(), agent.leave.as_deref()), (Some("start"), Some("close")));
    // Every agent, without a role.
    let every = WORKED.replace("  lead:\n", "  agent:\n");
    assert!(compiled(PACK, &every).is_ok());
}

/// A mistake in `work` is found with its place and a hint.
#[test]
fn work_is_checked() {
    for (from, to, told) in [
        ("  lead:\n", "  leed:\n", &["error[unknown-role]", "did you mean `lead`?"][..]),
        (
            "claim: start\n    ask",
            "claim: strat\n    ask",
            &["error[unknown-transition]", "did you mean `start`?"],
        ),
        ("offers: [close]", "offers: [clos]", &["error[unknown-transition]", "did you mean `close`?"]),
        (
            "creates: [demo.task]",
            "creates: [demo.tusk]",
            &["error[unknown-lifecycle]", "did you mean `demo.task`?"],
        ),
        ("failed: close", "failed: clos", &["error[unknown-transition]", "did you mean `close`?"]),
        ("{title}'", "{titel}'", &["unknown name `titel`", "did you mean `title`?", "task.yaml:16:"]),
        ("{title}'", "{title'", &["`{` is never closed"]),
        ("{title}'", "{run.commit}'", &["unknown name `run`"]),
        ("feedback: title", "feedback: titel", &["did you mean `title`?"]),
        ("commit: run.commit,", "comit: run.commit,", &["error[unknown-field]", "did you mean `commit`?"]),
        ("run.commit, size", "run.comit, size", &["`comit`", "did you mean `commit`?"]),
        ("size: run.output", "size: run.exitText", &["expected a whole number, this gives text"]),
        ("when: run.commit != null", "when: run.commit", &["expected true or false"]),
        (
            "in: demo.task, with",
            "in: demo.tusk, with",
            &["error[unknown-lifecycle]", "did you mean `demo.task`?"],
        ),
        (
            "title: agent + role",
            "tilte: agent + role",
            &["error[unknown-field]", "it takes commit, size, title"],
        ),
        ("title: agent + role", "size: agent + role", &["expected a whole number, this gives text"]),
        ("leave: close", "leave: closed", &["error[unknown-transition]", "did you mean `close`?"]),
        ("{agent} (", "{desk.fence} (", &["error[fence-shown]", "cannot contain a fence"]),
        ("claim: start\n    ask", "ask", &["error[no-work]", "`query: NAME`"]),
        ("claim: start\n    ask", "query: rows\n    ask", &["error[unknown-query]", "no query `rows`"]),
    ] {
        assert!(WORKED.contains(from), "{from}");
        let said = match compiled(PACK, &WORKED.replacen(from, to, 1)) {
            Ok(_) => panic!("{to} was accepted"),
            Err(said) => said,
        };
        told.iter().for_each(|it| assert!(said.contains(it), "expected {it:?} in\n{said}"));
    }
    // Several at once.
    let twice = WORKED.replace("{title}'", "{titel}'").replace("failed: close", "failed: clos");
    let said = compiled(PACK, &twice).err().unwrap();
    assert!(said.contains("titel") && said.contains("clos"), "{said}");
}

#[test]
fn control_files_are_checked() {
    let queries = "queries: { open: { of: demo.task, where: state == \"OPEN\" }, ended: { of: demo.task, where: state == \"CLOSED\" }, far: { of: demo.task, takes: { zone: { type: string } }, where: title == ask.zone } }\n";
    let with = |control: &str| compiled(&format!("{PACK}{queries}control: {{ {control} }}\n"), GOOD);
    let pack = with("PAUSE: { on: open, fire: start, undo: close, while: ended }").unwrap();
    let file = pack.control.first().unwrap();
    assert_eq!(
        (file.name.as_str(), file.fire.as_str(), file.undo.as_deref()),
        ("PAUSE", "start", Some("close"))
    );
    for (control, told) in [
        ("pause: { on: open, fire: start, while: ended }", "error[bad-file-name]"),
        ("A/B: { on: open, fire: start, while: ended }", "error[bad-file-name]"),
        ("PAUSE: { on: opn, fire: start, while: ended }", "did you mean `open`?"),
        ("PAUSE: { on: open, fire: strat, while: ended }", "did you mean `start`?"),
        ("PAUSE: { on: open, fire: start, undo: clos, while: ended }", "did you mean `close`?"),
        ("PAUSE: { on: far, fire: start, while: ended }", "takes the parameter `zone`"),
        ("PAUSE: { on: open, fire: start }", "while"),
    ] {
        let said = with(control).err().unwrap_or_else(|| panic!("{control} was accepted"));
        assert!(said.contains(told), "expected {told:?} in\n{said}");
    }
}

/// What a state means and whom it waits for, as declared or derived.
#[test]
fn a_state_shows_its_meaning_and_waits_for_people() {
    let order = "\
lifecycle: demo.order
title: what
card: [price, tries]
path: [ASKED, CHECKED, SENT]
fields: { what: { type: string }, price: { type: number } }
create: { by: agent }
states:
  ASKED:   { initial: true }
  CHECKED: {MORE}
  PACKING: {}
  LOST:    { shows: stuck }
  SENT:    { final: true, outcome: success }
  REFUSED: { final: true, outcome: failure }
  STOPPED: { final: true }
transitions:
  check:   { from: ASKED, to: CHECKED, by: human || agent }
  release: { from: CHECKED, to: SENT, by: human }
  return:  { from: CHECKED, to: ASKED, by: human && lead }
  stop:    { from: [CHECKED, PACKING], to: STOPPED, by: human || system }
  pack:    { from: PACKING, to: SENT, by: agent, holding: work }
  find:    { from: LOST, to: PACKING, by: human, lease: work }
  lose:    { from: LOST, to: STOPPED, by: engine }
timers: { late: { after: 2h, runs: CHECKED, then: give_up } }
counters: { tries: {} }
slots: { work: { for: 10m } }
";
    let order = order.replace("  lose:", "  give_up: { from: CHECKED, to: REFUSED, by: engine }\n  lose:");
    let of = |more: &str| {
        let pack = compiled(PACK, &order.replace("{MORE}", more)).unwrap_or_else(|it| panic!("{it}"));
        pack.lifecycles.first().unwrap().clone()
    };
    let life = of("{}");
    assert_eq!((life.title.as_deref(), life.card.len(), life.path.len()), (Some("what"), 2, 3));
    let shows: Vec<&str> = life.states.iter().map(|it| life.meaning(it).word()).collect();
    assert_eq!(shows, ["waiting", "review", "working", "stuck", "done", "failed", "ended"]);
    let waiting = |life: &trackside_lifecycle::model::Lifecycle| -> Vec<String> {
        life.states.iter().filter(|it| life.waits_for_people(it)).map(|it| it.name.to_string()).collect()
    };
    // CHECKED: a timer and a system may end it too. LOST: the engine moves it without a timer.
    assert_eq!(waiting(&life), ["CHECKED"]);
    let decision = |life: &trackside_lifecycle::model::Lifecycle| {
        let it = life.decision(life.state("CHECKED").unwrap());
        [it.approve, it.deny].map(|it| it.map(|it| it.to_string()).unwrap_or_default())
    };
    assert_eq!(decision(&life), ["release", "return"], "forward and back in the path");
    assert_eq!(waiting(&of("{ waits_for: nobody }")), Vec::<String>::new());
    assert_eq!(decision(&of("{ waits_for: { approve: return } }")), ["return", ""]);
    assert_eq!(waiting(&of("{ waits_for: people }")), ["CHECKED"]);

    let told = |from: &str, to: &str| {
        assert!(order.contains(from), "{from}");
        let text = order.replacen(from, to, 1).replace("{MORE}", "{}");
        compiled(PACK, &text).err().unwrap_or_else(|| panic!("{to} was accepted"))
    };
    for (from, to, words) in [
        ("title: what", "title: wat", "did you mean `what`?"),
        ("title: what", "title: price", "which is not a title"),
        ("card: [price, tries]", "card: [pric]", "no field or counter `pric`"),
        ("card: [price, tries]", "card: [tris]", "did you mean `tries`?"),
        ("card: [price, tries]", "card: [price, price]", "in this list twice"),
        ("path: [ASKED", "path: [ASKD", "did you mean `ASKED`?"),
        ("path: [ASKED", "path: [SENT", "in this list twice"),
        ("shows: stuck", "shows: stuk", "Did you mean `stuck`?"),
        ("shows: stuck", "waits_for: peple", "Did you mean `people`?"),
        ("shows: stuck", "waits_for: { approve: fnd }", "did you mean `find`?"),
        ("shows: stuck", "waits_for: { approve: pack }", "does not leave LOST"),
        ("shows: stuck", "waits_for: { aprove: find }", "Did you mean `approve`?"),
    ] {
        let said = told(from, to);
        assert!(said.contains(words), "{to}: expected {words:?} in\n{said}");
    }
}

/// `tools` of a state, `alerts` of a lifecycle and texts of a policy: what is wrong is said with its place.
#[test]
fn tools_of_a_state_and_conditions_of_alerts_are_checked() {
    let policy = "\
policy:
  levels: [LOW, HIGH]
  unknown: HIGH
  rules:
    - { action: read, level: LOW, why: 'Reading {action}' }
    - { action: [shell], level: HIGH, counts_as: test }
  tools: { Read: { action: read }, Write: { action: write } }
";
    let pack = format!("{PACK}{policy}");
    let pump = "\
lifecycle: demo.order
create: { by: human }
states: { OPEN: { initial: true, tools: { allow: [read, test] } }, SHUT: { tools: { deny: write } } }
transitions:
  close: { from: OPEN, to: SHUT, by: human, alert: { kind: shut, severity: warning, message: It is shut } }
alerts: { shut: state == \"SHUT\" }
";
    let found = compiled(&pack, pump).unwrap_or_else(|it| panic!("{it}"));
    let life = found.lifecycles.first().unwrap();
    let words: Vec<String> = life.states.iter().map(|it| it.tools.as_ref().unwrap().in_words()).collect();
    assert_eq!(words, ["only read and test", "all but write"]);
    for (from, to, expected) in [
        ("allow: [read, test]", "allow: [raed]", "did you mean `read`?"),
        ("allow: [read, test]", "{}", "needs either `allow` or `deny`"),
        ("allow: [read, test]", "allow: [read], deny: [write]", "needs either `allow` or `deny`"),
        ("shut: state", "shot: state", "did you mean `shut`?"),
        ("state == \"SHUT\"", "'stateEnteredAt < now'", "cannot depend on the time"),
        ("state == \"SHUT\"", "state", "expected"),
    ] {
        let text = pump.replacen(from, to, 1).replace("{ {} }", "{}");
        let said = compiled(&pack, &text).err().unwrap_or_else(|| panic!("{to} was accepted"));
        assert!(said.to_lowercase().contains(expected), "{to}: expected {expected:?} in\n{said}");
    }
    let said = compiled(PACK, pump).err().unwrap();
    assert!(said.contains("limits a policy, and the pack has none"), "{said}");
    let said = compiled(&pack.replace("{action}", "{acton}"), pump).err().unwrap();
    assert!(said.contains("action"), "{said}");
}

/// The states of the packs that people find in their inbox. A new one needs a thought: does it wait for people?
#[test]
fn the_packs_wait_for_people_in_these_states() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let packs = ["../../packs/build", "../../packs/coding", "../../packs/mission", "../../packs/research"];
    let more = ["../../packs/turns", "../server/access", "../server/fleet"];
    let mut found = Vec::new();
    for folder in packs.iter().chain(&more).map(|it| root.join(it)) {
        let mut sources = Sources::default();
        let mut add = |path: &std::path::Path| {
            sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap())
        };
        let pack = add(&folder.join("pack.yaml"));
        let files = std::fs::read_dir(folder.join("lifecycles")).unwrap().map(|it| it.unwrap().path());
        let mut files: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "yaml")).collect();
        files.sort();
        let lifecycles = files.iter().map(|it| add(it)).collect();
        let Ok((pack, _)) = compile(&sources, &PackFiles { pack, lifecycles }) else { panic!("{folder:?}") };
        for life in &pack.lifecycles {
            for state in life.states.iter().filter(|it| life.waits_for_people(it)) {
                let it = life.decision(state);
                let by = [it.approve, it.deny].map(|it| it.map(|it| it.to_string()).unwrap_or_default());
                found.push(format!("{} {} {}", life.name, state.name, by.join("|")));
            }
        }
    }
    insta::assert_snapshot!(found.join("\n"), @r"
    build.task human_escalation complete|abandon
    coding.approval PENDING approve|deny
    coding.sprint CHECKPOINT continue|
    coding.task BLOCKED |abandon
    mission.agent QUARANTINED |
    mission.task REVIEW approve|revise
    mission.task BLOCKED |
    research.hypothesis QUARANTINED |
    research.session PAUSED |
    fleet.account SUSPENDED |
    ");
}
