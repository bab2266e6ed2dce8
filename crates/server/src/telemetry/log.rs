//! The log: one line per event on standard error, as text or as JSON.
//!
//! A line never contains values of entities, tokens, links or queries. Unprintable characters are escaped.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value as Json, json};
use tracing::Level;
use trackside_lifecycle::printable::{escape, escape_json};

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The level and the format of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    pub form: LogFormat,
    /// The least urgent level that is logged.
    pub level: Level,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { form: LogFormat::Text, level: Level::WARN }
    }
}

impl LogOptions {
    /// Writes a line, if its level is logged.
    pub fn write(&self, level: Level, message: &str, fields: &[(&'static str, Json)]) {
        if level > self.level {
            return;
        }
        let now = trackside_runtime::ProjectClock::System.now();
        let line = match self.form {
            LogFormat::Text => text(&now.to_string(), level, message, fields),
            LogFormat::Json => json_line(&now.to_string(), level, message, fields),
        };
        // In one call, so that lines of two threads do not mix.
        #[expect(clippy::disallowed_methods, reason = "the one place that writes the log, escaped")]
        std::io::stderr().lock().write_all(line.as_bytes()).ok();
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        _ => "debug",
    }
}

fn text(at: &str, level: Level, message: &str, fields: &[(&'static str, Json)]) -> String {
    let mut line = format!("{at} {:5} {}", name(level), escape(message));
    for (name, value) in fields {
        match value {
            Json::String(text) if text.chars().all(|it| it.is_ascii_graphic()) => {
                write!(line, " {name}={text}").ok()
            }
            other => write!(line, " {name}={}", escape_json(&other.to_string())).ok(),
        };
    }
    line.push('\n');
    line
}

fn json_line(at: &str, level: Level, message: &str, fields: &[(&'static str, Json)]) -> String {
    let head = [("at", json!(at)), ("level", json!(name(level))), ("message", json!(message))];
    let all = head.iter().chain(fields).map(|(name, value)| ((*name).to_owned(), value.clone()));
    format!("{}\n", escape_json(&Json::Object(all.collect::<Map<_, _>>()).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_one_line() {
        let fields = [("route", json!("/v1/x")), ("detail", json!("two\nlines")), ("ms", json!(1.5))];
        let written = text("T", Level::WARN, "answered", &fields);
        assert_eq!(written, "T warn  answered route=/v1/x detail=\"two\\nlines\" ms=1.5\n");
        let written = json_line("T", Level::ERROR, "broke", &fields);
        assert_eq!(written.lines().count(), 1);
        let read: Json = serde_json::from_str(&written).unwrap();
        assert_eq!((read["detail"].as_str(), read["level"].as_str()), (Some("two\nlines"), Some("error")));
    }

    #[test]
    fn control_characters_are_escaped() {
        let odd = "a\u{1b}]0;T\u{7}\nforged\u{9b}2J\u{202e}";
        let fields = [("detail", json!(odd)), ("list", json!([odd]))];
        for line in [text("T", Level::WARN, odd, &fields), json_line("T", Level::WARN, odd, &fields)] {
            let inside = line.strip_suffix('\n').unwrap();
            assert!(inside.chars().all(trackside_lifecycle::printable::is_printable), "{line:?}");
        }
        let read: Json = serde_json::from_str(&json_line("T", Level::WARN, odd, &fields)).unwrap();
        assert_eq!((read["message"].as_str(), read["detail"].as_str()), (Some(odd), Some(odd)));
    }
}
