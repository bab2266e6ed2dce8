//! The spans of a request arrive at a collector that speaks OTLP over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_server::TraceOptions;

use crate::ground::RestServer;

/// A received message: the first line, the headers, and the body.
struct Message {
    line: String,
    headers: Vec<String>,
    body: Json,
}

/// A collector for OTLP over HTTP that passes on the messages.
fn collector(status: &'static str) -> (String, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                match line.trim_end() {
                    "" => break,
                    line => lines.push(line.to_owned()),
                }
            }
            let length = lines
                .iter()
                .find_map(|it| it.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
            stream.read_exact(&mut body).unwrap();
            let line = lines.remove(0);
            let message = Message { line, headers: lines, body: serde_json::from_slice(&body).unwrap() };
            // Before the answer: the test may look as soon as the client has it.
            let is_heard = told.send(message).is_ok();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
            );
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if !is_heard {
                return;
            }
        }
    });
    (format!("http://{address}/v1/traces"), heard)
}

fn start_traced(endpoint: String, share: f64) -> RestServer {
    RestServer::set_up(|options| {
        let headers = vec![("x-key".to_owned(), "s3cret".to_owned())];
        options.traces = Some(TraceOptions { endpoint, headers, service: "yard".to_owned(), share });
    })
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn create(ground: &RestServer, id: &str, flags: &str) {
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let head = format!(
        "POST /v1/entities/mission.task HTTP/1.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         traceparent: 00-{TRACE}-{PARENT}-{flags}\r\nX-Request-Id: req-{id}",
        token.trim()
    );
    let body = json!({ "id": id, "fields": { "title": "Find the way" } });
    assert_eq!(ground.raw(&head, body.to_string().as_bytes()).status, 201);
}

/// The spans of a message that are about one trace.
fn spans(messages: &[Message], trace: &str) -> Vec<Json> {
    let all = messages
        .iter()
        .flat_map(|it| it.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap());
    all.filter(|it| it["traceId"] == trace).cloned().collect()
}

fn attribute(of: &Json, key: &str) -> Json {
    let all = of["attributes"].as_array().unwrap();
    all.iter().find(|it| it["key"] == key).map(|it| it["value"].clone()).unwrap_or_default()
}

#[test]
fn the_spans_of_a_request_arrive_at_the_collector() {
    let (endpoint, heard) = collector("200 OK");
    let ground = start_traced(endpoint, 0.0);
    create(&ground, "T-1", "01");
    create(&ground, "T-2", "00");
    let first = heard.recv_timeout(Duration::from_secs(60)).expect("a message");
    assert_eq!(first.line, "POST /v1/traces HTTP/1.1");
    assert!(first.headers.iter().any(|it| it.eq_ignore_ascii_case("content-type: application/json")));
    assert!(first.headers.iter().any(|it| it == "x-key: s3cret"));
    let resource = &first.body["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), json!({ "stringValue": "yard" }));

    let spans = spans(&[first], TRACE);
    let named = |name: &str| {
        spans.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name}: {spans:#?}"))
    };
    let request = named("POST /v1/entities/{lifecycle}");
    assert_eq!((&request["parentSpanId"], &request["kind"]), (&json!(PARENT), &json!(2)));
    assert_eq!(attribute(request, "http.response.status_code"), json!({ "intValue": "201" }));
    assert_eq!(attribute(request, "trackside.request_id"), json!({ "stringValue": "req-T-1" }));
    let nanos = |of: &Json, name: &str| of[name].as_str().unwrap().parse::<u128>().unwrap();
    let mut last = nanos(request, "startTimeUnixNano");
    for stage in ["wait", "decide", "commit"] {
        let stage = named(stage);
        assert_eq!((&stage["parentSpanId"], &stage["kind"]), (&request["spanId"], &json!(1)));
        let (from, to) = (nanos(stage, "startTimeUnixNano"), nanos(stage, "endTimeUnixNano"));
        assert!(last <= from && from <= to, "stages follow each other: {spans:#?}");
        last = to;
    }
    assert!(last <= nanos(request, "endTimeUnixNano"), "and are within the request: {spans:#?}");
    // Traces that the caller does not record are not sent, nor requests without a trace.
    assert_eq!(spans.len(), 4, "{spans:#?}");
    let ids: std::collections::BTreeSet<String> = spans.iter().map(|it| it["spanId"].to_string()).collect();
    assert_eq!(ids.len(), 4);
}

/// Sends a request under the trace. Returns the names of its spans, and the number of journal entries with
/// the request's id.
fn stages(line: &str, body: &Json, status: u16) -> (Vec<String>, usize) {
    let (endpoint, heard) = collector("200 OK");
    let ground = start_traced(endpoint, 0.0);
    let token = std::fs::read_to_string(ground.data.join("token")).unwrap();
    let head = format!(
        "{line}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\ntraceparent: 00-{TRACE}-{PARENT}-01",
        token.trim()
    );
    let answer = ground.raw(&head, body.to_string().as_bytes());
    assert_eq!(answer.status, status, "{}", answer.head);
    let id = answer.header("x-request-id").unwrap().to_owned();
    let journal = ground.owner.get("/v1/journal?limit=200").unwrap().body;
    let asked = journal["items"].as_array().unwrap().iter().filter(|it| it["requestId"] == id.as_str());
    let asked = asked.count();
    let named = |it: &Json, name: &str| it["name"].as_str().unwrap().starts_with(name);
    // The span of a request ends after its answer, so it can arrive after the others.
    let mut messages: Vec<Message> = Vec::new();
    while !spans(&messages, TRACE).iter().any(|it| named(it, "POST ")) {
        messages.push(heard.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    drop(ground);
    messages.extend(heard.try_iter());
    let spans = spans(&messages, TRACE);
    let request = spans.iter().find(|it| named(it, "POST ")).unwrap();
    assert_eq!(attribute(request, "trackside.request_id"), json!({ "stringValue": id }));
    for stage in spans.iter().filter(|it| !named(it, "POST ")) {
        assert_eq!(stage["parentSpanId"], request["spanId"], "{stage:#}");
        assert_eq!(attribute(stage, "trackside.lifecycle"), json!({ "stringValue": "mission.task" }));
    }
    let mut names: Vec<String> = spans.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    (names, asked)
}

#[test]
fn an_mcp_call_has_the_same_spans() {
    let arguments = json!({ "lifecycle": "mission.task", "id": "T-1", "fields": { "title": "x" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "create", "arguments": arguments } });
    let line = "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2025-11-25";
    let (went, asked) = stages(line, &call, 200);
    let all = ["POST /mcp", "commit", "decide", "wait"];
    assert_eq!((went, asked), (all.map(String::from).to_vec(), 1));
}

#[test]
fn every_command_of_a_batch_has_the_same_spans() {
    let task = |id: &str| json!({ "lifecycle": "mission.task", "id": id, "fields": { "title": "x" } });
    let all = ["POST /v1/batch", "commit", "commit", "decide", "decide", "wait", "wait"];
    for atomic in [false, true] {
        let batch = json!({ "commands": [task("T-1"), task("T-2")], "atomic": atomic });
        let (went, asked) = stages("POST /v1/batch HTTP/1.1", &batch, 200);
        assert_eq!((went, asked), (all.map(String::from).to_vec(), 2), "atomic: {atomic}");
    }
    // A refused batch has the same spans, and writes nothing.
    let batch = json!({ "commands": [task("T-1"), task("T-1")], "atomic": true });
    let (went, asked) = stages("POST /v1/batch HTTP/1.1", &batch, 422);
    assert_eq!((went, asked), (all.map(String::from).to_vec(), 0));
}

#[test]
fn remaining_spans_are_sent_before_the_server_ends() {
    let (endpoint, heard) = collector("200 OK");
    let ground = start_traced(endpoint, 1.0);
    create(&ground, "T-1", "01");
    ground.owner.get("/v1/stats").unwrap();
    drop(ground);
    let messages: Vec<Message> = heard.try_iter().collect();
    assert_eq!(spans(&messages, TRACE).len(), 4);
    let all = messages.iter().map(|it| it.body.to_string()).collect::<String>();
    assert!(all.contains("GET /v1/stats"), "those without a trace of their own are kept here: {all}");
    assert!(!all.contains("Bearer") && !all.contains("Find the way"), "no secrets and no values: {all}");
}

#[test]
fn a_missing_collector_does_not_affect_requests() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [format!("http://{gone}/v1/traces"), collector("503 Service Unavailable").0] {
        let ground = start_traced(endpoint, 1.0);
        create(&ground, "T-1", "01");
        for _ in 0..100 {
            let text = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
            if text.lines().any(|it| {
                it.starts_with("trackside_trace_spans_total{outcome=\"dropped\"} ") && !it.ends_with(" 0")
            }) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let text = String::from_utf8(ground.owner.get_bytes("/metrics").unwrap()).unwrap();
        assert!(!text.contains("trackside_trace_spans_total{outcome=\"dropped\"} 0"), "{text}");
        assert!(text.contains("trackside_trace_spans_total{outcome=\"sent\"} 0"), "{text}");
        ground.owner.get("/v1/entities/mission.task/T-1").unwrap();
    }
}
