//! Types of fields: the values that fit, and the messages for those that do not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use regex::Regex;

use crate::guard::{Type, nearest};
use crate::name::Name;
use crate::time::{Span, Timestamp};
use crate::value::Value;

/// The values that a field accepts.
#[derive(Clone, Debug)]
pub struct FieldType {
    pub fit: Fit,
    /// The message instead of the details when a value does not fit.
    pub says: Option<String>,
}

#[derive(Clone, Debug)]
pub enum Fit {
    Any,
    Bool,
    Int { min: Option<f64>, max: Option<f64> },
    Number { min: Option<f64>, max: Option<f64> },
    Text { min: Option<u32>, max: Option<u32>, pattern: Option<Regex> },
    Choice(Arc<Vec<Name>>),
    Time,
    Span,
    List { items: Box<FieldType>, min: Option<u32>, max: Option<u32>, unique: bool },
    Object { properties: BTreeMap<Name, FieldType>, required: Vec<Name> },
    Map(Box<FieldType>),
}

/// A value that does not fit, and where inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub path: String,
    pub code: MisfitCode,
    pub message: String,
}

/// In which way a value does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisfitCode {
    Missing,
    NotASpan,
    NotATime,
    NotOneOf,
    OutOfRange,
    Pattern,
    Repeated,
    ReservedName,
    TooDeep,
    TooFew,
    TooLong,
    TooMany,
    TooShort,
    UnexpectedField,
    WrongType,
}

/// The path to a part of a value; formatted only for a message.
enum Path<'a> {
    Field(&'a str),
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Member(of, name) => write!(f, "{of}.{name}"),
            Self::Item(of, n) => write!(f, "{of}[{n}]"),
        }
    }
}

/// Most levels of a value that comes from outside.
const DEPTH: u32 = 32;

impl FieldType {
    pub const ANY: Self = Self { fit: Fit::Any, says: None };

    /// The value as it is stored, or every reason why it does not fit.
    ///
    /// Null always fits: it means that the field is not set.
    pub fn accept(&self, field: &str, value: &Value) -> Result<Value, Vec<Misfit>> {
        let mut misfits = Vec::new();
        let kept = self.keep(&Path::Field(field), value, 0, &mut misfits);
        if misfits.is_empty() { Ok(kept) } else { Err(misfits) }
    }

    fn keep(&self, path: &Path<'_>, value: &Value, depth: u32, out: &mut Vec<Misfit>) -> Value {
        let before = out.len();
        let kept = self.keep_inner(path, value, depth, out);
        if let (Some(says), true) = (&self.says, out.len() > before) {
            let code = match out.get(before).map(|it| it.code) {
                // The field itself is expected, but not a member of it.
                None | Some(MisfitCode::UnexpectedField) => MisfitCode::WrongType,
                Some(code) => code,
            };
            let is_shape = |it: &Misfit| {
                matches!(it.code, MisfitCode::WrongType | MisfitCode::UnexpectedField | MisfitCode::Missing)
            };
            let hint = out.iter().skip(before).any(is_shape).then(|| self.shape_hint()).flatten();
            out.truncate(before);
            let message =
                hint.map_or_else(|| says.clone(), |it| format!("{}: {it}", says.trim_end_matches('.')));
            out.push(Misfit { path: path.to_string(), code, message });
        }
        kept
    }

