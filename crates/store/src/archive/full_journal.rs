//! Reads the journal and its archive as one uncut chain.

use super::archived_records::not_here;
use super::folder::Archive;
use crate::store::{Reader, Store};
use crate::{Record, StoreError};

/// The most archived records that one query may read.
const MOST: usize = 20_000;

/// Reads the whole chain: the journal first, then archive files, and only if a record is no longer in the journal. A
/// missing file is an error; its records are never skipped silently.
pub struct FullJournal<'a> {
    store: &'a dyn Store,
    reader: &'a mut dyn Reader,
    archive: Option<Archive>,
    /// Archived records that may still be read.
    left: usize,
}

impl std::fmt::Debug for FullJournal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Whole, {} records of files left", self.left)
    }
}

impl<'a> FullJournal<'a> {
    pub fn new(store: &'a dyn Store, reader: &'a mut dyn Reader) -> Self {
        Self { store, reader, archive: None, left: MOST }
    }

    /// The reader of the journal.
    pub fn reader(&mut self) -> &mut dyn Reader {
        self.reader
    }

    /// A record by its number; none if it does not exist yet.
    pub fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError> {
        if let Some(record) = self.reader.record(seq)? {
            return Ok(Some(record));
        }
        // In this order: a record is in an archive file before it is cut from the journal.
        if seq == 0 || seq > self.reader.base()?.seq {
            return Ok(None);
        }
        self.spend(1)?;
        match self.archive()?.record(seq)? {
            Some(record) => Ok(Some(record)),
            None => Err(self.missing(seq)?),
        }
    }

    /// Up to `most` records after `after`, in order and without a gap.
    pub fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.collect(after, most, |reader, after, most| reader.records(after, most))
    }

    /// Like `records`, for their headers: payloads may be missing.
    pub fn headers(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        self.collect(after, most, |reader, after, most| reader.headers(after, most))
    }

    fn collect(
        &mut self,
        after: u64,
        most: usize,
        read: impl Fn(&mut dyn Reader, u64, usize) -> Result<Vec<Record>, StoreError>,
    ) -> Result<Vec<Record>, StoreError> {
        let found = read(self.reader, after, most)?;
        let next = after.saturating_add(1);
        if found.first().is_none_or(|it| it.seq == next) {
            return Ok(found);
        }
        self.spend(most)?;
        let base = self.reader.base()?.seq;
        let mut all = self.archive()?.records(after, most)?;
        // A file may be missing between two others.
        let follows = all.iter().zip(next..).take_while(|(it, seq)| it.seq == *seq && it.seq <= base).count();
        all.truncate(follows);
        let last = all.last().map_or(after, |it| it.seq);
        if all.is_empty() {
            return Err(self.missing(next)?);
        }
        if last >= base && all.len() < most {
            all.extend(read(self.reader, last, most - all.len())?);
        }
        Ok(all)
    }

    /// The records of one entity, the newest first, from `from` backwards, at most `most`. It returns fewer if an
    /// older record is missing; asking for that record returns the error.
    pub fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let mut trail = self.reader.trail(from, most)?;
        let next = trail.last().map_or(from, |it| it.prev);
        if next == 0 || trail.len() >= most {
            return Ok(trail);
        }
        let wanted = most.saturating_sub(trail.len()).min(self.left.saturating_add(1));
        let archived = self.archive()?.trail_in_files(next, wanted)?;
        self.spend(archived.len())?;
        trail.extend(archived);
        match trail.is_empty() {
            true => Err(self.missing(next)?),
            false => Ok(trail),
        }
    }

    fn archive(&mut self) -> Result<&Archive, StoreError> {
        match &mut self.archive {
            Some(archive) => Ok(archive),
            none => Ok(none.insert(self.store.archive()?)),
        }
    }

    fn missing(&mut self, seq: u64) -> Result<StoreError, StoreError> {
        let base = self.reader.base()?.seq;
        let archive = self.archive()?;
        Ok(not_here(&archive.folder, archive.files(), base, seq))
    }

    fn spend(&mut self, count: usize) -> Result<(), StoreError> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(StoreError::TooFar { most: MOST }),
        }
    }
}
