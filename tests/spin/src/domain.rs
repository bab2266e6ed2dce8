//! The values of a variable, and their mapping to values of the language.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::model::VariableKind;

/// An abstract value of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AbstractValue {
    Known(Value),
    /// A whole number that is not smaller.
    AtLeast(i64),
    /// The id of the first or the second actor.
    Person(u8),
    /// The id of any other actor.
    Someone,
    /// A list of ids: bit 1 the first actor, 2 the second, 4 others.
    People(u8),
    /// Neither null nor blank.
    There,
    /// Not null, but blank.
    Blank,
    NotNull,
    Unknown,
}

impl AbstractValue {
    pub const NULL: Self = Self::Known(Value::Null);

    pub fn truth(it: bool) -> Self {
        Self::Known(Value::Bool(it))
    }

    pub fn is_true(&self) -> Option<bool> {
        match self {
            Self::Known(it) => it.as_bool(),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Domain {
    /// 0: does not exist yet.
    State(Vec<Name>),
    /// 0: null.
    Bool,
    Choice(Vec<Name>),
    /// An actor; 0 is none.
    Person,
    /// 0: null.
    People,
    /// A whole number written by the engine. 0 is null; the last value stands for this and more.
    Whole(u8),
    /// A counter. The last value stands for this and more, or for any number if counts are not
    /// distinguished.
    Tally {
        most: u8,
        told: bool,
    },
    /// Null, blank (if possible) or set. The value is the blank one.
    Presence(Option<Value>),
}

impl Domain {
    pub fn size(&self) -> usize {
        match self {
            Self::State(names) | Self::Choice(names) => names.len() + 1,
            Self::Bool => 3,
            Self::Person => 4,
            Self::People => 9,
            Self::Whole(most) => usize::from(*most) + 2,
            Self::Tally { most, .. } => usize::from(*most) + 1,
            Self::Presence(blank) => 2 + usize::from(blank.is_some()),
        }
    }

    pub fn holds(&self) -> VariableKind {
        match self {
            Self::Person => VariableKind::Person,
            Self::People => VariableKind::People,
            _ => VariableKind::Plain,
        }
    }

    /// The abstract value of a number.
    pub fn decode(&self, value: u8) -> AbstractValue {
        let place = usize::from(value);
        let named = |names: &[Name]| match place.checked_sub(1).and_then(|it| names.get(it)) {
            Some(name) => AbstractValue::Known(Value::from(name)),
            None => AbstractValue::NULL,
        };
        match self {
            Self::State(names) | Self::Choice(names) => named(names),
            Self::Bool => {
                if value == 0 {
                    AbstractValue::NULL
                } else {
                    AbstractValue::truth(value == 2)
                }
            }
            Self::Person => match value {
                0 => AbstractValue::NULL,
                1 | 2 => AbstractValue::Person(value),
                _ => AbstractValue::Someone,
            },
            Self::People => {
                if value == 0 {
                    AbstractValue::NULL
                } else {
                    AbstractValue::People(value - 1)
                }
            }
            Self::Whole(most) => match value {
                0 => AbstractValue::NULL,
                it if it > *most => AbstractValue::AtLeast(i64::from(*most)),
                it => AbstractValue::Known(Value::Int(i64::from(it - 1))),
            },
            Self::Tally { most, told } => match value {
                it if it < *most => AbstractValue::Known(Value::Int(i64::from(it))),
                _ if *told => AbstractValue::AtLeast(i64::from(*most)),
                _ => AbstractValue::There,
            },
            Self::Presence(blank) => match (value, blank) {
                (0, _) => AbstractValue::NULL,
                (1, Some(Value::Text(_))) => AbstractValue::Blank,
                (1, Some(empty)) => AbstractValue::Known(empty.clone()),
                _ => AbstractValue::There,
            },
        }
    }

    /// Every number that may represent a value; empty if the value does not fit.
    pub fn encode(&self, value: &AbstractValue) -> Vec<u8> {
        let all =
            |from: u8| (from..).take(self.size().saturating_sub(usize::from(from))).collect::<Vec<u8>>();
        if matches!(value, AbstractValue::Unknown) {
            return all(0);
        }
        if *value == AbstractValue::NULL {
            return vec![0];
        }
        match self {
            Self::State(names) | Self::Choice(names) => match value {
                AbstractValue::Known(Value::Text(text)) => names
                    .iter()
                    .position(|it| **it == **text)
                    .and_then(|it| u8::try_from(it + 1).ok())
                    .into_iter()
                    .collect(),
                AbstractValue::Known(_) => Vec::new(),
                _ => all(1),
            },
            Self::Bool => match value.is_true() {
                Some(it) => vec![1 + u8::from(it)],
                None => all(1),
            },
            Self::Person => match value {
                AbstractValue::Person(it) => vec![*it],
                // A word in a definition names neither of the two actors.
                AbstractValue::Someone | AbstractValue::Known(_) => vec![3],
                _ => all(1),
            },
            Self::People => match value {
                AbstractValue::People(bits) => vec![1 + bits],
                AbstractValue::Known(Value::List(list)) if list.is_empty() => vec![1],
                AbstractValue::Known(_) => vec![1 + 4],
                AbstractValue::There => all(2),
                _ => all(1),
            },
            Self::Whole(most) => match value {
                AbstractValue::Known(Value::Int(it)) if *it >= 0 => vec![1 + saturate(*it, *most)],
                AbstractValue::AtLeast(it) => (1 + saturate(*it, *most)..=1 + most).collect(),
                _ => all(1),
            },
            Self::Tally { most, .. } => match value {
                AbstractValue::Known(Value::Int(it)) if *it >= 0 => vec![saturate(*it, *most)],
                AbstractValue::AtLeast(it) => (saturate(*it, *most)..=*most).collect(),
                _ => all(0),
            },
            Self::Presence(blank) => {
                let there = 1 + u8::from(blank.is_some());
                match value {
                    AbstractValue::Known(it) if it.is_blank() => {
                        if blank.is_some() {
                            vec![1]
                        } else {
                            vec![there]
                        }
                    }
                    AbstractValue::Blank => {
                        if blank.is_some() {
                            vec![1]
                        } else {
                            Vec::new()
                        }
                    }
                    AbstractValue::People(0) => vec![1],
                    AbstractValue::NotNull => all(1),
                    _ => vec![there],
                }
            }
        }
    }

    /// The numbers of values that are not blank.
    pub fn present(&self) -> Vec<u8> {
        let size = u8::try_from(self.size()).unwrap_or(u8::MAX);
        match self {
            Self::Presence(Some(_)) => vec![2],
            Self::People => (2..size).collect(),
            Self::Tally { .. } => (0..size).collect(),
            _ => (1..size).collect(),
        }
    }

    /// The number that a field without a value has.
    pub fn labels(&self) -> Vec<String> {
        let named = |none: &str, names: &[Name]| {
            std::iter::once(none.to_owned()).chain(names.iter().map(ToString::to_string)).collect()
        };
        let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        match self {
            Self::State(names) => named("absent", names),
            Self::Choice(names) => named("null", names),
            Self::Bool => words(&["null", "false", "true"]),
            Self::Person => words(&["nobody", "a1", "a2", "other"]),
            Self::People => words(&[
                "null",
                "{}",
                "{a1}",
                "{a2}",
                "{a1,a2}",
                "{other}",
                "{a1,other}",
                "{a2,other}",
                "{a1,a2,other}",
            ]),
            Self::Whole(most) => {
                let numbers =
                    (0..=*most).map(|it| if it == *most { format!("{it}+") } else { it.to_string() });
                std::iter::once("null".to_owned()).chain(numbers).collect()
            }
            Self::Tally { most, .. } => {
                (0..=*most).map(|it| if it == *most { format!("{it}+") } else { it.to_string() }).collect()
            }
            Self::Presence(None) => words(&["null", "there"]),
            Self::Presence(Some(_)) => words(&["null", "blank", "there"]),
        }
    }
}

fn saturate(number: i64, most: u8) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX).min(most)
}
