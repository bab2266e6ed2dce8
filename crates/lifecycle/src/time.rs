//! Moments and spans as values. Nothing here reads the clock.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub i64);

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl Timestamp {
    /// Reads RFC 3339 text, for instance `2026-01-01T00:00:00Z`.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|it| Self(it.as_millisecond()))
    }

    pub fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Whether it can be written as a date: from the year -9999 to 9999.
    pub fn is_date(self) -> bool {
        jiff::Timestamp::from_millisecond(self.0).is_ok()
    }

    /// The span since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0).max(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(it) => write!(f, "{it}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

impl Span {
    pub const fn seconds(n: i64) -> Self {
        Self(n.saturating_mul(SECOND))
    }

    pub fn percent(self, percent: u32) -> Self {
        let scaled = i128::from(self.0) * i128::from(percent) / 100;
        Self(i64::try_from(scaled).unwrap_or(i64::MAX))
    }

    /// Reads `500ms`, `90s`, `15m`, `24h`, `7d`, and sums such as `1h30m`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        if rest.is_empty() {
            return None;
        }
        let mut total: i64 = 0;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, tail) = rest.split_at_checked(digits)?;
            let number: i64 = number.parse().ok()?;
            let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let (unit, tail) = tail.split_at_checked(letters)?;
            let unit = match unit {
                "ms" => 1,
                "s" => SECOND,
                "m" => MINUTE,
                "h" => HOUR,
                "d" => DAY,
                _ => return None,
            };
            total = total.checked_add(number.checked_mul(unit)?)?;
            rest = tail;
        }
        Some(Self(total))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        for (unit, name) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"), (1, "ms")] {
            let unit = unit.unsigned_abs();
            if rest >= unit {
                write!(f, "{}{name}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_back_what_they_print() {
        for text in ["0s", "90s", "15m", "24h", "7d", "1h30m", "500ms"] {
            let span = Span::parse(text).unwrap();
            assert_eq!(Span::parse(&span.to_string()), Some(span), "{text}");
        }
        assert_eq!(Span::parse("90s").unwrap().to_string(), "1m30s");
        for bad in ["", "5", "m", "5 m", "-5m", "5y", "99999999999999999999s", "99999999999999999d"] {
            assert_eq!(Span::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_are_rfc_3339() {
        let at = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        assert_eq!(at.plus(Span::parse("1h30m").unwrap()).to_string(), "2026-01-01T01:30:00Z");
        assert_eq!(Timestamp(i64::MAX).plus(Span(1)), Timestamp(i64::MAX));
    }
}
