//! Functions over moments and lengths of time.

use super::{needs, text};
use crate::guard::Fault;
use crate::guard::eval::finite;
use crate::time::{Span, Timestamp};
use crate::value::Value;

pub(super) fn duration(it: &Value) -> Result<Value, Fault> {
    if let Value::Span(_) = it {
        return Ok(it.clone());
    }
    let text = text::of(it)?;
    let span = Span::parse(text).or_else(|| signed(text));
    span.map(Value::Span).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Fault::failed(format!("`{shown}` is not a length of time such as `90s`, `15m` or `1h30m`"))
    })
}

pub(super) fn timestamp(it: &Value) -> Result<Value, Fault> {
    if let Value::Time(_) = it {
        return Ok(it.clone());
    }
    let text = text::of(it)?;
    Timestamp::parse(text).map(Value::Time).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Fault::failed(format!("`{shown}` is not a moment such as `2026-01-01T00:00:00Z`"))
    })
}

/// A span in units; a map of spans gives a map of numbers.
pub(super) fn count(it: &Value, unit: f64) -> Result<Value, Fault> {
    match it {
        Value::Span(it) => finite(it.0 as f64 / unit),
        Value::Map(map) => {
            let counted = map.iter().map(|(name, it)| Ok((name.clone(), count(it, unit)?)));
            counted.collect::<Result<_, Fault>>().map(Value::map)
        }
        _ => Err(needs("hours, minutes and seconds", "a length of time", it)),
    }
}

/// CEL's own way to write it: a sign, fractions, and units down to nanoseconds. `-1.5h`, `90000us`.
fn signed(text: &str) -> Option<Span> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Span(0));
    }
    let mut nanoseconds: i128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, tail) = rest.split_at_checked(end)?;
        let end = tail.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(end)?;
        let unit: i128 = match unit {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" | "µs" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        let after = after.get(..after.len().min(9))?;
        if before.is_empty() && after.is_empty() || before.len() > 20 {
            return None;
        }
        let digits = |it: &str| if it.is_empty() { Some(0) } else { it.parse::<i128>().ok() };
        let scale = 10_i128.pow(u32::try_from(after.len()).ok()?);
        nanoseconds = nanoseconds.checked_add(digits(before)? * unit + digits(after)? * unit / scale)?;
        rest = tail;
    }
    i64::try_from(sign * nanoseconds / 1_000_000).ok().map(Span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_our_way_and_the_way_of_cel() {
        for (text, ms) in [
            ("5m", Some(300_000)),
            ("7d", Some(604_800_000)),
            ("1h30m", Some(5_400_000)),
            ("-1.5h", Some(-5_400_000)),
            ("1.5s", Some(1_500)),
            ("90000us", Some(90)),
            ("1m0.5s", Some(60_500)),
            ("0", Some(0)),
            ("", None),
            ("-", None),
            (".", None),
            (".s", None),
            ("1.2.3s", None),
            ("5", None),
            ("5y", None),
            ("99999999999999999999999999h", None),
            ("9999999999999999h", None),
        ] {
            let read = duration(&Value::text(text)).ok().and_then(|it| it.as_span());
            assert_eq!(read, ms.map(Span), "{text}");
        }
    }
}
