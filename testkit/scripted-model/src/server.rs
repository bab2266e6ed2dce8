//! The server: chooses the script and the step, records the request, renders the reply.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::script::{ModelScript, ModelStep};
use crate::{anthropic, responses};

/// One request of an agent program.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

pub(crate) enum ModelReply {
    Json { status: u16, headers: Vec<(String, String)>, body: Value },
    Events(Vec<String>),
}

#[derive(Debug, Default)]
struct RunState {
    next: usize,
    requests: Vec<RecordedRequest>,
}

#[derive(Debug)]
struct Shared {
    scripts: BTreeMap<String, ModelScript>,
    runs: Mutex<BTreeMap<String, RunState>>,
}

/// A running server. It ends with the process.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl ScriptedModel {
    /// Starts a server on a free port of loopback, on a thread of its own.
    pub fn start(scripts: Vec<ModelScript>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let scripts = scripts.into_iter().map(|it| (it.script.clone(), it)).collect();
        let shared = Arc::new(Shared { scripts, runs: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, router).await
            })
        })?;
        Ok(Self { address, shared })
    }

    /// The address of one run of a script.
    pub fn base(&self, script: &str, run: &str) -> String {
        format!("http://{}/s/{script}/{run}", self.address)
    }

    /// The requests of a run that took a step.
    pub fn requests(&self, run: &str) -> Vec<RecordedRequest> {
        let runs = self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(run).map(|it| it.requests.clone()).unwrap_or_default()
    }
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(0)
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let bytes = body.collect().await.map(|it| it.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let mut words = path.trim_start_matches('/').splitn(4, '/');
    let (Some("s"), Some(script), Some(run), rest) =
        (words.next(), words.next(), words.next(), words.next().unwrap_or(""))
    else {
        return not_found(&path);
    };
    if parts.method == Method::HEAD || rest.is_empty() {
        return StatusCode::OK.into_response();
    }
    let Some(script) = shared.scripts.get(script) else { return not_found(&path) };
    let is_anthropic = rest.ends_with("v1/messages");
    if rest.ends_with("count_tokens") {
        return json_response(200, Vec::new(), &json!({ "input_tokens": 1000 }));
    }
    if parts.method != Method::POST || !(is_anthropic || rest.ends_with("responses")) {
        return not_found(&path);
    }
    // Requests for a title have no tools. They take no step of the script.
    let has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let (step, number) = if has_tools {
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let mut runs = shared.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let state = runs.entry(run.to_owned()).or_default();
        state.requests.push(RecordedRequest {
            path: path.clone(),
            headers: headers.collect(),
            body: body.clone(),
        });
        let (number, step) = (state.next, script.step(state.next));
        state.next += usize::from(!step.repeat);
        (step, number)
    } else {
        (ModelStep { text: Some("{\"title\": \"x\"}".to_owned()), ..ModelStep::default() }, 0)
    };
    if step.hang {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(Duration::from_millis(step.delay)).await;
    if step.drop {
        return broken(Vec::new());
    }
    let reply =
        if is_anthropic { anthropic::reply(&step, number, &body) } else { responses::reply(&step, number) };
    match reply {
        ModelReply::Json { status, headers, body } => json_response(status, headers, &body),
        ModelReply::Events(events) => match step.cut {
            Some(after) => broken(events.into_iter().take(after).collect()),
            None => stream(events, step.event_delay, false),
        },
    }
}

fn not_found(path: &str) -> Response<Body> {
    json_response(
        404,
        Vec::new(),
        &json!({ "type": "error", "error": { "type": "not_found_error", "message": path } }),
    )
}

fn json_response(status: u16, headers: Vec<(String, String)>, body: &Value) -> Response<Body> {
    let mut response = Response::builder().status(status).header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body.to_string())).unwrap_or_default()
}

/// Sends these events and then ends the connection in the middle of the body.
fn broken(events: Vec<String>) -> Response<Body> {
    stream(events, 0, true)
}

fn stream(events: Vec<String>, delay: u64, fails: bool) -> Response<Body> {
    let (send, receive) = tokio::sync::mpsc::channel::<io::Result<Bytes>>(16);
    tokio::spawn(async move {
        for event in events {
            if send.send(Ok(Bytes::from(event))).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if fails {
            let _ = send.send(Err(io::Error::other("cut"))).await;
        }
    });
    let response = Response::builder().status(200).header("content-type", "text/event-stream");
    response.body(Body::from_stream(Events(receive))).unwrap_or_default()
}

/// The events of a reply as a stream.
struct Events(tokio::sync::mpsc::Receiver<io::Result<Bytes>>);

impl futures_core::Stream for Events {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
