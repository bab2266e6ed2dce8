//! Repairs an unreadable row that was met while deciding, from the journal.

use std::sync::Arc;

use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};
use trackside_store::StoreError;

use crate::answer::CommandAnswer;
use crate::pipeline::decider::Decider;

impl Decider {
    /// Rebuilds an entity with an unreadable row from the journal; the repair is journalled as a
    /// correction. Returns false if that does not help: another row is unreadable, or the journal is
    /// incomplete.
    pub(in crate::pipeline) fn mend_unreadable(&mut self, key: &EntityKey, error: &StoreError) -> bool {
        let is_here = self.memory.view.get(key).is_some() || self.memory.reader().entity(key).is_ok();
        if is_here {
            return false;
        }
        match self.as_journalled(key) {
            Ok(Some(entity)) => {
                let found = format!("it could not be read: {error}");
                matches!(self.repair_record(entity, &found), Ok(CommandAnswer::Accepted(_)))
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// The entity by its entries; none if some of them are not in the journal.
    fn as_journalled(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        let Some(last) = self.memory.reader().last_entry(key)? else { return Ok(None) };
        let records = self.memory.reader().trail(last, usize::MAX)?;
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
