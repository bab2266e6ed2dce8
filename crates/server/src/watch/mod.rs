//! What can be seen of the server from outside: figures, lines in a log, and what a request went through.

mod current;
mod gather;
mod http;
mod log;
mod otlp;
mod page;
mod process;
mod trace;
mod upkeep;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::Response;
use serde_json::json;
use trackside_lifecycle::name::Name;
use trackside_runtime::ReadError;
use trackside_runtime::read::{Reads, Survey};

use crate::problem::Code;
pub(crate) use current::{Current, broke, current, during, on_thread, request_id};
pub(crate) use gather::gathered;
use http::{Http, UnderWay};
pub use log::{Level, Log, LogForm};
use otlp::Exporter;
pub use otlp::TraceOptions;
pub(crate) use page::Form;
use trace::{Parent, Trace, hex};
pub(crate) use upkeep::Upkeep;

/// A survey is made anew when it is this many times as old as it took: so it never costs more than a part of a processor.
const REST: u32 = 20;

/// Whatever is noted while the server runs.
#[derive(Debug)]
pub(crate) struct Watch {
    http: Arc<Http>,
    pub upkeep: Upkeep,
    pub log: Log,
    exporter: Option<Exporter>,
    surveyed: Mutex<Option<Surveyed>>,
}

#[derive(Debug)]
struct Surveyed {
    at: Instant,
    took: Duration,
    survey: Arc<Survey>,
}

/// A request that is being answered, with all that is noted of it.
#[derive(Debug)]
pub(crate) struct Watched {
    under_way: UnderWay,
    current: Arc<Current>,
    /// The trace that the caller says it belongs to.
    parent: Option<Parent>,
}

impl Watch {
    pub fn new(log: Log, traces: Option<TraceOptions>) -> std::io::Result<Self> {
        let exporter = traces.map(|it| Exporter::start(it, log)).transpose()?;
        Ok(Self {
            http: Arc::default(),
            upkeep: Upkeep::default(),
            log,
            exporter,
            surveyed: Mutex::default(),
        })
    }

    /// Begins to note what becomes of a request.
    pub fn begin(&self, request: &Request, id: Option<&HeaderValue>) -> Watched {
        let parent = Parent::of(request.headers());
        let trace = self.exporter.as_ref().and_then(|it| Trace::begin(parent, it.share));
        let id = id.and_then(|it| it.to_str().ok()).map(Name::new);
        let current = Arc::new(Current { id, trace, ..Current::default() });
        Watched { under_way: self.http.begin(request), current, parent }
    }

    /// Notes what became of it.
    pub fn end(&self, watched: Watched, answer: &Response) {
        let Watched { under_way, current, parent } = watched;
        let (status, took) = (answer.status(), under_way.begun().elapsed());
        let code = answer.extensions().get::<Code>().map(|it| it.0.as_str());
        let (route, method) = (under_way.route().to_owned(), under_way.method());
        let actor = current.actor.get().map(Name::as_str);
        // What somebody got wrong is theirs to look at; what we got wrong is ours.
        let broke = current.broke.get();
        let level = match status.as_u16() {
            _ if broke.is_some() => Level::Error,
            500 => Level::Error,
            429 | 501.. => Level::Warn,
            _ => Level::Info,
        };
        if self.log.says(level) {
            let trace = current.trace.as_ref().map(|it| it.id).or(parent.map(|it| it.trace));
            let more = [
                ("method", json!(method)),
                ("route", json!(route)),
                ("status", json!(status.as_u16())),
                ("code", json!(code)),
                ("why", json!(broke)),
                ("ms", json!((took.as_secs_f64() * 1e6).round() / 1e3)),
                ("actor", json!(actor)),
                ("requestId", json!(current.id)),
                ("traceId", json!(trace.map(|it| hex(&it)))),
            ];
            self.log.say(level, "answered", &more);
        }
        if let (Some(trace), Some(exporter)) = (&current.trace, &self.exporter) {
            let about = vec![
                ("http.request.method", json!(method)),
                ("http.route", json!(route)),
                ("http.response.status_code", json!(status.as_u16())),
                ("error.type", json!(code)),
                ("enduser.id", json!(actor)),
                ("trackside.request_id", json!(current.id)),
            ];
            trace.end(format!("{method} {route}"), about, status.is_server_error(), exporter);
        }
        under_way.end(status);
    }

    /// How everything is, or was a moment ago.
    fn survey(&self, reads: &Reads) -> Result<Arc<Survey>, ReadError> {
        let mut known = self.surveyed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|it| it.at.elapsed() < it.took * REST) {
            return Ok(known.survey.clone());
        }
        let at = Instant::now();
        let survey = Arc::new(reads.survey()?);
        *known = Some(Surveyed { at, took: at.elapsed(), survey: survey.clone() });
        Ok(survey)
    }

    /// Sends what is left of traces. It may take a moment: not for async code.
    pub fn finish(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.end();
        }
    }
}

impl Watched {
    /// Does something for this request.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.current.clone().during(work).await
    }
}
