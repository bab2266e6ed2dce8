//! Live events of a server, entry by entry, through every interruption.

use std::io::BufRead;
use std::time::Duration;

use serde_json::Value as Json;

use crate::server_lookup::{RequestError, ServerConnection};
use crate::url::ApiPath;

/// Attempts in a row, a second apart, before an unreachable server is given up.
const TRIES: u32 = 30;

/// The entries to follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeedFilter {
    pub(crate) lifecycle: Option<String>,
    /// Entries after this one; else from the call of `follow` on.
    pub(crate) after: Option<u64>,
    /// Whether to follow every entry of the journal, not only those for people.
    pub(crate) everything: bool,
    /// Whether to follow the log lines that the packs declare instead of the entries.
    pub(crate) log_lines: bool,
}

/// An event of the stream.
#[derive(Debug)]
pub(crate) enum FeedEvent {
    Entry(Json),
    /// A log line, as the server wrote it.
    Line(String),
    /// The stream broke off: it is tried again.
    Disconnected,
}

/// The last entry that the server shows: the position from which to follow. None if the server does not report it.
pub(crate) fn position(server: &ServerConnection) -> Option<u64> {
    server.get(&ApiPath::readiness()).ok()?.get("seq")?.as_u64()
}

/// Passes on entries as they arrive, until `each` returns false. An interrupted stream resumes after the
/// last event.
pub(crate) fn follow(
    server: &ServerConnection,
    mut wanted: FeedFilter,
    each: &mut dyn FnMut(FeedEvent) -> bool,
) -> Result<(), RequestError> {
    let mut left = TRIES;
    let mut begun = false;
    // With a position, an interruption before the first event loses nothing.
    wanted.after = wanted.after.or_else(|| position(server));
    loop {
        let route = ApiPath::new(&["events"])
            .with_some("lifecycle", wanted.lifecycle.as_ref())
            .with_some("after", wanted.after)
            .with("audience", if wanted.everything { "all" } else { "changes" })
            .with_some("form", wanted.log_lines.then_some("pack"));
        match server.stream(&route) {
            Ok(stream) => {
                (begun, left) = (true, TRIES);
                if !read(stream, wanted.log_lines, &mut wanted.after, each) {
                    return Ok(());
                }
            }
            Err(RequestError::Cli(_)) if begun && left > 0 => left -= 1,
            Err(error) => return Err(error),
        }
        if left == TRIES && !each(FeedEvent::Disconnected) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Reads the stream to its end. Returns whether the caller wants more.
fn read(
    stream: impl BufRead,
    log_lines: bool,
    last: &mut Option<u64>,
    each: &mut dyn FnMut(FeedEvent) -> bool,
) -> bool {
    // A log line has no number: the event's id is the number of its entry.
    let mut id = None;
    for line in stream.lines() {
        let Ok(line) = line else { return true };
        if let Some(text) = line.strip_prefix("id:") {
            id = text.trim().parse().ok();
        }
        let Some(data) = line.strip_prefix("data:") else { continue };
        if log_lines {
            *last = id.take().or(*last);
            if !each(FeedEvent::Line(data.trim().to_owned())) {
                return false;
            }
            continue;
        }
        let Ok(entry) = serde_json::from_str::<Json>(data) else { continue };
        if let Some(seq) = entry.get("seq").and_then(Json::as_u64) {
            *last = Some(seq);
        }
        if !each(FeedEvent::Entry(entry)) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_from_a_stream_and_the_last_is_known() {
        let stream = "event: CREATED\nid: 4\ndata: {\"seq\":4}\n\n: still here\n\nid: 5\ndata: {\"seq\":5}\n\ndata: {\"seq\":6}\n";
        let (mut last, mut seen) = (None, Vec::new());
        let more = read(stream.as_bytes(), false, &mut last, &mut |it| {
            seen.push(it);
            seen.len() < 2
        });
        assert!(!more);
        assert_eq!((seen.len(), last), (2, Some(5)));
        assert!(read(stream.as_bytes(), false, &mut last, &mut |_| true));
        assert_eq!(last, Some(6));
        let stream = "event: CREATED\ndata: {\"b\":1,\"a\":2}\nid: 9\n\nid: 11\ndata: {\"c\":3}\n\n";
        let mut lines = Vec::new();
        assert!(read(stream.as_bytes(), true, &mut last, &mut |it| {
            lines.extend(if let FeedEvent::Line(it) = it { Some(it) } else { None });
            true
        }));
        assert_eq!((lines, last), (vec![r#"{"b":1,"a":2}"#.to_owned(), r#"{"c":3}"#.to_owned()], Some(11)));
    }
}
