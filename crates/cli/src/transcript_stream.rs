//! The transcript of a run: pages of it, and live until the run has ended.

use std::io::BufRead;
use std::time::Duration;

use serde_json::Value as Json;

use crate::print::{self, Colour, painted_data};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::time_format::{list, number, text};
use crate::url::ApiPath;

/// Lines of one page.
const PAGE: usize = 200;
/// Attempts in a row, a second apart, before an unreachable server is given up.
const TRIES: u32 = 30;

/// Passes on the lines after a number, until there are no more or `each` returns false.
pub(crate) fn read_pages(
    server: &ServerConnection,
    run: &str,
    mut after: u64,
    search: Option<&str>,
    each: &mut dyn FnMut(&Json) -> bool,
) -> Result<(), RequestError> {
    loop {
        let route = transcript(run, after).with("limit", PAGE).with_some("q", search);
        let page = server.get(&route)?;
        for line in list(&page, "items") {
            after = after.max(number(line, "number"));
            if !each(line) {
                return Ok(());
            }
        }
        let cursor = match page.get("nextCursor") {
            Some(Json::String(cursor)) => cursor.parse().ok(),
            Some(cursor) => cursor.as_u64(),
            None => None,
        };
        // A search may have looked further than its last match.
        match cursor {
            Some(cursor) if cursor > after || !list(&page, "items").is_empty() => after = after.max(cursor),
            _ => return Ok(()),
        }
    }
}

/// What a live transcript brings.
#[derive(Debug)]
pub(crate) enum TranscriptEvent {
    Line(Json),
    /// The connection was lost; it is opened again.
    Disconnected,
}

