//! Text to nodes.
//!
//! Works on the events of the parser beneath `serde-saphyr`, with a stack of its own, so that every byte
//! has a position, several mistakes are found at once and no nesting can overflow. Features that
//! definitions do not need are refused: anchors, aliases, tags, directives, several documents, and keys
//! that are lists or mappings.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};

use super::layout::Layout;
use super::node::{At, Node, NodeValue};
use super::place::{BYTE_ORDER_MARK, Cursor, FileId, Place, Sources, small};
use super::plain_scalar::plain;
use super::problem::{Problems, quote};
use super::syntax::explain;
use crate::name::Name;

const BYTES: usize = 1024 * 1024;
const DEPTH: usize = 32;
const NODES: usize = 100_000;

/// Reads one file. Returns none if it is no YAML at all; other mistakes are reported, and the rest is
/// returned.
pub fn read(sources: &Sources, file: FileId, problems: &mut Problems) -> Option<Node> {
    let text = sources.text(file);
    if text.len() > BYTES {
        problems
            .error("too-large", Place::top(file), "the file is larger than 1 MiB")
            .hint("split it into several files");
        return None;
    }
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let reader = Reader {
        text,
        shift: text.len() - body.len(),
        cursor: Cursor::new(file, text),
        problems,
        open: Vec::new(),
        root: None,
        nodes: 0,
    };
    reader.run(body)
}

struct Reader<'a> {
    text: &'a str,
    /// The distance of the parser's offsets from those of the text.
    shift: usize,
    cursor: Cursor<'a>,
    problems: &'a mut Problems,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
}

/// A list or mapping whose end has not been read.
struct Open {
    at: Place,
    flow: bool,
    holds: Holds,
}

enum Holds {
    List(Vec<Node>),
    Map { entries: Vec<(At<Name>, Node)>, seen: BTreeMap<Name, Place>, key: Option<Key> },
}

/// The key whose value comes next.
enum Key {
    Good(At<Name>),
    /// Reported already; its value is read and dropped.
    Bad,
}

/// Reading cannot continue.
struct Stop;

impl<'a> Reader<'a> {
    fn run(mut self, body: &'a str) -> Option<Node> {
        let options = options! {
            disallow_directives: true,
            emit_unresolved_aliases: true,
            emit_comments: false,
            flow_nesting_limit: DEPTH + 1,
            block_nesting_limit: DEPTH + 1,
        };
        for event in Parser::new_from_str_with_options(body, options) {
            let result = match event {
                Ok((event, span)) => self.event(event, span),
                Err(error) => {
                    let start = error.marker().byte_offset().unwrap_or(0) + self.shift;
                    let at = self.visible(start);
                    let (message, hint) = explain(error.kind(), self.text.split_at_checked(start));
                    self.problems.error("yaml", at, message).hint = hint.map(str::to_owned);
                    Err(Stop)
                }
            };
            if result.is_err() {
                return None;
            }
        }
        let end = self.cursor.place(self.text.len(), self.text.len());
        Some(self.root.unwrap_or_else(|| Node::new(end, NodeValue::Null)))
    }

