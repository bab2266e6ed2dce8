//! Operators and functions on partly known values.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::AbstractValue;

pub(super) fn member(of: &AbstractValue, name: &Name) -> AbstractValue {
    match of {
        AbstractValue::Known(Value::Map(map)) => {
            AbstractValue::Known(map.get(name).cloned().unwrap_or_default())
        }
        AbstractValue::Known(_) => AbstractValue::NULL,
        _ => AbstractValue::Unknown,
    }
}

pub(super) fn answer(it: Option<bool>) -> AbstractValue {
    it.map_or(AbstractValue::Unknown, AbstractValue::truth)
}

pub(super) fn swap_pair([a, b]: [AbstractValue; 2]) -> [AbstractValue; 2] {
    [b, a]
}

fn is_blank(value: &AbstractValue) -> Option<bool> {
    match value {
        AbstractValue::Known(it) => Some(it.is_blank()),
        AbstractValue::People(bits) => Some(*bits == 0),
        AbstractValue::Blank => Some(true),
        AbstractValue::There
        | AbstractValue::AtLeast(_)
        | AbstractValue::Person(_)
        | AbstractValue::Someone => Some(false),
        AbstractValue::NotNull | AbstractValue::Unknown => None,
    }
}

fn is_null(value: &AbstractValue) -> Option<bool> {
    match value {
        AbstractValue::Known(it) => Some(it.is_null()),
        AbstractValue::Unknown => None,
        _ => Some(false),
    }
}

pub(super) fn join(a: AbstractValue, b: AbstractValue) -> AbstractValue {
    if a == b {
        return a;
    }
    match (is_blank(&a), is_blank(&b)) {
        (Some(false), Some(false)) => AbstractValue::There,
        _ if is_null(&a) == Some(false) && is_null(&b) == Some(false) => AbstractValue::NotNull,
        _ => AbstractValue::Unknown,
    }
}

pub(super) fn equal([a, b]: &[AbstractValue; 2]) -> Option<bool> {
    if let (AbstractValue::Known(a), AbstractValue::Known(b)) = (a, b) {
        return Some(match (a.as_float(), b.as_float()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        });
    }
    if is_null(a).zip(is_null(b)).is_some_and(|(a, b)| a != b) {
        return Some(false);
    }
    match (a, b) {
        (AbstractValue::Person(a), AbstractValue::Person(b)) => return Some(a == b),
        (AbstractValue::Person(_), AbstractValue::Someone)
        | (AbstractValue::Someone, AbstractValue::Person(_)) => return Some(false),
        _ => {}
    }
    if is_blank(a).zip(is_blank(b)).is_some_and(|(a, b)| a != b) {
        return Some(false);
    }
    let ((low, high), (from, to)) = (range(a)?, range(b)?);
    (high < from || to < low).then_some(false)
}

/// The numbers it may be.
fn range(value: &AbstractValue) -> Option<(f64, f64)> {
    match value {
        AbstractValue::Known(it) => it.as_float().map(|it| (it, it)),
        AbstractValue::AtLeast(it) => Some((*it as f64, f64::INFINITY)),
        _ => None,
    }
}

pub(super) fn less([a, b]: &[AbstractValue; 2]) -> Option<bool> {
    let ((low, high), (from, to)) = (range(a)?, range(b)?);
    if high < from {
        Some(true)
    } else if low >= to {
        Some(false)
    } else {
        None
    }
}

/// A whole number within these bounds.
fn number(low: f64, high: f64) -> AbstractValue {
    if low == high && low.fract() == 0.0 {
        AbstractValue::Known(Value::Int(low as i64))
    } else if low >= 0.0 && low.is_finite() {
        AbstractValue::AtLeast(low as i64)
    } else {
        AbstractValue::There
    }
}

pub(super) fn plus([a, b]: [AbstractValue; 2]) -> AbstractValue {
    if let (Some((low, high)), Some((from, to))) = (range(&a), range(&b)) {
        return number(low + from, high + to);
    }
    if let (Some(a), Some(b)) = (crowd(&a), crowd(&b)) {
        return AbstractValue::People(a | b);
    }
    match (is_blank(&a), is_blank(&b)) {
        (Some(false), _) | (_, Some(false)) => AbstractValue::There,
        _ => AbstractValue::NotNull,
    }
}

