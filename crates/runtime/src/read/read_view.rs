//! The view of one read: a memory of its own, with committed data only.

use std::sync::Arc;

use trackside_engine::view::Needs;
use trackside_engine::{Law, View};
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Reader, StoreError};

use super::{ReadError, Reads};
use crate::answer::Failure;
use crate::memory::{LoadError, LoadSource, Memory, UnflushedCommits};
use crate::shared::Shared;

pub(super) struct ReadView {
    memory: Memory<CommittedSource>,
    now: Timestamp,
}

/// Loads committed data.
struct CommittedSource {
    shared: Arc<Shared>,
    /// Taken before the first read: many questions read nothing.
    unflushed: Option<UnflushedCommits>,
}

impl LoadSource for CommittedSource {
    type Overlay = UnflushedCommits;
    const WITH_GROUPS: bool = false;

    fn read<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Reader, &UnflushedCommits) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self { shared, unflushed } = self;
        let unflushed = &*unflushed.get_or_insert_with(|| UnflushedCommits::of(shared));
        shared.read(|reader| work(reader, unflushed))
    }
}

impl ReadView {
    pub fn new(reads: &Reads) -> Self {
        let mut view = View::partial(reads.seq());
        view.project = (*reads.shared.project()).clone();
        let source = CommittedSource { shared: reads.shared.clone(), unflushed: None };
        Self { memory: Memory { law: reads.shared.law(), view, source }, now: reads.now() }
    }

    pub fn law(&self) -> &Arc<Law> {
        &self.memory.law
    }

    pub fn ask<T>(
        &mut self,
        mut question: impl FnMut(&Law, &View, Timestamp) -> Result<T, Needs>,
    ) -> Result<T, ReadError> {
        let now = self.now;
        self.memory.answer(|law, view| question(law, view, now)).map_err(|error| match error {
            LoadError::Store(error) => error.into(),
            LoadError::TooManyRounds => Failure::Overloaded("the question needs too much").into(),
        })
    }
}
