use crate::guard::test_scope::task;
use crate::guard::{Guard, Type};
use crate::value::Value;

fn mistake(source: &str, expected: &[&str]) {
    assert_eq!(task().mistakes(source), expected, "{source}");
}

#[test]
fn all_unknown_names_are_reported_with_suggestions() {
    mistake(
        "revewCycles < 3 && titel == 'é' && whatever",
        &[
            "unknown name `revewCycles` @ revewCycles (did you mean `reviewCycles`?)",
            "unknown name `titel` @ titel (did you mean `title`?)",
            "unknown name `whatever` @ whatever",
        ],
    );
    mistake("plan.bulets.size() > 0", &["unknown member `bulets` @ bulets (did you mean `bullets`?)"]);
    mistake("plan['bulets'] == null", &["unknown member `bulets` @ 'bulets' (did you mean `bullets`?)"]);
    mistake("'é' == title.x", &["text has no member `x` @ x"]);
    mistake("sise(title) > 0", &["unknown function `sise` @ sise (did you mean `size`?)"]);
    mistake(
        "title.startWith(x)",
        &["unknown function `startWith` @ startWith (did you mean `startsWith`?)", "unknown name `x` @ x"],
    );
    mistake(".title == 'x'", &["a name does not begin with a dot @ title"]);
}

#[test]
fn types_that_do_not_go_together() {
    mistake("title == 3", &["text is never equal to a whole number @ title == 3"]);
    mistake("open == 'true'", &["true or false is never equal to text @ open == 'true'"]);
    mistake(
        "title + 1",
        &["cannot add text and a whole number @ title + 1 (`string(x)` turns a value into text)"],
    );
    mistake("title - title", &["cannot subtract text from text @ title - title"]);
    mistake("since + since", &["cannot add a moment and a moment @ since + since"]);
    mistake("score % 2", &["cannot take the remainder of a number by a whole number @ score % 2"]);
    mistake("reviewCycles < null", &["cannot compare a whole number with nothing @ reviewCycles < null"]);
    mistake("now < lease", &["cannot compare a moment with a length of time @ now < lease"]);
    mistake("!title", &["expected true or false, this gives text @ title (compare it, as in `x == \"…\"`)"]);
    mistake("-title", &["cannot negate text @ title"]);
    mistake(
        "open && numbers",
        &[
            "expected true or false, this gives a list, each a whole number @ numbers (ask for its size, as in `size(x) > 0`)",
        ],
    );
    mistake("numbers['a']", &["a list index must be a whole number, this is text @ 'a'"]);
    mistake("labels[1]", &["a key of a map is text, this is a whole number @ 1"]);
    mistake("title[0]", &["text cannot be indexed @ title"]);
    mistake("3 in assigneeIds", &["a whole number is never in a list, each text @ 3 in assigneeIds"]);
    mistake("'x' in title", &["`in` cannot search text @ title (write `text.contains(part)`)"]);
    mistake("{1: 2}", &["a key of a map is text, this is a whole number @ 1"]);
    mistake("{'a': 1, 'a': 2}", &["the map has the key `a` twice @ 'a'"]);
    mistake("1u + 2", &["there are no unsigned numbers @ 1u (write it without the `u`)"]);
    mistake("b'x' == null", &["there are no bytes, only text @ b'x' (write it without the `b`)"]);
    mistake("Some{a: 1}", &["this form is not supported @ {a: 1}"]);
    // Null is compatible with every type.
    mistake("title == null && null != numbers && open == null", &[]);
    mistake("reviewCycles == 2.5 && extra == 1 && 'a' == extra", &[]);
}

#[test]
fn words_of_a_choice() {
    mistake(
        "state == 'REVEW'",
        &["`REVEW` is not one of INBOX, REVIEW, DONE @ 'REVEW' (did you mean `\"REVIEW\"`?)"],
    );
    mistake("'X' != state", &["`X` is not one of INBOX, REVIEW, DONE @ 'X'"]);
    mistake(
        "state in ['DONE', 'dne', 'INBOX']",
        &["`dne` is not one of INBOX, REVIEW, DONE @ 'dne' (did you mean `\"DONE\"`?)"],
    );
    mistake("state == (open ? 'DONE' : 'OPEN')", &["`OPEN` is not one of INBOX, REVIEW, DONE @ 'OPEN'"]);
    mistake("state == title || state == reviewer", &[]);
}

#[test]
fn functions_check_their_arguments() {
    mistake(
        "size(3)",
        &[
            "`size` needs text, a list or a map, this gives a whole number @ 3 (size(text), size(list) or size(map))",
        ],
    );
    mistake(
        "round(1, 2, 3)",
        &["`round` does not take 3 values @ round (round(number) or round(number, digits))"],
    );
    mistake(
        "title.contains(3)",
        &["`contains` needs text, this gives a whole number @ 3 (text.contains(part))"],
    );
    mistake(
        "assigneeIds.contains('x')",
        &["`contains` needs text, this gives a list, each text @ assigneeIds (write `item in list`)"],
    );
    mistake(
        "max(1, lease)",
        &[
            "`max` needs numbers, moments or lengths of time that can be compared, this gives a length of time @ lease (max(a, b, …) or max(list))",
        ],
    );
    mistake(
        "duration('5 minutes')",
        &["`5 minutes` is not a length of time such as `90s`, `15m` or `1h30m` @ duration('5 minutes')"],
    );
    mistake(
        "open || timestamp('x') > now",
        &["`x` is not a moment such as `2026-01-01T00:00:00Z` @ timestamp('x')"],
    );
    mistake("shout(1)", &["expected text, this gives a whole number @ 1"]);
    mistake("shout()", &["`shout` takes 1 value, not 0 @ shout"]);
    mistake("has(1 + 2)", &["`has` takes a name @ 1 + 2 (as in `has(a.b)`)"]);
    mistake("has()", &["`has` takes one name @ has (as in `has(a.b)`)"]);
}

