//! Writes projections behind the journal, many commits at a time.

use std::sync::Arc;

use trackside_engine::event::Event;
use trackside_engine::view::Project;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_store::project::ProjectionBuilder;
use trackside_store::{EntityRow, Projector, StoreError};

use super::committer::Committed;

/// Most idempotency keys forgotten in one go.
const EXPIRE: usize = 2_000;

pub(crate) struct Flusher {
    projector: Box<dyn Projector>,
    next: ProjectionBuilder,
    /// Built and not yet written: it is tried again until it is.
    stuck: Option<Box<trackside_store::Projection>>,
    written: u64,
    at: Timestamp,
    keys_last: Span,
    /// Entities that were erased: what the journal holds of them is to be dropped.
    erased: Vec<u64>,
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
        Ok(Self { projector, next, stuck: None, written, at, keys_last, erased: Vec::new() })
    }

    /// The entry up to which everything is written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many entries wait.
    pub fn waiting(&self) -> usize {
        self.next.entries() + usize::from(self.stuck.is_some())
    }

    /// Takes what was committed.
    pub fn take(&mut self, committed: &Committed) {
        let entries = committed.entries.iter().flat_map(|it| it.iter());
        for (entry, before) in entries.zip(&committed.befores) {
            self.next.add(entry, before.was.as_ref());
            self.at = self.at.max(entry.at);
            if let Event::Erased { .. } = entry.event {
                self.erased.push(entry.seq);
            }
        }
        if let Some(project) = &committed.project {
            self.next.project(project.clone());
        }
        for touched in &committed.touched {
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
            let next = ProjectionBuilder::new(self.next.position());
            let full = std::mem::replace(&mut self.next, next);
            self.stuck = Some(Box::new(full.build()));
        }
        if let Some(projection) = &self.stuck {
            self.projector.project(projection)?;
            self.written = projection.position;
            self.stuck = None;
        }
        Ok(self.written)
    }

    /// Work that can wait: forgets old keys, and lets the store put its files in order. True if there is more of it.
    pub fn tidy(&mut self) -> Result<bool, StoreError> {
        let before = Timestamp(self.at.0.saturating_sub(self.keys_last.0));
        let expired = self.projector.expire_keys(before, EXPIRE)?;
        let done = self.projector.tidy()?;
        Ok(expired == EXPIRE || !done)
    }

    /// An entry that erased its entity, of which the journal still holds more than it should.
    pub fn erased(&self) -> Option<u64> {
        self.erased.last().copied()
    }

    /// It does not any more.
    pub fn forgotten(&mut self) {
        self.erased.pop();
    }
}

/// An entity whose definition is gone: it is found by its key and its state.
fn bare(entity: Arc<trackside_engine::entity::Entity>) -> EntityRow {
    EntityRow { entity, last: false, indexed: Vec::new(), overdue_at: None }
}
