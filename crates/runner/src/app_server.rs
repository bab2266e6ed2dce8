//! The conversation with a program that speaks JSON-RPC on its standard input: a handshake, one turn after the other,
//! messages into a running turn.
//!
//! The state is on disk. It is saved before a request is sent, so a restarted runner repeats none and forgets none.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapter::{HandshakeRule, SteerRule};
use crate::template;

/// Requests that were sent and whose answer matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SentRequest {
    /// Number of the greeting.
    Hello(usize),
    Open,
    /// Begins a turn with a message.
    Turn,
    /// A message into the running turn. It is sent again as a new turn if that one has just ended.
    Steer(String),
}

/// State of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppServerConversation {
    /// Bytes of output that this state knows.
    pub(crate) read: u64,
    is_open: bool,
    /// The next greeting to send.
    greeting: usize,
    sent: BTreeMap<String, SentRequest>,
    /// Messages that wait for the session or for the end of an interrupted turn.
    waiting: VecDeque<String>,
    wants_interrupt: bool,
    is_interrupted: bool,
    wants_close: bool,
    /// Number of the last request.
    requests: u64,
    /// Lines for standard input that may not have been written yet, by number.
    pub(crate) outgoing: BTreeMap<u64, String>,
    #[serde(skip)]
    is_changed: bool,
}

/// The session and turn that the program reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionView<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) turn: Option<&'a str>,
}

/// Lines to send now.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NextLines {
    pub(crate) lines: Vec<Value>,
    /// Standard input may be closed.
    pub(crate) close: bool,
}

/// The fixed parts of a conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConversationRules<'a> {
    pub(crate) handshake: &'a HandshakeRule,
    pub(crate) steer: &'a SteerRule,
    pub(crate) folder: &'a str,
    /// The session to resume.
    pub(crate) resume: Option<&'a str>,
}

impl AppServerConversation {
    pub(crate) fn say(&mut self, text: &str) {
        self.waiting.push_back(text.to_owned());
        self.is_changed = true;
    }

    pub(crate) fn interrupt(&mut self) {
        self.wants_interrupt = true;
        self.is_changed = true;
    }

    /// Closes standard input when nothing is left to say.
    pub(crate) fn close(&mut self) {
        self.wants_close = true;
        self.is_changed = true;
    }

    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Reads one message of the program. Returns the answer to a request that the runner cannot fulfil.
    pub(crate) fn read(&mut self, message: &Value, is_approval: bool, ends_turn: bool) -> Option<Value> {
        if ends_turn {
            self.is_interrupted = false;
            self.wants_interrupt = false;
            self.is_changed = true;
        }
        let id = message.get("id")?;
        if message.get("method").is_some() {
            let refusal = json!({ "id": id, "error": { "code": -32601, "message": "not supported" } });
            self.is_changed |= !is_approval;
            return (!is_approval).then_some(refusal);
        }
        let request = self.sent.remove(id.as_str()?)?;
        self.is_changed = true;
        let failed = message.get("error").is_some();
        match request {
            SentRequest::Open => self.is_open = !failed,
            SentRequest::Steer(text) if failed => self.waiting.push_front(text),
            SentRequest::Hello(_) | SentRequest::Turn | SentRequest::Steer(_) => {}
        }
        None
    }

    /// The lines to send now.
    pub(crate) fn advance(&mut self, rules: &ConversationRules<'_>, view: SessionView<'_>) -> NextLines {
        let mut next = NextLines::default();
        if !self.is_open {
            self.greet(rules, &mut next.lines);
        } else if let Some(session) = view.session {
            let base =
                [("session", Value::from(session)), ("turn", Value::from(view.turn.unwrap_or_default()))];
            if self.wants_interrupt && view.turn.is_some() {
                self.wants_interrupt = false;
                self.is_interrupted = true;
                if let Some(template) = &rules.steer.interrupt {
                    let id = self.new_id("interrupt");
                    next.lines.push(filled(template, &id, &base));
                }
            }
            while let Some(line) = self.next_message(rules, view, &base) {
                next.lines.push(line);
            }
        }
        let is_idle = self.sent.is_empty() && self.waiting.is_empty() && view.turn.is_none();
        // A session that could not be opened is closed, and all waiting messages with it.
        next.close = self.wants_close && (is_idle || !self.is_open && self.sent.is_empty());
        self.is_changed |= !next.lines.is_empty();
        next
    }