    fn event(&mut self, event: Event<'a>, span: Span) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let at = self.place(span);
                self.problems
                    .error("several-documents", at, "a second document begins here")
                    .hint("give each definition its own file");
                Err(Stop)
            }
            Event::Scalar(value, style, anchor, tag) => {
                let node = self.scalar(&value, style, span);
                let node = self.plain_only(node, anchor, tag.is_some(), span);
                self.add(node)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.open(Holds::List(Vec::new()), style, anchor, tag.is_some(), span)
            }
            Event::MappingStart(style, anchor, tag) => {
                let holds = Holds::Map { entries: Vec::new(), seen: BTreeMap::new(), key: None };
                self.open(holds, style, anchor, tag.is_some(), span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let at = self.place(span);
                self.problems
                    .error("alias", at, format!("{} is a YAML alias, which is not supported", self.slice(at)))
                    .hint("write it out, or put the value in quotes if it is text");
                let mut node = Node::new(at, NodeValue::Null);
                node.broken = true;
                self.add(node)
            }
            _ => Ok(()),
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, span: Span) -> Node {
        let at = self.place(span);
        let whole = self.text.get(at.start..at.end).unwrap_or_default();
        if style == ScalarStyle::Plain {
            return self.plain(value, at, whole);
        }
        let mut node = Node::new(at, NodeValue::Text(value.to_owned()));
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            node.at.end = at.start + whole.trim_end().len();
        }
        let inner = match style {
            ScalarStyle::SingleQuoted if !whole.contains("''") => inside(whole, '\''),
            ScalarStyle::DoubleQuoted if !whole.contains('\\') => inside(whole, '"'),
            // The place begins with the first line of the text, after `|` or `>`.
            ScalarStyle::Literal | ScalarStyle::Folded => Some((0, whole.len())),
            _ => None,
        };
        node.layout = match inner {
            Some((start, end)) if whole.get(start..end) == Some(value) && !value.contains('\n') => {
                Layout::Straight(small(start))
            }
            Some((start, end)) => self.layout(at.start + start, at.start + end, value),
            None => Layout::Whole,
        };
        node
    }

    fn plain(&mut self, value: &str, at: Place, whole: &str) -> Node {
        // The parser represents an empty scalar as `~`.
        let value = if whole.is_empty() { "" } else { value };
        let (found, broken) = match plain(value) {
            Ok(found) => (found, false),
            Err(_) => {
                self.problems
                    .error("number-too-large", at, format!("the number {} is too large", quote(value)))
                    .hint("put it in quotes if it is text");
                (NodeValue::Text(value.to_owned()), true)
            }
        };
        let mut node = Node::new(at, found);
        node.broken = broken;
        node.layout = if whole == value { Layout::Straight(0) } else { self.layout(at.start, at.end, value) };
        if !matches!(node.value, NodeValue::Text(_)) {
            node.written = Some(value.into());
        }
        node
    }

    fn layout(&mut self, start: usize, end: usize, value: &str) -> Layout {
        Layout::find(self.text, start, end, value, &mut self.cursor)
    }

    /// Reports an anchor or a tag: definitions do not support them.
    fn plain_only(&mut self, mut node: Node, anchor: usize, tagged: bool, span: Span) -> Node {
        if tagged {
            let at = span.tag_span().map_or(node.at, |tag| self.place(tag));
            let word = self.slice(at);
            self.problems.error("tag", at, format!("{word} is read as a YAML tag, which is not supported")).hint(
                "put the whole value in quotes if it begins with `!`, for instance `\"!assignee && human\"`",
            );
            node.broken = true;
        } else if anchor != 0 {
            self.problems
                .error("anchor", node.at, "this is named with `&`, a YAML anchor, which is not supported")
                .hint("remove the `&` word, or put the value in quotes if it is text");
            node.broken = true;
        }
        node
    }

    fn open(
        &mut self,
        holds: Holds,
        style: StructureStyle,
        anchor: usize,
        tagged: bool,
        span: Span,
    ) -> Result<(), Stop> {
        let at = self.place(span);
        self.plain_only(Node::new(at, NodeValue::Null), anchor, tagged, span);
        self.count(at)?;
        if self.open.len() >= DEPTH {
            self.problems
                .error("too-deep", at, format!("this is nested more than {DEPTH} levels deep"))
                .hint("flatten it");
            return Err(Stop);
        }
        self.open.push(Open { at, flow: style == StructureStyle::Flow, holds });
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), Stop> {
        let Some(Open { at, flow, holds }) = self.open.pop() else { return Ok(()) };
        let (last, value) = match holds {
            Holds::List(items) => (items.last().map(|it| it.at.end), NodeValue::List(items)),
            Holds::Map { entries, .. } => (entries.last().map(|it| it.1.at.end), NodeValue::Map(entries)),
        };
        // A block ends with its last part; the parser notices only at the next line.
        let closed = span.end.byte_offset().filter(|_| flow).map(|it| it + self.shift);
        let at = Place { end: at.end.max(last.unwrap_or(0)).max(closed.unwrap_or(0)), ..at };
        self.put(Node::new(at, value))
    }

    fn add(&mut self, node: Node) -> Result<(), Stop> {
        self.count(node.at)?;
        self.put(node)
    }

    fn count(&mut self, at: Place) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes <= NODES {
            return Ok(());
        }
        self.problems
            .error("too-large", at, format!("the file has more than {NODES} values"))
            .hint("split it into several files");
        Err(Stop)
    }

    /// Gives a finished node to the list or mapping around it.
    fn put(&mut self, node: Node) -> Result<(), Stop> {
        match self.open.last_mut().map(|it| &mut it.holds) {
            None => self.root = Some(node),
            Some(Holds::List(items)) => items.push(node),
            Some(Holds::Map { entries, seen, key }) => match key.take() {
                Some(Key::Good(name)) => entries.push((name, node)),
                Some(Key::Bad) => {}
                None => *key = Some(make_key(node, seen, self.problems)),
            },
        }
        Ok(())
    }

    fn place(&mut self, span: Span) -> Place {
        let start = span.start.byte_offset().unwrap_or(0) + self.shift;
        let end = span.end.byte_offset().unwrap_or(0) + self.shift;
        self.cursor.place(start, end)
    }

    /// A place for an error position: the character there, or the end of the last line that is not blank.
    fn visible(&mut self, start: usize) -> Place {
        let rest = self.text.get(start..).unwrap_or_default();
        if rest.trim().is_empty() {
            let end = self.text.get(..start).unwrap_or(self.text).trim_end().len();
            return self.cursor.place(end, end);
        }
        let width = rest.chars().next().filter(|it| *it != '\n' && *it != '\r').map_or(0, char::len_utf8);
        self.cursor.place(start, start + width)
    }

    fn slice(&self, at: Place) -> String {
        quote(self.text.get(at.start..at.end).unwrap_or_default())
    }
}

