//! Writes projections behind the journal, many commits at a time.

use std::sync::Arc;

use trackside_engine::event::Event;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::projection_builder::ProjectionBuilder;
use trackside_store::store::RowHealing;
use trackside_store::{EntityRow, Projector, StoreError};

use super::committer::Committed;
use crate::failpoints::{Failpoint, is_enabled};

/// Most idempotency keys forgotten in one go.
const EXPIRE: usize = 2_000;

/// Payloads that are to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dropping {
    /// The payloads of an entity's entries before the one that erased it.
    AllBefore(EntityKey, u64),
    /// The payloads of these entries of an entity.
    These(EntityKey, Vec<u64>),
}

pub(crate) struct Flusher {
    projector: Box<dyn Projector>,
    next: ProjectionBuilder,
    /// Built and not yet written: it is tried again until it is.
    stuck: Option<Box<trackside_store::Projection>>,
    /// Whether the last attempt to write failed.
    failed: bool,
    written: u64,
    at: Timestamp,
    keys_last: Span,
    /// Payloads that must still be dropped from the journal.
    to_drop: Vec<Dropping>,
    /// Whether the projection files may still contain dropped values.
    to_scrub: bool,
}

impl std::fmt::Debug for Flusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flusher at {}", self.written)
    }
}

impl Flusher {
    pub fn new(mut projector: Box<dyn Projector>, keys_last: Span) -> Result<Self, StoreError> {
        let written = projector.position()?;
        let next = ProjectionBuilder::new(written);
        let at = Timestamp(0);
        Ok(Self {
            projector,
            next,
            stuck: None,
            failed: false,
            written,
            at,
            keys_last,
            to_drop: Vec::new(),
            to_scrub: false,
        })
    }

    /// The last flushed entry.
    pub fn last_flushed(&self) -> u64 {
        self.written
    }

    /// The number of waiting entries, plus other work that must be finished.
    pub fn waiting(&self) -> usize {
        self.next.entries() + usize::from(self.stuck.is_some()) + usize::from(self.to_scrub)
    }

    /// Takes a committed batch.
    pub fn take(&mut self, committed: &Committed) {
        let entries = committed.content.entries.iter().flat_map(|it| it.iter());
        for (entry, before) in entries.zip(&committed.content.prior_states) {
            self.next.add(entry, before.was.as_ref());
            self.at = entry.at;
            match &entry.event {
                Event::Erased { .. } => {
                    self.to_drop.push(Dropping::AllBefore(entry.entity.clone(), entry.seq))
                }
                Event::Redacted { entries, .. } => {
                    self.to_drop.push(Dropping::These(entry.entity.clone(), entries.clone()))
                }
                _ => {}
            }
        }
        if let Some(project) = &committed.content.project {
            self.next.project(project.clone());
        }
        for touched in &committed.content.changed_entities {
            match &touched.life {
                Some(life) => self.next.entity(touched.entity.clone(), life),
                None => self.next.row(bare(touched.entity.clone())),
            }
        }
    }

    pub fn project(&mut self, project: Project) {
        self.next.project(project);
    }

    /// Writes all that waits; the entry up to which it is now written.
    pub fn flush(&mut self) -> Result<u64, StoreError> {
        if self.stuck.is_none() && self.next.entries() > 0 {
            self.stuck = Some(Box::new(self.next.build()));
        }
        if let Some(projection) = self.stuck.as_deref() {
            let again = std::mem::replace(&mut self.failed, true);
            // A failed write may have reached the disk.
            if !again || self.projector.position()? < projection.position {
                self.projector.project(projection)?;
            }
            (self.written, self.failed) = (projection.position, false);
            if let Some(written) = self.stuck.take() {
                self.next.reuse(*written);
            }
        }
        Ok(self.written)
    }

    /// Removes erased payloads from the projection files, too.
    pub fn scrub(&mut self) -> Result<(), StoreError> {
        if self.to_scrub {
            self.projector.scrub()?;
            self.to_scrub = false;
        }
        Ok(())
    }

    /// Removes damaged rows and writes lost keys again.
    pub fn heal_rows(&mut self, healing: &RowHealing) -> Result<(), StoreError> {
        self.projector.heal_rows(healing)
    }

    /// Forgets some of the keys that are old enough. True if there may be more of them.
    pub fn forget_keys(&mut self) -> Result<bool, StoreError> {
        let lasts = if is_enabled(Failpoint::KeysExpireEarly) { 0 } else { self.keys_last.0 };
        let before = Timestamp(self.at.0.saturating_sub(lasts));
        Ok(self.projector.expire_keys(before, EXPIRE)? == EXPIRE)
    }

    /// Work that can wait: forgets old keys, and lets the store put its files in order. True if there is more of it.
    pub fn tidy(&mut self) -> Result<bool, StoreError> {
        let more = self.forget_keys()?;
        let done = self.projector.tidy()?;
        Ok(more || !done)
    }

    /// Payloads that must be gone before the entry that drops them counts as flushed.
    pub fn to_drop(&self) -> &[Dropping] {
        &self.to_drop
    }

    /// Marks the payloads as dropped from the journal.
    pub fn mark_dropped(&mut self) {
        self.to_drop.clear();
        self.to_scrub = true;
    }
}

/// The row of an entity whose definition is missing: only key and state are indexed.
pub(super) fn bare(entity: Arc<trackside_engine::entity::Entity>) -> EntityRow {
    EntityRow { entity, last: false, indexed: Vec::new(), overdue_at: None }
}
