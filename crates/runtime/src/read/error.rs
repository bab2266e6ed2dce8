//! Errors of reads, with advice on another request.

use trackside_engine::Law;
use trackside_engine::key::EntityKey;
use trackside_engine::query::QueryError;
use trackside_lifecycle::guard::did_you_mean;
use trackside_lifecycle::name::Name;
use trackside_store::StoreError;

use crate::answer::Failure;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error("There is no lifecycle {name}{hint}")]
    UnknownLifecycle { name: Name, hint: String },
    #[error("{lifecycle} has no state {name}{hint}")]
    UnknownState { lifecycle: Name, name: Name, hint: String },
    #[error("There is no pack {name}{hint}")]
    UnknownPack { name: Name, hint: String },
    /// The entity does not exist, or the reader may not see it.
    #[error("There is no {0}")]
    UnknownEntity(EntityKey),
    /// The reader may see the entity, but not its messages and entries.
    #[error("{says}")]
    NotObserver { says: String, who: String },
    #[error("There is no entry {0}")]
    UnknownEntry(u64),
    /// An unknown query, or wrong parameters.
    #[error("{}", .0.join("; "))]
    Query(Vec<String>),
    #[error("`{0}` is not a cursor of this list. Send the `nextCursor` of the previous page, or none")]
    Cursor(String),
    /// An invalid condition.
    #[error("{}", .0.join("; "))]
    Where(Vec<String>),
    /// More than one answer may cost.
    #[error("{looked} entities were looked at and the answer was not complete. {hint}")]
    TooExpensive {
        looked: usize,
        hint: String,
        /// The last entity that was looked at, from which a list can be continued.
        reached: Option<String>,
    },
    /// More of the archive than one answer may cost.
    #[error("Its past is archived, and longer than {0} entries: read it with `trackside export`")]
    TooFar(usize),
    /// The demanded entry is newer than the last one.
    #[error("The journal is at entry {at}, and entry {asked} was asked for: ask again when it is there")]
    NotYet { at: u64, asked: u64 },
    /// The entry is in an archive whose file is missing.
    #[error(
        "Entry {0} was moved to an archive, and its file is not in the folder of the project: put it back, or look there"
    )]
    EntryArchived(u64),
}

impl ReadError {
    /// A short name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Failure(Failure::Overloaded(_)) => "overloaded",
            Self::Failure(Failure::Archived { .. } | Failure::ArchiveFile(_)) => "archived",
            Self::Failure(Failure::NoSpace(_)) => "no-space",
            Self::Failure(_) => "unavailable",
            Self::UnknownLifecycle { .. } => "unknown-lifecycle",
            Self::UnknownState { .. } => "unknown-state",
            Self::UnknownPack { .. } => "unknown-pack",
            Self::UnknownEntity(_) => "unknown-entity",
            Self::NotObserver { .. } => "not-permitted",
            Self::UnknownEntry(_) => "unknown-entry",
            Self::Query(_) => "invalid-query",
            Self::Cursor(_) => "invalid-cursor",
            Self::Where(_) => "invalid-where",
            Self::TooExpensive { .. } | Self::TooFar(_) => "too-expensive",
            Self::NotYet { .. } => "not-yet",
            Self::EntryArchived(_) => "archived",
        }
    }

    pub(super) fn unknown_lifecycle(law: &Law, name: &Name) -> Self {
        let known = law.lifecycle_names().iter().map(Name::as_str);
        Self::UnknownLifecycle { name: name.clone(), hint: spelling_hint(name, known) }
    }

    pub(super) fn unknown_pack(law: &Law, name: &str) -> Self {
        let known = law.packs().map(|it| it.name.as_str());
        Self::UnknownPack { name: Name::new(name), hint: spelling_hint(name, known) }
    }
}

/// A suggestion by spelling.
pub(super) fn spelling_hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    did_you_mean(name, known)
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooFar { most } => Self::TooFar(most),
            other => Self::Failure(other.into()),
        }
    }
}

impl From<QueryError> for ReadError {
    fn from(error: QueryError) -> Self {
        Self::Query(error.0)
    }
}
