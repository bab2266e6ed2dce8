//! Seals decided entries into the hash chain and commits them.

use std::sync::{Arc, Mutex, PoisonError};

use trackside_engine::entity::Entity;
use trackside_lifecycle::model::Lifecycle;
use trackside_store::{Batch, Chain, Definition, JournalWriter, Record, StoreError};

use super::decided_batch::{BatchContent, DecidedBatch};
use crate::salts::SaltSource;
use crate::work::CommitReply;

/// A changed entity in its final state, with its definition.
#[derive(Clone, Debug)]
pub(crate) struct ChangedEntity {
    pub entity: Arc<Entity>,
    pub life: Option<Arc<Lifecycle>>,
}

/// A batch that is on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub content: BatchContent,
    pub upto: u64,
    pub written: CommitSize,
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
    salts: Arc<Mutex<SaltSource>>,
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
    pub fn new(
        mut journal: Box<dyn JournalWriter>,
        salts: Arc<Mutex<SaltSource>>,
    ) -> Result<Self, StoreError> {
        let chain = journal.head()?.chain;
        Ok(Self { journal, chain, trying: chain, salts })
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
        let DecidedBatch { content, replies, definitions } = batch;
        let done = self.append(&content, definitions);
        let upto = self.chain.seq;
        (done.map(|written| Committed { content, upto, written }), replies)
    }

    fn append(
        &mut self,
        content: &BatchContent,
        definitions: Vec<Definition>,
    ) -> Result<CommitSize, StoreError> {
        let mut chain = self.chain;
        let all = content.entries.iter().flat_map(|it| it.iter());
        let mut salts = self.salts.lock().unwrap_or_else(PoisonError::into_inner);
        let records = all
            .zip(&content.prior_states)
            .map(|(entry, before)| chain.seal_salted(entry.clone(), before.prev, salts.next_salt()?))
            .collect::<Result<Vec<_>, _>>()?;
        drop(salts);
        if records.is_empty() && definitions.is_empty() {
            return Ok(CommitSize::default());
        }
        let written = CommitSize::of(&records);
        let first = self.chain.seq.saturating_add(1);
        let hashes = records.iter().map(|it| it.hash).collect();
        self.trying = chain;
        self.journal.append(&Batch { records, definitions })?;
        content.seals.set(first, hashes);
        self.chain = chain;
        Ok(written)
    }

    /// The journal, to erase payloads and to cut what is archived.
    pub fn journal(&mut self) -> &mut dyn JournalWriter {
        &mut *self.journal
    }
}
