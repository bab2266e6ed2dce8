//! The journal with what was archived before it, as if it had never been cut.

use super::past::not_here;
use super::shelf::Archive;
use crate::store::{Reader, Store};
use crate::{Record, StoreError};

/// Records of files that one question may read.
const MOST: usize = 20_000;

/// Reads the whole chain: first where the journal is, then in files. The archive is looked at when something is not
/// in the journal any more, and no further than that; what no file holds is said, never passed over.
pub struct Whole<'a> {
    store: &'a dyn Store,
    reader: &'a mut dyn Reader,
    archive: Option<Archive>,
    /// Records of files that may still be read.
    left: usize,
}

impl std::fmt::Debug for Whole<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Whole, {} records of files left", self.left)
    }
}

impl<'a> Whole<'a> {
    pub fn new(store: &'a dyn Store, reader: &'a mut dyn Reader) -> Self {
        Self { store, reader, archive: None, left: MOST }
    }

    /// The one who reads the journal.
    pub fn reader(&mut self) -> &mut dyn Reader {
        self.reader
    }

    /// A record by its number; none if it has not been written.
    pub fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError> {
        if let Some(record) = self.reader.record(seq)? {
            return Ok(Some(record));
        }
        // Only then: what is cut meanwhile is in a file before it is gone from here.
        if seq == 0 || seq > self.reader.base()?.seq {
            return Ok(None);
        }
        self.spend(1)?;
        match self.archive()?.record(seq)? {
            Some(record) => Ok(Some(record)),
            None => Err(self.missing(seq)?),
        }
    }

    /// Records after `after` in order, without a gap, at most `most`.
    pub fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.reader.records(after, most)?;
        let next = after.saturating_add(1);
        if found.first().is_none_or(|it| it.seq == next) {
            return Ok(found);
        }
        self.spend(most)?;
        let base = self.reader.base()?.seq;
        let mut all = self.archive()?.records(after, most)?;
        // A file may end before the next one that is here begins.
        let follows = all.iter().zip(next..).take_while(|(it, seq)| it.seq == *seq && it.seq <= base).count();
        all.truncate(follows);
        let last = all.last().map_or(after, |it| it.seq);
        if all.is_empty() {
            return Err(self.missing(next)?);
        }
        if last >= base && all.len() < most {
            all.extend(self.reader.records(last, most - all.len())?);
        }
        Ok(all)
    }

    /// The records of one entity, the newest first, from `from` backwards, at most `most`: fewer where the one before
    /// them is not here. Whoever asks for that one is told so.
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
