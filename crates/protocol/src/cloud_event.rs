//! Journal entries as CloudEvents 1.0, in the structured JSON form: the bodies of webhooks.

use serde::Serialize;

use crate::entry::EntryBody;

/// A journal entry as a CloudEvent.
#[derive(Debug, Serialize)]
pub struct CloudEvent<'a> {
    pub specversion: &'static str,
    /// The number of the entry.
    pub id: String,
    /// The server.
    pub source: &'a str,
    /// `dev.trackside.` and the name of the event in lower case.
    pub r#type: String,
    /// The entity as `lifecycle/id`.
    pub subject: String,
    pub time: String,
    pub datacontenttype: &'static str,
    pub data: &'a EntryBody,
}
