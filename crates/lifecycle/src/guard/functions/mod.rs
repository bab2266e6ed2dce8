//! The built-in functions: names, arguments and behaviour.

mod lists;
mod numbers;
mod shell;
mod signature;
#[cfg(test)]
mod tests;
mod text;
mod time;

use std::borrow::Cow;

pub(super) use lists::position;
pub(super) use signature::{ArgumentMismatch, signature};

use super::Fault;
use super::limits::Budget;
use crate::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    Join,
    Int,
    Double,
    String,
    Duration,
    Timestamp,
    Pow,
    Round,
    Ceil,
    Floor,
    Abs,
    Min,
    Max,
    Sum,
    /// The sum of spans, which is a span even for an empty list.
    SumSpans,
    Add,
    Append,
    Remove,
    Unique,
    Slice,
    First,
    Last,
    Pair,
    Index,
    Before,
    Digest,
    Shell,
    Hours,
    Minutes,
    Seconds,
}

/// A built-in function: its name and usage.
pub(super) struct FunctionEntry {
    pub(super) name: &'static str,
    pub(super) builtin: Builtin,
    pub(super) usage: &'static str,
    pub(super) least: usize,
    pub(super) most: usize,
}

const fn entry(
    name: &'static str,
    builtin: Builtin,
    least: usize,
    most: usize,
    usage: &'static str,
) -> FunctionEntry {
    FunctionEntry { name, builtin, usage, least, most }
}

const ANY_NUMBER: usize = usize::MAX;

static ENTRIES: &[FunctionEntry] = &[
    entry("size", Builtin::Size, 1, 1, "size(text), size(list) or size(map)"),
    entry("contains", Builtin::Contains, 2, 2, "text.contains(part)"),
    entry("startsWith", Builtin::StartsWith, 2, 2, "text.startsWith(part)"),
    entry("endsWith", Builtin::EndsWith, 2, 2, "text.endsWith(part)"),
    entry("lowerAscii", Builtin::LowerAscii, 1, 1, "text.lowerAscii()"),
    entry("upperAscii", Builtin::UpperAscii, 1, 1, "text.upperAscii()"),
    entry("trim", Builtin::Trim, 1, 1, "text.trim()"),
    entry("split", Builtin::Split, 2, 2, "text.split(separator)"),
    entry("join", Builtin::Join, 1, 2, "list.join() or list.join(separator)"),
    entry("int", Builtin::Int, 1, 1, "int(number) or int(text)"),
    entry("double", Builtin::Double, 1, 1, "double(number) or double(text)"),
    entry("string", Builtin::String, 1, 1, "string(value)"),
    entry("duration", Builtin::Duration, 1, 1, "duration(\"1h30m\")"),
    entry("timestamp", Builtin::Timestamp, 1, 1, "timestamp(\"2026-01-01T00:00:00Z\")"),
    entry("pow", Builtin::Pow, 2, 2, "pow(base, exponent)"),
    entry("round", Builtin::Round, 1, 2, "round(number) or round(number, digits)"),
    entry("ceil", Builtin::Ceil, 1, 1, "ceil(number)"),
    entry("floor", Builtin::Floor, 1, 1, "floor(number)"),
    entry("abs", Builtin::Abs, 1, 1, "abs(number)"),
    entry("min", Builtin::Min, 1, ANY_NUMBER, "min(a, b, …) or min(list)"),
    entry("max", Builtin::Max, 1, ANY_NUMBER, "max(a, b, …) or max(list)"),
    entry("sum", Builtin::Sum, 1, 1, "sum(list)"),
    entry("add", Builtin::Add, 2, 2, "add(list, item)"),
    entry("append", Builtin::Append, 2, 2, "append(list, item)"),
    entry("remove", Builtin::Remove, 2, 2, "remove(list, item)"),
    entry("unique", Builtin::Unique, 1, 1, "unique(list)"),
    entry("slice", Builtin::Slice, 2, 3, "list.slice(from) or list.slice(from, to)"),
    entry("first", Builtin::First, 1, 1, "first(list)"),
    entry("last", Builtin::Last, 1, 1, "last(list)"),
    entry("pair", Builtin::Pair, 2, 2, "pair(text, text)"),
    entry("index", Builtin::Index, 2, 2, "index(list, item)"),
    entry("before", Builtin::Before, 2, 2, "text.before(part)"),
    entry("digest", Builtin::Digest, 1, 1, "digest(value)"),
    entry("shell", Builtin::Shell, 1, 1, "shell(text)"),
    entry("hours", Builtin::Hours, 1, 1, "hours(duration)"),
    entry("minutes", Builtin::Minutes, 1, 1, "minutes(duration)"),
    entry("seconds", Builtin::Seconds, 1, 1, "seconds(duration)"),
];

