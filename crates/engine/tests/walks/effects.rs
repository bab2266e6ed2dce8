//! An effect is answered once, and only if it was requested.

use std::collections::BTreeSet;

use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;

use crate::broken::BrokenPromise;

/// Effects that are not answered yet, according to the journal.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    open: BTreeSet<(EntityKey, u64)>,
}

impl Effects {
    pub(crate) fn follow(&mut self, entry: &Entry) -> Result<(), BrokenPromise> {
        let fine = match &entry.event {
            Event::EffectRequested { id, .. } => self.open.insert((entry.entity.clone(), *id)),
            Event::EffectSettled { id, .. } => self.open.remove(&(entry.entity.clone(), *id)),
            Event::Erased { .. } => {
                self.open.retain(|(of, _)| *of != entry.entity);
                true
            }
            _ => true,
        };
        if fine {
            Ok(())
        } else {
            Err(BrokenPromise::new("an effect is answered once", format!("{entry:?}")))
        }
    }
}
