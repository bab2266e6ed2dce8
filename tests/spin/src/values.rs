//! Operators and functions on partly known values.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::Abs;

pub(super) fn member(of: &Abs, name: &Name) -> Abs {
    match of {
        Abs::Known(Value::Map(map)) => Abs::Known(map.get(name).cloned().unwrap_or_default()),
        Abs::Known(_) => Abs::NULL,
        _ => Abs::Unknown,
    }
}

pub(super) fn answer(it: Option<bool>) -> Abs {
    it.map_or(Abs::Unknown, Abs::truth)
}

pub(super) fn swapped([a, b]: [Abs; 2]) -> [Abs; 2] {
    [b, a]
}

fn is_blank(value: &Abs) -> Option<bool> {
    match value {
        Abs::Known(it) => Some(it.is_blank()),
        Abs::People(bits) => Some(*bits == 0),
        Abs::Blank => Some(true),
        Abs::There | Abs::AtLeast(_) | Abs::Person(_) | Abs::Someone => Some(false),
        Abs::NotNull | Abs::Unknown => None,
    }
}

fn is_null(value: &Abs) -> Option<bool> {
    match value {
        Abs::Known(it) => Some(it.is_null()),
        Abs::Unknown => None,
        _ => Some(false),
    }
}

pub(super) fn join(a: Abs, b: Abs) -> Abs {
    if a == b {
        return a;
    }
    match (is_blank(&a), is_blank(&b)) {
        (Some(false), Some(false)) => Abs::There,
        _ if is_null(&a) == Some(false) && is_null(&b) == Some(false) => Abs::NotNull,
        _ => Abs::Unknown,
    }
}

pub(super) fn equal([a, b]: &[Abs; 2]) -> Option<bool> {
    if let (Abs::Known(a), Abs::Known(b)) = (a, b) {
        return Some(match (a.as_float(), b.as_float()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        });
    }
    if is_null(a).zip(is_null(b)).is_some_and(|(a, b)| a != b) {
        return Some(false);
    }
    match (a, b) {
        (Abs::Person(a), Abs::Person(b)) => return Some(a == b),
        (Abs::Person(_), Abs::Someone) | (Abs::Someone, Abs::Person(_)) => return Some(false),
        _ => {}
    }
    if is_blank(a).zip(is_blank(b)).is_some_and(|(a, b)| a != b) {
        return Some(false);
    }
    let ((low, high), (from, to)) = (range(a)?, range(b)?);
    (high < from || to < low).then_some(false)
}

/// The numbers it may be.
fn range(value: &Abs) -> Option<(f64, f64)> {
    match value {
        Abs::Known(it) => it.as_float().map(|it| (it, it)),
        Abs::AtLeast(it) => Some((*it as f64, f64::INFINITY)),
        _ => None,
    }
}

pub(super) fn less([a, b]: &[Abs; 2]) -> Option<bool> {
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
fn number(low: f64, high: f64) -> Abs {
    if low == high && low.fract() == 0.0 {
        Abs::Known(Value::Int(low as i64))
    } else if low >= 0.0 && low.is_finite() {
        Abs::AtLeast(low as i64)
    } else {
        Abs::There
    }
}

pub(super) fn plus([a, b]: [Abs; 2]) -> Abs {
    if let (Some((low, high)), Some((from, to))) = (range(&a), range(&b)) {
        return number(low + from, high + to);
    }
    if let (Some(a), Some(b)) = (crowd(&a), crowd(&b)) {
        return Abs::People(a | b);
    }
    match (is_blank(&a), is_blank(&b)) {
        (Some(false), _) | (_, Some(false)) => Abs::There,
        _ => Abs::NotNull,
    }
}

pub(super) fn minus([a, b]: &[Abs; 2]) -> Abs {
    match (range(a), range(b)) {
        (Some((low, high)), Some((from, to))) => number(low - to, high - from),
        _ => Abs::There,
    }
}

/// The people in a list of ids.
fn crowd(value: &Abs) -> Option<u8> {
    match value {
        Abs::People(bits) => Some(*bits),
        Abs::Known(Value::List(list)) if list.is_empty() => Some(0),
        _ => None,
    }
}

fn bit(value: &Abs) -> Option<u8> {
    match value {
        Abs::Person(it) => Some(*it),
        Abs::Someone => Some(4),
        _ => None,
    }
}

pub(super) fn within([item, range]: &[Abs; 2]) -> Option<bool> {
    match range {
        Abs::Known(Value::List(list)) => {
            let answers = list.iter().map(|it| equal(&[item.clone(), Abs::Known(it.clone())]));
            let answers: Vec<Option<bool>> = answers.collect();
            if answers.contains(&Some(true)) {
                Some(true)
            } else {
                answers.iter().all(|it| *it == Some(false)).then_some(false)
            }
        }
        Abs::People(bits) => {
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

pub(super) fn list(items: Vec<Abs>) -> Abs {
    let known: Option<Vec<Value>> =
        items.iter().map(|it| if let Abs::Known(value) = it { Some(value.clone()) } else { None }).collect();
    if let Some(known) = known {
        return Abs::Known(Value::list(known));
    }
    let bits: Option<Vec<u8>> = items.iter().map(bit).collect();
    bits.map_or(Abs::There, |it| Abs::People(it.into_iter().fold(0, |all, it| all | it)))
}

pub(super) fn call(name: &str, arguments: &[Abs]) -> Abs {
    match (name, arguments) {
        ("Size", [of]) => match of {
            Abs::Known(Value::List(it)) => Abs::Known(Value::Int(it.len() as i64)),
            Abs::Known(Value::Map(it)) => Abs::Known(Value::Int(it.len() as i64)),
            Abs::People(bits) if bits & 4 == 0 => Abs::Known(Value::Int(i64::from(bits.count_ones()))),
            Abs::People(bits) => Abs::AtLeast(i64::from(bits.count_ones())),
            Abs::There => Abs::AtLeast(1),
            _ => Abs::AtLeast(0),
        },
        ("Min", [a, b]) => match (range(a), range(b)) {
            (Some((low, high)), Some((from, to))) => number(low.min(from), high.min(to)),
            _ => Abs::There,
        },
        ("Max", [a, b]) => match (range(a), range(b)) {
            (Some((low, high)), Some((from, to))) => number(low.max(from), high.max(to)),
            _ => Abs::There,
        },
        ("Add" | "Append", [of, item]) => match (crowd(of), bit(item)) {
            (Some(bits), Some(bit)) => Abs::People(bits | bit),
            _ => Abs::There,
        },
        ("Remove", [of, item]) => match (crowd(of), item) {
            (Some(bits), Abs::Person(it)) => Abs::People(bits & !it),
            _ => Abs::NotNull,
        },
        ("First" | "Last", [of]) => match crowd(of) {
            Some(it @ (1 | 2)) => Abs::Person(it),
            Some(4) => Abs::Someone,
            Some(it) if it != 0 => Abs::There,
            _ => Abs::Unknown,
        },
        ("Split" | "Unique" | "Slice" | "String" | "Join" | "Trim", _) => Abs::NotNull,
        ("Duration" | "Timestamp" | "Pair" | "Digest", _) => Abs::There,
        _ => Abs::Unknown,
    }
}
