//! What was archived, from the first entry on, each checked against the one before it.

use std::path::{Path, PathBuf};

use super::file::{About, Lines, damaged};
use super::shelf::Archive;
use crate::{Chain, Record, StoreError};

impl Archive {
    /// The archive of the project in this folder.
    pub fn of(data: &Path) -> Result<Self, StoreError> {
        Self::open(&folder_of(data))
    }

    /// What was archived after the entry `after`, up to where the journal begins.
    pub fn past(&self, after: u64, base: Chain) -> Result<Past, StoreError> {
        let mut past = Past {
            folder: self.folder.clone(),
            files: self.files().to_vec(),
            base,
            chain: Chain::default(),
            lines: None,
        };
        if after > 0 {
            // Only what follows is checked: the hash of this one is taken as it is.
            past.chain.seq = after.saturating_sub(1);
            let record = past.lines()?.next().transpose()?;
            let record = record.ok_or_else(|| past.missing())?;
            past.chain = Chain { seq: record.seq, hash: record.hash };
        }
        Ok(past)
    }

    /// Whether all that was archived before `base` is here, as it was written.
    pub fn must_hold(&self, base: Chain) -> Result<(), StoreError> {
        self.past(0, base)?.try_for_each(|it| it.map(drop))
    }
}

/// No file holds the entry `seq`, nor those around it.
pub(super) fn not_here(folder: &Path, files: &[About], base: u64, seq: u64) -> StoreError {
    let earlier = files.iter().map(About::last).filter(|it| *it < seq).max().unwrap_or(0);
    let later = files.iter().map(|it| it.before.seq).filter(|it| *it >= seq).min();
    let last = later.unwrap_or(base).min(base).max(seq);
    StoreError::NotArchived { folder: folder.to_owned(), first: earlier.saturating_add(1), last }
}

/// Where the archive of a project lies.
pub fn folder_of(data: &Path) -> PathBuf {
    data.join("archive")
}

/// Archived records in order. The first that is missing or is not what was written ends it.
#[derive(Debug)]
pub struct Past {
    folder: PathBuf,
    files: Vec<About>,
    base: Chain,
    /// The last one that was told.
    chain: Chain,
    lines: Option<Lines>,
}

impl Past {
    /// The entry up to which it has been read.
    pub fn at(&self) -> u64 {
        self.chain.seq
    }

    /// The same with its hash.
    pub fn end(&self) -> Chain {
        self.chain
    }

    /// The file that holds the next one, read up to there.
    fn lines(&mut self) -> Result<&mut Lines, StoreError> {
        let next = self.chain.seq.saturating_add(1);
        if self.lines.as_ref().is_none_or(|it| it.about.last() < next) {
            let file = self.files.iter().find(|it| it.first() <= next && next <= it.last());
            let file = file.ok_or_else(|| self.missing())?;
            let mut lines = Lines::open(&file.path)?;
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
                    let what = "is not the one after which the journal goes on".to_owned();
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

impl Iterator for Past {
    type Item = Result<Record, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            // It says so once.
            self.base = self.chain;
        }
        read.transpose()
    }
}
