//! Errors of the store. Each message says what to do next.

use std::path::PathBuf;

use trackside_engine::key::EntityKey;

use crate::rules::{ChangedRules, changes_text};
use crate::space::bytes_text;

/// Why the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process owns the folder.
    #[error("{path} is in use by {owner}. Stop that process first, or choose another folder with --data", path = .path.display())]
    InUse { path: PathBuf, owner: String },
    #[error("{path}: the disk is full. Acknowledged commands are safe. Free some space and try again", path = .path.display())]
    Full { path: PathBuf },
    /// A copy that would not fit.
    #[error(
        "{path}: the copy needs {needed}, and its disk has {free} free. Nothing was written. Free some space, or \
         choose a folder on another disk",
        path = .path.display(), needed = bytes_text(*.needed), free = bytes_text(*.free)
    )]
    NoRoom { path: PathBuf, needed: u64, free: u64 },
    #[error("{path} cannot be written: {why}", path = .path.display())]
    ReadOnly { path: PathBuf, why: String },
    /// No permission, or a path that cannot be opened.
    #[error("{path} cannot be opened: {why}", path = .path.display())]
    Closed { path: PathBuf, why: String },
    /// A file whose content is not valid.
    #[error("{path} is damaged: {what}. See docs/operating/recovery.md", path = .path.display())]
    Damaged { path: PathBuf, what: String },
    /// A stored row of an entity that is not the one that was written. It can be rebuilt from the journal.
    #[error(
        "the stored row of {entity} in state.db is damaged: {what}. It is not used. It is rebuilt from the journal: try again"
    )]
    DamagedRow { entity: EntityKey, what: String },
    /// Written by a later release.
    #[error("{path} was written by a newer release (schema {found}; this release supports up to {known}). Use that release", path = .path.display())]
    TooNew { path: PathBuf, found: u32, known: u32 },
    /// An entry that does not fit the chain.
    #[error("journal entry {seq} {what}")]
    Chain { seq: u64, what: String },
    /// An entry that cannot be read.
    #[error("journal entry {seq} cannot be read: {what}")]
    Unreadable { seq: u64, what: String },
    /// A missing archive file.
    #[error(
        "entries {first} to {last} are archived, but no file in {folder} contains them. \
         Copy {file} back, from where it was moved or from a backup, and try again",
        folder = .folder.display(), file = .folder.join(format!("journal-{first:012}-….jsonl")).display()
    )]
    NotArchived { folder: PathBuf, first: u64, last: u64 },
    /// An archive file of an entity that is missing or damaged.
    #[error(
        "the values and texts of {entity} are in the archive file {path}, which {what}. \
         Copy the file back, from where it was moved or from a backup, and try again",
        path = .path.display()
    )]
    ArchiveFile { path: PathBuf, entity: String, seq: u64, what: String },
    /// A query that would read too many archived entries.
    #[error("this would read more than {most} archived entries. Ask for a smaller range")]
    TooFar { most: usize },
    /// Pack texts that differ from the installed ones.
    #[error(
        "{path}: {what}. Nothing was changed or started. Restore the text from a backup, or restore the whole \
         backup into another folder. To change rules, install a new version of the pack. See docs/operating/recovery.md",
        path = .path.display(), what = changes_text(.changed)
    )]
    Rules { path: PathBuf, changed: Vec<ChangedRules> },
    #[error("{doing}: {why}")]
    Io { doing: String, why: String },
    /// Another process wrote to the journal.
    #[error(
        "the journal ends at {found}, with an entry that this process did not write; its own last entry is {known}. \
         Another program writes to journal.db. Stop this server, find that program, and see docs/operating/recovery.md"
    )]
    NotOurs { found: u64, known: u64 },
}

impl StoreError {
    /// Whether `state.db` is damaged beyond the rows of single entities.
    pub fn is_state_damage(&self) -> bool {
        matches!(self, Self::Damaged { path, .. } if path.file_name().is_some_and(|it| it == "state.db"))
    }

    /// Whether journal entries are damaged, missing or unreadable. They are never served and drive no repair.
    pub fn is_journal_damage(&self) -> bool {
        matches!(self, Self::Chain { .. } | Self::Unreadable { .. })
    }

    pub fn io(doing: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::Io { doing: doing.into(), why: why.to_string() }
    }

    /// Whether archived data cannot be read because its file is missing or damaged, or it is too much for one query.
    pub fn is_out_of_reach(&self) -> bool {
        matches!(self, Self::NotArchived { .. } | Self::ArchiveFile { .. } | Self::TooFar { .. })
    }
}