pub(super) fn find(name: &str) -> Option<&'static FunctionEntry> {
    ENTRIES.iter().find(|it| it.name == name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|it| it.name)
}

pub(super) type Arguments<'a, 'v> = &'a [Cow<'v, Value>];

pub(super) fn call(builtin: Builtin, arguments: Arguments<'_, '_>, budget: &Budget) -> Result<Value, Fault> {
    match (builtin, arguments) {
        (Builtin::Size, [it]) => size(it, budget),
        (Builtin::Contains, [it, part]) => text::contains(it, part, budget),
        (Builtin::StartsWith, [it, part]) => text::starts_with(it, part, budget),
        (Builtin::EndsWith, [it, part]) => text::ends_with(it, part, budget),
        (Builtin::LowerAscii, [it]) => text::lower_ascii(it, budget),
        (Builtin::UpperAscii, [it]) => text::upper_ascii(it, budget),
        (Builtin::Trim, [it]) => text::trim(it, budget),
        (Builtin::Split, [it, separator]) => text::split(it, separator, budget),
        (Builtin::Join, [list]) => text::join(list, "", budget),
        (Builtin::Join, [list, separator]) => text::join(list, text::of(separator)?, budget),
        (Builtin::String, [it]) => text::string(it, budget),
        (Builtin::Pair, [a, b]) => text::pair(a, b, budget),
        (Builtin::Index, [list, it]) => lists::index(list, it, budget),
        (Builtin::Before, [it, part]) => text::before_last(it, part, budget),
        (Builtin::Digest, [it]) => text::digest(it, budget),
        (Builtin::Shell, [it]) => shell::shell(it, budget),
        (Builtin::Int, [it]) => numbers::int(it, budget),
        (Builtin::Double, [it]) => numbers::double(it, budget),
        (Builtin::Pow, [base, exponent]) => numbers::pow(base, exponent),
        (Builtin::Round, [it]) => numbers::to_whole(it, f64::round),
        (Builtin::Round, [it, digits]) => numbers::round(it, digits),
        (Builtin::Ceil, [it]) => numbers::to_whole(it, f64::ceil),
        (Builtin::Floor, [it]) => numbers::to_whole(it, f64::floor),
        (Builtin::Abs, [it]) => numbers::abs(it),
        (Builtin::Min, all) => numbers::extreme(all, std::cmp::Ordering::Less, budget),
        (Builtin::Max, all) => numbers::extreme(all, std::cmp::Ordering::Greater, budget),
        (Builtin::Sum, [list]) => numbers::sum(list, Value::Int(0), budget),
        (Builtin::SumSpans, [list]) => numbers::sum(list, Value::Span(crate::time::Span(0)), budget),
        (Builtin::Add, [list, it]) => lists::add(list, it, budget),
        (Builtin::Append, [list, it]) => lists::append(list, it, budget),
        (Builtin::Remove, [list, it]) => lists::remove(list, it, budget),
        (Builtin::Unique, [list]) => lists::unique(list, budget),
        (Builtin::Slice, [list, from]) => lists::slice(list, from, None, budget),
        (Builtin::Slice, [list, from, to]) => lists::slice(list, from, Some(to), budget),
        (Builtin::First, [list]) => lists::first(list),
        (Builtin::Last, [list]) => lists::last(list),
        (Builtin::Duration, [it]) => time::duration(it),
        (Builtin::Timestamp, [it]) => time::timestamp(it),
        (Builtin::Hours, [it]) => time::count(it, 3_600_000.0),
        (Builtin::Minutes, [it]) => time::count(it, 60_000.0),
        (Builtin::Seconds, [it]) => time::count(it, 1_000.0),
        // The checker has counted the arguments.
        _ => Err(Fault::failed("a function was given the wrong number of values")),
    }
}

fn size(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let size = match it {
        Value::List(it) => it.len(),
        Value::Map(it) => it.len(),
        Value::Text(it) => {
            budget.text(it.len())?;
            it.chars().count()
        }
        _ => return Err(needs("size", "text, a list or a map", it)),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

#[cold]
fn needs(function: &str, what: &str, found: &Value) -> Fault {
    Fault::failed(format!("`{function}` needs {what}, not {}", found.kind()))
}
