//! Exports spans to a collector by OTLP over HTTP, in JSON. Requests never wait for it: spans that it cannot send in
//! time are dropped and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use tracing::Level;
use trackside_lifecycle::hex;

use super::log::LogOptions;

/// Spans that may wait to be sent; more are dropped.
const QUEUE: usize = 16_384;
/// Most spans in one message.
const MOST: usize = 512;
/// The time for which spans are collected before they are sent.
const COLLECT: Duration = Duration::from_secs(1);
/// The longest time a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval at which an unreachable collector is logged.
const AGAIN: Duration = Duration::from_secs(60);

/// The collector for traces.
#[derive(Clone)]
pub struct TraceOptions {
    /// The full URL, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: String,
    /// Headers for the collector; secret.
    pub headers: Vec<(String, String)>,
    /// The service name.
    pub service: String,
    /// The share of requests without a caller's trace that is sampled, 0 to 1.
    pub share: f64,
}

impl std::fmt::Debug for TraceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceOptions to {}", self.endpoint)
    }
}

/// A closed span.
#[derive(Clone, Debug)]
pub(super) struct SpanRecord {
    pub trace: [u8; 16],
    pub id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub name: String,
    /// Whether it is the span of a request; the others are steps in it.
    pub is_server: bool,
    pub from: SystemTime,
    pub took: Duration,
    pub attributes: Vec<(&'static str, Json)>,
    pub is_error: bool,
}

impl SpanRecord {
    /// In the JSON form of OTLP.
    fn to_json(&self) -> Json {
        let nanos = |it: SystemTime| it.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let mut json = json!({
            "traceId": hex::encode(self.trace), "spanId": hex::encode(self.id), "name": self.name,
            "kind": if self.is_server { 2 } else { 1 },
            "startTimeUnixNano": nanos(self.from), "endTimeUnixNano": nanos(self.from + self.took),
            "attributes": attributes(&self.attributes), "status": if self.is_error { json!({ "code": 2 }) } else { json!({}) },
        });
        if let (Some(parent), Json::Object(map)) = (&self.parent, &mut json) {
            map.insert("parentSpanId".to_owned(), json!(hex::encode(parent)));
        }
        json
    }
}

/// Attributes in the JSON form of OTLP.
fn attributes(all: &[(&'static str, Json)]) -> Vec<Json> {
    let value = |it: &Json| match it {
        Json::Number(number) if number.is_i64() || number.is_u64() => {
            json!({ "intValue": number.to_string() })
        }
        Json::Number(number) => json!({ "doubleValue": number }),
        Json::Bool(it) => json!({ "boolValue": it }),
        Json::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    all.iter().map(|(key, it)| json!({ "key": key, "value": value(it) })).collect()
}

/// Sends spans from its own thread. Flushes when it ends.
#[derive(Debug)]
pub(crate) struct Exporter {
    sender: Mutex<Option<SyncSender<SpanRecord>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counted: Arc<Counted>,
    pub share: f64,
}

/// Counts of spans.
#[derive(Debug, Default)]
struct Counted {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Exporter {
    pub fn start(options: TraceOptions, log: LogOptions) -> std::io::Result<Self> {
        let (sender, spans) = sync_channel(QUEUE);
        let counted: Arc<Counted> = Arc::default();
        let (share, noted) = (options.share, counted.clone());
        let sending = Sending { options, log, counted: noted, told: None };
        let thread = std::thread::Builder::new().name("trackside-traces".to_owned());
        let thread = thread.spawn(move || sending.run(&spans))?;
        Ok(Self { sender: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), counted, share })
    }

    pub fn send(&self, span: SpanRecord) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = sender.as_ref() else { return };
        if sender.try_send(span).is_err() {
            self.counted.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Spans sent, and spans dropped.
    pub fn counted(&self) -> (u64, u64) {
        (self.counted.sent.load(Ordering::Relaxed), self.counted.dropped.load(Ordering::Relaxed))
    }

    /// Flushes and ends.
    pub fn end(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            thread.join().ok();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end();
    }
}

/// The exporting thread.
struct Sending {
    options: TraceOptions,
    log: LogOptions,
    counted: Arc<Counted>,
    /// The time at which a failure was last logged.
    told: Option<Instant>,
}

impl Sending {
    fn run(mut self, spans: &Receiver<SpanRecord>) {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(true);
        let agent: ureq::Agent = config.build().into();
        let mut open = true;
        while open {
            let mut batch: Vec<SpanRecord> = Vec::new();
            let mut until = None;
            while open && batch.len() < MOST {
                let now = Instant::now();
                // Waits for the first span without a limit, and then collects for a while.
                let wait =
                    until.map_or(Duration::from_secs(3600), |it: Instant| it.saturating_duration_since(now));
                match spans.recv_timeout(wait) {
                    Ok(span) => {
                        batch.push(span);
                        until.get_or_insert(now + COLLECT);
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            }
            if !batch.is_empty() {
                self.send(&agent, &batch);
            }
        }
    }

    fn send(&mut self, agent: &ureq::Agent, batch: &[SpanRecord]) {
        let body = self.message(batch).to_string();
        let mut request = agent.post(&self.options.endpoint).header("Content-Type", "application/json");
        for (name, value) in &self.options.headers {
            request = request.header(name, value);
        }
        match request.send(body) {
            Ok(_) => {
                self.counted.sent.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            Err(error) => {
                self.counted.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                if self.told.is_none_or(|it| it.elapsed() > AGAIN) {
                    self.told = Some(Instant::now());
                    let more =
                        [("endpoint", json!(self.options.endpoint)), ("why", json!(error.to_string()))];
                    self.log.write(
                        Level::WARN,
                        "traces cannot be sent; they are dropped until they can",
                        &more,
                    );
                }
            }
        }
    }

    fn message(&self, batch: &[SpanRecord]) -> Json {
        let version = env!("CARGO_PKG_VERSION");
        let about = [("service.name", json!(self.options.service)), ("service.version", json!(version))];
        let spans: Vec<Json> = batch.iter().map(SpanRecord::to_json).collect();
        json!({ "resourceSpans": [{
            "resource": { "attributes": attributes(&about) },
            "scopeSpans": [{ "scope": { "name": "trackside", "version": version }, "spans": spans }],
        }] })
    }
}
