//! Reads archived entries in order and checks each against the one before it.

use std::path::{Path, PathBuf};

use super::file::{ArchiveHeader, ArchiveLines, damaged};
use super::folder::Archive;
use crate::{Chain, Record, StoreError};

impl Archive {
    /// The archive of the project in this folder.
    pub fn of(data: &Path) -> Result<Self, StoreError> {
        Self::open(&folder_of(data))
    }

    /// Archived records after the entry `after`, up to the base of the journal.
    pub fn archived_after(&self, after: u64, base: Chain) -> Result<ArchivedRecords, StoreError> {
        let mut past = ArchivedRecords {
            folder: self.folder.clone(),
            files: self.files().to_vec(),
            base,
            chain: Chain::default(),
            lines: None,
        };
        if after > 0 {
            // Only the records after this one are checked; its own hash is trusted.
            past.chain.seq = after.saturating_sub(1);
            let record = past.lines()?.next().transpose()?;
            let record = record.ok_or_else(|| past.missing())?;
            past.chain = Chain { seq: record.seq, hash: record.hash };
        }
        Ok(past)
    }

    /// Verifies that every entry up to `base` is in the archive and unchanged.
    pub fn check_complete(&self, base: Chain) -> Result<(), StoreError> {
        self.archived_after(0, base)?.try_for_each(|it| it.map(drop))
    }
}

/// The error for entry `seq`, with the whole range of missing entries around it.
pub(super) fn not_here(folder: &Path, files: &[ArchiveHeader], base: u64, seq: u64) -> StoreError {
    let earlier = files.iter().map(ArchiveHeader::last).filter(|it| *it < seq).max().unwrap_or(0);
    let later = files.iter().map(|it| it.before.seq).filter(|it| *it >= seq).min();
    let last = later.unwrap_or(base).min(base).max(seq);
    StoreError::NotArchived { folder: folder.to_owned(), first: earlier.saturating_add(1), last }
}

/// The archive folder of a project.
pub fn folder_of(data: &Path) -> PathBuf {
    data.join("archive")
}

/// Archived records in order. It ends with an error at the first record that is missing or changed.
#[derive(Debug)]
pub struct ArchivedRecords {
    folder: PathBuf,
    files: Vec<ArchiveHeader>,
    base: Chain,
    /// The last record that was returned.
    chain: Chain,
    lines: Option<ArchiveLines>,
}

impl ArchivedRecords {
    /// The last entry that was read.
    pub fn at(&self) -> u64 {
        self.chain.seq
    }

    /// The last record's number and hash.
    pub fn end(&self) -> Chain {
        self.chain
    }

    /// The file that contains the next record, positioned at it.
    fn lines(&mut self) -> Result<&mut ArchiveLines, StoreError> {
        let next = self.chain.seq.saturating_add(1);
        if self.lines.as_ref().is_none_or(|it| it.about.last() < next) {
            let file = self.files.iter().find(|it| it.first() <= next && next <= it.last());
            let file = file.ok_or_else(|| self.missing())?;
            let mut lines = ArchiveLines::open(&file.path)?;
            lines.go_to(next)?;
            self.lines = Some(lines);
        }
        self.lines.as_mut().ok_or_else(|| StoreError::io("reading the archive", "no file is open"))
    }

    fn missing(&self) -> StoreError {
        not_here(&self.folder, &self.files, self.base.seq, self.chain.seq.saturating_add(1))
    }

    fn read(&mut self) -> Result<Option<Record>, StoreError> {
        if self.chain.seq >= self.base.seq {
            return match self.chain == self.base {
                true => Ok(None),
                false => {
                    let what = "is not the entry that the journal continues from".to_owned();
                    Err(StoreError::Chain { seq: self.chain.seq, what })
                }
            };
        }
        let lines = self.lines()?;
        let (path, last) = (lines.about.path.clone(), lines.about.last());
        let Some(record) = lines.next().transpose()? else {
            let what = format!("it ends at entry {}, not at {last}", self.chain.seq);
            return Err(damaged(&path, 1, what));
        };
        self.chain.follow(&record).map_err(|error| StoreError::Damaged { path, what: error.to_string() })?;
        Ok(Some(record))
    }
}

impl Iterator for ArchivedRecords {
    type Item = Result<Record, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            // Return the error once, then end.
            self.base = self.chain;
        }
        read.transpose()
    }
}
