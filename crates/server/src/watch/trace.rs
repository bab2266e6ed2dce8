//! What a request went through and when, as spans that others can follow: W3C trace context in, OTLP out.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use serde_json::{Value as Json, json};
use trackside_runtime::Stages;

use super::otlp::Exporter;

/// Which trace a request belongs to, as the caller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    /// Whether the caller keeps its own spans of it.
    pub sampled: bool,
}

impl Parent {
    /// Reads `traceparent`; whatever is not quite one is none.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all("traceparent").iter();
        let text = all.next()?.to_str().ok()?;
        if all.next().is_some() {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes::<1>(version)?;
        // A later version may say more after the flags; this one may not.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let (trace, span, [flags]) = (bytes(trace)?, bytes(span)?, bytes::<1>(flags)?);
        let known = trace != [0; 16] && span != [0; 8];
        known.then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

/// So many bytes, in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |it: u8| match it {
        b'0'..=b'9' => Some(it - b'0'),
        b'a'..=b'f' => Some(it - b'a' + 10),
        _ => None,
    };
    if text.len() != N * 2 {
        return None;
    }
    let mut read = [0; N];
    for (place, pair) in read.iter_mut().zip(text.as_bytes().chunks(2)) {
        let [high, low] = pair else { return None };
        *place = digit(*high)? * 16 + digit(*low)?;
    }
    Some(read)
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

/// A stretch of time in which something was done.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub trace: [u8; 16],
    pub id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub name: String,
    /// It answers a request of somebody else, or is part of that.
    pub is_server: bool,
    pub from: SystemTime,
    pub took: Duration,
    pub about: Vec<(&'static str, Json)>,
    pub is_error: bool,
}

/// Most stretches that are noted of one request: a batch can have many commands.
const MOST: usize = 300;

/// The trace of one request, while it is under way.
#[derive(Debug)]
pub(crate) struct Trace {
    pub id: [u8; 16],
    span: [u8; 8],
    parent: Option<[u8; 8]>,
    at: SystemTime,
    begun: Instant,
    /// What it went through.
    inner: Mutex<Vec<Span>>,
}

impl Trace {
    /// Begins one, if it is to be kept: what a caller keeps, and the given share of the others.
    pub fn begin(parent: Option<Parent>, share: f64) -> Option<Self> {
        let id = match parent {
            Some(parent) if !parent.sampled => return None,
            Some(parent) => parent.trace,
            None => {
                let id = random::<16>()?;
                let [.., a, b, c, d, e, f, g, h] = id;
                let low = u64::from_be_bytes([a, b, c, d, e, f, g, h]) as f64;
                if low >= share * 2_f64.powi(64) {
                    return None;
                }
                id
            }
        };
        let (at, begun) = (SystemTime::now(), Instant::now());
        let parent = parent.map(|it| it.span);
        Some(Self { id, span: random()?, parent, at, begun, inner: Mutex::default() })
    }

    /// Notes how far a command was when: waiting for its turn, being decided, being committed.
    pub fn command(&self, lifecycle: Option<&str>, stages: &Stages) {
        let (taken, decided, answered) = (stages.taken(), stages.decided(), stages.answered());
        let parts = [
            ("wait", Some(Duration::ZERO), taken),
            ("decide", taken, decided),
            ("commit", decided, answered),
        ];
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if inner.len() >= MOST {
            return;
        }
        for (name, from, to) in parts {
            let (Some(from), Some(to), Some(id)) = (from, to, random()) else { continue };
            let at = self.at + stages.begun().saturating_duration_since(self.begun) + from;
            inner.push(Span {
                trace: self.id,
                id,
                parent: Some(self.span),
                name: name.to_owned(),
                is_server: false,
                from: at,
                took: to.saturating_sub(from),
                about: lifecycle.map(|it| ("trackside.lifecycle", json!(it))).into_iter().collect(),
                is_error: false,
            });
        }
    }

    /// The request has been answered: its spans go on their way.
    pub fn end(&self, name: String, about: Vec<(&'static str, Json)>, is_error: bool, exporter: &Exporter) {
        let mut spans =
            std::mem::take(&mut *self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        spans.push(Span {
            trace: self.id,
            id: self.span,
            parent: self.parent,
            name,
            is_server: true,
            from: self.at,
            took: self.begun.elapsed(),
            about,
            is_error,
        });
        exporter.send(spans);
    }
}

impl Span {
    /// As OTLP says it in JSON.
    pub fn told(&self) -> Json {
        let nanos = |it: SystemTime| it.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let mut told = json!({
            "traceId": hex(&self.trace), "spanId": hex(&self.id), "name": self.name,
            "kind": if self.is_server { 2 } else { 1 },
            "startTimeUnixNano": nanos(self.from), "endTimeUnixNano": nanos(self.from + self.took),
            "attributes": attributes(&self.about), "status": if self.is_error { json!({ "code": 2 }) } else { json!({}) },
        });
        if let (Some(parent), Json::Object(map)) = (&self.parent, &mut told) {
            map.insert("parentSpanId".to_owned(), json!(hex(parent)));
        }
        told
    }
}

/// Names with values, as OTLP has them. What is null is not there.
pub(crate) fn attributes(all: &[(&'static str, Json)]) -> Vec<Json> {
    let value = |it: &Json| match it {
        Json::Number(number) if number.is_i64() || number.is_u64() => {
            json!({ "intValue": number.to_string() })
        }
        Json::Number(number) => json!({ "doubleValue": number }),
        Json::Bool(it) => json!({ "boolValue": it }),
        Json::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    };
    let there = all.iter().filter(|(_, it)| !it.is_null());
    there.map(|(key, it)| json!({ "key": key, "value": value(it) })).collect()
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(text: &str) -> Option<Parent> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", text.parse().unwrap());
        Parent::of(&headers)
    }

    #[test]
    fn a_traceparent_is_one_or_it_is_none() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let good = parent(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!((hex(&good.trace).as_str(), hex(&good.span).as_str(), good.sampled), (trace, span, true));
        assert!(!parent(&format!("00-{trace}-{span}-00")).unwrap().sampled);
        assert!(parent(&format!("cc-{trace}-{span}-01-more")).is_some(), "a later version may say more");
        let (no_trace, no_span) = ("0".repeat(32), "0".repeat(16));
        for bad in [
            String::new(),
            "00".to_owned(),
            format!("ff-{trace}-{span}-01"),
            format!("00-{trace}-{span}-01-more"),
            format!("00-{no_trace}-{span}-01"),
            format!("00-{trace}-{no_span}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}a-{span}-01"),
            format!("00-{trace}-{span}"),
        ] {
            assert_eq!(parent(&bad), None, "{bad}");
        }
    }

    #[test]
    fn what_the_caller_does_not_keep_is_not_kept_and_neither_is_a_share_of_nothing() {
        let (trace, span) = ([7; 16], [7; 8]);
        assert!(Trace::begin(Some(Parent { trace, span, sampled: false }), 1.0).is_none());
        assert!(Trace::begin(Some(Parent { trace, span, sampled: true }), 0.0).is_some());
        assert!(Trace::begin(None, 1.0).is_some());
        assert!(Trace::begin(None, 0.0).is_none());
    }
}
