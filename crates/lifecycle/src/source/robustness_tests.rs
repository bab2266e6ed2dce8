//! No text can make the reader panic, hang or overflow its stack.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::cpu_time::cpu_time;
use crate::name::Name;

keys! {
    struct Anything {
        lifecycle: At<Name>,
        states: Named<Option<Json>>,
        transitions: Named<OneOrMany<Arm>>,
        warn: Vec<Percent>,
        after: Option<SpanText>,
        limit: Option<u32>,
        ratio: Option<f64>,
        rest: Option<Node>,
    }
}

keys! {
    struct Arm {
        from: Option<OneOrMany<At<Name>>>,
        to: To,
        by: Option<Scalar>,
        hidden: Option<bool>,
    }
}

shapes! {
    enum To {
        State(At<Name>) if scalar,
        Choices(Vec<To>) if list,
        Asked(Box<Arm>) if map with "by",
        Table(Named<At<Name>>) if map,
    }
}

const GOOD: &str = r#"# yaml-language-server: $schema=x
lifecycle: mission.task
states: { INBOX: { initial: true }, DONE: {final: true}, "O'K": [1, 2.5, ~] }
warn: [80%, 100%]
after: 1h30m
limit: 3
transitions:
  start: { from: [INBOX, 日本], to: DONE, by: "human && x" }
  revise:
    - from: REVIEW
      by: >-
        human ||
        (lead && !assignee)
      to:
        - IN_PROGRESS
        - { by: 'a', to: x }
        - INBOX: DONE
    - { from: x,
        to: y, by: "a
          b" }
rest:
  - |
    one
      two
  - plain
    folded
"#;

/// Runs every step on a text and returns the result to check.
fn digest(sources: &Sources, file: FileId) -> (Option<Node>, Problems) {
    let mut problems = Problems::new();
    let node = read(sources, file, &mut problems);
    assert!(node.is_some() || problems.has_errors());
    if let Some(node) = &node {
        Anything::from_node(node, &mut problems);
    }
    problems.render(sources, false);
    problems.render(sources, true);
    problems.to_json(sources);
    (node, problems)
}

/// On a small stack, as a thread of the server might have.
fn survive(text: String) {
    let run = move || {
        let mut sources = Sources::new();
        let file = sources.add("a.yaml", text);
        let (node, problems) = digest(&sources, file);
        let text = sources.text(file);
        node.iter().for_each(|it| sound(it, text));
        problems.sorted().iter().for_each(|it| covers(it.at, text));
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run).unwrap().join().unwrap();
}

/// A place is inside the text, and its line and column are those of its first byte.
fn covers(at: Place, text: &str) {
    let head = text[..at.start].strip_prefix('\u{feff}').unwrap_or(&text[..at.start]);
    assert!(text.get(at.start..at.end).is_some(), "{at:?}");
    assert_eq!(at.line as usize, head.matches('\n').count() + 1, "{at:?}");
    assert_eq!(at.column as usize, head.rsplit('\n').next().unwrap().chars().count() + 1, "{at:?}");
}

fn sound(node: &Node, text: &str) {
    covers(node.at, text);
    for (key, node) in node.entries().unwrap_or_default() {
        covers(key.at, text);
        sound(node, text);
    }
    for node in node.items().unwrap_or_default() {
        sound(node, text);
    }
    let value = node.text().unwrap_or_default();
    for (start, word) in value.match_indices(|c: char| !c.is_whitespace()) {
        let at = node.place_of(start..start + word.len());
        covers(at, text);
        assert!(at == node.at || &text[at.start..at.end] == word, "{at:?} {word}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survive(String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn random_marks(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "a", "b: ", "- ", "\n", "\n  ", "\n    ", "{", "}", "[", "]", ", ", ": ", "? ", "'", "\"", "|", ">-",
            "#", " # c", "&x ", "*x", "!t ", "!!str ", "\t", "\r\n", "\r", "---\n", "...\n", "%YAML 1.2\n", "é",
            "日", "\u{feff}", "\0", "\\", "\u{2028}", "\u{85}", "80%", "true", "99999999999999999999", "~", "<<: ", "lifecycle: ",
        ]),
        0..60,
    )) {
        survive(words.concat());
    }

    #[test]
    fn mutated_yaml(edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..12_usize, ".{0,3}"), 0..6)) {
        let mut text = GOOD.to_owned();
        for (at, cut, new) in edits {
            let start = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary(start + cut);
            text.replace_range(start..end.max(start), &new);
        }
        survive(text);
    }
}

#[test]
fn the_sample_is_good() {
    let mut sources = Sources::new();
    let file = sources.add("a.yaml", GOOD);
    let mut problems = Problems::new();
    let node = read(&sources, file, &mut problems).unwrap();
    assert!(Anything::from_node(&node, &mut problems).is_some());
    assert_eq!(problems.render(&sources, false), "");
}

/// Reads a text of about `size` bytes and one of a quarter. Work in proportion to the text takes four times as long for
/// the larger one, work in proportion to its square sixteen times. Times below the clock's accuracy count as equal.
fn is_linear(size: usize, text: impl Fn(usize) -> String) {
    const LEAST: Duration = Duration::from_millis(50);
    let read = |text: String| {
        let mut sources = Sources::new();
        let file = sources.add("a.yaml", text);
        cpu_time(|| {
            digest(&sources, file);
        })
    };
    let (small, large) = (read(text(size / 4)).max(LEAST), read(text(size)));
    let begins: String = text(size).chars().take(20).collect();
    assert!(large < small * 12, "{begins:?} takes {small:?}, four times as much {large:?}");
}

/// Long runs of one token make parsers slow or deep.
#[test]
fn much_of_anything_takes_little_time() {
    const SIZE: usize = 64 * 1024;
    #[rustfmt::skip]
    let units = [
        "a", "a ", "a\n", "- ", "- a\n", "[", "]", "{", "}", "[]", "{a: [", "a: ", "a: b\n", ",", ":", "::", "? ", "'",
        "\"", "''", "|\n", ">\n ", "#", "# \n", "&a ", "*a ", "!a ", "!", "%", "---\n", "...\n", "\t", "\r", "\n", " ",
        "é", "日 ", "\u{feff}", "\0", "\\", "[a,", "{a,", "a: [b,\n", "- - a\n", "- a: b\n  c: d\n", "\"a\\\n", "x: |\n  y\n",
    ];
    for unit in units {
        for wrap in ["", "a: \"", "a: '", "a: |\n  ", "a: >\n  ", "a: [", "{ ", "- "] {
            is_linear(SIZE, |size| format!("{wrap}{}", unit.repeat(size / unit.len())));
        }
    }
}

#[test]
fn many_mistakes_take_little_time() {
    is_linear(30_000, |many| (0..many).map(|n| format!("lifecycl{n}: 1\n")).collect());
    is_linear(15_000, |many| {
        let arms: String = (0..many).map(|n| format!("  x{n}: {{ form: [1, 2] }}\n")).collect();
        format!("transitions:\n{arms}")
    });
    is_linear(90_000, |many| format!("warn: [{}]", "x,".repeat(many)));
    is_linear(40_000, |many| format!("{{{}}}", "x: 1, ".repeat(many)));
}
