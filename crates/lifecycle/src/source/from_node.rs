//! Nodes to typed values.

use super::node::{At, Node, NodeValue};
use super::problem::{Problems, quote};
use crate::name::Name;

/// A type that is read from a node.
///
/// Reports every problem, then returns the value as far as it could be read; `None` only if no value of the
/// type can be built.
pub trait FromNode: Sized {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self>;

    /// The value of a key that is left out. None means that the key is required.
    fn absent() -> Option<Self> {
        None
    }
}

impl Problems {
    /// Reports another expected kind of value: "a list is expected here, this is text".
    ///
    /// Silent for a node that was reported already.
    pub fn expected(&mut self, what: &str, node: &Node) {
        self.expected_with(what, node, None);
    }

    /// Like `expected`, with a hint.
    pub fn expected_with(&mut self, what: &str, node: &Node, hint: Option<String>) {
        if !node.broken {
            let message = format!("{what} is expected here, this is {}", node.kind());
            self.error("type", node.at, message).hint = hint;
        }
    }
}

impl FromNode for bool {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        if let NodeValue::Bool(it) = node.value {
            return Some(it);
        }
        let hint = match node.text().map(str::to_lowercase).as_deref() {
            Some("yes" | "on" | "y" | "true") => Some("write `true`".to_owned()),
            Some("no" | "off" | "n" | "false") => Some("write `false`".to_owned()),
            _ => None,
        };
        problems.expected_with("`true` or `false`", node, hint);
        None
    }
}

impl FromNode for i64 {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.value {
            NodeValue::Int(it) => Some(it),
            _ => {
                problems.expected_with("a whole number", node, unquote(node, |it| it.parse::<i64>().is_ok()));
                None
            }
        }
    }
}

impl FromNode for u32 {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        let it = i64::from_node(node, problems)?;
        let fits = Self::try_from(it).ok();
        if fits.is_none() {
            let message = format!("a whole number from 0 to {} is expected here, this is {it}", Self::MAX);
            problems.error("type", node.at, message);
        }
        fits
    }
}

impl FromNode for f64 {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.value {
            NodeValue::Int(it) => Some(it as f64),
            NodeValue::Float(it) => Some(it),
            _ => {
                problems.expected_with("a number", node, unquote(node, |it| it.parse::<f64>().is_ok()));
                None
            }
        }
    }
}

/// Text that is refused although it would do without its quotes.
fn unquote(node: &Node, would_do: impl Fn(&str) -> bool) -> Option<String> {
    node.text().filter(|it| would_do(it)).map(|it| format!("write {} without quotes", quote(it)))
}

impl FromNode for String {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        text(node, "text", problems).map(str::to_owned)
    }
}

impl FromNode for Name {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        let name = text(node, "a name", problems)?;
        if name.trim().is_empty() {
            problems.error("type", node.at, "a name is expected here, this is empty text");
            return None;
        }
        Some(Self::new(name))
    }
}

/// Accepts only text: `version: 1.10` as a number would lose its zero.
pub(super) fn text<'a>(node: &'a Node, what: &str, problems: &mut Problems) -> Option<&'a str> {
    let text = node.text();
    if text.is_none() {
        let hint = node.as_written().map(|it| format!("put it in quotes if it is text: `\"{it}\"`"));
        problems.expected_with(what, node, hint);
    }
    text
}

/// Explicit null is the same as leaving the key out.
impl<T: FromNode> FromNode for Option<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        if node.is_null() { Some(None) } else { T::from_node(node, problems).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: FromNode> FromNode for At<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        T::from_node(node, problems).map(|it| Self::new(it, node.at))
    }
}

impl<T: FromNode> FromNode for Box<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        T::from_node(node, problems).map(Self::new)
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self::new)
    }
}

impl FromNode for Node {
    fn from_node(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(node.clone())
    }
}
