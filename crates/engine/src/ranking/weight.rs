//! What places in an order are compared by.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

/// One key of a place: smaller comes first, or larger does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    Up(Key),
    Down(Reverse<Key>),
}

/// A value that can be put in order. Null comes first; what cannot be compared counts as null.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    Time(Timestamp),
    Span(Span),
}

/// A number in a total order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Number(f64);

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl From<&Value> for Key {
    fn from(value: &Value) -> Self {
        match value {
            Value::Bool(it) => Self::Bool(*it),
            Value::Text(it) => Self::Text(it.clone()),
            Value::Time(it) => Self::Time(*it),
            Value::Span(it) => Self::Span(*it),
            // No two zeros.
            _ => value.as_float().map_or(Self::Null, |it| Self::Number(Number(it + 0.0))),
        }
    }
}

impl Weight {
    pub fn new(value: &Value, descending: bool) -> Self {
        let key = Key::from(value);
        if descending { Self::Down(Reverse(key)) } else { Self::Up(key) }
    }
}
