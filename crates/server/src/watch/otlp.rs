//! Sends spans to a collector by OTLP over HTTP, in JSON, beside everything else: nobody waits for it, and what it
//! cannot send in time is dropped and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::log::{Level, Log};
use super::trace::{Span, attributes};

/// Requests that may wait to be sent.
const QUEUE: usize = 4_096;
/// Most spans in one message.
const MOST: usize = 512;
/// How long spans are collected before they are sent.
const COLLECT: Duration = Duration::from_secs(1);
/// How long a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a collector that cannot be reached is spoken of.
const AGAIN: Duration = Duration::from_secs(60);

/// Where spans go.
#[derive(Clone)]
pub struct TraceOptions {
    /// The whole address, as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: String,
    /// Headers for the collector. They are secret.
    pub headers: Vec<(String, String)>,
    /// Under which name this server is known there.
    pub service: String,
    /// The share of requests without a trace of their own that is kept, 0 to 1.
    pub share: f64,
}

impl std::fmt::Debug for TraceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceOptions to {}", self.endpoint)
    }
}

/// Sends spans. It ends, with what it still has sent, when it is dropped.
#[derive(Debug)]
pub(crate) struct Exporter {
    sender: Mutex<Option<SyncSender<Vec<Span>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counted: Arc<Counted>,
    pub share: f64,
}

/// What became of spans.
#[derive(Debug, Default)]
struct Counted {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Exporter {
    pub fn start(options: TraceOptions, log: Log) -> std::io::Result<Self> {
        let (sender, spans) = sync_channel(QUEUE);
        let counted: Arc<Counted> = Arc::default();
        let (share, noted) = (options.share, counted.clone());
        let sending = Sending { options, log, counted: noted, told: None };
        let thread = std::thread::Builder::new().name("trackside-traces".to_owned());
        let thread = thread.spawn(move || sending.run(&spans))?;
        Ok(Self { sender: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), counted, share })
    }

    pub fn send(&self, spans: Vec<Span>) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = sender.as_ref() else { return };
        if let Err(TrySendError::Full(spans) | TrySendError::Disconnected(spans)) = sender.try_send(spans) {
            self.counted.dropped.fetch_add(spans.len() as u64, Ordering::Relaxed);
        }
    }

    /// Spans that were sent, and spans that were dropped.
    pub fn counted(&self) -> (u64, u64) {
        (self.counted.sent.load(Ordering::Relaxed), self.counted.dropped.load(Ordering::Relaxed))
    }

    /// Sends what is left and ends.
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

/// The other end, on its own thread.
struct Sending {
    options: TraceOptions,
    log: Log,
    counted: Arc<Counted>,
    /// When it was last said that something is wrong.
    told: Option<Instant>,
}

impl Sending {
    fn run(mut self, spans: &Receiver<Vec<Span>>) {
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(true);
        let agent: ureq::Agent = config.build().into();
        let mut open = true;
        while open {
            let mut batch: Vec<Span> = Vec::new();
            let mut until = None;
            while open && batch.len() < MOST {
                let now = Instant::now();
                // The first is waited for, however long it takes; those after it only for a while.
                let wait =
                    until.map_or(Duration::from_secs(3600), |it: Instant| it.saturating_duration_since(now));
                match spans.recv_timeout(wait) {
                    Ok(some) => {
                        batch.extend(some);
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

    fn send(&mut self, agent: &ureq::Agent, batch: &[Span]) {
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
                    self.log.say(
                        Level::Warn,
                        "traces cannot be sent; they are dropped until they can",
                        &more,
                    );
                }
            }
        }
    }

    fn message(&self, batch: &[Span]) -> Json {
        let version = env!("CARGO_PKG_VERSION");
        let about = [("service.name", json!(self.options.service)), ("service.version", json!(version))];
        let spans: Vec<Json> = batch.iter().map(Span::told).collect();
        json!({ "resourceSpans": [{
            "resource": { "attributes": attributes(&about) },
            "scopeSpans": [{ "scope": { "name": "trackside", "version": version }, "spans": spans }],
        }] })
    }
}
