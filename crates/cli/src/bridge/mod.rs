//! Passes MCP messages from standard input to the server, and its answers to standard output.
//!
//! The server has the tools and decides. While it is unreachable, every request is answered with an error
//! that says what to do, and the next request looks for the server again.

mod lines;
mod message;

use std::collections::BTreeSet;
use std::io::{BufRead, Read as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use trackside_protocol::{Exchange, Problem};

use crate::args::ReachArgs;
use crate::print;
use crate::server_lookup::{Credentials, RequestError, ServerConnection};
use lines::{BridgeLine, LineReader};
use message::{McpMessage, NOT_ONE, TURNED_DOWN, refusal};

/// The path of MCP on the server.
const PATH: &str = "/mcp";
/// Requests that may be under way at a time.
const MOST: usize = 64;
/// Cancelled requests that are remembered, whether or not they were under way.
const FORGOTTEN: usize = 1_000;
/// The longest wait for the last responses after the input ends.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Carries messages; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Bridge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reach: ReachArgs,
    on_behalf: Option<String>,
    known: Mutex<Known>,
    /// Signals the end of a request.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    server: Option<ServerConnection>,
    /// The version of the protocol that a handshake agreed on.
    version: Option<String>,
    under_way: usize,
    /// Ids of cancelled requests.
    given_up: BTreeSet<String>,
}

impl Bridge {
    pub(crate) fn new(reach: ReachArgs, on_behalf: Option<String>) -> Self {
        Self(Arc::new(Inner { reach, on_behalf, known: Mutex::default(), done: Condvar::new() }))
    }

    /// Carries until there is no more input, and the answers are out.
    pub(crate) fn run(&self, input: impl BufRead) {
        let mut lines = LineReader::new(input);
        while let Some(line) = lines.next() {
            match line {
                BridgeLine::Whole(text) if text.iter().all(u8::is_ascii_whitespace) => {}
                BridgeLine::Whole(text) => self.take(text),
                BridgeLine::TooLong(most) => {
                    let why = format!("Message too large: the limit is {most} bytes");
                    print::line(refusal(&Json::Null, NOT_ONE, &why, None));
                }
            }
            if !print::is_read() {
                return;
            }
        }
        self.wait_for_the_last();
    }

    fn take(&self, text: Vec<u8>) {
        let message = match McpMessage::read(text) {
            Ok(message) => message,
            Err((code, why)) => return print::line(refusal(&Json::Null, code, why, None)),
        };
        if let Some(id) = message.gives_up() {
            let mut known = self.known();
            if known.given_up.len() >= FORGOTTEN {
                known.given_up.clear();
            }
            known.given_up.insert(id);
            return;
        }
        {
            let mut known = self.known();
            if known.under_way >= MOST {
                drop(known);
                let why =
                    format!("{MOST} requests are in flight, which is the limit: wait for one to finish");
                return self.turn_down(&message, TURNED_DOWN, &why, None);
            }
            known.under_way += 1;
        }
        let this = self.clone();
        std::thread::spawn(move || {
            let _ended = Ended { bridge: &this, id: message.id_text() };
            this.carry(&message);
        });
    }