    fn greet(&mut self, rules: &ConversationRules<'_>, lines: &mut Vec<Value>) {
        let base = [
            ("folder", Value::from(rules.folder)),
            ("session", Value::from(rules.resume.unwrap_or_default())),
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ];
        while self.sent.is_empty() && self.greeting <= rules.handshake.hello.len() {
            let number = self.greeting;
            self.greeting += 1;
            let (template, id, request) = match rules.handshake.hello.get(number) {
                Some(hello) => (hello, format!("trackside-hello-{number}"), SentRequest::Hello(number)),
                None => {
                    let resume = rules.resume.and(rules.handshake.resume.as_ref());
                    let template = resume.unwrap_or(&rules.handshake.open);
                    (template, "trackside-open".to_owned(), SentRequest::Open)
                }
            };
            let line = filled(template, &id, &base);
            if line.get("id").is_some() {
                self.sent.insert(id, request);
            }
            lines.push(line);
        }
    }

    fn next_message(
        &mut self,
        rules: &ConversationRules<'_>,
        view: SessionView<'_>,
        base: &[(&'static str, Value)],
    ) -> Option<Value> {
        // The id of a turn is known a moment after its request.
        let is_starting = self.sent.values().any(|it| *it == SentRequest::Turn);
        if self.is_interrupted || view.turn.is_none() && is_starting {
            return None;
        }
        let text = self.waiting.pop_front()?;
        let during = rules.steer.during_turn.as_ref().filter(|_| view.turn.is_some());
        let (template, id, request) = match during {
            Some(template) => (template, self.new_id("steer"), SentRequest::Steer(text.clone())),
            None => (&rules.steer.message, self.new_id("turn"), SentRequest::Turn),
        };
        self.sent.insert(id.clone(), request);
        let mut values = base.to_vec();
        values.push(("text", Value::from(text)));
        Some(filled(template, &id, &values))
    }

    fn new_id(&mut self, kind: &str) -> String {
        self.requests += 1;
        format!("trackside-{kind}-{}", self.requests)
    }
}

fn filled(template: &Value, id: &str, values: &[(&'static str, Value)]) -> Value {
    let mut all: BTreeMap<&str, Value> = values.iter().cloned().collect();
    all.insert("id", Value::from(id));
    template::fill(template, &all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::AdapterDefinition;

    const NO_TURN: SessionView<'static> = SessionView { session: Some("s"), turn: None };
    const IN_TURN: SessionView<'static> = SessionView { session: Some("s"), turn: Some("t1") };
    const NOTHING: SessionView<'static> = SessionView { session: None, turn: None };

    struct Talk {
        adapter: AdapterDefinition,
        resume: Option<&'static str>,
        state: AppServerConversation,
    }

    impl Talk {
        fn new(resume: Option<&'static str>) -> Self {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters/codex.yaml");
            let adapter = AdapterDefinition::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
            Self { adapter, resume, state: AppServerConversation::default() }
        }

        fn advance(&mut self, view: SessionView<'_>) -> Vec<String> {
            let rules = ConversationRules {
                handshake: self.adapter.handshake.as_ref().unwrap(),
                steer: self.adapter.steer.as_ref().unwrap(),
                folder: "/w",
                resume: self.resume,
            };
            let next = self.state.advance(&rules, view);
            let shown = |it: &Value| {
                let method = it.get("method").and_then(Value::as_str).unwrap_or_default();
                format!("{method} {}", it.get("id").and_then(Value::as_str).unwrap_or("-"))
            };
            next.lines.iter().map(shown).chain(next.close.then(|| "close".to_owned())).collect()
        }

        fn answer(&mut self, id: &str, failed: bool) {
            let key = if failed { "error" } else { "result" };
            assert_eq!(self.state.read(&json!({ "id": id, key: {} }), false, false), None);
        }

        fn open(&mut self) {
            assert_eq!(self.advance(NOTHING), ["initialize trackside-hello-0"]);
            assert_eq!(self.advance(NOTHING), [""; 0], "it waits for the answer");
            self.answer("trackside-hello-0", false);
            let opened = if self.resume.is_some() { "thread/resume" } else { "thread/start" };
            assert_eq!(
                self.advance(NOTHING),
                ["initialized -".to_owned(), format!("{opened} trackside-open")]
            );
            self.answer("trackside-open", false);
        }
    }

    #[test]
    fn a_session_is_opened_and_the_prompt_begins_a_turn() {
        for resume in [None, Some("old")] {
            let mut talk = Talk::new(resume);
            talk.state.say("prompt");
            talk.open();
            assert_eq!(talk.advance(NO_TURN), ["turn/start trackside-turn-1"]);
            talk.state.say("more");
            assert_eq!(talk.advance(NO_TURN), [""; 0], "the id of the turn is not known yet");
            talk.answer("trackside-turn-1", false);
            assert_eq!(talk.advance(IN_TURN), ["turn/steer trackside-steer-2"]);
        }
    }

    #[test]
    fn a_message_that_came_too_late_for_its_turn_begins_another() {
        let mut talk = Talk::new(None);
        talk.open();
        talk.state.say("late");
        assert_eq!(talk.advance(IN_TURN), ["turn/steer trackside-steer-1"]);
        talk.answer("trackside-steer-1", true);
        talk.state.close();
        assert_eq!(talk.advance(NO_TURN), ["turn/start trackside-turn-2"], "closed only afterwards");
        talk.answer("trackside-turn-2", false);
        assert_eq!(talk.advance(IN_TURN), [""; 0]);
        assert_eq!(talk.advance(NO_TURN), ["close"]);
    }

    #[test]
    fn a_message_after_an_interrupt_waits_for_the_end_of_the_turn() {
        let mut talk = Talk::new(None);
        talk.open();
        talk.state.interrupt();
        talk.state.say("instead");
        assert_eq!(talk.advance(IN_TURN), ["turn/interrupt trackside-interrupt-1"]);
        assert_eq!(talk.advance(IN_TURN), [""; 0]);
        talk.state.read(&json!({ "method": "turn/completed" }), false, true);
        assert_eq!(talk.advance(NO_TURN), ["turn/start trackside-turn-2"]);
    }

    #[test]
    fn a_session_that_cannot_be_opened_is_closed() {
        let mut talk = Talk::new(Some("gone"));
        talk.state.say("prompt");
        assert_eq!(talk.advance(NOTHING).len(), 1);
        talk.answer("trackside-hello-0", false);
        talk.advance(NOTHING);
        talk.answer("trackside-open", true);
        talk.state.close();
        assert_eq!(talk.advance(NOTHING), ["close"]);
    }

    #[test]
    fn a_request_that_nobody_can_fulfil_is_refused() {
        let mut talk = Talk::new(None);
        let request = json!({ "id": 0, "method": "item/tool/call", "params": {} });
        assert_eq!(talk.state.read(&request, false, false).unwrap().get("id"), Some(&json!(0)));
        assert_eq!(talk.state.read(&request, true, false), None, "an approval is answered later");
    }

    #[test]
    fn the_state_survives_a_restart() {
        let mut talk = Talk::new(None);
        talk.open();
        talk.state.say("later");
        assert!(talk.state.take_changed());
        let stored = serde_json::to_string(&talk.state).unwrap();
        talk.state = serde_json::from_str(&stored).unwrap();
        assert_eq!(talk.advance(NO_TURN), ["turn/start trackside-turn-1"]);
    }
}
