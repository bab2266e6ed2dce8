//! Reads: lists, named queries, history, past states, statistics and explanations.
//!
//! Reads return only durable data and are monotonic: commits that are not flushed yet are laid over the projections.
//! Only explanations and rankings wait for the decider.

mod alerts;
mod arrival;
mod error;
mod explain;
mod history;
mod list;
mod list_filter;
mod notices;
mod pack_query;
mod past_view;
mod read_view;
mod recent_throughput;
mod replayed_records;
mod state_at;
mod stats;
mod survey;
mod viewer;
mod walk;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_engine::present::PresentedEntity;
use trackside_engine::query::QueryReader;
use trackside_engine::view::{Needs, Project};
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{EntityFile, FullJournal, folder_of};
use trackside_store::store::OpenEffectRow;
use trackside_store::{Reader, StoreError};

use crate::clock::ProjectClock;
use crate::gateway::Gateway;
use crate::memory::UnflushedCommits;
use crate::shared::Shared;
pub use alerts::Alert;
pub use arrival::Arrival;
pub use error::ReadError;
pub use explain::{Explanation, Trial};
pub use history::{History, TimeIn};
pub use list::{ListQuery, Listed};
pub use notices::{Noticed, Violation};
pub use pack_query::{HistorySelection, NamedAnswer};
use read_view::ReadView;
pub use state_at::PastEntity;
pub use stats::{Lengths, Stats};
pub use survey::{ProjectOverview, UNKNOWN};
pub use viewer::Viewer;

/// Most items of a page.
pub const MOST: usize = 200;
/// Default page size.
pub const USUAL: usize = 50;
/// Most entities that are read for one answer.
const BUDGET: usize = 20_000;

/// Reads a project. Clone it for every reader; every call blocks its thread until it is answered.
#[derive(Clone, Debug)]
pub struct Reads {
    shared: Arc<Shared>,
    gateway: Gateway,
    clock: ProjectClock,
    budget: usize,
}

impl Reads {
    pub(crate) fn new(shared: Arc<Shared>, gateway: Gateway, clock: ProjectClock) -> Self {
        Self { shared, gateway, clock, budget: BUDGET }
    }

    /// Sets the most entities that are read for one answer.
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.budget = budget.max(1);
        self
    }

    /// The last entry on disk. Later reads are at least as new.
    pub fn seq(&self) -> u64 {
        self.shared.last_committed()
    }

    /// The definitions in force.
    pub fn law(&self) -> Arc<Law> {
        self.shared.law()
    }

    /// The time that reads use.
    pub fn now(&self) -> Timestamp {
        self.clock.now().max(self.shared.last_at())
    }

    /// An entity as it is on disk.
    pub fn entity(&self, key: &EntityKey) -> Result<Option<Arc<Entity>>, ReadError> {
        match self.shared.fresh(key) {
            Some(entity) => Ok(Some(entity)),
            // All other entities are in the projections.
            None => self.store(|it| it.entity(key)),
        }
    }

    /// The entity, if the actor may see it; otherwise `UnknownEntity`.
    pub fn readable(&self, key: &EntityKey, actor: &Actor) -> Result<Arc<Entity>, ReadError> {
        let unknown = || self.unknown(key);
        let entity = self.entity(key)?.ok_or_else(unknown)?;
        let seen = ReadView::new(self).may_read(std::slice::from_ref(&entity), actor)?;
        if seen.contains(&true) { Ok(entity) } else { Err(unknown()) }
    }

    /// The error for a missing entity: an unknown id, or an unknown lifecycle.
    fn unknown(&self, key: &EntityKey) -> ReadError {
        let law = self.shared.law();
        match law.newest(&key.lifecycle) {
            Some(_) => ReadError::UnknownEntity(key.clone()),
            None => ReadError::unknown_lifecycle(&law, &key.lifecycle),
        }
    }

    /// The archive file of an entity in long-term storage, inside the data folder; none if it is not there.
    pub fn archive_file(&self, key: &EntityKey) -> Result<Option<String>, ReadError> {
        let upto = self.store(|it| it.archived_upto(key))?;
        let path = folder_of(Path::new("")).join(EntityFile::name(key));
        Ok(upto.map(|_| path.display().to_string()))
    }

    /// An entity as this actor sees it.
    pub fn present(&self, key: &EntityKey, actor: &Actor) -> Result<PresentedEntity, ReadError> {
        let entity = self.readable(key, actor)?;
        let mut all = self.present_all(&[entity], actor)?;
        all.pop().ok_or_else(|| ReadError::UnknownEntity(key.clone()))
    }

    /// Entities that were read already, as this actor sees them.
    pub fn present_all(
        &self,
        entities: &[Arc<Entity>],
        actor: &Actor,
    ) -> Result<Vec<PresentedEntity>, ReadError> {
        ReadView::new(self).ask(|law, view, now| {
            Needs::collect(entities.iter().map(|it| PresentedEntity::new(law, view, it, actor, now)))
        })
    }

    /// The people of the project.
    pub fn people(&self) -> Vec<Name> {
        self.shared.project().people.clone()
    }

    /// The project's settings, zone and people, as they are on disk.
    pub fn project(&self) -> Arc<Project> {
        self.shared.project()
    }

    /// An entry of the journal, archived or not.
    pub fn entry(&self, seq: u64) -> Result<Option<Entry>, ReadError> {
        let found = self.look_back(|it| it.record(seq)?.map(|it| it.entry()).transpose())?;
        // Entries that are not published yet do not exist for readers.
        Ok(found.filter(|it| it.seq <= self.seq()))
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// The next fence for an effect; none if the earlier ones are not known.
    pub(crate) fn next_fence(&self) -> Option<u64> {
        self.shared.fences.next()
    }

    /// Open effects as the projections know them.
    pub(crate) fn stored_effects(&self, after: u64, most: usize) -> Result<Vec<OpenEffectRow>, ReadError> {
        Ok(self.store(|it| it.effects(after, most))?.value)
    }

    /// Visits every entry that the projections may not have. Call it before reading them.
    pub(crate) fn for_unwritten(&self, mut look: impl FnMut(&Entry)) {
        UnflushedCommits::of(&self.shared).after(0).for_each(|(entry, _)| look(entry));
    }

    /// The newest definition of a lifecycle.
    fn lifecycle(&self, name: &Name) -> Result<Arc<Lifecycle>, ReadError> {
        let law = self.shared.law();
        law.newest(name).cloned().ok_or_else(|| ReadError::unknown_lifecycle(&law, name))
    }

    fn store<T>(&self, work: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, ReadError> {
        self.shared.read(work).map_err(ReadError::from)
    }

    /// Reads entries that may be archived.
    fn look_back<T>(
        &self,
        work: impl FnOnce(&mut FullJournal<'_>) -> Result<T, StoreError>,
    ) -> Result<T, ReadError> {
        self.shared.look_back(work).map_err(ReadError::from)
    }
}

impl ReadView {
    /// For each of these entities, whether the actor may see it.
    fn may_read(&mut self, entities: &[Arc<Entity>], actor: &Actor) -> Result<Vec<bool>, ReadError> {
        self.ask(|law, view, now| {
            let asking = QueryReader { law, view, actor, shown: true, now };
            Needs::collect(entities.iter().map(|it| asking.may_read(it)))
        })
    }
}

/// The page size for a requested limit.
fn page(limit: usize) -> usize {
    if limit == 0 { USUAL } else { limit.min(MOST) }
}
