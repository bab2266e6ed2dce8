//! The log: one line per event on standard error, as text or as JSON.
//!
//! A line never contains values of entities, tokens, links or queries.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value as Json, json};
use tracing::Level;

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
    let mut line = format!("{at} {:5} {message}", name(level));
    for (name, value) in fields {
        match value {
            Json::String(text) if text.chars().all(|it| it.is_ascii_graphic()) => {
                write!(line, " {name}={text}").ok()
            }
            other => write!(line, " {name}={other}").ok(),
        };
    }
    line.push('\n');
    line
}

fn json_line(at: &str, level: Level, message: &str, fields: &[(&'static str, Json)]) -> String {
    let head = [("at", json!(at)), ("level", json!(name(level))), ("message", json!(message))];
    let all = head.iter().chain(fields).map(|(name, value)| ((*name).to_owned(), value.clone()));
    format!("{}\n", Json::Object(all.collect::<Map<_, _>>()))
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
}