pub(super) fn minus([a, b]: &[AbstractValue; 2]) -> AbstractValue {
    match (range(a), range(b)) {
        (Some((low, high)), Some((from, to))) => number(low - to, high - from),
        _ => AbstractValue::There,
    }
}

/// The people in a list of ids.
fn crowd(value: &AbstractValue) -> Option<u8> {
    match value {
        AbstractValue::People(bits) => Some(*bits),
        AbstractValue::Known(Value::List(list)) if list.is_empty() => Some(0),
        _ => None,
    }
}

fn bit(value: &AbstractValue) -> Option<u8> {
    match value {
        AbstractValue::Person(it) => Some(*it),
        AbstractValue::Someone => Some(4),
        _ => None,
    }
}

pub(super) fn within([item, range]: &[AbstractValue; 2]) -> Option<bool> {
    match range {
        AbstractValue::Known(Value::List(list)) => {
            let answers = list.iter().map(|it| equal(&[item.clone(), AbstractValue::Known(it.clone())]));
            let answers: Vec<Option<bool>> = answers.collect();
            if answers.contains(&Some(true)) {
                Some(true)
            } else {
                answers.iter().all(|it| *it == Some(false)).then_some(false)
            }
        }
        AbstractValue::People(bits) => {
            let bit = bit(item)?;
            match bits & bit {
                0 => Some(false),
                4 => None,
                _ => Some(true),
            }
        }
        _ => None,
    }
}

pub(super) fn list(items: Vec<AbstractValue>) -> AbstractValue {
    let known: Option<Vec<Value>> = items
        .iter()
        .map(|it| if let AbstractValue::Known(value) = it { Some(value.clone()) } else { None })
        .collect();
    if let Some(known) = known {
        return AbstractValue::Known(Value::list(known));
    }
    let bits: Option<Vec<u8>> = items.iter().map(bit).collect();
    bits.map_or(AbstractValue::There, |it| AbstractValue::People(it.into_iter().fold(0, |all, it| all | it)))
}

pub(super) fn call(name: &str, arguments: &[AbstractValue]) -> AbstractValue {
    match (name, arguments) {
        ("Size", [of]) => match of {
            AbstractValue::Known(Value::List(it)) => AbstractValue::Known(Value::Int(it.len() as i64)),
            AbstractValue::Known(Value::Map(it)) => AbstractValue::Known(Value::Int(it.len() as i64)),
            AbstractValue::People(bits) if bits & 4 == 0 => {
                AbstractValue::Known(Value::Int(i64::from(bits.count_ones())))
            }
            AbstractValue::People(bits) => AbstractValue::AtLeast(i64::from(bits.count_ones())),
            AbstractValue::There => AbstractValue::AtLeast(1),
            _ => AbstractValue::AtLeast(0),
        },
        ("Min", [a, b]) => match (range(a), range(b)) {
            (Some((low, high)), Some((from, to))) => number(low.min(from), high.min(to)),
            _ => AbstractValue::There,
        },
        ("Max", [a, b]) => match (range(a), range(b)) {
            (Some((low, high)), Some((from, to))) => number(low.max(from), high.max(to)),
            _ => AbstractValue::There,
        },
        ("Add" | "Append", [of, item]) => match (crowd(of), bit(item)) {
            (Some(bits), Some(bit)) => AbstractValue::People(bits | bit),
            _ => AbstractValue::There,
        },
        ("Remove", [of, item]) => match (crowd(of), item) {
            (Some(bits), AbstractValue::Person(it)) => AbstractValue::People(bits & !it),
            _ => AbstractValue::NotNull,
        },
        ("First" | "Last", [of]) => match crowd(of) {
            Some(it @ (1 | 2)) => AbstractValue::Person(it),
            Some(4) => AbstractValue::Someone,
            Some(it) if it != 0 => AbstractValue::There,
            _ => AbstractValue::Unknown,
        },
        ("Split" | "Unique" | "Slice" | "String" | "Join" | "Trim", _) => AbstractValue::NotNull,
        ("Duration" | "Timestamp" | "Pair" | "Digest", _) => AbstractValue::There,
        _ => AbstractValue::Unknown,
    }
}
