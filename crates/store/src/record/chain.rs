//! The hash chain: every record covers the one before it.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trackside_engine::content::Content;
use trackside_engine::event::Entry;
use trackside_lifecycle::hex;

use super::{FORMAT, Record};
use crate::StoreError;

pub type Hash = [u8; 32];

/// The last format whose hash covers the whole record; later ones use the digest of the body.
const WHOLE: u32 = 1;

/// The hash of a text, as a record keeps it of its payload.
pub fn digest(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// The salt of a payload. It is a part of the payload and is dropped with it.
pub type Salt = [u8; 16];

/// A payload as it is stored.
#[derive(Serialize)]
struct SaltedContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    #[serde(flatten)]
    content: &'a Content,
}

/// A position in the chain: an entry and its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub seq: u64,
    pub hash: Hash,
}

impl Chain {
    /// The next record, with a random salt in its payload, so that a payload that was dropped cannot be guessed from its
    /// digest. `prev` is the entity's record before it, 0 if there is none.
    pub fn seal_salted(&mut self, entry: Entry, prev: u64, salt: Salt) -> Result<Record, StoreError> {
        self.seal_with(entry, prev, Some(salt))
    }

    /// The next record without a salt: for tests, which need the same record each time.
    pub fn seal(&mut self, entry: Entry, prev: u64) -> Result<Record, StoreError> {
        self.seal_with(entry, prev, None)
    }

    fn seal_with(&mut self, mut entry: Entry, prev: u64, salt: Option<Salt>) -> Result<Record, StoreError> {
        let seq = entry.seq;
        if seq != self.seq.saturating_add(1) {
            return Err(StoreError::Chain { seq, what: format!("does not follow {}", self.seq) });
        }
        let content = entry.part();
        let unwritable = |it: serde_json::Error| StoreError::Unreadable { seq, what: it.to_string() };
        let header = serde_json::to_string(&entry).map_err(unwritable)?;
        let payload = match content.is_empty() {
            true => None,
            false => {
                let salted = SaltedContent { salt: salt.map(hex::encode), content: &content };
                Some(serde_json::to_string(&salted).map_err(unwritable)?)
            }
        };
        let digest = payload.as_deref().map(digest);
        let mut record = Record { seq, prev, format: FORMAT, header, payload, digest, hash: Hash::default() };
        record.hash = self.covering(&record);
        *self = Self { seq, hash: record.hash };
        Ok(record)
    }

    /// Advances to a stored record after verifying that it follows.
    pub fn follow(&mut self, record: &Record) -> Result<(), StoreError> {
        let broken = |what: String| Err(StoreError::Chain { seq: record.seq, what });
        if record.seq != self.seq.saturating_add(1) {
            return broken(format!("comes after {}: the entries between them are missing", self.seq));
        }
        record.verify_payload()?;
        if self.covering(record) != record.hash {
            return broken(format!("was changed, or does not follow entry {}", self.seq));
        }
        *self = Self { seq: record.seq, hash: record.hash };
        Ok(())
    }

    /// The hash of a record that comes next.
    pub fn covering(&self, record: &Record) -> Hash {
        match record.format <= WHOLE {
            true => self.covering_whole(record),
            false => self.covering_body(record.seq, &record.body()),
        }
    }

    /// The hash for a record given only by its number and the digest of its body.
    pub fn covering_body(&self, seq: u64, body: &Hash) -> Hash {
        let mut hash = Sha256::new();
        hash.update(self.hash);
        hash.update(seq.to_le_bytes());
        hash.update(body);
        hash.finalize().into()
    }

    /// The hash of format 1, which needs the whole header.
    fn covering_whole(&self, record: &Record) -> Hash {
        let mut hash = Sha256::new();
        hash.update(self.hash);
        hash.update(record.seq.to_le_bytes());
        record.cover(&mut hash);
        hash.finalize().into()
    }
}

impl Record {
    /// Verifies the payload, if it is here, against its digest.
    pub fn verify_payload(&self) -> Result<(), StoreError> {
        let broken = |what: &str| Err(StoreError::Chain { seq: self.seq, what: what.to_owned() });
        match (&self.payload, &self.digest) {
            (Some(payload), Some(kept)) if digest(payload) != *kept => {
                broken("was changed: its payload does not match its digest")
            }
            (Some(_), None) => broken("was changed: it has a payload but was written without one"),
            _ => Ok(()),
        }
    }

    /// The digest of everything except its number. It proves that the chain contains the record without revealing it.
    pub fn body(&self) -> Hash {
        let mut hash = Sha256::new();
        self.cover(&mut hash);
        hash.finalize().into()
    }

    /// Whether the digest of its body is enough to verify the chain.
    pub fn has_body(&self) -> bool {
        self.format > WHOLE
    }

    fn cover(&self, hash: &mut Sha256) {
        hash.update(self.prev.to_le_bytes());
        hash.update(self.format.to_le_bytes());
        hash.update((self.header.len() as u64).to_le_bytes());
        hash.update(self.header.as_bytes());
        match &self.digest {
            Some(digest) => {
                hash.update([1]);
                hash.update(digest);
            }
            None => hash.update([0]),
        }
    }
}
