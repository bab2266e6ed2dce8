//! Values that are written as one word.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, Range};

use super::from_node::{FromNode, text};
use super::layout::Layout;
use super::node::{Node, NodeValue};
use super::place::Place;
use super::problem::Problems;
use crate::time::Span;
use crate::value::Value;

/// A scalar as written, whether text, a number or `true`; expressions are read from it.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub text: String,
    pub at: Place,
    layout: Layout,
}

impl Scalar {
    /// The place in the file of a byte range of the text; see [`Node::place_of`].
    pub fn place_of(&self, range: Range<usize>) -> Place {
        self.layout.place_of(self.at, &self.text, range)
    }

    /// Text inside a key or another scalar.
    pub fn within(text: &str, at: Place) -> Self {
        Self { text: text.to_owned(), at, layout: Layout::Whole }
    }
}

impl FromNode for Scalar {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        let text = node.as_written();
        if text.is_none() {
            let hint = match node.value {
                NodeValue::List(_) => {
                    "write it as one expression, for instance `human || lead`; a list of values is in quotes, such as `'[1, 2]'`"
                }
                _ => "put it in quotes if it begins with a brace",
            };
            problems.expected_with("text", node, Some(hint.to_owned()));
        }
        Some(Self { text: text?, at: node.at, layout: node.layout.clone() })
    }
}

impl Deref for Scalar {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A share, written `80%`. More than the whole is allowed: `150%` of a deadline is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(pub u32);

impl Percent {
    pub(super) const PATTERN: &str = "^[0-9]{1,3}%$";

    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('%')?;
        let digits_only = digits.chars().all(|it| it.is_ascii_digit());
        ((1..=3).contains(&digits.len()) && digits_only).then(|| digits.parse().ok().map(Self)).flatten()
    }
}

impl FromNode for Percent {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        const WHAT: &str = "a percentage such as `80%`";
        if let NodeValue::Int(it) = node.value {
            problems.expected_with(WHAT, node, Some(format!("write `{it}%`")));
            return None;
        }
        let percent = Self::parse(text(node, WHAT, problems)?);
        if percent.is_none() {
            problems.expected(WHAT, node);
        }
        percent
    }
}

/// A length of time, written `15m` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanText(pub Span);

impl SpanText {
    pub(super) const PATTERN: &str = "^([0-9]+(ms|s|m|h|d))+$";
}

impl FromNode for SpanText {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        const WHAT: &str = "a length of time such as `15m`";
        if let NodeValue::Int(it) = node.value {
            problems.expected_with(
                WHAT,
                node,
                Some(format!("give it a unit: `{it}s`, `{it}m`, `{it}h` or `{it}d`")),
            );
            return None;
        }
        let span = Span::parse(text(node, WHAT, problems)?);
        if span.is_none() {
            let hint = "the units are `ms`, `s`, `m`, `h` and `d`, as in `1h30m`";
            problems.expected_with(WHAT, node, Some(hint.to_owned()));
        }
        span.map(Self)
    }
}

/// Any value at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub Value);

impl FromNode for Json {
    fn from_node(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(Self(value(node)))
    }
}

fn value(node: &Node) -> Value {
    match &node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Bool(it) => Value::Bool(*it),
        NodeValue::Int(it) => Value::Int(*it),
        NodeValue::Float(it) => Value::Float(*it),
        NodeValue::Text(it) => Value::text(it),
        NodeValue::List(it) => Value::list(it.iter().map(value).collect()),
        NodeValue::Map(it) => {
            Value::map(it.iter().map(|(key, node)| (key.it.clone(), value(node))).collect::<BTreeMap<_, _>>())
        }
    }
}
