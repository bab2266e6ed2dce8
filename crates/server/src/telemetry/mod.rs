//! Metrics, logs and traces.

mod http;
mod log;
mod metrics;
mod metrics_page;
mod otlp;
mod process;
mod request_context;
mod run_figures;
mod subscriber;
mod trace_context;
mod upkeep;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::Response;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_runtime::ReadError;
use trackside_runtime::read::{ProjectOverview, Reads};

use crate::problem::AnswerCode;
use http::{Http, UnderWay};
pub use log::{LogFormat, LogOptions};
pub(crate) use metrics::write_metrics;
pub(crate) use metrics_page::MetricsFormat;
use otlp::Exporter;
pub use otlp::TraceOptions;
pub(crate) use request_context::{RequestContext, broke, current, during, on_thread, request_id};
pub(crate) use run_figures::RunFigures;
use trace_context::{TraceParent, sampled};
use tracing::field::Empty;
use tracing::{Dispatch, Span, dispatcher, error, info, info_span, warn};
pub(crate) use upkeep::Upkeep;

/// The survey is repeated when it is older than this many times its own duration, which bounds its cost.
const REST: u32 = 20;

/// The telemetry of one server.
#[derive(Debug)]
pub(crate) struct Telemetry {
    http: Arc<Http>,
    pub upkeep: Upkeep,
    /// Takes the events and spans of this server.
    pub dispatch: Dispatch,
    exporter: Option<Arc<Exporter>>,
    surveyed: Mutex<Option<Surveyed>>,
}

#[derive(Debug)]
struct Surveyed {
    at: Instant,
    took: Duration,
    survey: Arc<ProjectOverview>,
}

/// The measurements of a request in progress.
#[derive(Debug)]
pub(crate) struct RequestTelemetry {
    under_way: UnderWay,
    current: Arc<RequestContext>,
    /// The trace it belongs to, sampled or not.
    trace: Option<[u8; 16]>,
}

impl Telemetry {
    pub fn new(log: LogOptions, traces: Option<TraceOptions>) -> std::io::Result<Self> {
        let exporter = traces.map(|it| Exporter::start(it, log)).transpose()?.map(Arc::new);
        Ok(Self {
            http: Arc::default(),
            upkeep: Upkeep::default(),
            dispatch: subscriber::dispatch(log, exporter.clone()),
            exporter,
            surveyed: Mutex::default(),
        })
    }

    /// Starts the span and the measurements of a request.
    pub fn begin(&self, request: &Request, id: Option<&HeaderValue>) -> RequestTelemetry {
        let parent = TraceParent::of(request.headers());
        let trace = self.exporter.as_ref().and_then(|it| sampled(parent, it.share));
        let span = trace.map_or_else(Span::none, |trace| self.request_span(trace, parent));
        let id = id.and_then(|it| it.to_str().ok()).map(Name::new);
        let context =
            RequestContext { id, span, dispatch: self.dispatch.clone(), ..RequestContext::default() };
        let trace = trace.or(parent.map(|it| it.trace));
        RequestTelemetry { under_way: self.http.begin(request), current: Arc::new(context), trace }
    }

    fn request_span(&self, trace: [u8; 16], parent: Option<TraceParent>) -> Span {
        dispatcher::with_default(&self.dispatch, || {
            info_span!(
                "request",
                otel.kind = "server",
                trace = hex::encode(trace),
                parent = parent.map(|it| hex::encode(it.span)),
                otel.name = Empty,
                http.request.method = Empty,
                http.route = Empty,
                http.response.status_code = Empty,
                "error.type" = Empty,
                enduser.id = Empty,
                trackside.request_id = Empty,
                error = Empty,
            )
        })
    }

    /// Logs a request that was answered, and ends its span and its measurements.
    pub fn end(&self, request: RequestTelemetry, answer: &Response) {
        let RequestTelemetry { under_way, current, trace } = request;
        let (status, took) = (answer.status(), under_way.begun().elapsed());
        let code = answer.extensions().get::<AnswerCode>().map(|it| it.0.as_str());
        let (route, method) = (under_way.route().to_owned(), under_way.method());
        let (actor, why) = (current.actor.get().map(Name::as_str), current.broke.get());
        let id = current.id.as_deref();
        let ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        let trace = trace.map(hex::encode);
        macro_rules! answered {
            ($level:ident) => {
                $level!(
                    method,
                    route,
                    status = status.as_u16(),
                    code,
                    why,
                    ms,
                    actor,
                    requestId = id,
                    traceId = trace,
                    "answered"
                )
            };
        }
        // Client errors are logged at info, overload at warn, internal failures at error.
        dispatcher::with_default(&self.dispatch, || match status.as_u16() {
            _ if why.is_some() => answered!(error),
            500 => answered!(error),
            429 | 501.. => answered!(warn),
            _ => answered!(info),
        });
        let span = &current.span;
        span.record("otel.name", format!("{method} {route}"));
        span.record("http.request.method", method);
        span.record("http.route", &route);
        span.record("http.response.status_code", status.as_u16());
        span.record("error.type", code);
        span.record("enduser.id", actor);
        span.record("trackside.request_id", id);
        span.record("error", status.is_server_error());
        under_way.end(status);
    }

    /// The current state of the project, cached for a moment.
    fn survey(&self, reads: &Reads) -> Result<Arc<ProjectOverview>, ReadError> {
        let mut known = self.surveyed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|it| it.at.elapsed() < it.took * REST) {
            return Ok(known.survey.clone());
        }
        let at = Instant::now();
        let survey = Arc::new(reads.survey()?);
        *known = Some(Surveyed { at, took: at.elapsed(), survey: survey.clone() });
        Ok(survey)
    }

    /// Flushes the exporter. Blocks.
    pub fn finish(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.end();
        }
    }
}

impl RequestTelemetry {
    /// Runs a future with the context of this request.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.current.clone().during(work).await
    }
}