#[test]
fn loops_check_their_parts() {
    mistake("title.all(x, true)", &["cannot iterate over text @ title"]);
    mistake(
        "numbers.all(x, x + 1)",
        &["expected true or false, this gives a whole number @ x + 1 (compare it, as in `x > 0`)"],
    );
    mistake(
        "numbers.map(x.y, 1)",
        &["the variable of a loop is a simple name @ x.y (as in `list.map(it, …)`)"],
    );
    mistake(
        "numbers.filter(x)",
        &["`filter` is called on a list, with a variable @ filter (as in `list.filter(it, …)`)"],
    );
    mistake("numbers.exists(n, m > 1)", &["unknown name `m` @ m"]);
    mistake(
        "numbers.map(a, numbers.map(b, numbers.map(c, a)))",
        &["more than 2 loops inside each other @ map"],
    );
    mistake("numbers.map(a, a).map(b, b).map(c, c).all(d, d > 0)", &[]);
}

#[test]
fn patterns_are_literals_and_compiled_once() {
    mistake("title.matches(reviewer)", &["the pattern of `matches` must be a literal text @ reviewer"]);
    mistake("title.matches('(')", &["the pattern is not a regular expression @ '('"]);
    mistake(
        "title.matches('((a{100}){100}){100}')",
        &[
            "the pattern is too large @ '((a{100}){100}){100}' (`\\w` and `\\d` cover all scripts; `[a-z]` and `[0-9]` are much smaller)",
        ],
    );
    mistake("title.matches(1)", &["the pattern of `matches` must be a literal text @ 1"]);
}

#[test]
fn types_of_results() {
    for (source, ty) in [
        ("reviewCycles + 1", Type::Int),
        ("reviewCycles * 1.5", Type::Float),
        ("now - since", Type::Span),
        ("open ? 'a' : null", Type::Text),
        ("open ? 1 : 'a'", Type::Any),
        ("[]", Type::list(Type::Null)),
        ("[1, 2.5]", Type::list(Type::Float)),
        ("numbers.map(n, string(n))", Type::list(Type::Text)),
        ("labels.filter(k, labels[k] == 'x')", Type::list(Type::Text)),
        ("{'a': 1}", Type::record([("a", Type::Int)])),
        ("{title: 1}", Type::map(Type::Int)),
        ("pow(reviewCycles, 2)", Type::Int),
        ("pow(2, reviewCycles)", Type::Float),
        ("round(score)", Type::Int),
        ("round(score, 2)", Type::Float),
        ("max(numbers)", Type::Int),
        ("first(assigneeIds)", Type::Text),
        ("add(assigneeIds, title)", Type::list(Type::Text)),
        ("extra.x + 1", Type::Any),
    ] {
        assert_eq!(task().compile(source).ty(), &ty, "{source}");
    }
}

#[test]
fn an_expected_type_is_checked() {
    let state = Type::choice(["OPEN", "DONE"]);
    for (source, expected, message) in [
        ("title", Type::Bool, Some("expected true or false, this gives text")),
        ("score", Type::Int, Some("expected a whole number, this gives a number")),
        ("reviewCycles", Type::Float, None),
        ("null", Type::Time, None),
        ("extra.x", Type::Bool, None),
        ("open ? 'DONE' : 'OPN'", state.clone(), Some("`OPN` is not one of OPEN, DONE")),
        ("['OPEN']", Type::list(state.clone()), None),
        ("['OPN']", Type::list(state.clone()), Some("`OPN` is not one of OPEN, DONE")),
        ("title", state.clone(), None),
        ("{'a': 1}", Type::record([("a", Type::Text)]), Some("expected a record, this gives a record")),
    ] {
        let errors = Guard::compile_as(source, &mut task(), &expected).err().unwrap_or_default();
        assert_eq!(errors.first().map(|it| it.message.as_str()), message, "{source}");
    }
}

#[test]
fn reads_are_listed_as_written() {
    let guard = task().compile("actor.id in assigneeIds && size(plan.bullets) > failures[state] && plan.bullets != null && numbers.all(title, title > 1)");
    let reads: Vec<&str> = guard.reads().iter().map(|it| it.path.as_str()).collect();
    assert_eq!(reads, ["actor.id", "assigneeIds", "plan.bullets", "failures", "state", "numbers"]);
}

#[test]
fn constants_are_worked_out_once() {
    for (source, value) in [
        ("1 + 2 * 3", Value::Int(7)),
        ("duration('1m') * 2", Value::Span(crate::time::Span(120_000))),
        ("size(['a', 'b'])", Value::Int(2)),
        ("{'a': [1]}.a[0] == 1 && !false", Value::Bool(true)),
        ("'x'.matches('x')", Value::Bool(true)),
    ] {
        assert_eq!(task().compile(source).constant(), Some(&value), "{source}");
    }
    for source in ["title", "1 / 0", "shout('x')"] {
        assert_eq!(task().compile(source).constant(), None, "{source}");
    }
}

#[test]
fn a_tree_too_deep_is_refused_once() {
    let chain = |terms: usize| format!("1{}", " + 1".repeat(terms - 1));
    assert_eq!(task().mistakes(&chain(64)), [""; 0]);
    assert_eq!(
        task().mistakes(&chain(65)),
        [format!("the expression is nested deeper than 64 levels @ {}", chain(65))]
    );
    // A row of conditions is one level.
    assert_eq!(task().mistakes(&format!("open{}", " && open".repeat(200))), [""; 0]);
}
