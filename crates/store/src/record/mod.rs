//! A journal entry as it is stored: a header, a payload that may be dropped, and the hash that binds them.

mod chain;
mod hex;
mod line;
mod upcast;

use trackside_engine::content::Content;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;

use crate::StoreError;
pub use chain::{Chain, Hash, digest};
pub use hex::{hex, unhex};
pub use line::RecordLine;
pub use upcast::{FORMAT, UPCASTS, Upcast};

/// One entry, as bytes.
///
/// `hash` covers everything but the payload, and of the payload its `digest`. So a payload can be dropped and
/// the chain still verifies; that it was dropped shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: u64,
    /// The entity's record before this one; 0 if there is none.
    pub prev: u64,
    /// The version of the form in which header and payload are written.
    pub format: u32,
    /// Who did what to which entity when, states, clocks and groups: JSON.
    pub header: String,
    /// Values and words: JSON. None where there are none, or they were dropped.
    pub payload: Option<String>,
    /// Of the payload as it was written; none if there never was one.
    pub digest: Option<Hash>,
    pub hash: Hash,
}

impl Record {
    /// Whether it once said more than it does.
    pub fn is_redacted(&self) -> bool {
        self.payload.is_none() && self.digest.is_some()
    }

    /// The entity that it is about, without reading all of it; none if that cannot be read.
    pub fn entity(&self) -> Option<EntityKey> {
        #[derive(serde::Deserialize)]
        struct About {
            entity: EntityKey,
        }
        serde_json::from_str::<About>(&self.header).ok().map(|it| it.entity)
    }

    /// The entry, without what was dropped of it.
    pub fn entry(&self) -> Result<Entry, StoreError> {
        self.entry_with(UPCASTS)
    }

    /// The same with other upcasters: for tests of them.
    pub fn entry_with(&self, upcasts: &[Upcast]) -> Result<Entry, StoreError> {
        let unreadable = |what: String| StoreError::Unreadable { seq: self.seq, what };
        let newest = upcast::newest(upcasts);
        if self.format > newest {
            return Err(unreadable(format!(
                "it has format {}, this release knows {newest}; use a later release",
                self.format
            )));
        }
        if self.format < newest {
            let (header, payload) =
                upcast::upcast(upcasts, self.format, &self.header, self.payload.as_deref())
                    .map_err(unreadable)?;
            let mut entry: Entry = serde_json::from_value(header).map_err(|it| unreadable(it.to_string()))?;
            if let Some(payload) = payload {
                entry.rejoin(serde_json::from_value(payload).map_err(|it| unreadable(it.to_string()))?);
            }
            return Ok(entry);
        }
        let mut entry: Entry = serde_json::from_str(&self.header).map_err(|it| unreadable(it.to_string()))?;
        if let Some(payload) = &self.payload {
            let content: Content = serde_json::from_str(payload).map_err(|it| unreadable(it.to_string()))?;
            entry.rejoin(content);
        }
        Ok(entry)
    }
}
