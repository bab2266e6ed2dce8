//! A journal entry as it is stored: a header, a payload that may be dropped, and the hash that binds them.

mod chain;
mod line;
mod upcast;

use trackside_engine::content::Content;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;

use crate::StoreError;
pub use chain::{Chain, Hash, Salt, digest};
pub use line::RecordLine;
pub use upcast::{FORMAT, UPCASTS, Upcast};

/// One entry, as bytes.
///
/// `hash` covers everything but the payload, and of the payload its `digest`. So a payload can be dropped: the chain
/// still verifies, and the drop is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: u64,
    /// The entity's record before this one; 0 if there is none.
    pub prev: u64,
    /// The version of the form in which header and payload are written.
    pub format: u32,
    /// Actor, event, entity, time, states, timers and groups, as JSON.
    pub header: String,
    /// Field values, free text and a random salt, as JSON. None if there is none, or it was dropped.
    pub payload: Option<String>,
    /// The digest of the original payload; none if there never was one.
    pub digest: Option<Hash>,
    pub hash: Hash,
}

impl Record {
    /// True if the payload was dropped after it was written.
    pub fn is_redacted(&self) -> bool {
        self.payload.is_none() && self.digest.is_some()
    }

    /// Its entity, without parsing the whole header; none if that cannot be read.
    pub fn entity(&self) -> Option<EntityKey> {
        #[derive(serde::Deserialize)]
        struct About {
            entity: EntityKey,
        }
        serde_json::from_str::<About>(&self.header).ok().map(|it| it.entity)
    }

    /// The entry, without a dropped payload.
    pub fn entry(&self) -> Result<Entry, StoreError> {
        self.entry_with(UPCASTS)
    }

    /// The entry, read with the given upcasters: for tests of them.
    pub fn entry_with(&self, upcasts: &[Upcast]) -> Result<Entry, StoreError> {
        let unreadable = |what: String| StoreError::Unreadable { seq: self.seq, what };
        let newest = upcast::newest(upcasts);
        if self.format > newest {
            return Err(unreadable(format!(
                "it has format {}; this release supports up to {newest}. Use a newer release",
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
