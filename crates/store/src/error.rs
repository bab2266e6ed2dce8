//! Why the store could not do it, in words that say what to do next.

use std::path::PathBuf;

use crate::rules::{Changed, listed};

/// What went wrong with the place where a project is kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("{path} is in use by {owner}. Stop that one first, or choose another folder with --data", path = .path.display())]
    InUse { path: PathBuf, owner: String },
    #[error("{path}: the disk is full. Nothing that was answered is lost; make room and try again", path = .path.display())]
    Full { path: PathBuf },
    #[error("{path} cannot be written: {why}", path = .path.display())]
    ReadOnly { path: PathBuf, why: String },
    /// Somebody who may not, or a place where nothing can be.
    #[error("{path} cannot be opened: {why}", path = .path.display())]
    Closed { path: PathBuf, why: String },
    /// Bytes that cannot be what was written.
    #[error("{path} is damaged: {what}. See docs/operating/recovery.md", path = .path.display())]
    Damaged { path: PathBuf, what: String },
    /// Written by a later release.
    #[error("{path} was written by a later release (schema {found}, this one knows {known}); use that release", path = .path.display())]
    TooNew { path: PathBuf, found: u32, known: u32 },
    /// An entry that does not follow from the one before it.
    #[error("journal entry {seq} {what}")]
    Chain { seq: u64, what: String },
    /// An entry that cannot be read.
    #[error("journal entry {seq} cannot be read: {what}")]
    Unreadable { seq: u64, what: String },
    /// A part of the archive that is not there.
    #[error(
        "the entries {first} to {last} were archived, and no file in {folder} holds them. \
         It should be {file}: put it back, from where it was moved to or from a backup, and try again",
        folder = .folder.display(), file = .folder.join(format!("journal-{first:012}-….jsonl")).display()
    )]
    NotArchived { folder: PathBuf, first: u64, last: u64 },
    /// More of the archive than one question may read.
    #[error("more than {most} archived entries would have to be read for it")]
    TooFar { most: usize },
    /// Texts of packs that are not those that came into force.
    #[error(
        "{path}: {what}. Nothing was changed or started. Put the text back as it was, from a backup, or restore one into another \
         folder; other rules come into force as a new version of the pack. See docs/operating/recovery.md",
        path = .path.display(), what = listed(.changed)
    )]
    Rules { path: PathBuf, changed: Vec<Changed> },
    #[error("{doing}: {why}")]
    Io { doing: String, why: String },
    /// Somebody else writes where only one may.
    #[error(
        "the journal ends at {found} with an entry that this process did not write, which knows it up to {known}. \
         Another program writes to journal.db: find out which, stop this one, and see docs/operating/recovery.md"
    )]
    NotOurs { found: u64, known: u64 },
}

impl StoreError {
    pub fn io(doing: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::Io { doing: doing.into(), why: why.to_string() }
    }
}
