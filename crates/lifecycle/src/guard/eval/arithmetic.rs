//! `+ - * / %` over numbers, text, lists, moments and lengths of time.

use crate::guard::Fault;
use crate::guard::ir::Arithmetic;
use crate::guard::limits::Budget;
use crate::name::Name;
use crate::time::{Span, Timestamp};
use crate::value::Value;

pub(in crate::guard) fn arithmetic(
    operation: Arithmetic,
    a: &Value,
    b: &Value,
    budget: &Budget,
) -> Result<Value, Fault> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
    use Value::{Float, Int, Time};
    match (operation, a, b) {
        (_, Int(a), Int(b)) => int_arithmetic(operation, *a, *b),
        (Add | Subtract | Multiply | Divide, Int(_) | Float(_), Int(_) | Float(_)) => {
            let (a, b) = (a.as_float().unwrap_or_default(), b.as_float().unwrap_or_default());
            finite(match operation {
                Add => a + b,
                Subtract => a - b,
                Multiply => a * b,
                Divide | Remainder => a / b,
            })
        }
        (Add, Value::Text(a), Value::Text(b)) => {
            budget.text(a.len() + b.len())?;
            Ok(Value::Text(Name::from([&**a, &**b].concat())))
        }
        (Add, Value::List(a), Value::List(b)) => {
            budget.items(a.len() + b.len())?;
            Ok(Value::list(a.iter().chain(b.iter()).cloned().collect()))
        }
        (Subtract, Time(a), Time(b)) => a.0.checked_sub(b.0).map(Span).map(Value::Span).ok_or_else(too_large),
        (Add, Time(at), Value::Span(by)) | (Add, Value::Span(by), Time(at)) => {
            at.0.checked_add(by.0).map(Timestamp).map(Time).ok_or_else(too_large)
        }
        (Subtract, Time(at), Value::Span(by)) => {
            at.0.checked_sub(by.0).map(Timestamp).map(Time).ok_or_else(too_large)
        }
        (Add, Value::Span(a), Value::Span(b)) => span(a.0.checked_add(b.0)),
        (Subtract, Value::Span(a), Value::Span(b)) => span(a.0.checked_sub(b.0)),
        (Divide, Value::Span(a), Value::Span(b)) => finite(a.0 as f64 / b.0 as f64),
        (Multiply, Value::Span(it), Int(by)) | (Multiply, Int(by), Value::Span(it)) => {
            span(it.0.checked_mul(*by))
        }
        (Multiply, Value::Span(it), Float(by)) | (Multiply, Float(by), Value::Span(it)) => {
            scale_span(*it, *by)
        }
        (Divide, Value::Span(it), Int(_) | Float(_)) => {
            scale_span(*it, 1.0 / b.as_float().unwrap_or_default())
        }
        _ => Err(Fault::failed(format!(
            "cannot {} {}",
            operation.verb(),
            operation.operands(a.kind(), b.kind())
        ))),
    }
}

fn int_arithmetic(operation: Arithmetic, a: i64, b: i64) -> Result<Value, Fault> {
    if b == 0 && matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
        return Err(Fault::failed("cannot divide by zero"));
    }
    let result = match operation {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    };
    result.map(Value::Int).ok_or_else(too_large)
}

pub(in crate::guard) fn negate(value: &Value) -> Result<Value, Fault> {
    match value {
        Value::Int(it) => it.checked_neg().map(Value::Int).ok_or_else(too_large),
        Value::Float(it) => Ok(Value::Float(-it)),
        Value::Span(it) => span(it.0.checked_neg()),
        _ => Err(Fault::failed(format!("cannot negate {}", value.kind()))),
    }
}

/// A number, if it is one: neither infinite nor undefined.
pub(in crate::guard) fn finite(it: f64) -> Result<Value, Fault> {
    if it.is_finite() {
        Ok(Value::Float(it))
    } else {
        Err(Fault::failed("the result is not a finite number"))
    }
}

fn span(ms: Option<i64>) -> Result<Value, Fault> {
    ms.map(Span).map(Value::Span).ok_or_else(too_large)
}

/// To the nearest millisecond.
fn scale_span(it: Span, by: f64) -> Result<Value, Fault> {
    let ms = (it.0 as f64 * by).round();
    if ms.abs() < i64::MAX as f64 { span(Some(ms as i64)) } else { Err(too_large()) }
}

#[cold]
pub(in crate::guard) fn too_large() -> Fault {
    Fault::failed("the result is too large")
}

impl Arithmetic {
    pub(in crate::guard) fn verb(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Remainder => "take the remainder of",
        }
    }

    /// The two operands in the order in which the verb names them.
    pub(in crate::guard) fn operands(self, a: &str, b: &str) -> String {
        match self {
            Self::Add => format!("{a} and {b}"),
            Self::Subtract => format!("{b} from {a}"),
            Self::Multiply | Self::Divide | Self::Remainder => format!("{a} by {b}"),
        }
    }
}
