//! W3C trace context: the trace that a request belongs to, and whether it is sampled.

use axum::http::HeaderMap;
use trackside_lifecycle::hex;

/// The header `traceparent`: the caller's trace and span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    /// Whether the caller records the trace.
    pub sampled: bool,
}

impl TraceParent {
    /// Reads `traceparent`; none if it is missing or malformed.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all("traceparent").iter();
        let text = all.next()?.to_str().ok()?;
        if all.next().is_some() {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes::<1>(version)?;
        // Later versions may append fields after the flags; version 0 may not.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let (trace, span, [flags]) = (bytes(trace)?, bytes(span)?, bytes::<1>(flags)?);
        let known = trace != [0; 16] && span != [0; 8];
        known.then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

/// Decodes so many bytes from lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = !text.bytes().any(|it| it.is_ascii_uppercase());
    is_lower.then(|| hex::decode(text)).flatten()
}

/// The trace of a request, if it is sampled: as its caller decides, and a share of those without a caller's trace.
pub(super) fn sampled(parent: Option<TraceParent>, share: f64) -> Option<[u8; 16]> {
    match parent {
        Some(parent) => parent.sampled.then_some(parent.trace),
        None => {
            let id = random::<16>()?;
            let [.., a, b, c, d, e, f, g, h] = id;
            let low = u64::from_be_bytes([a, b, c, d, e, f, g, h]) as f64;
            (low < share * 2_f64.powi(64)).then_some(id)
        }
    }
}

/// Random bytes; none if the machine has none.
pub(super) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(text: &str) -> Option<TraceParent> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", text.parse().unwrap());
        TraceParent::of(&headers)
    }

    #[test]
    fn a_malformed_traceparent_is_ignored() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let good = parent(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!(
            (hex::encode(good.trace).as_str(), hex::encode(good.span).as_str(), good.sampled),
            (trace, span, true)
        );
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
    fn the_caller_decides_on_its_traces_and_the_share_on_the_others() {
        let (trace, span) = ([7; 16], [7; 8]);
        assert!(sampled(Some(TraceParent { trace, span, sampled: false }), 1.0).is_none());
        assert_eq!(sampled(Some(TraceParent { trace, span, sampled: true }), 0.0), Some(trace));
        assert!(sampled(None, 1.0).is_some());
        assert!(sampled(None, 0.0).is_none());
    }
}
