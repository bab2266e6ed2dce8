//! Repairs an unreadable row that was met while deciding, from the journal.

use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};
use trackside_store::StoreError;
use trackside_store::archive::FullJournal;

use crate::answer::CommandAnswer;
use crate::entity_records;
use crate::pipeline::decider::Decider;

/// Repairs that a repair may need first.
const DEEPEST: u32 = 8;
/// Records read at a time.
const SEARCHED: usize = 1_000;

impl Decider {
    /// Rebuilds an entity with an unreadable row from the journal; the repair is journalled as a
    /// correction. Returns false if that does not help: another row is unreadable, or the journal is
    /// incomplete.
    pub(in crate::pipeline) fn mend_unreadable(&mut self, key: &EntityKey, error: &StoreError) -> bool {
        let is_here = self.memory.view.get(key).is_some() || self.memory.reader().entity(key).is_ok();
        if is_here || self.damage.mending >= DEEPEST {
            return false;
        }
        self.damage.mending += 1;
        let mended = self.mend_from_journal(key, error);
        self.damage.mending -= 1;
        match mended {
            true => self.damage.resolve(key),
            false => self.damage.note(key, error),
        }
        mended
    }

    fn mend_from_journal(&mut self, key: &EntityKey, error: &StoreError) -> bool {
        match self.as_journalled(key) {
            Ok(Some(entity)) => {
                let found = format!("it could not be read: {error}");
                matches!(self.repair_record(entity, &found), Ok(CommandAnswer::Accepted(_)))
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// The entity by its entries; none if some of them are not in the journal or its archive.
    fn as_journalled(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        let last = match self.memory.reader().last_entry(key) {
            Err(StoreError::DamagedRow { .. }) => self.last_journalled(key)?,
            last => last?,
        };
        match last {
            Some(last) => self.as_journalled_at(key, last),
            None => Ok(None),
        }
    }

    /// The last entry of an entity whose row does not say which one it is, by a search from the end of the journal.
    fn last_journalled(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        let base = self.memory.reader().base()?.seq;
        let mut end = self.memory.reader().head()?.chain.seq;
        while end > base {
            let after = end.saturating_sub(SEARCHED as u64).max(base);
            let records = self.memory.reader().records(after, SEARCHED)?;
            let found = records.iter().rev().filter(|it| it.seq <= end);
            if let Some(record) = found.into_iter().find(|it| it.entity().as_ref() == Some(key)) {
                return Ok(Some(record.seq));
            }
            end = after;
        }
        Ok(None)
    }

    /// The entity as of one of its entries.
    pub(in crate::pipeline) fn as_journalled_at(
        &mut self,
        key: &EntityKey,
        last: u64,
    ) -> Result<Option<Arc<Entity>>, StoreError> {
        let mut whole = FullJournal::new(self.sweep.store.as_ref(), self.memory.reader());
        let records: Vec<_> = entity_records::all(&mut whole, last)?.into_iter().rev().collect();
        if records.last().is_none_or(|it| it.prev != 0) || self.is_sealed(last)? != Some(true) {
            return Ok(None);
        }
        let mut view = View::default();
        for record in records.iter().rev() {
            apply(&mut view, &record.entry()?);
        }
        Ok(view.image(key))
    }
}
