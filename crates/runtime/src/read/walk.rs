//! All entities of a lifecycle in the order of their ids: stored rows, overlaid with unflushed commits.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_engine::overdue::is_overdue;
use trackside_lifecycle::name::Name;
use trackside_store::store::Listing;

use super::{ReadError, Reads};

/// Visits the entities of a lifecycle. An entity that does not move meanwhile is visited once, if it
/// matches.
pub(super) struct Walk<'r> {
    reads: &'r Reads,
    law: Arc<Law>,
    listing: Listing,
    lifecycle: Name,
    /// Entities that the projections may not have yet, taken before the projections are read.
    fresh: BTreeMap<Name, Arc<Entity>>,
    looked: usize,
    ended: bool,
}

/// Most entities read at a time.
pub(super) const CHUNK: usize = 1_000;

impl<'r> Walk<'r> {
    /// `listing` narrows the rows; results match its states and its time, but may not match its index.
    pub fn new(reads: &'r Reads, lifecycle: &Name, mut listing: Listing) -> Self {
        listing.lifecycle = Some(lifecycle.clone());
        let after = listing.after.as_ref().map(|it| it.id.clone());
        let later =
            |it: &EntityKey| it.lifecycle == *lifecycle && after.as_ref().is_none_or(|id| it.id > *id);
        let fresh = reads.shared.all_fresh(|it| later(&it.key));
        let fresh = fresh.into_iter().map(|it| (it.key.id.clone(), it)).collect();
        Self {
            reads,
            law: reads.shared.law(),
            listing,
            lifecycle: lifecycle.clone(),
            fresh,
            looked: 0,
            ended: false,
        }
    }

    /// The next entities, about `most` of them; none at the end.
    pub fn next(&mut self, most: usize) -> Result<Option<Vec<Arc<Entity>>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        self.listing.most = most;
        let stored = self.reads.store(|it| it.list(&self.listing))?.value;
        self.ended = stored.len() < most;
        self.listing.after = stored.last().map(|it| it.key.clone()).or(self.listing.after.take());
        let mut found = match (&self.listing.after, self.ended) {
            (Some(last), false) => {
                let mut later = self.fresh.split_off(&last.id);
                let same = later.remove_entry(&last.id);
                let mut here = std::mem::replace(&mut self.fresh, later);
                here.extend(same);
                here
            }
            _ => std::mem::take(&mut self.fresh),
        };
        for entity in stored {
            let newer = found.get(&entity.key.id).is_some_and(|it| it.seq >= entity.seq);
            if !newer {
                found.insert(entity.key.id.clone(), entity);
            }
        }
        self.looked += found.len();
        Ok(Some(found.into_values().filter(|it| self.is_wanted(it)).collect()))
    }

    /// The number of entities read so far, wanted or not.
    pub fn entities_read(&self) -> usize {
        self.looked
    }

    /// The id up to which all entities were read.
    pub fn reached(&self) -> Option<String> {
        self.listing.after.as_ref().map(|it| it.id.to_string())
    }

    /// Whether that exceeds the budget while more entities are left.
    pub fn is_over(&self, budget: usize) -> bool {
        self.looked >= budget && !self.ended
    }

    fn is_wanted(&self, entity: &Entity) -> bool {
        let states = &self.listing.states;
        let overdue = |now| {
            let life = self.law.definition(&self.lifecycle, entity.definition);
            life.is_some_and(|it| is_overdue(it, entity, now))
        };
        (states.is_empty() || states.contains(&entity.state)) && self.listing.overdue_at.is_none_or(overdue)
    }
}
