//! Request ids: taken from the client or generated, logged, journalled and echoed.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is accepted.
const LONGEST: usize = 128;

/// The id of a request: the client's if it is usable, else a new one.
pub(crate) fn of(request: &Request) -> Option<HeaderValue> {
    let own = request.headers().get(HEADER);
    own.filter(|it| is_usable(it.as_bytes())).cloned().or_else(made_up)
}

/// Only characters that are safe in any log.
fn is_usable(id: &[u8]) -> bool {
    let plain = |it: &u8| it.is_ascii_alphanumeric() || b"._-".contains(it);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(plain)
}

/// A unique id. The numbers are shuffled so that an id reveals nothing.
fn made_up() -> Option<HeaderValue> {
    static FIRST: LazyLock<u64> = LazyLock::new(|| {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).ok();
        u64::from_le_bytes(bytes)
    });
    static MADE: AtomicU64 = AtomicU64::new(0);
    // Multiplying by an odd number and shifting right are both bijective, so ids stay unique.
    let mixed = |it: u64, factor: u64| (it ^ (it >> 31)).wrapping_mul(factor);
    let number = FIRST.wrapping_add(MADE.fetch_add(1, Ordering::Relaxed));
    let number = mixed(mixed(number, 0xbf58_476d_1ce4_e5b9), 0x94d0_49bb_1331_11eb);
    HeaderValue::from_str(&format!("{number:016x}")).ok()
}

/// Sets the header of the answer.
pub(crate) fn echo(answer: &mut Response, id: Option<HeaderValue>) {
    if let Some(id) = id {
        answer.headers_mut().insert(HEADER, id);
    }
}