    fn carry(&self, message: &McpMessage) {
        let version = message.version().or_else(|| self.known().version.clone());
        let headers = message.headers(version.as_deref());
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, it)| (*name, it.as_str())).collect();
        let answered = self.server().and_then(|it| it.exchange(PATH, message.text().to_vec(), &headers));
        match answered {
            Ok(answer) => self.pass_on(message, answer),
            Err(RequestError::Cli(stopped)) => {
                // It may come back at another address.
                self.known().server = None;
                self.turn_down(message, TURNED_DOWN, &stopped.why.plain(), None);
            }
            Err(RequestError::Refused(problem)) => self.refused(message, &problem),
        }
    }

    fn server(&self) -> Result<ServerConnection, RequestError> {
        let known = self.known().server.clone();
        if let Some(server) = known {
            server.check_still_same()?;
            return Ok(server);
        }
        let found = ServerConnection::find_with(&self.0.reach, Credentials::Token)?
            .acting_for(self.0.on_behalf.as_deref());
        self.known().server = Some(found.clone());
        Ok(found)
    }

    fn pass_on(&self, message: &McpMessage, answer: Exchange<impl BufRead>) {
        let Exchange { status, kind, body } = answer;
        if kind.starts_with("text/event-stream") {
            return self.pass_on_events(message, body);
        }
        let mut text = Vec::new();
        if body.take(LONGEST).read_to_end(&mut text).is_err() {
            let why = "The connection broke before the response arrived: send the request again";
            return self.turn_down(message, TURNED_DOWN, why, None);
        }
        match serde_json::from_slice::<Json>(&text) {
            Ok(answer) if answer.get("jsonrpc").is_some() => self.tell(message, &answer),
            Ok(answer) => match serde_json::from_value::<Problem>(answer) {
                Ok(problem) => self.refused(message, &problem),
                Err(_) => self.strange(message, status),
            },
            Err(_) if text.is_empty() && status < 300 => {}
            Err(_) => self.strange(message, status),
        }
    }

    /// A streamed response: notifications, then the result.
    fn pass_on_events(&self, message: &McpMessage, body: impl BufRead) {
        let mut event = String::new();
        let mut answered = false;
        for line in body.lines() {
            let Ok(line) = line else { break };
            if let Some(piece) = line.strip_prefix("data:") {
                event.push_str(piece.strip_prefix(' ').unwrap_or(piece));
            } else if line.is_empty() && !event.is_empty() {
                if let Ok(said) = serde_json::from_str::<Json>(&event) {
                    answered |= said.get("method").is_none();
                    self.tell(message, &said);
                }
                event.clear();
            }
        }
        if !answered {
            let why = "The server stopped before the response arrived: send the request again";
            self.turn_down(message, TURNED_DOWN, why, None);
        }
    }

    fn refused(&self, message: &McpMessage, problem: &Problem) {
        let next = match problem.status {
            401 => ". Set TRACKSIDE_TOKEN to a token of this agent: create one with trackside token create",
            _ => "",
        };
        let why = format!("{}{next}", problem.detail);
        self.turn_down(message, TURNED_DOWN, &why, serde_json::to_value(problem).ok());
    }

    fn strange(&self, message: &McpMessage, status: u16) {
        let why = format!("Unexpected response with status {status}. Check that this is a Trackside server");
        self.turn_down(message, TURNED_DOWN, &why, None);
    }

    /// Writes a message of the server, unless its request was cancelled.
    fn tell(&self, message: &McpMessage, said: &Json) {
        let mut known = self.known();
        if message.id_text().is_some_and(|it| known.given_up.contains(&it)) {
            return;
        }
        if message.is_handshake()
            && let Some(agreed) = said.pointer("/result/protocolVersion").and_then(Json::as_str)
        {
            known.version = Some(agreed.to_owned());
        }
        drop(known);
        print::json_line(said);
    }

    /// Answers a request with an error. Notifications get no answer.
    fn turn_down(&self, message: &McpMessage, code: i64, why: &str, problem: Option<Json>) {
        let Some(id) = message.id() else { return print::message(why) };
        let told: Json = serde_json::from_str(&refusal(id, code, why, problem)).unwrap_or_default();
        self.tell(message, &told);
    }

    fn wait_for_the_last(&self) {
        let end = Instant::now() + PATIENCE;
        let mut known = self.known();
        while known.under_way > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            known = self.0.done.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way until this is dropped.
struct Ended<'a> {
    bridge: &'a Bridge,
    id: Option<String>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut known = self.bridge.known();
        known.under_way = known.under_way.saturating_sub(1);
        if let Some(id) = &self.id {
            known.given_up.remove(id);
        }
        self.bridge.0.done.notify_all();
    }
}
