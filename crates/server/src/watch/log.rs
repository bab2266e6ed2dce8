//! What is said while it runs, for whoever operates it: a line each, as text or as JSON, on stderr.
//!
//! Values of entities, tokens, links and queries are never said: a line tells who asked for which route, and what
//! became of it.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value as Json, json};

/// How much is said. Each says what those before it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What should not happen.
    Error,
    /// What somebody should look at.
    Warn,
    /// Every request, coming up and ending.
    Info,
    /// What is only of use when looking for something.
    Debug,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// In which form it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    Text,
    Json,
}

/// Says what happens, in a form and up to a level.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    pub form: LogForm,
    pub level: Level,
}

impl Default for Log {
    fn default() -> Self {
        Self { form: LogForm::Text, level: Level::Warn }
    }
}

impl Log {
    pub fn says(&self, level: Level) -> bool {
        level <= self.level
    }

    /// Says something, with what belongs to it.
    pub fn say(&self, level: Level, message: &str, more: &[(&'static str, Json)]) {
        if !self.says(level) {
            return;
        }
        let now = trackside_runtime::Clock::System.now();
        let line = match self.form {
            LogForm::Text => text(&now.to_string(), level, message, more),
            LogForm::Json => jsoned(&now.to_string(), level, message, more),
        };
        // At once, so that lines of two threads do not mix.
        std::io::stderr().lock().write_all(line.as_bytes()).ok();
    }
}

fn text(at: &str, level: Level, message: &str, more: &[(&'static str, Json)]) -> String {
    let mut line = format!("{at} {:5} {message}", level.as_str());
    for (name, value) in more.iter().filter(|(_, it)| !it.is_null()) {
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

fn jsoned(at: &str, level: Level, message: &str, more: &[(&'static str, Json)]) -> String {
    let mut line = Map::new();
    line.insert("at".to_owned(), json!(at));
    line.insert("level".to_owned(), json!(level.as_str()));
    line.insert("message".to_owned(), json!(message));
    for (name, value) in more.iter().filter(|(_, it)| !it.is_null()) {
        line.insert((*name).to_owned(), value.clone());
    }
    format!("{}\n", Json::Object(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_line_whatever_is_in_it() {
        let more = [
            ("route", json!("/v1/x")),
            ("detail", json!("two\nlines")),
            ("none", Json::Null),
            ("ms", json!(1.5)),
        ];
        let written = text("T", Level::Warn, "answered", &more);
        assert_eq!(written, "T warn  answered route=/v1/x detail=\"two\\nlines\" ms=1.5\n");
        let written = jsoned("T", Level::Error, "broke", &more);
        assert_eq!(written.lines().count(), 1);
        let read: Json = serde_json::from_str(&written).unwrap();
        assert_eq!(read["detail"], "two\nlines");
        assert_eq!((read["level"].as_str(), read.get("none")), (Some("error"), None));
    }

    #[test]
    fn a_level_says_what_is_more_urgent_too() {
        let log = Log { level: Level::Warn, ..Log::default() };
        assert!(log.says(Level::Error) && log.says(Level::Warn) && !log.says(Level::Info));
    }
}
