//! Functions over text.

use sha2::{Digest as _, Sha256};

use super::needs;
use crate::guard::Fault;
use crate::guard::limits::Budget;
use crate::guard::template::show;
use crate::hex;
use crate::name::Name;
use crate::value::Value;

pub(super) fn of(it: &Value) -> Result<&str, Fault> {
    it.as_str().ok_or_else(|| Fault::failed(format!("text is needed here, not {}", it.kind())))
}

pub(super) fn contains(it: &Value, part: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (it, part) = (of(it)?, of(part)?);
    budget.text(it.len())?;
    Ok(Value::Bool(it.contains(part)))
}

pub(super) fn starts_with(it: &Value, part: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (it, part) = (of(it)?, of(part)?);
    budget.text(part.len())?;
    Ok(Value::Bool(it.starts_with(part)))
}

pub(super) fn ends_with(it: &Value, part: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (it, part) = (of(it)?, of(part)?);
    budget.text(part.len())?;
    Ok(Value::Bool(it.ends_with(part)))
}

pub(super) fn lower_ascii(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let it = of(it)?;
    budget.text(it.len())?;
    Ok(Value::Text(Name::from(it.to_ascii_lowercase())))
}

pub(super) fn upper_ascii(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let it = of(it)?;
    budget.text(it.len())?;
    Ok(Value::Text(Name::from(it.to_ascii_uppercase())))
}

pub(super) fn trim(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let it = of(it)?;
    budget.text(it.len())?;
    Ok(Value::text(it.trim()))
}

/// The text before the last occurrence of a part; the whole text if there is none.
pub(super) fn before_last(it: &Value, part: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (it, part) = (of(it)?, of(part)?);
    budget.text(it.len())?;
    let end = if part.is_empty() { None } else { it.rfind(part) };
    Ok(Value::text(end.and_then(|end| it.get(..end)).unwrap_or(it)))
}

/// SHA-256 of the stored form, which has one spelling for each value.
pub(super) fn digest(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let stored = serde_json::to_string(it).map_err(|error| Fault::failed(error.to_string()))?;
    budget.text(stored.len())?;
    Ok(Value::Text(hex::encode(Sha256::digest(stored.as_bytes())).into()))
}

pub(super) fn split(it: &Value, separator: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (it, separator) = (of(it)?, of(separator)?);
    budget.text(it.len())?;
    let mut parts = Vec::new();
    let mut push = |part: &str| {
        budget.step()?;
        parts.push(Value::text(part));
        Ok(())
    };
    if separator.is_empty() {
        // Between empty separators there are the characters.
        it.char_indices().try_for_each(|(at, c)| push(it.get(at..at + c.len_utf8()).unwrap_or_default()))?;
    } else {
        it.split(separator).try_for_each(push)?;
    }
    Ok(Value::list(parts))
}

pub(super) fn join(list: &Value, separator: &str, budget: &Budget) -> Result<Value, Fault> {
    let Some(items) = list.as_list() else { return Err(needs("join", "a list", list)) };
    let mut joined = String::new();
    for (at, item) in items.iter().enumerate() {
        let item = of(item)?;
        budget.items(1)?;
        budget.text(item.len() + separator.len())?;
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(item);
    }
    Ok(Value::Text(Name::from(joined)))
}

pub(super) fn string(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    match it {
        Value::Text(_) => Ok(it.clone()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Time(_) | Value::Span(_) => {
            let mut text = String::new();
            show(it, &mut text, budget)?;
            Ok(Value::Text(Name::from(text)))
        }
        // As JSON, to search for words anywhere in it.
        Value::List(_) | Value::Map(_) => {
            let text = it.to_json().to_string();
            budget.text(text.len())?;
            Ok(Value::Text(Name::from(text)))
        }
        Value::Null => Err(needs("string", "a value", it)),
    }
}

/// The same key for a pair in either order.
pub(super) fn pair(a: &Value, b: &Value, budget: &Budget) -> Result<Value, Fault> {
    let (a, b) = (of(a)?, of(b)?);
    budget.text(a.len() + b.len())?;
    let (first, second) = if a <= b { (a, b) } else { (b, a) };
    Ok(Value::Text(Name::from(format!("{first}|{second}"))))
}
