//! Answers to commands; callers get them after the commit.

use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;
use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_engine::present::EntityFacts;
use trackside_engine::refusal::Refusal;
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;
use trackside_store::record::Hash;

/// The answer to a command. Its entries are on disk.
#[derive(Clone, Debug)]
pub enum CommandAnswer {
    Accepted(AcceptedCommand),
    Refused(Box<Refusal>),
    /// The command was answered before: its first entry, the number of entries, and the index of the one
    /// that answers it.
    Replayed {
        first: u64,
        entries: u32,
        root: u32,
    },
}

/// A command that was carried out.
#[derive(Clone, Debug)]
pub struct AcceptedCommand {
    pub entries: Arc<Vec<Entry>>,
    /// The index of the entry that answers it.
    pub root: usize,
    /// Fields that the engine owns; the values that were sent are ignored.
    pub ignored: Vec<Name>,
    /// The entity of that entry, as it was right after.
    pub entity: Option<Arc<Entity>>,
    /// The entity as the caller sees it: only on request, and only if all of its data was in memory.
    pub facts: Option<EntityFacts>,
    /// The hashes of the commit's entries.
    pub seals: Arc<Seals>,
}

/// Hashes of the entries of a commit; known once it is on disk.
#[derive(Debug, Default)]
pub struct Seals(OnceLock<(u64, Vec<Hash>)>);

impl Seals {
    /// Hashes of entries in order, the first of which has this number.
    pub(crate) fn set(&self, first: u64, hashes: Vec<Hash>) {
        self.0.set((first, hashes)).ok();
    }

    /// The hash of an entry.
    pub fn of(&self, seq: u64) -> Option<&Hash> {
        let (first, hashes) = self.0.get()?;
        hashes.get(usize::try_from(seq.checked_sub(*first)?).ok()?)
    }
}

impl AcceptedCommand {
    /// The entry that answers the command.
    pub fn entry(&self) -> Option<&Entry> {
        self.entries.get(self.root)
    }
}

/// The answers to an atomic batch: one per command, in the order of the request.
#[derive(Clone, Debug)]
pub enum BatchAnswer {
    /// No command was refused. Each was carried out now, or earlier under its idempotency key.
    Done(Vec<CommandAnswer>),
    /// Nothing was changed, and no evidence was stored.
    Refused(Vec<BatchVerdict>),
}

/// A command of a batch that was not carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchVerdict {
    Refused(Box<Refusal>),
    /// It would have been accepted after the accepted ones before it; nothing was changed.
    Passed,
}

impl BatchAnswer {
    /// The answers, if it was carried out.
    pub fn into_answers(self) -> Option<Vec<CommandAnswer>> {
        match self {
            Self::Done(answers) => Some(answers),
            Self::Refused(_) => None,
        }
    }
}

/// The reason why there is no answer. Nothing is known to have changed; the same command with the same key
/// may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("overloaded: {0}; try again in a second")]
    Overloaded(&'static str),
    #[error("the store could not be used: {0}. Try again; with an idempotency key nothing is done twice")]
    Unavailable(String),
    /// The disk is full, or the folder has reached its limit. Reading works.
    #[error("{0}")]
    NoSpace(String),
    /// The entries were archived, and the archive file is not in its place.
    #[error(
        "the entries {first} to {last} were archived, and no file of the archive holds them. Put \
         journal-{first:012}-….jsonl back into the archive folder, or ask for what comes after entry {last}"
    )]
    Archived { first: u64, last: u64 },
    /// The archive file of an entity is missing or damaged; with what to do.
    #[error("{0}")]
    ArchiveFile(String),
    #[error("it has been stopped")]
    Stopped,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotArchived { first, last, .. } => Self::Archived { first, last },
            full @ (StoreError::Full { .. } | StoreError::NoRoom { .. }) => Self::NoSpace(full.to_string()),
            StoreError::ArchiveFile { .. } => Self::ArchiveFile(error.to_string()),
            damaged if damaged.is_journal_damage() => {
                Self::Unavailable(format!("{damaged}. It is not used. Run: trackside doctor"))
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}

pub(crate) type SubmitResult = Result<CommandAnswer, Failure>;

/// An answer that is on its way. Wait for it here, or `await` it.
#[derive(Debug)]
pub struct Pending<T = CommandAnswer>(pub(crate) oneshot::Receiver<Result<T, Failure>>);

impl<T> Pending<T> {
    /// Waits on this thread. Not for async code, which awaits.
    pub fn wait(self) -> Result<T, Failure> {
        self.0.blocking_recv().unwrap_or(Err(Failure::Stopped))
    }

    /// The answer if it is there.
    pub fn try_take(&mut self) -> Option<Result<T, Failure>> {
        match self.0.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Err(Failure::Stopped)),
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Failure>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(|it| it.unwrap_or(Err(Failure::Stopped)))
    }
}