    fn keep_inner(&self, path: &Path<'_>, value: &Value, depth: u32, out: &mut Vec<Misfit>) -> Value {
        if value.is_null() {
            return Value::Null;
        }
        if depth > DEPTH {
            return too_deep(path, out);
        }
        match (&self.fit, value) {
            (Fit::Any, value) => plain(path, value, depth, out),
            (Fit::Bool, Value::Bool(_)) => value.clone(),
            (Fit::Int { min, max }, Value::Int(it)) => {
                bounds(path, *it as f64, *min, *max, out);
                value.clone()
            }
            (Fit::Number { min, max }, Value::Int(_) | Value::Float(_)) => {
                let number = value.as_float().unwrap_or_default();
                bounds(path, number, *min, *max, out);
                Value::Float(six_decimals(number))
            }
            (Fit::Text { min, max, pattern }, Value::Text(text)) => {
                lengths(path, text, *min, *max, out);
                if let Some(pattern) = pattern
                    && !pattern.is_match(text)
                {
                    out.push(misfit(
                        path,
                        MisfitCode::Pattern,
                        format!("{path} does not match the required pattern"),
                    ));
                }
                value.clone()
            }
            (Fit::Choice(names), Value::Text(text)) => {
                if !names.iter().any(|it| **it == **text) {
                    let known: Vec<&str> = names.iter().map(Name::as_str).collect();
                    let near = nearest(text, known.iter().copied());
                    let near = near.map(|it| format!("; did you mean {it}?")).unwrap_or_default();
                    let message = format!("{path} must be one of {}{near}", known.join(", "));
                    out.push(misfit(path, MisfitCode::NotOneOf, message));
                }
                value.clone()
            }
            (Fit::Time, Value::Time(_)) | (Fit::Span, Value::Span(_)) => value.clone(),
            (Fit::Time, Value::Text(text)) => Timestamp::parse(text).map_or_else(
                || {
                    out.push(misfit(
                        path,
                        MisfitCode::NotATime,
                        format!("{path} must be a time like 2026-01-31T12:00:00Z"),
                    ));
                    Value::Null
                },
                Value::Time,
            ),
            (Fit::Span, Value::Text(text)) => Span::parse(text).map_or_else(
                || {
                    out.push(misfit(
                        path,
                        MisfitCode::NotASpan,
                        format!("{path} must be a span like 90s, 15m, 24h or 7d"),
                    ));
                    Value::Null
                },
                Value::Span,
            ),
            (Fit::List { items, min, max, unique }, Value::List(list)) => {
                let count = list.len() as u64;
                if min.is_some_and(|it| count < u64::from(it)) || max.is_some_and(|it| count > u64::from(it))
                {
                    let code = if min.is_some_and(|it| count < u64::from(it)) {
                        MisfitCode::TooFew
                    } else {
                        MisfitCode::TooMany
                    };
                    out.push(misfit(path, code, format!("{path} must have {}", amount(*min, *max, "item"))));
                }
                let kept: Vec<Value> = list
                    .iter()
                    .enumerate()
                    .map(|(n, item)| items.keep(&Path::Item(path, n), item, depth + 1, out))
                    .collect();
                if *unique
                    && kept.iter().enumerate().any(|(n, it)| kept.iter().take(n).any(|other| other == it))
                {
                    out.push(misfit(
                        path,
                        MisfitCode::Repeated,
                        format!("{path} must not contain duplicates"),
                    ));
                }
                Value::list(kept)
            }
            (Fit::Object { properties, required }, Value::Map(map)) => {
                let mut kept = BTreeMap::new();
                for (name, item) in map.iter() {
                    match properties.get(name) {
                        Some(ty) => {
                            let item = ty.keep(&Path::Member(path, name), item, depth + 1, out);
                            if !item.is_null() {
                                kept.insert(name.clone(), item);
                            }
                        }
                        None => {
                            let known: Vec<&str> = properties.keys().map(Name::as_str).collect();
                            let hint = match nearest(name, known.iter().copied()) {
                                Some(near) => format!("did you mean {near}?"),
                                None => format!("it has {}", known.join(", ")),
                            };
                            let message = format!("{path} has no member {name}; {hint}");
                            out.push(misfit(&Path::Member(path, name), MisfitCode::UnexpectedField, message));
                        }
                    }
                }
                for name in required {
                    if map.get(name).is_none_or(Value::is_null) {
                        out.push(misfit(
                            &Path::Member(path, name),
                            MisfitCode::Missing,
                            format!("{path}.{name} is required"),
                        ));
                    }
                }
                Value::map(kept)
            }
            (Fit::Map(values), Value::Map(map)) => {
                let mut kept = BTreeMap::new();
                for (name, item) in map.iter() {
                    check_reserved_name(path, name, out);
                    kept.insert(name.clone(), values.keep(&Path::Member(path, name), item, depth + 1, out));
                }
                Value::map(kept)
            }
            (fit, value) => {
                let hint = self.shape_hint().map(|it| format!(": {it}")).unwrap_or_default();
                let message = format!("{path} must be {}, this is {}{hint}", fit.expected(), value.kind());
                out.push(misfit(path, MisfitCode::WrongType, message));
                Value::Null
            }
        }
    }

