//! The name of a request, by which it is found again on both sides.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

/// Where it stands.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest one that is taken over.
const LONGEST: usize = 128;

/// The name that a request goes by: its own if that is a usable one, else a new one.
pub(crate) fn of(request: &Request) -> Option<HeaderValue> {
    let own = request.headers().get(HEADER);
    own.filter(|it| is_usable(it.as_bytes())).cloned().or_else(made_up)
}

/// Only what can stand in any log.
fn is_usable(id: &[u8]) -> bool {
    let plain = |it: &u8| it.is_ascii_alphanumeric() || b"._-".contains(it);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(plain)
}

fn made_up() -> Option<HeaderValue> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).ok()?;
    HeaderValue::from_str(&format!("{:016x}", u64::from_le_bytes(bytes))).ok()
}

/// Says it again on the answer.
pub(crate) fn echo(answer: &mut Response, id: Option<HeaderValue>) {
    if let Some(id) = id {
        answer.headers_mut().insert(HEADER, id);
    }
}
