//! Every fault of a step as a client sees it, in both dialects.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trackside_scripted_model::{ModelScript, ScriptedModel};

const ANTHROPIC: &str = "v1/messages";
const RESPONSES: &str = "v1/responses";

/// An answer as it came over the connection.
#[derive(Debug)]
struct RawAnswer {
    status: u16,
    head: String,
    body: String,
    /// The body ended as announced.
    is_whole: bool,
}

impl RawAnswer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn events(&self) -> usize {
        self.body.matches("event: ").count()
    }
}

fn model(steps: &str) -> ScriptedModel {
    ScriptedModel::start(vec![ModelScript::parse(&format!("script: s\nsteps: {steps}\n")).unwrap()]).unwrap()
}

/// Sends one request and reads until the server closes the connection.
fn send(model: &ScriptedModel, method: &str, run: &str, path: &str, body: &Value) -> RawAnswer {
    let base = model.base("s", run);
    let (address, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    write!(
        connection,
        "{method} /{prefix}/{path} HTTP/1.1\r\nhost: model\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut bytes = Vec::new();
    // A connection that is cut can also end with an error.
    let _ = connection.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let head = head.to_lowercase();
    let is_chunked = head.contains("transfer-encoding: chunked");
    let is_whole = if is_chunked { rest.ends_with("0\r\n\r\n") } else { head.contains("content-length") };
    RawAnswer { status, head, body: rest.to_owned(), is_whole }
}

fn ask(model: &ScriptedModel, path: &str) -> RawAnswer {
    send(model, "POST", "r", path, &json!({ "model": "m", "stream": true, "tools": [{}] }))
}

#[test]
fn an_answer_has_the_events_of_its_dialect_and_its_tokens() {
    for (path, last, tokens) in [
        (ANTHROPIC, "event: message_stop", "\"input_tokens\":7"),
        (RESPONSES, "event: response.completed", "\"input_tokens\":18"),
    ] {
        let model = model(
            "[ { text: Hello., tool: { shell: { command: ls } }, usage: { input: 7, output: 3, cache_read: 5, cache_write: 6 } } ]",
        );
        let answer = ask(&model, path);
        assert_eq!((answer.status, answer.is_whole), (200, true), "{answer:?}");
        for part in ["Hello.", "ls", last, tokens] {
            assert!(answer.body.contains(part), "{path}: no {part} in {answer:?}");
        }
        assert!(ask(&model, path).body.contains("Done."), "after the last step it is done");
    }
}

#[test]
fn a_client_without_streams_gets_one_message() {
    let answer = send(&model("[ { text: Hello. } ]"), "POST", "r", ANTHROPIC, &json!({ "tools": [{}] }));
    assert_eq!(answer.json()["content"][0]["text"], "Hello.");
}

#[test]
fn every_error_has_the_status_and_the_name_of_its_dialect() {
    for (error, anthropic, responses) in [
        ("rate_limit", (429, "rate_limit_error"), (429, "rate_limit_exceeded")),
        ("usage_limit", (429, "rate_limit_error"), (429, "usage_limit_reached")),
        ("billing", (400, "invalid_request_error"), (429, "insufficient_quota")),
        ("overloaded", (529, "overloaded_error"), (503, "server_is_overloaded")),
        ("auth", (401, "authentication_error"), (401, "invalid_api_key")),
        ("model", (404, "not_found_error"), (404, "model_not_found")),
        ("context", (400, "invalid_request_error"), (400, "context_length_exceeded")),
        ("server", (500, "api_error"), (500, "server_error")),
    ] {
        let model = model(&format!("[ {{ error: {error}, resets_in: 9000, repeat: true }} ]"));
        for (path, (status, kind)) in [(ANTHROPIC, anthropic), (RESPONSES, responses)] {
            let answer = ask(&model, path);
            assert_eq!((answer.status, &answer.json()["error"]["type"]), (status, &kind.into()), "{error}");
            let limits = ["anthropic-ratelimit-unified-reset", "x-codex-primary-reset-at"];
            let has_reset = limits.iter().any(|it| answer.head.contains(it));
            assert_eq!(has_reset, error == "usage_limit", "{error}: {answer:?}");
        }
    }
}

#[test]
fn a_cut_answer_has_its_first_events_only() {
    for path in [ANTHROPIC, RESPONSES] {
        let model = model("[ { text: Hello., cut: 2 }, { text: Hello. } ]");
        let (cut, whole) = (ask(&model, path), ask(&model, path));
        assert_eq!((cut.events(), cut.is_whole), (2, false), "{path}: {cut:?}");
        assert!(whole.events() > 2 && whole.is_whole, "{path}: {whole:?}");
    }
}

#[test]
fn a_dropped_answer_has_no_event() {
    let model = model("[ { text: Hello., drop: true }, { text: Hello. } ]");
    let dropped = ask(&model, ANTHROPIC);
    assert_eq!((dropped.events(), dropped.is_whole), (0, false), "{dropped:?}");
    assert!(ask(&model, ANTHROPIC).is_whole, "the next request gets the next step");
}

#[test]
fn an_answer_comes_after_its_delay_and_in_the_pace_of_its_events() {
    let begun = Instant::now();
    let answer = ask(&model("[ { text: Hello., delay: 200, event_delay: 30 } ]"), ANTHROPIC);
    let least = Duration::from_millis(200 + 30 * answer.events() as u64);
    assert!(answer.is_whole && answer.events() > 3, "{answer:?}");
    assert!(begun.elapsed() >= least, "{:?} is less than {least:?}", begun.elapsed());
}

#[test]
fn a_hanging_model_takes_the_request_and_does_not_answer() {
    let model = model("[ { hang: true } ]");
    let asking = model.clone();
    let waiting = std::thread::spawn(move || ask(&asking, ANTHROPIC));
    while model.requests("r").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!waiting.is_finished());
    // The next step answers, and this request still waits.
    assert!(ask(&model, ANTHROPIC).is_whole);
    assert!(!waiting.is_finished());
}

#[test]
fn each_run_goes_through_the_script_on_its_own_and_its_requests_are_recorded() {
    let model = model("[ { text: First. }, { text: Second. } ]");
    let body = |n: u32| json!({ "stream": true, "tools": [{}], "n": n });
    let said = |run: &str, n: u32| send(&model, "POST", run, ANTHROPIC, &body(n)).body;
    assert!(said("a", 1).contains("First."));
    assert!(said("b", 2).contains("First."));
    assert!(said("a", 3).contains("Second."));
    let asked: Vec<Value> = model.requests("a").iter().map(|it| it.body["n"].clone()).collect();
    assert_eq!(asked, [1, 3]);
    assert_eq!(model.requests("a")[0].headers["host"], "model");
}

#[test]
fn a_question_beside_the_task_takes_no_step() {
    let model = model("[ { text: First. } ]");
    assert!(send(&model, "POST", "r", ANTHROPIC, &json!({ "stream": true })).body.contains("title"));
    let counted = send(&model, "POST", "r", "v1/messages/count_tokens", &json!({ "tools": [{}] }));
    assert_eq!(counted.json()["input_tokens"], 1000);
    assert_eq!(send(&model, "HEAD", "r", "", &Value::Null).status, 200);
    assert_eq!(send(&model, "POST", "r", "v1/unknown", &json!({ "tools": [{}] })).status, 404);
    assert!(model.requests("r").is_empty());
    assert!(ask(&model, ANTHROPIC).body.contains("First."));
}

#[test]
fn a_script_with_an_unknown_word_is_refused() {
    let read = ModelScript::parse("script: s\nsteps: [ { txt: Hello. } ]\n");
    assert!(read.unwrap_err().contains("txt"));
}
