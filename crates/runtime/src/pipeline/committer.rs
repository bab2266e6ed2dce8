//! Seals decided entries into the hash chain and commits them.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::view::Project;
use trackside_lifecycle::model::Lifecycle;
use trackside_store::{Batch, Chain, JournalWriter, Record, StoreError};

use super::decided_batch::{BatchCounts, DecidedBatch, PriorState};
use crate::answer::Seals;
use crate::work::CommitReply;

/// An entity that a turn changed_entities, as it is at its end, with the definition it lives by.
#[derive(Clone, Debug)]
pub(crate) struct ChangedEntity {
    pub entity: Arc<Entity>,
    pub life: Option<Arc<Lifecycle>>,
}

/// A batch that is on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub entries: Vec<Arc<Vec<Entry>>>,
    pub changed_entities: Vec<ChangedEntity>,
    pub prior_states: Vec<PriorState>,
    pub upto: u64,
    pub written: CommitSize,
    pub commands: usize,
    pub law: Option<Arc<Law>>,
    pub project: Option<Project>,
    /// Counters only.
    pub counts: BatchCounts,
    /// The hashes of its entries.
    pub seals: Arc<Seals>,
}

/// The size of a commit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommitSize {
    pub entries: usize,
    pub header_bytes: usize,
    pub payload_bytes: usize,
    /// The number of entries with a payload.
    pub payloads: usize,
}

impl CommitSize {
    fn of(records: &[Record]) -> Self {
        let payload = |it: &Record| it.payload.as_ref().map_or(0, String::len);
        Self {
            entries: records.len(),
            header_bytes: records.iter().map(|it| it.header.len()).sum(),
            payload_bytes: records.iter().map(payload).sum(),
            payloads: records.iter().filter(|it| it.payload.is_some()).count(),
        }
    }
}

pub(crate) struct Committer {
    journal: Box<dyn JournalWriter>,
    chain: Chain,
    /// The end of the journal if the commit under way succeeds.
    trying: Chain,
}

/// The possible ends of a journal after a commit with an unknown result: without it, or with all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalEnds {
    without: Chain,
    with: Chain,
}

impl JournalEnds {
    /// Fails if the journal contains entries that this process did not write.
    pub fn are_ours(&self, found: Chain) -> Result<(), StoreError> {
        match found == self.without || found == self.with {
            true => Ok(()),
            false => Err(StoreError::NotOurs { found: found.seq, known: self.without.seq }),
        }
    }
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Committer at {}", self.chain.seq)
    }
}

impl Committer {
    pub fn new(mut journal: Box<dyn JournalWriter>) -> Result<Self, StoreError> {
        let chain = journal.head()?.chain;
        Ok(Self { journal, chain, trying: chain })
    }

    /// The end of the journal, as this committer knows it.
    pub fn end(&self) -> Chain {
        self.chain
    }

    /// The possible ends of the journal after a failed commit.
    pub fn ends(&self) -> JournalEnds {
        JournalEnds { without: self.chain, with: self.trying }
    }

    /// One durable commit. After an error the state of the disk is unknown: this committer must be replaced.
    pub fn commit(&mut self, batch: DecidedBatch) -> (Result<Committed, StoreError>, Vec<CommitReply>) {
        let DecidedBatch {
            entries,
            prior_states,
            changed_entities,
            project,
            replies,
            definitions,
            commands,
            law,
            counts,
            seals,
        } = batch;
        let done = self.append(&entries, &prior_states, definitions, &seals);
        let upto = self.chain.seq;
        let committed = done.map(|written| Committed {
            entries,
            changed_entities,
            prior_states,
            upto,
            written,
            commands,
            law,
            project,
            counts,
            seals,
        });
        (committed, replies)
    }

    fn append(
        &mut self,
        entries: &[Arc<Vec<Entry>>],
        prior_states: &[PriorState],
        definitions: Vec<trackside_store::Definition>,
        seals: &Seals,
    ) -> Result<CommitSize, StoreError> {
        let mut chain = self.chain;
        let all = entries.iter().flat_map(|it| it.iter());
        let records = all
            .zip(prior_states)
            .map(|(entry, before)| chain.seal(entry.clone(), before.prev))
            .collect::<Result<Vec<_>, _>>()?;
        if records.is_empty() && definitions.is_empty() {
            return Ok(CommitSize::default());
        }
        let written = CommitSize::of(&records);
        let first = self.chain.seq.saturating_add(1);
        let hashes = records.iter().map(|it| it.hash).collect();
        self.trying = chain;
        self.journal.append(&Batch { records, definitions })?;
        seals.set(first, hashes);
        self.chain = chain;
        Ok(written)
    }

    pub fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        self.journal.drop_payloads(seqs)
    }

    pub fn cut(&mut self, upto: Chain, staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        self.journal.cut(upto, staying)
    }
}
