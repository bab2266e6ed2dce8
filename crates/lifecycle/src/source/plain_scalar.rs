//! The meaning of an unquoted scalar.
//!
//! Narrower than YAML on purpose. Only `true` and `false` are truth values, only `null`, `~` and the empty
//! scalar are null, and only numbers as JSON writes them (a leading `+` allowed) are numbers. `on`, `yes`,
//! `12:30`, `1h`, `80%`, `007` and `0x1F` are text.

use super::node::NodeValue;

/// A number that does not fit.
#[derive(Debug, PartialEq)]
pub(super) struct TooLarge;

pub(super) fn plain(text: &str) -> Result<NodeValue, TooLarge> {
    match text {
        "" | "~" | "null" => Ok(NodeValue::Null),
        "true" => Ok(NodeValue::Bool(true)),
        "false" => Ok(NodeValue::Bool(false)),
        _ => match number(text) {
            Some(Number::Whole) => text.parse().map(NodeValue::Int).map_err(|_| TooLarge),
            Some(Number::Broken) => match text.parse::<f64>() {
                Ok(it) if it.is_finite() => Ok(NodeValue::Float(it)),
                _ => Err(TooLarge),
            },
            None => Ok(NodeValue::Text(text.to_owned())),
        },
    }
}

enum Number {
    Whole,
    Broken,
}

fn number(text: &str) -> Option<Number> {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = digits(rest)?;
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    if rest.is_empty() {
        return Some(Number::Whole);
    }
    let rest = match rest.strip_prefix('.') {
        Some(rest) => digits(rest)?.1,
        None => rest,
    };
    let rest = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => digits(rest.strip_prefix(['-', '+']).unwrap_or(rest))?.1,
        None => rest,
    };
    rest.is_empty().then_some(Number::Broken)
}

/// One digit or more, and the rest of the text.
fn digits(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.split_at_checked(text.len() - rest.len()).filter(|(digits, _)| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_scalars_are_values() {
        for text in [
            "on",
            "off",
            "yes",
            "no",
            "y",
            "n",
            "True",
            "NULL",
            "12:30",
            "1h",
            "80%",
            "007",
            "0x1F",
            "0o17",
            "1_000",
            ".5",
            "1.",
            ".inf",
            ".nan",
            "2026-01-01",
            "1e",
            "-",
            "+",
            "1.2.3",
            "--1",
            "<<",
            "=",
        ] {
            assert_eq!(plain(text), Ok(NodeValue::Text(text.into())), "{text}");
        }
        for (text, value) in [("0", 0), ("-0", 0), ("+5", 5), ("-12", -12), ("9223372036854775807", i64::MAX)]
        {
            assert_eq!(plain(text), Ok(NodeValue::Int(value)), "{text}");
        }
        for (text, value) in [("0.5", 0.5), ("-1.10", -1.1), ("1e3", 1000.0), ("1.5E-3", 0.0015)] {
            assert_eq!(plain(text), Ok(NodeValue::Float(value)), "{text}");
        }
        for text in ["9223372036854775808", "-9223372036854775809", "1e999"] {
            assert_eq!(plain(text), Err(TooLarge), "{text}");
        }
    }
}
