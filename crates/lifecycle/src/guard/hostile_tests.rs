//! Sources written to hurt: every one of them ends in a clean answer, on a small stack, quickly.

use super::test_scope::{TestScope, ints, task, texts};
use super::{Fault, Guard, GuardError, Type};
use crate::cpu_time::cpu_time;
use crate::value::Value;

/// Compiles and runs on a thread with the default stack of a spawned thread.
fn on_a_small_stack(sources: Vec<String>) -> Vec<Result<Result<Value, Fault>, Vec<GuardError>>> {
    let run = move || {
        let one = |source: &String| {
            let mut world = task().with("a", Type::Any, ints(&[1])).with("b", Type::Bool, true);
            Guard::compile(source, &mut world).map(|it| it.eval(&world))
        };
        sources.iter().map(one).collect()
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run).unwrap().join().unwrap()
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn input_that_would_crash_the_parser_is_refused() {
    let sources = vec![
        format!("a{}", "[0]".repeat(2000)),
        format!("1{}", "+1".repeat(2000)),
        format!("a{}", ".b".repeat(8000)),
        "(".repeat(2000),
        "[".repeat(300),
        "{".repeat(300),
        nested("(", "1", ")", 400),
        nested("[", "1", "]", 400),
        nested("f(", "1", ")", 400),
        nested("{'a':", "1", "}", 200),
        format!("{}b", "!".repeat(2000)),
        format!("{}b", "!".repeat(600)),
        format!("{}1", "-".repeat(600)),
        format!("{}1", "- ".repeat(900)),
        format!("{}1", "b ? 1 : ".repeat(200)),
        format!("{}1{}", "b ? ".repeat(200), " : 1".repeat(200)),
        format!("{}1", "a?b:c?".repeat(300)),
        format!("{}+", " ".repeat(70_000)),
        format!("'{}' +", "é".repeat(40_000)),
        nested("a.map(x, ", "1", ")", 200),
        format!("a{}", ".f()".repeat(2000)),
        format!("[{}]", "1,".repeat(5000)),
        "b && ".repeat(3000),
        "\u{0}".repeat(2000),
        "'".repeat(1999),
        "\\".repeat(2000),
    ];
    for (source, outcome) in sources.clone().iter().zip(on_a_small_stack(sources)) {
        pointing_into(source, &outcome.expect_err(source));
    }
}

fn pointing_into(source: &str, errors: &[GuardError]) {
    assert!(!errors.is_empty(), "{source}");
    for error in errors {
        assert!(source.get(error.at.clone()).is_some(), "{error:?} in {source}");
    }
}

#[test]
fn input_at_the_limits_is_parsed_on_a_small_stack() {
    let sources = vec![
        nested("(", "1", ")", 32),
        nested("[", "1", "]", 32),
        nested("{'a':", "1", "}", 32),
        nested("size([", "1", "])", 16),
        nested("[", "title", "]", 32),
        nested("size([", "title", "])", 16),
        nested("{'a':", "title", "}", 32),
        nested("!(", "b", ")", 32),
        nested("(b && (b ||", "b", "))", 16),
        nested("shout(title +", "title", ")", 31),
        format!("reviewCycles{}", " + 1".repeat(63)),
        format!("{}b", "!".repeat(510)),
        format!("{}1", "- ".repeat(510)),
        format!("{}1", "b ? 1 : ".repeat(32)),
        nested("(b ? ", "1", " : 2)", 32),
        // Shallow enough for the caller's stack, and as long as allowed.
        format!("(((1{})))", " + 1".repeat(62)),
        format!("(((1{})))", "+1".repeat(250)),
        format!("a{}", ".b".repeat(255)),
        format!("a{}", "[0]".repeat(60)),
        format!("a{}", "[0]".repeat(170)),
        format!("(((b{})))", "&&b".repeat(250)),
        format!("((({}1)))", "b ? 1 : ".repeat(32)),
        format!("[[[{}1]]]", "b ? 1 : ".repeat(32)),
        format!("[[[{}]]]", "1,".repeat(250)),
        format!("((({}1)))", "b && b ? 1 + 1 * 2 : ".repeat(32)),
        format!("b{}", " < b".repeat(255)),
        format!("title{}", ".trim()".repeat(100)),
        format!("{}a.map(x, a.map(y, [[[[x]]]])){}", "(".repeat(20), ")".repeat(20)),
    ];
    // Some of these are refused as too deep, others have the wrong types; none crashes the process.
    for (source, outcome) in sources.clone().iter().zip(on_a_small_stack(sources)) {
        if let Err(errors) = outcome {
            pointing_into(source, &errors);
        }
    }
}

#[test]
fn an_evaluation_has_a_budget() {
    let sixty = ints(&(0..60).collect::<Vec<_>>());
    let thousand = ints(&(0..1000).collect::<Vec<_>>());
    let long = Value::text(&"x".repeat(1000));
    let huge = Value::text(&"x".repeat(2_000_000));
    let mut world = TestScope::default()
        .with("l", Type::list(Type::Int), sixty)
        .with("k", Type::list(Type::Int), thousand)
        .with("s", Type::Text, long)
        .with("h", Type::Text, huge)
        .with("t", Type::list(Type::Text), texts(&["a", "b"]));
    let doublings = ".map(a, a + a)".repeat(24);
    let growing = ".map(a, a + a)".repeat(24).replace("a + a", "[a, a]");
    let reasonable = "l.all(x, l.all(y, x + y >= 0))";
    let allowed = cpu_time(|| assert_eq!(world.eval(reasonable), Ok(Value::Bool(true))));
    for source in [
        // Loops within loops over lists that loops have made.
        "k.all(x, k.all(y, x + y >= 0))",
        "k.map(a, l.map(b, a * b)).map(c, c.filter(d, d > 0).size()).size()",
        // Text that doubles, lists that double.
        &format!("[s]{doublings}[0].size()"),
        &format!("[[s, s]]{doublings}[0].size()"),
        &format!("[1]{growing}.size() + k.map(x, k.map(y, x)).size()"),
        "k.map(x, s).join() + k.map(x, s).join()",
        "k.map(x, s + s).size()",
        "k.map(x, s.upperAscii().lowerAscii()).size()",
        // Comparing, searching and splitting large values.
        "k.all(x, h == h + '')",
        "k.all(x, h.contains('y') == false)",
        "k.exists(x, h.matches('(x+x+)+y'))",
        "h.split('').size()",
        "k.map(x, k).map(y, y + y).size()",
        "k.all(x, k == k.map(y, y))",
        "unique(k + k.map(x, x + 1000)).size()",
        "k.all(x, string(k[0]).size() > 0 && k.slice(0).size() > 0)",
    ] {
        let spent = cpu_time(|| assert_eq!(world.eval(source), Err(Fault::TooExpensive), "{source}"));
        assert!(spent < allowed * 40, "{source} takes {spent:?}, one that is allowed {allowed:?}");
    }
    // Another reasonable expression is not stopped either.
    assert_eq!(world.eval("unique(k.slice(0, 300)).size()"), Ok(Value::Int(300)));
}

#[test]
fn a_spent_budget_is_not_absorbed() {
    let thousand = ints(&(0..1000).collect::<Vec<_>>());
    let mut world =
        TestScope::default().with("k", Type::list(Type::Int), thousand).with("yes", Type::Bool, true);
    assert_eq!(world.eval("k.all(x, k.all(y, true)) || yes"), Err(Fault::TooExpensive));
    assert_eq!(world.eval("yes || k.all(x, k.all(y, true))"), Ok(Value::Bool(true)));
}

#[test]
fn a_rendered_text_has_a_budget_of_its_own() {
    let mut world = TestScope::default().with("h", Type::Text, Value::text(&"x".repeat(1_000_000)));
    let template = super::Template::compile("{h}{h}", &mut world).unwrap();
    assert_eq!(template.render(&world), Err(Fault::TooExpensive));
}

/// Constant parts are worked out while compiling, but only where that is short work.
#[test]
fn compiling_works_nothing_out_at_length() {
    let items: Vec<String> = (0..200).map(|it| it.to_string()).collect();
    let guard = task().compile(&format!("unique([{}]).size()", items.join(",")));
    assert_eq!(guard.constant(), None);
    assert_eq!(guard.eval(&task()), Ok(Value::Int(200)));
}

mod soup {
    use proptest::prelude::*;

    use crate::guard::test_scope::task;
    use crate::guard::{Guard, Template};

    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{1,3}",
            prop::sample::select(
                [
                    "(",
                    ")",
                    "[",
                    "]",
                    "{",
                    "}",
                    ".",
                    ",",
                    "?",
                    ":",
                    "!",
                    "-",
                    "+",
                    "*",
                    "/",
                    "%",
                    "==",
                    "!=",
                    "<",
                    ">=",
                    "&&",
                    "||",
                    " in ",
                    "title",
                    "plan",
                    "numbers",
                    "size(",
                    ".map(x,",
                    "has(",
                    "1",
                    "1.5",
                    "'é'",
                    "\"x\"",
                    "r'\\'",
                    "b'x'",
                    "1u",
                    "null",
                    "true",
                    "//",
                    "\n",
                    "'",
                    "\\",
                    "`",
                    "@",
                    "é",
                    "0x",
                    "1e",
                    "'''",
                    "if",
                    "matches(",
                    "duration('",
                    "\u{0}",
                    "\r\n",
                    "\u{feff}",
                    "x{",
                    ".?",
                    "[?",
                    "{?"
                ]
                .map(str::to_owned)
                .to_vec()
            ),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Any source gives an expression, or errors that point into the source.
        #[test]
        fn any_token_sequence_gets_an_answer(words in prop::collection::vec(word(), 0..40)) {
            let source = words.concat();
            let mut world = task();
            match Guard::compile(&source, &mut world) {
                Ok(guard) => { let _ = guard.eval(&world); }
                Err(errors) => {
                    prop_assert!(!errors.is_empty());
                    for it in errors {
                        prop_assert!(source.get(it.at.clone()).is_some(), "{:?} in {source:?}", it);
                    }
                }
            }
            if let Err(errors) = Template::compile(&source, &mut world) {
                for it in errors {
                    prop_assert!(source.get(it.at.clone()).is_some(), "{:?} in template {source:?}", it);
                }
            }
        }
    }
}
