//! Journal entries as CloudEvents 1.0, in the structured JSON form.

use serde_json::{Value as Json, json};
use trackside_engine::event::Entry;

/// The media type.
pub(crate) const KIND: &str = "application/cloudevents+json";

/// The body for an entry; `told` is the entry as JSON.
pub(crate) fn body(source: &str, entry: &Entry, told: &Json) -> Vec<u8> {
    let event = json!({
        "specversion": "1.0",
        "id": entry.seq.to_string(),
        "source": source,
        "type": kind(entry.event.kind().as_str()),
        "subject": entry.entity.to_string(),
        "time": entry.at.to_string(),
        "datacontenttype": "application/json",
        "data": told,
    });
    event.to_string().into_bytes()
}

/// `STATE_TRANSITION` is `dev.trackside.state_transition`.
fn kind(event: &str) -> String {
    format!("dev.trackside.{}", event.to_ascii_lowercase())
}
