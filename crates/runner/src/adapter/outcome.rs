//! How a run ended: from the end event, never from the exit code alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trackside_shim::{ExitCause, ExitRecord};

use super::definition::{CauseRule, ExitClass, RetryAdvice, Transport};
use super::reader::AdapterReader;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOutcome {
    pub class: ExitClass,
    pub retry: RetryAdvice,
    /// When a usage limit ends, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// What the program said.
    pub text: String,
}

impl RunOutcome {
    /// The outcome of a run whose process has ended.
    pub fn of(reader: &AdapterReader, exit: &ExitRecord, stderr: &str) -> Self {
        let adapter = reader.adapter();
        let plain = adapter.transport == Transport::Plain;
        let (event, ok) = reader.end().map_or((&Value::Null, false), |(event, ok)| (event, ok));
        let ended = reader.end().is_some();
        let text = reader.answer().unwrap_or_default().to_owned();
        // Some versions report a usage limit as a turn that went well.
        let is_limit = |rule: &CauseRule| {
            rule.class == ExitClass::Quota && rule.text.as_ref().is_some_and(|it| it.matches(&text))
        };
        let ok = ok && !adapter.end.causes.iter().any(is_limit);
        let by_itself = ended_by_itself(exit);
        if by_itself && (ended && ok || plain && exit.code == Some(0)) {
            return Self { class: ExitClass::Ok, retry: RetryAdvice::No, resets_at: None, text };
        }
        let spoken = if ended { text.as_str() } else { stderr };
        let said = |rule: &&CauseRule| {
            let has_condition = !rule.when.is_empty() || rule.text.is_some() || rule.stderr.is_some();
            has_condition
                && (rule.when.is_empty() || ended && rule.when.matches_with_detail(event, reader.detail()))
                && rule.text.as_ref().is_none_or(|it| ended && it.matches(&text))
                && rule.stderr.as_ref().is_none_or(|it| it.matches(stderr))
        };
        // An end event that says it went well explains nothing about a run that was stopped.
        if !ok && let Some(rule) = adapter.end.causes.iter().find(said) {
            let reset = rule.reset.as_ref().and_then(|it| moment(it.group(spoken)?));
            let quota = reader.quota().and_then(|it| it.resets_at).filter(|_| rule.class == ExitClass::Quota);
            return Self {
                class: rule.class,
                retry: rule.retry,
                resets_at: reset.or(quota),
                text: last_words(spoken),
            };
        }
        if !ended && reader.waits_for_network() {
            let text = if exit.reason.is_empty() { last_words(spoken) } else { exit.reason.clone() };
            return Self { class: ExitClass::Network, retry: RetryAdvice::Wait, resets_at: None, text };
        }
        let class = match (exit.cause, exit.code, exit.signal) {
            (ExitCause::Start, _, _) => ExitClass::Usage,
            (ExitCause::Output, _, _) => ExitClass::Limit,
            (ExitCause::Stop | ExitCause::Lease | ExitCause::Timeout | ExitCause::Signal, _, _) => {
                ExitClass::Killed
            }
            (_, Some(code), _) => adapter.exit.get(&code).copied().unwrap_or(ExitClass::Crash),
            (_, None, Some(_)) => ExitClass::Killed,
            _ => ExitClass::Crash,
        };
        let words = if exit.reason.is_empty() { last_words(spoken) } else { exit.reason.clone() };
        Self { class, retry: RetryAdvice::No, resets_at: None, text: words }
    }
}

/// Why the runner ended a program that had finished its work.
pub(crate) const STAYED: &str = "it had answered and did not end";

/// Whether the agent finished on its own. The runner may have ended a program that stayed after its last answer.
pub(crate) fn ended_by_itself(exit: &ExitRecord) -> bool {
    exit.cause == ExitCause::Exit || exit.cause == ExitCause::Stop && exit.reason == STAYED
}

/// The end of a text: an error message is usually its last lines.
fn last_words(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(2_000);
    let start = (start..=text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(0);
    text.get(start..).unwrap_or_default().to_owned()
}

/// Reads a moment: seconds since 1970, RFC 3339, or `Nov 18th, 2026 11:06 AM` or `11:06 AM` in the zone of this machine.
fn moment(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(timestamp.as_second());
    }
    let mut plain = String::with_capacity(text.len());
    for word in text.split(' ') {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let is_ordinal = !digits.is_empty()
            && word
                .get(digits.len()..)
                .is_some_and(|it| matches!(it.trim_end_matches(','), "st" | "nd" | "rd" | "th"));
        plain.push_str(if is_ordinal { &digits } else { word.trim_end_matches(',') });
        plain.push(' ');
    }
    let zone = jiff::tz::TimeZone::system();
    if let Ok(local) = jiff::civil::DateTime::strptime("%b %d %Y %I:%M %p", plain.trim()) {
        return Some(local.to_zoned(zone).ok()?.timestamp().as_second());
    }
    // Only a time of day: its next occurrence.
    let time = jiff::civil::Time::strptime("%I:%M %p", plain.trim()).ok()?;
    let now = jiff::Timestamp::now().to_zoned(zone.clone());
    let today = now.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    let next = if today > now {
        today
    } else {
        now.date().tomorrow().ok()?.to_datetime(time).to_zoned(zone).ok()?
    };
    Some(next.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_every_form_that_was_seen() {
        assert_eq!(moment("1794999999"), Some(1_794_999_999));
        assert_eq!(moment("2026-11-18T11:06:39Z"), Some(1_794_999_999));
        let local =
            jiff::civil::date(2026, 11, 18).at(11, 6, 0, 0).to_zoned(jiff::tz::TimeZone::system()).unwrap();
        assert_eq!(moment("Nov 18th, 2026 11:06 AM"), Some(local.timestamp().as_second()));
        let next = moment("3:45 PM").unwrap() - jiff::Timestamp::now().as_second();
        assert!((0..=25 * 3600).contains(&next), "{next}");
        assert_eq!(moment("soon"), None);
    }
}
