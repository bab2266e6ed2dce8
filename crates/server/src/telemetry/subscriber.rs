//! Routes events and spans of `tracing`: events to the log, spans of sampled requests to the OTLP exporter.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};
use trackside_lifecycle::hex;

use super::log::LogOptions;
use super::otlp::{Exporter, SpanRecord};
use super::trace_context::random;

/// Events and spans of other crates are ignored.
const OURS: &str = "trackside";

/// A subscriber for one server.
pub(super) fn dispatch(log: LogOptions, exporter: Option<Arc<Exporter>>) -> Dispatch {
    Dispatch::new(Registry::default().with(ServerLayer { log, exporter }))
}

/// Writes events to the log, and exports spans.
///
/// A span is exported if it has the field `trace` (the id of its trace), or is inside one that is. The fields
/// `parent`, `otel.name`, `otel.kind`, `error`, `start_ns` and `took_ns` set properties of the span; other fields
/// become attributes.
struct ServerLayer {
    log: LogOptions,
    exporter: Option<Arc<Exporter>>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ServerLayer {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let is_wanted = match metadata.is_span() {
            true => self.exporter.is_some(),
            false => *metadata.level() <= self.log.level,
        };
        is_wanted && metadata.target().starts_with(OURS)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let level = if self.exporter.is_some() { self.log.level.max(Level::INFO) } else { self.log.level };
        Some(level.into())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut values = Values::default();
        event.record(&mut values);
        let message = values.take("message");
        let message = message.as_ref().and_then(Json::as_str).unwrap_or_default();
        self.log.write(*event.metadata().level(), message, &values.0);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut values = Values::default();
        attributes.record(&mut values);
        let outer = span.parent().and_then(|it| it.extensions().get().map(|it: &Open| (it.trace, it.id)));
        let (trace, parent) = match outer {
            Some((trace, parent)) => (Some(trace), Some(parent)),
            None => (values.take_bytes("trace"), values.take_bytes("parent")),
        };
        if let (Some(trace), Some(id)) = (trace, random()) {
            let open = Open { trace, id, parent, name: span.name(), from: SystemTime::now(), values };
            span.extensions_mut().insert(open);
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            record.record(&mut open.values);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = context.span(&id).and_then(|it| it.extensions_mut().remove::<Open>());
        if let (Some(open), Some(exporter)) = (open, &self.exporter) {
            exporter.send(open.close());
        }
    }
}

/// A span that is exported when it closes.
struct Open {
    trace: [u8; 16],
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    name: &'static str,
    from: SystemTime,
    values: Values,
}

impl Open {
    fn close(self) -> SpanRecord {
        let Self { trace, id, parent, name, mut from, mut values } = self;
        let nanos = |it: Json| it.as_u64().map(Duration::from_nanos);
        let took = values.take("took_ns").and_then(nanos);
        if let Some(start) = values.take("start_ns").and_then(nanos) {
            from = UNIX_EPOCH + start;
        }
        SpanRecord {
            trace,
            id,
            parent,
            name: values
                .take("otel.name")
                .and_then(|it| it.as_str().map(str::to_owned))
                .unwrap_or_else(|| name.to_owned()),
            is_server: values.take("otel.kind").is_some_and(|it| it == "server"),
            from,
            took: took.unwrap_or_else(|| from.elapsed().unwrap_or_default()),
            is_error: values.take("error").is_some_and(|it| it == true),
            attributes: values.0,
        }
    }
}

/// Fields with their values, in the order in which they were recorded.
#[derive(Default)]
struct Values(Vec<(&'static str, Json)>);

impl Values {
    fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.0.iter().position(|(it, _)| *it == name)?;
        Some(self.0.remove(place).1)
    }

    fn take_bytes<const N: usize>(&mut self, name: &str) -> Option<[u8; N]> {
        hex::decode(self.take(name)?.as_str()?)
    }
}

impl Visit for Values {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push((field.name(), json!(format!("{value:?}"))));
    }
}