fn make_key(node: Node, seen: &mut BTreeMap<Name, Place>, problems: &mut Problems) -> Key {
    let text = match &node.value {
        NodeValue::List(_) | NodeValue::Map(_) => {
            problems
                .error("key", node.at, format!("a key is expected here, this is {}", node.kind()))
                .hint("put the key in quotes if it begins with `{` or `[`");
            return Key::Bad;
        }
        NodeValue::Null => node.written.as_deref().map(str::to_owned),
        _ => node.as_written(),
    };
    if node.broken && node.is_null() {
        return Key::Bad;
    }
    let name = match text {
        Some(text) if !text.is_empty() => Name::from(text),
        _ => {
            problems.error("key", node.at, "a key is missing before this `:`");
            return Key::Bad;
        }
    };
    if let Some(first) = seen.get(&name) {
        problems
            .error("duplicate-key", node.at, format!("{} is given twice", quote(&name)))
            .hint(format!("it is given first in line {}; remove one of them", first.line));
        return Key::Bad;
    }
    seen.insert(name.clone(), node.at);
    Key::Good(At::new(name, node.at))
}

/// The text between the quotes.
fn inside(whole: &str, quote: char) -> Option<(usize, usize)> {
    let inner = whole.strip_prefix(quote)?.strip_suffix(quote)?;
    Some((1, 1 + inner.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Option<Node>, Problems, Sources) {
        let mut sources = Sources::new();
        let file = sources.add("a.yaml", text);
        let mut problems = Problems::new();
        let node = read(&sources, file, &mut problems);
        (node, problems, sources)
    }

    fn good(text: &str) -> Node {
        let (node, problems, sources) = check(text);
        assert!(problems.is_empty(), "{}", problems.render(&sources, false));
        node.unwrap()
    }

    /// Every key and value as `line:column text`, with the text that the place covers.
    fn places(text: &str) -> String {
        fn walk(node: &Node, text: &str, lines: &mut Vec<String>) {
            let show = |at: Place| format!("{}:{} {:?}", at.line, at.column, &text[at.start..at.end]);
            lines.push(show(node.at));
            for (key, node) in node.entries().unwrap_or_default() {
                lines.push(format!("key {}", show(key.at)));
                walk(node, text, lines);
            }
            for node in node.items().unwrap_or_default() {
                walk(node, text, lines);
            }
        }
        let mut lines = Vec::new();
        walk(&good(text), text, &mut lines);
        lines.join("\n")
    }

    fn errors(text: &str) -> String {
        let (_, problems, sources) = check(text);
        problems.render(&sources, false)
    }

    fn codes(text: &str) -> Vec<&'static str> {
        check(text).1.sorted().iter().map(|it| it.code).collect()
    }

    #[test]
    fn flow_mappings_have_exact_places() {
        insta::assert_snapshot!(places("x: { a: 1, b: [x, y] , \"c\": {} , d }"), @r#"
        1:1 "x: { a: 1, b: [x, y] , \"c\": {} , d }"
        key 1:1 "x"
        1:4 "{ a: 1, b: [x, y] , \"c\": {} , d }"
        key 1:6 "a"
        1:9 "1"
        key 1:12 "b"
        1:15 "[x, y]"
        1:16 "x"
        1:19 "y"
        key 1:24 "\"c\""
        1:29 "{}"
        key 1:34 "d"
        1:36 ""
        "#);
    }

    #[test]
    fn characters_before_do_not_shift_columns() {
        insta::assert_snapshot!(places("日本: é # ü\n\"ñ\": [ö, 'ß ß', {👩‍👩‍👧: x}]"), @r#"
        1:1 "日本: é # ü\n\"ñ\": [ö, 'ß ß', {👩\u{200d}👩\u{200d}👧: x}]"
        key 1:1 "日本"
        1:5 "é"
        key 2:1 "\"ñ\""
        2:6 "[ö, 'ß ß', {👩\u{200d}👩\u{200d}👧: x}]"
        2:7 "ö"
        2:10 "'ß ß'"
        2:17 "{👩\u{200d}👩\u{200d}👧: x}"
        key 2:18 "👩\u{200d}👩\u{200d}👧"
        2:25 "x"
        "#);
    }

    #[test]
    fn quoted_and_block_scalars_have_exact_places() {
        insta::assert_snapshot!(
            places("a: \"q \\\" r\"\nb: 'it''s'\nc: |\n  one\n    two\n\nd: >- # why\n  three\n  four\ne:\n  - five\n    six\n  -   - 7\n"),
            @r#"
        1:1 "a: \"q \\\" r\"\nb: 'it''s'\nc: |\n  one\n    two\n\nd: >- # why\n  three\n  four\ne:\n  - five\n    six\n  -   - 7"
        key 1:1 "a"
        1:4 "\"q \\\" r\""
        key 2:1 "b"
        2:4 "'it''s'"
        key 3:1 "c"
        4:3 "one\n    two"
        key 7:1 "d"
        8:3 "three\n  four"
        key 10:1 "e"
        11:3 "- five\n    six\n  -   - 7"
        11:5 "five\n    six"
        13:7 "- 7"
        13:9 "7"
        "#
        );
    }

    #[test]
    fn windows_lines_and_a_byte_order_mark_are_fine() {
        insta::assert_snapshot!(places("\u{feff}a: b\r\nc:\r\n  - d\r\n"), @r#"
        1:1 "a: b\r\nc:\r\n  - d"
        key 1:1 "a"
        1:4 "b"
        key 2:1 "c"
        3:3 "- d"
        3:5 "d"
        "#);
    }

    #[test]
    fn yaml_1_1_traps_stay_text() {
        let text = "on: off\nyes: no\ny: n\n80: 12:30\ntrue: 1h\n80%: 80%\nnull: 010\n1.50: ~\n";
        let node = good(text);
        let keys: Vec<&str> = node.entries().unwrap().iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["on", "yes", "y", "80", "true", "80%", "null", "1.50"]);
        let values: Vec<_> = node.entries().unwrap().iter().map(|(_, it)| it.text().unwrap_or("-")).collect();
        assert_eq!(values, ["off", "no", "n", "12:30", "1h", "80%", "010", "-"]);
    }

    #[test]
    fn quoted_words_are_text_and_plain_ones_are_values() {
        let node = good("['1', \"true\", 'null', '', 1, true, null, 1.5, ]");
        use NodeValue::{Bool, Float, Int, Null, Text};
        let values: Vec<_> = node.items().unwrap().iter().map(|it| it.value.clone()).collect();
        let texts = ["1", "true", "null", ""].map(|it| Text(it.into()));
        assert_eq!(values, [texts.to_vec(), vec![Int(1), Bool(true), Null, Float(1.5)]].concat());
    }

    /// Finds `word` in the value of the first key and returns the text that its place covers.
    fn inside_of(text: &str, word: &str) -> String {
        let node = good(text);
        let node = &node.entries().unwrap()[0].1;
        let start = node.text().unwrap().find(word).unwrap();
        let at = node.place_of(start..start + word.len());
        let line: usize = text[..at.start].matches('\n').count() + 1;
        let column = text[..at.start].rsplit('\n').next().unwrap().chars().count() + 1;
        assert_eq!((at.line as usize, at.column as usize), (line, column), "{text}");
        text[at.start..at.end].to_owned()
    }

    #[test]
    fn a_range_inside_a_value_has_a_place() {
        for text in [
            "by: human && wrng",
            "by: 'é human && wrng'",
            "by: \"é && wrng\" # x",
            "{ by: é wrng , x: 1}",
            "by: |\n   human\n     && wrng\n",
            "by: >-\n   é human\n   && (a ||\n\n   é wrng)\n",
            "by: human\n  && é wrng\n",
            "by:\n  human   &&\n  wrng",
            "by: 'human\n\n  && wrng'",
            "by: |\r\n  human\r\n  wrng\r\n",
            "by:   |2\n     wrng",
        ] {
            assert_eq!(inside_of(text, "wrng"), "wrng", "{text}");
        }
        // With escapes it is the whole value.
        assert_eq!(inside_of("by: \"a\\t wrng\"", "wrng"), "\"a\\t wrng\"");
        assert_eq!(inside_of("by: 'it''s wrng'", "wrng"), "'it''s wrng'");
        let node = good("a é b");
        for odd in [0..99, 3..4, 99..100] {
            assert_eq!(node.place_of(odd), node.at);
        }
        assert_eq!(node.place_of(0..0).column, 1);
        assert_eq!(node.place_of(6..6).column, 6);
    }

    #[test]
    fn unsupported_yaml_features_are_refused() {
        assert_eq!(codes("a: &x 1\nb: *x\nc: *y\n"), ["anchor", "alias", "alias"]);
        assert_eq!(codes("a: !!str 1\nb: !thing {}\n"), ["tag", "tag"]);
        assert_eq!(codes("a: 1\n---\nb: 2\n"), ["several-documents"]);
        assert_eq!(codes("%YAML 1.2\n---\na: 1\n"), ["yaml"]);
        assert_eq!(codes("{a: 1}: 2\n[b]: 3\n: 4\n"), ["key", "key", "key"]);
        assert_eq!(codes("a: 1\nb: 2\na: 3\n\"b\": 4\n"), ["duplicate-key", "duplicate-key"]);
        assert_eq!(codes("a: 99999999999999999999\nb: 1e999"), ["number-too-large", "number-too-large"]);
        assert_eq!(codes("---\na: 1\n...\n"), [""; 0]);
    }

    #[test]
    fn limits_hold() {
        assert_eq!(codes(&"#".repeat(BYTES + 1)), ["too-large"]);
        assert_eq!(codes(&format!("[{}]", "1,".repeat(NODES))), ["too-large"]);
        assert_eq!(codes(&format!("{}{}", "[".repeat(32), "]".repeat(32))), [""; 0]);
        for deep in ["[", "{a: ", "- ", "? ", "[{a: "] {
            let text = deep.repeat(50_000);
            assert!(check(&text).1.has_errors(), "{deep}");
        }
        let blocks: String = (0..40).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert_eq!(codes(&blocks), ["too-deep"]);
    }

    #[test]
    fn mistakes_in_yaml_are_explained() {
        insta::assert_snapshot!(errors("a: { b: 1\nc: 2\n"), @r#"
        error[yaml]: a `,` or `}` is expected here
         --> a.yaml:2:2
          |
        2 | c: 2
          |  ^
          |
          = help: separate the entries of `{ }` with commas, and close it
        "#);
        insta::assert_snapshot!(errors("a: { b: oncall[level] }\n"), @r#"
        error[yaml]: a `[` inside a value ends it in `{ }` and `[ ]`
         --> a.yaml:1:15
          |
        1 | a: { b: oncall[level] }
          |               ^
          |
          = help: put the whole value in quotes, for instance `'oncall[level]'`
        "#);
        insta::assert_snapshot!(errors("a:\n\t- b\n"), @r#"
        error[yaml]: a tab is used for indentation
         --> a.yaml:2:2
          |
        2 |     - b
          |     ^
          |
          = help: use spaces; YAML does not allow tabs here
        "#);
        insta::assert_snapshot!(errors("when: a ? b : c\nby: x: y\n"), @r#"
        error[yaml]: a `:` is not expected here
         --> a.yaml:1:13
          |
        1 | when: a ? b : c
          |             ^
          |
          = help: put a value that contains `: ` in quotes; if this is a key, check its indentation
        "#);
        insta::assert_snapshot!(errors("a: \"b\" || c\n"), @r#"
        error[yaml]: there is something after the closing quote
         --> a.yaml:1:8
          |
        1 | a: "b" || c
          |        ^
          |
          = help: a value that begins with a quote ends with it: put the whole value in the other kind of quotes
        "#);
        insta::assert_snapshot!(errors("a: \"b\n"), @r#"
        error[yaml]: a quote that was opened before is not closed
         --> a.yaml:1:6
          |
        1 | a: "b
          |      ^
          |
          = help: close it on the line where it is opened
        "#);
        insta::assert_snapshot!(errors("a: [1, 2\n"), @r#"
        error[yaml]: this `[` is not closed
         --> a.yaml:1:4
          |
        1 | a: [1, 2
          |    ^
          |
          = help: close it with `]`
        "#);
        insta::assert_snapshot!(errors("a: 1\n  b: 2\n"), @r#"
        error[yaml]: a `:` is not expected here
         --> a.yaml:2:4
          |
        2 |   b: 2
          |    ^
          |
          = help: put a value that contains `: ` in quotes; if this is a key, check its indentation
        "#);
        insta::assert_snapshot!(errors("a:\n  b: 1\n c: 2\n"), @r#"
        error[yaml]: a key is expected here
         --> a.yaml:3:2
          |
        3 |  c: 2
          |  ^
          |
          = help: lines of one list or mapping begin in the same column
        "#);
        insta::assert_snapshot!(errors("by: !assignee && human\nor: @x\n"), @r#"
        error[tag]: `!assignee` is read as a YAML tag, which is not supported
         --> a.yaml:1:5
          |
        1 | by: !assignee && human
          |     ^^^^^^^^^
          |
          = help: put the whole value in quotes if it begins with `!`, for instance `"!assignee && human"`

        error[yaml]: a value cannot begin with `@`
         --> a.yaml:2:5
          |
        2 | or: @x
          |     ^
          |
          = help: put the value in quotes
        "#);
        insta::assert_snapshot!(errors("a: 1\na: 2\nb: 123456789012345678901234567890\n"), @r#"
        error[duplicate-key]: `a` is given twice
         --> a.yaml:2:1
          |
        2 | a: 2
          | ^
          |
          = help: it is given first in line 1; remove one of them

        error[number-too-large]: the number `123456789012345678901234567890` is too large
         --> a.yaml:3:4
          |
        3 | b: 123456789012345678901234567890
          |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: put it in quotes if it is text
        "#);
        insta::assert_snapshot!(errors("a: 1\nword\nc: 2\n"), @r#"
        error[yaml]: a `:` is missing after this
         --> a.yaml:2:1
          |
        2 | word
          | ^
          |
          = help: every line of a mapping is `key: value`
        "#);
    }
}
