//! Entries decided together, on their way to the disk.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::event::Entry;
use trackside_engine::view::Project;
use trackside_lifecycle::time::Span;
use trackside_store::Definition;
use trackside_store::projection_builder::StateBefore;

use super::committer::{ChangedEntity, CommitSize, Committed};
use crate::answer::{CommandAnswer, Seals};
use crate::tally::RefusalKind;
use crate::work::CommitReply;

/// All decisions of one step; one commit.
#[derive(Default)]
pub(crate) struct DecidedBatch {
    pub content: BatchContent,
    pub replies: Vec<CommitReply>,
    pub definitions: Vec<Definition>,
}

/// Entries with everything that readers, the flusher and the counters need of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchContent {
    pub entries: Vec<Arc<Vec<Entry>>>,
    /// For each entry, the earlier state of its entity.
    pub prior_states: Vec<PriorState>,
    /// Entities changed_entities, as they are at the end.
    pub changed_entities: Vec<ChangedEntity>,
    /// The project, where it has changed.
    pub project: Option<Project>,
    pub law: Option<Arc<Law>>,
    pub commands: usize,
    /// For the answers: the hashes of the committed entries.
    pub seals: Arc<Seals>,
    pub counts: BatchCounts,
}

/// Counters to add once the entries are on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchCounts {
    /// Refused commands.
    pub refused: Vec<RefusalKind>,
    pub outcomes: Outcomes,
    /// The delay of each fired timer.
    pub fired: Vec<Span>,
}

impl BatchCounts {
    /// The number of commands that callers wait for.
    pub fn waiting_callers(&self) -> usize {
        let Outcomes { accepted, replayed, failed } = self.outcomes;
        accepted + replayed + failed + self.refused.len()
    }
}

/// Outcomes of callers' commands, refusals apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcomes {
    pub accepted: usize,
    pub replayed: usize,
    /// The store could not be read.
    pub failed: usize,
}

impl Outcomes {
    /// Counts an answer that is no refusal.
    pub fn note(&mut self, answer: &CommandAnswer) {
        match answer {
            CommandAnswer::Accepted(_) => self.accepted += 1,
            CommandAnswer::Replayed { .. } => self.replayed += 1,
            CommandAnswer::Refused(_) => {}
        }
    }
}

impl std::fmt::Debug for DecidedBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} commands, {} replies", self.content.commands, self.replies.len())
    }
}

impl DecidedBatch {
    pub fn is_empty(&self) -> bool {
        self.content.entries.is_empty() && self.replies.is_empty() && self.definitions.is_empty()
    }

    /// The batch as a commit to publish, and the replies.
    pub(crate) fn into_commit(self) -> (Committed, Vec<CommitReply>) {
        let Self { content, replies, definitions: _ } = self;
        let upto = content.entries.last().and_then(|it| it.last()).map_or(0, |it| it.seq);
        (Committed { content, upto, written: CommitSize::default() }, replies)
    }
}

impl BatchContent {
    /// Removes the entries that are already published.
    pub fn forget_until(&mut self, published: u64) {
        let known =
            self.entries.iter().take_while(|it| it.last().is_none_or(|it| it.seq <= published)).count();
        let entries: usize = self.entries.iter().take(known).map(|it| it.len()).sum();
        self.entries.drain(..known);
        self.prior_states.drain(..entries.min(self.prior_states.len()));
        self.changed_entities.retain(|it| it.entity.seq > published);
    }
}

/// An entity before an entry: the number of its previous entry, and the state that projections need.
#[derive(Clone, Debug)]
pub(crate) struct PriorState {
    pub prev: u64,
    pub was: Option<StateBefore>,
}
