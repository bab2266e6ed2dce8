//! Functions over numbers.

use std::cmp::Ordering;

use super::{Arguments, needs};
use crate::guard::Fault;
use crate::guard::eval::{arithmetic, finite, order, whole_number};
use crate::guard::ir::Arithmetic;
use crate::guard::limits::Budget;
use crate::time::Span;
use crate::value::Value;

pub(super) fn int(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    match it {
        Value::Int(_) => Ok(it.clone()),
        Value::Float(_) => to_whole(it, f64::trunc),
        Value::Text(text) => {
            budget.text(text.len())?;
            text.parse().map(Value::Int).map_err(|_| not_a_number(text, "a whole number"))
        }
        // As in CEL: seconds since 1970.
        Value::Time(at) => Ok(Value::Int(at.0.div_euclid(1000))),
        _ => Err(needs("int", "a number or text", it)),
    }
}

pub(super) fn double(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    match it {
        Value::Text(text) => {
            budget.text(text.len())?;
            let number = text.parse::<f64>().ok().filter(|it| it.is_finite());
            number.map(Value::Float).ok_or_else(|| not_a_number(text, "a number"))
        }
        _ => it.as_float().map(Value::Float).ok_or_else(|| needs("double", "a number or text", it)),
    }
}

fn not_a_number(text: &str, what: &str) -> Fault {
    let shown: String = text.chars().take(40).collect();
    Fault::failed(format!("`{shown}` is not {what}"))
}

fn number(it: &Value) -> Result<f64, Fault> {
    it.as_float().ok_or_else(|| Fault::failed(format!("a number is needed here, not {}", it.kind())))
}

pub(super) fn pow(base: &Value, exponent: &Value) -> Result<Value, Fault> {
    if let (Value::Int(base), Value::Int(exponent @ 0..)) = (base, exponent) {
        let exponent = u32::try_from(*exponent).unwrap_or(u32::MAX);
        let power = base.checked_pow(exponent).map(Value::Int);
        return power.ok_or_else(|| Fault::failed("the result is too large"));
    }
    finite(number(base)?.powf(number(exponent)?))
}

pub(super) fn to_whole(it: &Value, how: fn(f64) -> f64) -> Result<Value, Fault> {
    if let Value::Int(_) = it {
        return Ok(it.clone());
    }
    let number = how(number(it)?);
    let fits = (i64::MIN as f64..i64::MAX as f64).contains(&number);
    if fits { Ok(Value::Int(number as i64)) } else { Err(Fault::failed("the result is too large")) }
}

/// Half away from zero, at a decimal place.
pub(super) fn round(it: &Value, digits: &Value) -> Result<Value, Fault> {
    let digits =
        whole_number(digits).and_then(|it| i32::try_from(it).ok()).filter(|it| (0..=15).contains(it));
    let Some(digits) = digits else { return Err(Fault::failed("`round` keeps 0 to 15 digits")) };
    if let Value::Int(_) = it {
        return Ok(it.clone());
    }
    /// From here on a float has no places after the point, and scaling it would only add noise.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    let number = number(it)?;
    let scale = 10_f64.powi(digits);
    let scaled = number * scale;
    finite(if scaled.abs() < WHOLE { scaled.round() / scale } else { number })
}

pub(super) fn abs(it: &Value) -> Result<Value, Fault> {
    let too_large = || Fault::failed("the result is too large");
    match it {
        Value::Int(it) => it.checked_abs().map(Value::Int).ok_or_else(too_large),
        Value::Span(it) => it.0.checked_abs().map(Span).map(Value::Span).ok_or_else(too_large),
        _ => number(it).map(|it| Value::Float(it.abs())),
    }
}

/// The least or the greatest of several values, or of the items of one list; null if there are none.
pub(super) fn extreme(all: Arguments<'_, '_>, wanted: Ordering, budget: &Budget) -> Result<Value, Fault> {
    let pick = |best: Option<Value>, it: &Value| -> Result<Option<Value>, Fault> {
        budget.step()?;
        match best {
            Some(best) => Ok(Some(if order(it, &best, budget)? == wanted { it.clone() } else { best })),
            // Compared with itself, so that one single value has to be comparable, too.
            None => order(it, it, budget).map(|_| Some(it.clone())),
        }
    };
    let best = match all {
        [one] => match &**one {
            Value::List(items) => items.iter().try_fold(None, pick),
            it => pick(None, it),
        },
        _ => all.iter().try_fold(None, |best, it| pick(best, it)),
    };
    best.map(Option::unwrap_or_default)
}

pub(super) fn sum(list: &Value, zero: Value, budget: &Budget) -> Result<Value, Fault> {
    let items = match list {
        Value::List(items) => items.as_slice(),
        Value::Null => &[],
        _ => return Err(needs("sum", "a list", list)),
    };
    let Some((first, rest)) = items.split_first() else { return Ok(zero) };
    // Texts and lists can be added as well, but have no sum.
    if !matches!(first, Value::Int(_) | Value::Float(_) | Value::Span(_)) {
        return Err(Fault::failed(format!("`sum` needs numbers, not {}", first.kind())));
    }
    rest.iter().try_fold(first.clone(), |sum, it| {
        budget.step()?;
        arithmetic(Arithmetic::Add, &sum, it, budget)
    })
}
