//! Journal entries as CloudEvents 1.0, in the structured JSON form.

use trackside_engine::event::Entry;
use trackside_protocol::{CloudEvent, EntryBody};

/// The media type.
pub(crate) const KIND: &str = "application/cloudevents+json";

/// The body of a message for an entry.
pub(crate) fn body(source: &str, entry: &Entry, data: &EntryBody) -> Vec<u8> {
    let event = CloudEvent {
        specversion: "1.0",
        id: entry.seq.to_string(),
        source,
        r#type: kind(entry.event.kind().as_str()),
        subject: entry.entity.to_string(),
        time: entry.at.to_string(),
        datacontenttype: "application/json",
        data,
    };
    serde_json::to_vec(&event).unwrap_or_default()
}

/// `STATE_TRANSITION` is `dev.trackside.state_transition`.
fn kind(event: &str) -> String {
    format!("dev.trackside.{}", event.to_ascii_lowercase())
}
