//! The content of a text, with the position of every part.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Range};

use super::layout::Layout;
use super::place::Place;
use crate::name::Name;

/// A part of a text: a value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub at: Place,
    pub value: NodeValue,
    pub(super) layout: Layout,
    /// The spelling of a number or a truth value, so that `1.10` can still be text.
    pub(super) written: Option<Box<str>>,
    /// A problem has been reported for it already; a second one would only confuse.
    pub(super) broken: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order written; no key twice.
    Map(Vec<(At<Name>, Node)>),
}

/// Equality ignores the place.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Node {
    pub fn new(at: Place, value: NodeValue) -> Self {
        Self { at, value, layout: Layout::Whole, written: None, broken: false }
    }

    /// The place in the file of a byte range of a text scalar's value.
    ///
    /// Exact unless the scalar contains escapes; then, and for anything but text, it is the whole node.
    pub fn place_of(&self, range: Range<usize>) -> Place {
        match &self.value {
            NodeValue::Text(text) => self.layout.place_of(self.at, text, range),
            _ => self.at,
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|(name, _)| name.as_str() == key).map(|(_, node)| node)
    }

    pub fn entries(&self) -> Option<&[(At<Name>, Node)]> {
        if let NodeValue::Map(it) = &self.value { Some(it) } else { None }
    }

    pub fn items(&self) -> Option<&[Node]> {
        if let NodeValue::List(it) = &self.value { Some(it) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let NodeValue::Text(it) = &self.value { Some(it) } else { None }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Null)
    }

    /// A scalar as it is written; none for null, lists and mappings.
    pub fn as_written(&self) -> Option<String> {
        match &self.value {
            NodeValue::Text(it) => Some(it.clone()),
            NodeValue::Null | NodeValue::List(_) | NodeValue::Map(_) => None,
            NodeValue::Bool(it) => Some(self.written_or(it)),
            NodeValue::Int(it) => Some(self.written_or(it)),
            NodeValue::Float(it) => Some(self.written_or(it)),
        }
    }

    fn written_or(&self, value: &impl fmt::Display) -> String {
        self.written.as_deref().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Its name in messages: "this is …".
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "empty",
            NodeValue::Bool(true) => "`true`",
            NodeValue::Bool(false) => "`false`",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::Text(_) => "text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a mapping",
        }
    }
}

/// A value and its place. Equality ignores the place.
#[derive(Clone, Copy, Debug)]
pub struct At<T> {
    pub it: T,
    pub at: Place,
}

impl<T> At<T> {
    pub fn new(it: T, at: Place) -> Self {
        Self { it, at }
    }
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.it
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.it == other.it
    }
}

impl<T: Eq> Eq for At<T> {}

impl<T: PartialOrd> PartialOrd for At<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.it.partial_cmp(&other.it)
    }
}

impl<T: Ord> Ord for At<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.it.cmp(&other.it)
    }
}

impl<T: fmt::Display> fmt::Display for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.it.fmt(f)
    }
}