/// Passes on lines as they arrive, until the run has ended or `each` returns false.
pub(crate) fn follow(
    server: &ServerConnection,
    run: &str,
    mut after: u64,
    each: &mut dyn FnMut(TranscriptEvent) -> bool,
) -> Result<(), RequestError> {
    let (mut left, mut begun) = (TRIES, false);
    loop {
        match server.stream(&transcript(run, after)) {
            Ok(stream) => {
                (begun, left) = (true, TRIES);
                if !read(stream, &mut after, each) {
                    return Ok(());
                }
            }
            Err(RequestError::Cli(_)) if begun && left > 0 => left -= 1,
            Err(error) => return Err(error),
        }
        if left == TRIES && !each(TranscriptEvent::Disconnected) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn transcript(run: &str, after: u64) -> ApiPath {
    ApiPath::new(&["runs", run, "transcript"]).with("after", after)
}

/// Reads a stream. Returns whether it should be opened again.
fn read(stream: impl BufRead, after: &mut u64, each: &mut dyn FnMut(TranscriptEvent) -> bool) -> bool {
    let mut event = String::new();
    for line in stream.lines() {
        let Ok(line) = line else { return true };
        if let Some(name) = line.strip_prefix("event:") {
            event = name.trim().to_owned();
        } else if line.is_empty() {
            event.clear();
        }
        let Some(data) = line.strip_prefix("data:") else { continue };
        if event == "end" {
            return false;
        }
        let Ok(line) = serde_json::from_str::<Json>(data) else { continue };
        *after = number(&line, "number").max(*after);
        if !each(TranscriptEvent::Line(line)) {
            return false;
        }
    }
    true
}

/// Prints a line: its time, its kind, and its text, further lines of it indented.
pub(crate) fn print_line(line: &Json) {
    let (kind, colour, words) = described(line);
    let at = line.get("at").and_then(Json::as_i64).unwrap_or(0).rem_euclid(86_400_000) / 1_000;
    let time = painted_data(styled!("{:02}:{:02}:{:02}", at / 3_600, at / 60 % 60, at % 60), Colour::Dim);
    let kind = match colour {
        Some(colour) => painted_data(format!("{kind:<9}"), colour),
        None => styled!("{kind:<9}"),
    };
    let mut lines = words.trim_end().split('\n');
    print::line(styled!("{time}  {kind}  {}", lines.next().unwrap_or_default()));
    lines.for_each(|it| print::line(styled!("{:21}{it}", "")));
}

/// What a line is, its colour and its text.
fn described(line: &Json) -> (&str, Option<Colour>, String) {
    let of = |name: &str| text(line, name).to_owned();
    let value = |name: &str| match line.get(name) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if line.get("mark").is_some() {
        return ("trackside", Some(Colour::Blue), of("mark"));
    }
    match text(line, "kind") {
        "message" => ("agent", Some(Colour::Bold), of("text")),
        "thinking" => ("thinking", Some(Colour::Dim), of("text")),
        "user" => ("to agent", Some(Colour::Cyan), of("text")),
        "toolCall" => ("call", Some(Colour::Yellow), format!("{} {}", of("name"), value("input"))),
        "toolResult" if line.get("failed") == Some(&Json::Bool(true)) => {
            ("failed", Some(Colour::Red), of("text"))
        }
        "toolResult" => ("result", Some(Colour::Dim), of("text")),
        "error" => ("error", Some(Colour::Red), of("text")),
        "approval" => ("asks", Some(Colour::Yellow), format!("{} {}", of("tool"), value("input"))),
        "session" => ("session", None, format!("{} {}", of("id"), of("model"))),
        "quota" => ("quota", Some(Colour::Yellow), value("window")),
        "end" => {
            let usage = line.get("usage").cloned().unwrap_or_default();
            let cost = usage.get("cost").and_then(Json::as_f64).map(|it| format!(", ${it:.4}"));
            let tokens = format!("{} in, {} out", number(&usage, "input"), number(&usage, "output"));
            let ok = line.get("ok") == Some(&Json::Bool(true));
            let colour = if ok { Colour::Green } else { Colour::Red };
            (
                if ok { "done" } else { "failed" },
                Some(colour),
                format!("{}\n({tokens} tokens{})", of("text"), cost.unwrap_or_default()),
            )
        }
        kind => (kind, None, value("text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_with_the_run_and_is_opened_again_after_an_interruption() {
        let lines = "id: 3\ndata: {\"number\":3,\"at\":1,\"mark\":\"x\"}\n\n: still here\n\nid: 4\ndata: {\"number\":4,\"at\":1,\"mark\":\"y\"}\n\n";
        let (mut after, mut seen) = (2, 0);
        assert!(read(lines.as_bytes(), &mut after, &mut |_| true), "no end: it was interrupted");
        assert_eq!(after, 4);
        let ended = format!("{lines}event: end\ndata: {{}}\n\n");
        let mut count = |_: TranscriptEvent| {
            seen += 1;
            true
        };
        assert!(!read(ended.as_bytes(), &mut after, &mut count));
        assert_eq!(seen, 2);
    }

    #[test]
    fn every_kind_of_line_has_its_words() {
        let shown = |text: &str| {
            let line = serde_json::from_str(text).unwrap();
            let (kind, _, words) = described(&line);
            format!("{kind}: {words}")
        };
        assert_eq!(shown(r#"{"mark":"started"}"#), "trackside: started");
        assert_eq!(shown(r#"{"kind":"message","text":"hi"}"#), "agent: hi");
        assert_eq!(
            shown(r#"{"kind":"toolCall","name":"Bash","input":{"command":"ls"}}"#),
            r#"call: Bash {"command":"ls"}"#
        );
        assert_eq!(shown(r#"{"kind":"toolResult","text":"no","failed":true}"#), "failed: no");
        let end = r#"{"kind":"end","ok":true,"text":"Done","usage":{"input":5,"output":7,"cost":0.25}}"#;
        assert_eq!(shown(end), "done: Done\n(5 in, 7 out tokens, $0.2500)");
        assert_eq!(shown(r#"{"kind":"new-kind","text":"x"}"#), "new-kind: x");
    }
}
