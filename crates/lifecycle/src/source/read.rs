//! Text to nodes.
//!
//! Works on the events of the parser beneath `serde-saphyr`, with a stack of its own, so that
//! every byte has a position, several mistakes are found at once and no nesting can overflow.
//! What a definition never needs is refused: anchors, aliases, tags, directives, several
//! documents, and keys that are lists or mappings.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};

use super::layout::Layout;
use super::node::{At, Node, NodeValue};
use super::place::{BYTE_ORDER_MARK, Cursor, FileId, Place, Sources, small};
use super::plain::plain;
use super::problem::{Problems, quoted};
use super::syntax::explain;
use crate::name::Name;

const BYTES: usize = 1024 * 1024;
const DEPTH: usize = 32;
const NODES: usize = 100_000;

/// Reads one file. Nothing comes back if it is no YAML at all; mistakes that leave the rest
/// readable are reported and the rest is given.
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
    /// How far the parser's offsets are behind those of the text.
    shift: usize,
    cursor: Cursor<'a>,
    problems: &'a mut Problems,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
}

/// A list or mapping whose end has not been seen.
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

/// Reading cannot go on.
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
                    let (message, hint) = explain(error.kind());
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
                    .error("alias", at, format!("{} would repeat another part, which is not supported", self.slice(at)))
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
        let inner = match style {
            ScalarStyle::SingleQuoted if !whole.contains("''") => inside(whole, '\''),
            ScalarStyle::DoubleQuoted if !whole.contains('\\') => inside(whole, '"'),
            ScalarStyle::Literal | ScalarStyle::Folded => whole.find('\n').map(|it| (it + 1, whole.len())),
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
        let (found, broken) = match plain(value) {
            Ok(found) => (found, false),
            Err(_) => {
                self.problems
                    .error("number-too-large", at, format!("the number {} is too large", quoted(value)))
                    .hint("put it in quotes if it is text");
                (NodeValue::Text(value.to_owned()), true)
            }
        };
        let mut node = Node::new(at, found);
        node.broken = broken;
        node.layout =
            if whole == value { Layout::Straight(0) } else { self.layout(at.start, at.end, value) };
        if !matches!(node.value, NodeValue::Text(_)) {
            node.written = Some(value.into());
        }
        node
    }

    fn layout(&mut self, start: usize, end: usize, value: &str) -> Layout {
        Layout::find(self.text, start, end, value, &mut self.cursor)
    }

    /// Reports an anchor or a tag: they mean something to YAML and nothing to a definition.
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
        let end = if flow { span.end.byte_offset().map(|it| it + self.shift) } else { last };
        let at = Place { end: end.unwrap_or(at.end).max(at.end), ..at };
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

    /// A place for an error position: the character there, or the end of the last line with
    /// something on it.
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
        quoted(self.text.get(at.start..at.end).unwrap_or_default())
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
            .error("duplicate-key", node.at, format!("{} is given twice", quoted(&name)))
            .hint(format!("it is given first in line {}; remove one of them", first.line));
        return Key::Bad;
    }
    seen.insert(name.clone(), node.at);
    Key::Good(At::new(name, node.at))
}

/// What stands between the quotes.
fn inside(whole: &str, quote: char) -> Option<(usize, usize)> {
    let inner = whole.strip_prefix(quote)?.strip_suffix(quote)?;
    Some((1, 1 + inner.len()))
}
