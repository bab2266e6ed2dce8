//! Equality and order of values.

use std::cmp::Ordering;

use crate::guard::Fault;
use crate::guard::ir::Comparison;
use crate::guard::limits::Budget;
use crate::value::Value;

/// Numbers are equal by value, whole or not; values of different kinds are not equal.
#[inline]
pub(in crate::guard) fn equal(a: &Value, b: &Value, budget: &Budget) -> Result<bool, Fault> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => {
            budget.text(a.len().min(b.len()))?;
            a == b
        }
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            order_mixed(*int, *float) == Some(Ordering::Equal)
        }
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            budget.items(a.len())?;
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            budget.items(a.len())?;
            for ((x, a), (y, b)) in a.iter().zip(b.iter()) {
                if x != y || !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        _ => a == b,
    })
}

#[inline]
pub(in crate::guard) fn order(a: &Value, b: &Value, budget: &Budget) -> Result<Ordering, Fault> {
    let order = match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => order_mixed(*a, *b),
        (Value::Float(a), Value::Int(b)) => order_mixed(*b, *a).map(Ordering::reverse),
        (Value::Text(a), Value::Text(b)) => {
            budget.text(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Span(a), Value::Span(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    };
    order.ok_or_else(|| Fault::failed(format!("cannot compare {} with {}", a.kind(), b.kind())))
}

/// Exact, where turning the whole number into a float would lose its last digits.
fn order_mixed(int: i64, float: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= LIMIT {
        Some(Ordering::Less)
    } else if float < -LIMIT {
        Some(Ordering::Greater)
    } else {
        let whole = int.cmp(&(float.trunc() as i64));
        Some(whole.then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)))
    }
}

impl Comparison {
    #[inline]
    pub(in crate::guard) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_numbers_compare_exactly() {
        for (int, float, expected) in [
            (1, 1.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (i64::MAX, i64::MAX as f64, Ordering::Less),
            (i64::MIN, i64::MIN as f64, Ordering::Equal),
            (9_007_199_254_740_993, 9_007_199_254_740_992.0, Ordering::Greater),
            (0, f64::MAX, Ordering::Less),
            (0, -f64::MAX, Ordering::Greater),
        ] {
            assert_eq!(order_mixed(int, float), Some(expected), "{int} {float}");
        }
    }
}
