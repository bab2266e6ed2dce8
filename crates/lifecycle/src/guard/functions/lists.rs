//! Functions over lists. Null counts as an empty list: it is the value of a field that was never set.

use super::needs;
use crate::guard::Fault;
use crate::guard::eval::{equal, whole_number};
use crate::guard::limits::Budget;
use crate::value::Value;

/// The index of an equal item.
pub(in crate::guard) fn position(
    items: &[Value],
    item: &Value,
    budget: &Budget,
) -> Result<Option<usize>, Fault> {
    for (at, it) in items.iter().enumerate() {
        budget.step()?;
        if equal(it, item, budget)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn items<'v>(function: &str, list: &'v Value) -> Result<&'v [Value], Fault> {
    match list {
        Value::List(items) => Ok(items),
        Value::Null => Ok(&[]),
        _ => Err(needs(function, "a list", list)),
    }
}

pub(super) fn add(list: &Value, item: &Value, budget: &Budget) -> Result<Value, Fault> {
    match position(items("add", list)?, item, budget)? {
        Some(_) => Ok(list.clone()),
        None => append(list, item, budget),
    }
}

pub(super) fn append(list: &Value, item: &Value, budget: &Budget) -> Result<Value, Fault> {
    let items = items("append", list)?;
    budget.items(items.len())?;
    Ok(Value::list(items.iter().chain([item]).cloned().collect()))
}

pub(super) fn remove(list: &Value, item: &Value, budget: &Budget) -> Result<Value, Fault> {
    let mut kept = Vec::new();
    for it in items("remove", list)? {
        budget.step()?;
        if !equal(it, item, budget)? {
            kept.push(it.clone());
        }
    }
    Ok(Value::list(kept))
}

pub(super) fn unique(list: &Value, budget: &Budget) -> Result<Value, Fault> {
    let mut kept: Vec<Value> = Vec::new();
    for it in items("unique", list)? {
        if position(&kept, it, budget)?.is_none() {
            kept.push(it.clone());
        }
    }
    Ok(Value::list(kept))
}

pub(super) fn slice(list: &Value, from: &Value, to: Option<&Value>, budget: &Budget) -> Result<Value, Fault> {
    let items = items("slice", list)?;
    let clamped = |it: &Value| match whole_number(it) {
        Some(it) => Ok(usize::try_from(it.max(0)).unwrap_or(usize::MAX).min(items.len())),
        None => Err(needs("slice", "whole numbers", it)),
    };
    let from = clamped(from)?;
    let to = to.map_or(Ok(items.len()), clamped)?;
    let part = items.get(from..to.max(from)).unwrap_or_default();
    budget.items(part.len())?;
    Ok(Value::list(part.to_vec()))
}

/// The place of an item, counted from nought; -1 if it is not there.
pub(super) fn index(list: &Value, item: &Value, budget: &Budget) -> Result<Value, Fault> {
    let place = position(items("index", list)?, item, budget)?;
    Ok(Value::Int(place.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1)))
}

pub(super) fn first(list: &Value) -> Result<Value, Fault> {
    Ok(items("first", list)?.first().cloned().unwrap_or_default())
}

pub(super) fn last(list: &Value) -> Result<Value, Fault> {
    Ok(items("last", list)?.last().cloned().unwrap_or_default())
}
