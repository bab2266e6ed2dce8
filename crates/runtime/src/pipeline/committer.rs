//! Seals what was decided into the chain and commits it; then, and only then, everybody is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::view::Project;
use trackside_lifecycle::model::Lifecycle;
use trackside_store::{Batch, Chain, Journal, Record, StoreError};

use super::turn::{Before, Told, Turn};
use crate::answer::Seals;
use crate::work::Saying;

/// An entity that a turn touched, as it is at its end, with the definition it lives by.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub entity: Arc<Entity>,
    pub life: Option<Arc<Lifecycle>>,
}

/// What is on disk now, for those who come after the callers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub entries: Vec<Arc<Vec<Entry>>>,
    pub touched: Vec<Touched>,
    pub befores: Vec<Before>,
    pub upto: u64,
    pub written: Written,
    pub commands: usize,
    pub law: Option<Arc<Law>>,
    pub project: Option<Project>,
    /// What is only counted.
    pub told: Told,
    /// The hashes of its entries.
    pub seals: Arc<Seals>,
}

/// How much a commit wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub entries: usize,
    pub header_bytes: usize,
    pub payload_bytes: usize,
    /// How many had a payload.
    pub payloads: usize,
}

impl Written {
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
    journal: Box<dyn Journal>,
    chain: Chain,
    /// Where the journal would end with what is being written.
    trying: Chain,
}

/// Where a journal may end of which it is not known whether the last commit is there: without it, or with all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    without: Chain,
    with: Chain,
}

impl Ends {
    /// Whether all that is there was written by this process.
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
    pub fn new(mut journal: Box<dyn Journal>) -> Result<Self, StoreError> {
        let chain = journal.head()?.chain;
        Ok(Self { journal, chain, trying: chain })
    }

    /// Where the journal ends, as far as this one knows.
    pub fn end(&self) -> Chain {
        self.chain
    }

    /// Where it may end after a commit that failed.
    pub fn ends(&self) -> Ends {
        Ends { without: self.chain, with: self.trying }
    }

    /// One durable commit. After an error it is not known what is on disk: this committer is of no use any more.
    pub fn commit(&mut self, turn: Turn) -> (Result<Committed, StoreError>, Vec<Saying>) {
        let Turn { entries, befores, touched, project, sayings, definitions, commands, law, told, seals } =
            turn;
        let done = self.append(&entries, &befores, definitions, &seals);
        let upto = self.chain.seq;
        let committed = done.map(|written| Committed {
            entries,
            touched,
            befores,
            upto,
            written,
            commands,
            law,
            project,
            told,
            seals,
        });
        (committed, sayings)
    }

    fn append(
        &mut self,
        entries: &[Arc<Vec<Entry>>],
        befores: &[Before],
        definitions: Vec<trackside_store::Definition>,
        seals: &Seals,
    ) -> Result<Written, StoreError> {
        let mut chain = self.chain;
        let all = entries.iter().flat_map(|it| it.iter());
        let records = all
            .zip(befores)
            .map(|(entry, before)| chain.seal(entry.clone(), before.prev))
            .collect::<Result<Vec<_>, _>>()?;
        if records.is_empty() && definitions.is_empty() {
            return Ok(Written::default());
        }
        let written = Written::of(&records);
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