    /// Its type in expressions.
    pub fn ty(&self) -> Type {
        match &self.fit {
            Fit::Any => Type::Any,
            Fit::Bool => Type::Bool,
            Fit::Int { .. } => Type::Int,
            Fit::Number { .. } => Type::Float,
            Fit::Text { .. } => Type::Text,
            Fit::Choice(names) => Type::Choice(names.clone()),
            Fit::Time => Type::Time,
            Fit::Span => Type::Span,
            Fit::List { items, .. } => Type::List(Box::new(items.ty())),
            Fit::Object { properties, .. } => {
                Type::Record(Arc::new(properties.iter().map(|(name, it)| (name.clone(), it.ty())).collect()))
            }
            Fit::Map(values) => Type::Map(Box::new(values.ty())),
        }
    }
}

impl Fit {
    fn expected(&self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Bool => "true or false",
            Self::Int { .. } => "a whole number",
            Self::Number { .. } => "a number",
            Self::Text { .. } | Self::Choice(_) => "text",
            Self::Time => "a time like 2026-01-31T12:00:00Z",
            Self::Span => "a span like 15m",
            Self::List { .. } => "a list",
            Self::Object { .. } | Self::Map(_) => "a map",
        }
    }
}

/// Rounds money and ratings to six decimals, so that sums are the same everywhere.
pub(crate) fn six_decimals(number: f64) -> f64 {
    let scaled = number * 1e6;
    if scaled.is_finite() && scaled.abs() < 9e15 { scaled.round() / 1e6 } else { number }
}

fn too_deep(path: &Path<'_>, out: &mut Vec<Misfit>) -> Value {
    let message = format!("{path} is nested more than {DEPTH} levels deep");
    out.push(misfit(path, MisfitCode::TooDeep, message));
    Value::Null
}

/// A value without a declared type: accepted unchanged, except for reserved keys.
fn plain(path: &Path<'_>, value: &Value, depth: u32, out: &mut Vec<Misfit>) -> Value {
    if depth > DEPTH {
        return too_deep(path, out);
    }
    match value {
        Value::List(list) => {
            for item in list.iter() {
                plain(path, item, depth + 1, out);
            }
        }
        Value::Map(map) => {
            for (name, item) in map.iter() {
                check_reserved_name(path, name, out);
                plain(path, item, depth + 1, out);
            }
        }
        _ => {}
    }
    value.clone()
}

fn check_reserved_name(path: &Path<'_>, name: &Name, out: &mut Vec<Misfit>) {
    if name.starts_with('$') {
        out.push(misfit(
            path,
            MisfitCode::ReservedName,
            format!("{path}: names starting with $ are reserved"),
        ));
    }
}

fn bounds(path: &Path<'_>, it: f64, min: Option<f64>, max: Option<f64>, out: &mut Vec<Misfit>) {
    if min.is_some_and(|min| it < min) || max.is_some_and(|max| it > max) {
        let message = match (min, max) {
            (Some(min), Some(max)) => format!("{path} must be between {min} and {max}"),
            (Some(min), None) => format!("{path} must be at least {min}"),
            (_, Some(max)) => format!("{path} must be at most {max}"),
            (None, None) => return,
        };
        out.push(misfit(path, MisfitCode::OutOfRange, message));
    }
}

fn lengths(path: &Path<'_>, text: &str, min: Option<u32>, max: Option<u32>, out: &mut Vec<Misfit>) {
    let length = if text.trim().is_empty() { 0 } else { text.chars().count() as u64 };
    if min.is_some_and(|min| length < u64::from(min)) {
        out.push(misfit(
            path,
            MisfitCode::TooShort,
            format!("{path} must have {}", amount(min, max, "character")),
        ));
    } else if max.is_some_and(|max| length > u64::from(max)) {
        out.push(misfit(
            path,
            MisfitCode::TooLong,
            format!("{path} must have {}", amount(min, max, "character")),
        ));
    }
}

fn amount(min: Option<u32>, max: Option<u32>, what: &str) -> String {
    let plural = |n: u32| if n == 1 { what.to_owned() } else { format!("{what}s") };
    match (min, max) {
        (Some(min), Some(max)) if min == max => format!("{min} {}", plural(min)),
        (Some(min), Some(max)) => format!("{min} to {max} {}", plural(max)),
        (Some(min), None) => format!("at least {min} {}", plural(min)),
        (None, Some(max)) => format!("at most {max} {}", plural(max)),
        (None, None) => format!("{what}s"),
    }
}

fn misfit(path: &Path<'_>, code: MisfitCode, message: String) -> Misfit {
    Misfit { path: path.to_string(), code, message }
}
