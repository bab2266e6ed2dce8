//! Upcasters: convert older formats when entries are read. Stored bytes never change.

use serde_json::Value as Json;

/// Makes an entry of one format into one of the next: header and payload.
pub type Upcast = fn(Json, Option<Json>) -> (Json, Option<Json>);

/// From format 1 to 2, from 2 to 3 and so on. Pure; never changed once released.
pub const UPCASTS: &[Upcast] = &[as_it_is, as_it_is];

/// The format that this release writes.
pub const FORMAT: u32 = 3;

/// Format 2 has the same content; only its hash is computed differently. In format 3 the payload has a salt, which is no
/// part of the entry.
fn as_it_is(header: Json, payload: Option<Json>) -> (Json, Option<Json>) {
    (header, payload)
}

/// The format that a list of upcasters leads to.
pub(super) fn newest(upcasts: &[Upcast]) -> u32 {
    FORMAT.max(u32::try_from(upcasts.len()).unwrap_or(u32::MAX).saturating_add(1))
}

pub(super) fn upcast(
    upcasts: &[Upcast],
    format: u32,
    header: &str,
    payload: Option<&str>,
) -> Result<(Json, Option<Json>), String> {
    let read = |text: &str| serde_json::from_str::<Json>(text).map_err(|it| it.to_string());
    let mut both = (read(header)?, payload.map(read).transpose()?);
    let done = usize::try_from(format.saturating_sub(1)).unwrap_or(usize::MAX);
    for upcast in upcasts.iter().skip(done) {
        both = upcast(both.0, both.1);
    }
    Ok(both)
}
