//! The type of an expression, known when the file is loaded.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::name::Name;
use crate::value::Value;

/// The type of an expression, known when the file is loaded.
///
/// Every type admits null: a missing optional field is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Known only at run time.
    Any,
    Null,
    Bool,
    Int,
    /// A number, whole or not.
    Float,
    Text,
    /// Text out of a closed list, as a state or an enumeration.
    Choice(Arc<Vec<Name>>),
    Time,
    Span,
    List(Box<Type>),
    /// Text keys, values of one type.
    Map(Box<Type>),
    /// Known members only.
    Record(Arc<BTreeMap<Name, Type>>),
}

impl Type {
    pub fn list(of: Type) -> Self {
        Self::List(Box::new(of))
    }

    pub fn map(of: Type) -> Self {
        Self::Map(Box::new(of))
    }

    pub fn choice<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Choice(Arc::new(names.into_iter().map(Name::new).collect()))
    }

    pub fn record<'a>(members: impl IntoIterator<Item = (&'a str, Type)>) -> Self {
        Self::Record(Arc::new(members.into_iter().map(|(name, ty)| (Name::new(name), ty)).collect()))
    }

    /// The type of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Float(_) => Self::Float,
            Value::Text(_) => Self::Text,
            Value::Time(_) => Self::Time,
            Value::Span(_) => Self::Span,
            Value::List(items) => Self::list(items.iter().map(Self::of).fold(Self::Null, Self::or)),
            Value::Map(entries) => Self::Record(Arc::new(
                entries.iter().map(|(name, it)| (name.clone(), Self::of(it))).collect(),
            )),
        }
    }

    /// Whether a value of this type may be used where `expected` is required.
    pub fn fits(&self, expected: &Type) -> bool {
        match (self, expected) {
            (Self::Any | Self::Null, _) | (_, Self::Any) => true,
            (Self::Int, Self::Float) => true,
            // Text computed at run time is checked against the choice when it is stored.
            (Self::Text, Self::Choice(_)) | (Self::Choice(_), Self::Text) => true,
            (Self::Choice(a), Self::Choice(b)) => overlap(a, b),
            (Self::List(a), Self::List(b)) | (Self::Map(a), Self::Map(b)) => a.fits(b),
            (Self::Record(a), Self::Map(b)) => a.values().all(|it| it.fits(b)),
            (Self::Map(a), Self::Record(b)) => b.values().all(|it| a.fits(it)),
            (Self::Record(a), Self::Record(b)) => {
                a.iter().all(|(name, it)| b.get(name).is_some_and(|other| it.fits(other)))
            }
            _ => self == expected,
        }
    }

    /// Whether two such values could ever be equal.
    pub(super) fn may_equal(&self, other: &Type) -> bool {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => true,
            (Self::List(a), Self::List(b)) => a.may_equal(b),
            (Self::Map(_) | Self::Record(_), Self::Map(_) | Self::Record(_)) => true,
            _ => self.fits(other) || other.fits(self),
        }
    }

    /// The common type of two values.
    pub(super) fn or(self, other: Type) -> Type {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Null, it) | (it, Self::Null) => it,
            (Self::Int | Self::Float, Self::Int | Self::Float) => Self::Float,
            (Self::Text | Self::Choice(_), Self::Text | Self::Choice(_)) => Self::Text,
            (Self::List(a), Self::List(b)) => Self::list(a.or(*b)),
            (Self::Map(a), Self::Map(b)) => Self::map(a.or(*b)),
            (Self::Record(a), Self::Map(b)) | (Self::Map(b), Self::Record(a)) => {
                Self::map(a.values().cloned().fold(*b, Type::or))
            }
            (Self::Record(a), Self::Record(b)) => {
                let mut all = BTreeMap::clone(&a);
                for (name, ty) in b.iter() {
                    let known = all.remove(name).unwrap_or(Self::Null);
                    all.insert(name.clone(), known.or(ty.clone()));
                }
                Self::Record(Arc::new(all))
            }
            _ => Self::Any,
        }
    }

    /// The element type of a loop over such a value, or of an index into it.
    ///
    /// An empty list literal is a list of null; nothing is known about its elements.
    pub(super) fn known(self) -> Type {
        if self == Self::Null { Self::Any } else { self }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Any | Self::Int | Self::Float)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Any | Self::Text | Self::Choice(_))
    }
}

fn overlap(a: &[Name], b: &[Name]) -> bool {
    a.iter().any(|it| b.contains(it))
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "anything",
            Self::Null => "nothing",
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Text => "text",
            Self::Choice(names) => return one_of(names, f),
            Self::Time => "a moment",
            Self::Span => "a length of time",
            Self::List(of) => match **of {
                Self::Any | Self::Null => "a list",
                ref of => return write!(f, "a list, each {of}"),
            },
            Self::Map(_) => "a map",
            Self::Record(_) => "a record",
        })
    }
}

fn one_of(names: &[Name], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SHOWN: usize = 8;
    f.write_str("one of ")?;
    for (at, name) in names.iter().take(SHOWN).enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        f.write_str(name)?;
    }
    if names.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_compatibility() {
        let state = Type::choice(["OPEN", "DONE"]);
        for (found, expected, fits) in [
            (Type::Int, Type::Float, true),
            (Type::Float, Type::Int, false),
            (Type::Null, Type::Int, true),
            (Type::Text, state.clone(), true),
            (state.clone(), Type::choice(["LATE"]), false),
            (state.clone(), Type::Bool, false),
            (Type::list(Type::Null), Type::list(Type::Text), true),
            (Type::list(Type::Int), Type::list(Type::Text), false),
            (Type::record([("a", Type::Int)]), Type::record([("a", Type::Float), ("b", Type::Bool)]), true),
            (Type::record([("c", Type::Int)]), Type::record([("a", Type::Float)]), false),
            (Type::record([("c", Type::Int)]), Type::map(Type::Float), true),
        ] {
            assert_eq!(found.fits(&expected), fits, "{found} for {expected}");
        }
    }

    #[test]
    fn either_of_two_types() {
        assert_eq!(Type::Int.or(Type::Float), Type::Float);
        assert_eq!(Type::Null.or(Type::Time), Type::Time);
        assert_eq!(Type::choice(["A"]).or(Type::Text), Type::Text);
        assert_eq!(Type::list(Type::Null).or(Type::list(Type::Int)), Type::list(Type::Int));
        assert_eq!(Type::Int.or(Type::Text), Type::Any);
        assert_eq!(
            Type::record([("a", Type::Int)]).or(Type::record([("a", Type::Float), ("b", Type::Bool)])),
            Type::record([("a", Type::Float), ("b", Type::Bool)])
        );
    }
}
