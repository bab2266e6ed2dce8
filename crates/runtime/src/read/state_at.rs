//! An entity as it was.

use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};

use super::{ReadError, Reads};
use crate::entity_records;

/// An entity right after an entry of the journal.
#[derive(Clone, Debug)]
pub struct PastEntity {
    pub entity: Arc<Entity>,
    /// Payloads were dropped from the journal: fields may be missing.
    pub redacted: bool,
}

impl Reads {
    /// An entity as it was right after an entry of any entity.
    pub fn entity_at(&self, key: &EntityKey, seq: u64) -> Result<PastEntity, ReadError> {
        let unknown = || ReadError::UnknownEntity(key.clone());
        let at = self.seq();
        if seq > at {
            return Err(ReadError::NotYet { at, asked: seq });
        }
        let now = self.entity(key)?.ok_or_else(unknown)?;
        if now.seq <= seq {
            return Ok(PastEntity { entity: now, redacted: false });
        }
        let records = self.look_back(|it| entity_records::all(it, now.seq))?;
        let mut view = View::default();
        let mut redacted = false;
        for record in records.iter().take_while(|it| it.seq <= seq) {
            redacted |= record.is_redacted();
            apply(&mut view, &record.entry()?);
        }
        let entity = view.image(key).ok_or_else(unknown)?;
        Ok(PastEntity { entity, redacted })
    }
}
