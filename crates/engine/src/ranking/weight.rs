//! Weights, by which the places of an order are compared.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

/// One key of a place: smaller comes first, or larger does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    Up(Key),
    Down(Reverse<Key>),
}

/// A value that can be put in order. Null comes first; a value that cannot be compared counts as null.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Key {
    Null,
    Bool(bool),
    Number(Number),
    Text(Name),
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

/// The keys of a place, in order of weight. A few are stored inline, so that comparing them needs no
/// indirection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Vec<Weight>", into = "Vec<Weight>")]
pub enum Weights {
    None,
    One([Weight; 1]),
    Two([Weight; 2]),
    More(Vec<Weight>),
}

impl Weights {
    pub fn first(&self) -> Option<&Weight> {
        match self {
            Self::None => None,
            Self::One([it]) | Self::Two([it, _]) => Some(it),
            Self::More(all) => all.first(),
        }
    }
}

impl From<Vec<Weight>> for Weights {
    fn from(mut all: Vec<Weight>) -> Self {
        match (all.pop(), all.pop()) {
            (None, _) => Self::None,
            (Some(one), None) => Self::One([one]),
            (Some(second), Some(first)) if all.is_empty() => Self::Two([first, second]),
            (Some(last), Some(before)) => {
                all.extend([before, last]);
                Self::More(all)
            }
        }
    }
}

impl From<Weights> for Vec<Weight> {
    fn from(weights: Weights) -> Self {
        match weights {
            Weights::None => Self::new(),
            Weights::One(all) => all.into(),
            Weights::Two(all) => all.into(),
            Weights::More(all) => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_read_back_as_they_were_written() {
        let all: Vec<Weight> = [3, 1, 2, 5].map(|it| Weight::new(&Value::Int(it), it % 2 == 0)).into();
        for count in 0..=all.len() {
            let some: Vec<Weight> = all.iter().take(count).cloned().collect();
            let weights = Weights::from(some.clone());
            assert_eq!(weights.first(), some.first());
            let text = serde_json::to_string(&weights).expect("text");
            assert_eq!(serde_json::from_str::<Weights>(&text).expect("weights"), weights);
            assert_eq!(Vec::from(weights), some);
        }
    }

    #[test]
    fn incomparable_values_come_first() {
        let up = |it: Value| Weight::new(&it, false);
        assert!(up(Value::Null) < up(Value::Float(-1.0)));
        assert!(up(Value::list(Vec::new())) < up(Value::Bool(false)));
        assert!(up(Value::Int(2)) < up(Value::Float(2.5)));
        assert_eq!(up(Value::Float(-0.0)), up(Value::Int(0)));
        assert!(Weight::new(&Value::Int(2), true) < Weight::new(&Value::Int(1), true));
        assert!(Weight::new(&Value::Int(1), true) < Weight::new(&Value::Null, true));
    }
}
