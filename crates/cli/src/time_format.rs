//! Times, lengths of time and values, as people read them.

use std::borrow::Cow;

use serde_json::Value as Json;
use trackside_lifecycle::printable::escape;
use trackside_lifecycle::time::{Span, Timestamp};

/// A moment to the second: `2026-01-01 00:00:00Z`.
pub(crate) fn moment(text: &str) -> String {
    let Some(at) = Timestamp::parse(text) else { return text.to_owned() };
    let whole = Timestamp(at.0 - at.0.rem_euclid(1_000));
    whole.to_string().replacen('T', " ", 1)
}

/// A length of time by its two largest units: `3d4h`, `2h5m`, `12s`.
pub(crate) fn rough(span: Span) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let mut rest = span.0.max(0);
    let mut text = String::new();
    for (at, (unit, name)) in UNITS.iter().enumerate() {
        if rest >= *unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
            if let Some((unit, name)) = UNITS.get(at + 1)
                && rest >= *unit
            {
                text.push_str(&format!("{}{name}", rest / unit));
            }
            return text;
        }
    }
    if span.0 > 0 { "under 1s".to_owned() } else { "0s".to_owned() }
}

/// A span given in seconds.
pub(crate) fn seconds(count: f64) -> String {
    rough(Span((count * 1_000.0) as i64))
}

/// The span from one moment to another: `in 2h`, `2h ago`, `now`.
pub(crate) fn relative(at: &str, now: &str) -> Option<String> {
    let (at, now) = (Timestamp::parse(at)?, Timestamp::parse(now)?);
    Some(match at.cmp(&now) {
        std::cmp::Ordering::Less => format!("{} ago", rough(now.since(at))),
        std::cmp::Ordering::Equal => "now".to_owned(),
        std::cmp::Ordering::Greater => format!("in {}", rough(at.since(now))),
    })
}

/// All values of a document, one line each with the path: `payload.arguments.command: make`. People decide
/// on it: nothing is cut, and line breaks and control characters are escaped.
pub(crate) fn places(fields: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, it) in fields.as_object().into_iter().flatten() {
        // Texts, numbers, and lists and objects of them. A flag alone says little.
        if !it.is_boolean() {
            placed(name, it, &mut lines);
        }
    }
    lines
}

fn placed(place: &str, it: &Json, lines: &mut Vec<String>) {
    match it {
        Json::Null => {}
        Json::Object(members) => {
            for (name, it) in members {
                placed(&format!("{}.{}", place, exact(name)), it, lines);
            }
        }
        Json::Array(some) if some.iter().any(|it| it.is_object() || it.is_array()) => {
            for (at, it) in some.iter().enumerate() {
                placed(&format!("{place}[{at}]"), it, lines);
            }
        }
        Json::Array(some) => {
            let all: Vec<String> = some.iter().map(plain).collect();
            if !all.is_empty() {
                lines.push(format!("{place}: {}", all.join(", ")));
            }
        }
        it => lines.push(format!("{place}: {}", plain(it))),
    }
}

fn plain(it: &Json) -> String {
    it.as_str().map_or_else(|| it.to_string(), exact)
}

/// Text as it is; where that is more than one line, or would steer a terminal, in quotes and with escapes.
fn exact(text: &str) -> String {
    match escape(text) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(escaped) => format!("\"{escaped}\""),
    }
}

/// A value in one line.
pub(crate) fn value(it: &Json) -> String {
    match it {
        Json::Null => "nothing".to_owned(),
        Json::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Json::Array(some) if some.is_empty() => "none".to_owned(),
        Json::Array(some) if some.iter().all(|it| !it.is_object() && !it.is_array()) => {
            some.iter().map(value).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Whether a value is not empty.
pub(crate) fn says_something(it: &Json) -> bool {
    match it {
        Json::Null => false,
        Json::String(text) => !text.is_empty(),
        Json::Array(some) => !some.is_empty(),
        Json::Object(some) => some.values().any(says_something),
        Json::Bool(_) | Json::Number(_) => true,
    }
}

/// The text at a key of a document; empty if there is none.
pub(crate) fn text<'a>(it: &'a Json, name: &str) -> &'a str {
    it.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Texts of a list at a place of a document.
pub(crate) fn texts<'a>(it: &'a Json, name: &str) -> Vec<&'a str> {
    it.get(name).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}

/// The same in one line: `-` if there is none.
pub(crate) fn joined(it: &Json, name: &str) -> String {
    let all = texts(it, name);
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

/// The moment at a key of a document: `-` if there is none.
pub(crate) fn moment_at(it: &Json, name: &str) -> String {
    Some(text(it, name)).filter(|it| !it.is_empty()).map_or_else(|| "-".to_owned(), moment)
}

/// The number at a key of a document, or 0.
pub(crate) fn number(it: &Json, name: &str) -> u64 {
    it.get(name).and_then(Json::as_u64).unwrap_or_default()
}

/// Whether a document says `true` at a key.
pub(crate) fn is_true(it: &Json, name: &str) -> bool {
    it.get(name) == Some(&Json::Bool(true))
}

/// The entity that a document names: `LIFECYCLE/ID`.
pub(crate) fn entity_of(it: &Json) -> String {
    format!("{}/{}", text(it, "lifecycle"), text(it, "id"))
}

/// The list at a key of a document.
pub(crate) fn list<'a>(it: &'a Json, name: &str) -> &'a [Json] {
    it.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_printed_with_their_two_largest_units() {
        for (ms, answer) in [
            (0, "0s"),
            (400, "under 1s"),
            (12_000, "12s"),
            (125_000, "2m5s"),
            (7_200_000, "2h"),
            (7_500_000, "2h5m"),
            (90_061_000, "1d1h"),
            (86_400_000 + 59_000, "1d"),
        ] {
            assert_eq!(rough(Span(ms)), answer);
        }
    }

    #[test]
    fn moments_are_printed_to_the_second() {
        assert_eq!(moment("2026-01-01T00:00:00.123Z"), "2026-01-01 00:00:00Z");
        assert_eq!(moment("soon"), "soon");
        let (a, b) = ("2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z");
        assert_eq!(relative(a, b).as_deref(), Some("2h ago"));
        assert_eq!(relative(b, a).as_deref(), Some("in 2h"));
        assert_eq!(relative(a, a).as_deref(), Some("now"));
    }

    #[test]
    fn values_fit_in_a_line() {
        assert_eq!(value(&serde_json::json!("a\n b")), "a b");
        assert_eq!(value(&serde_json::json!(["a", 1])), "a, 1");
        assert_eq!(value(&serde_json::json!({ "a": [1] })), "{\"a\":[1]}");
    }

    #[test]
    fn nested_values_are_shown_with_their_path_and_escaped() {
        let held = serde_json::json!({
            "action": "shell", "urgent": false, "none": null, "tags": ["a", 1],
            "payload": { "arguments": { "command": "ls # \nrm -rf \u{1b}[8m~", "force": false }, "steps": [{ "n": 1 }] },
        });
        let answer = [
            "action: shell",
            "payload.arguments.command: \"ls # \\nrm -rf \\u{1b}[8m~\"",
            "payload.arguments.force: false",
            "payload.steps[0].n: 1",
            "tags: a, 1",
        ];
        assert_eq!(places(&held), answer);
    }
}
