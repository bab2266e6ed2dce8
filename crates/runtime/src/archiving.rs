//! Moves old journal entries into files while the server runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{ArchiveHeader, still_needed, write_out};
use trackside_store::{Chain, Reader, StoreError};

use crate::answer::Failure;
use crate::runtime::Runtime;

/// Most entries of one file, so that dropping payloads from a file is quick.
const FILE: u64 = 100_000;
/// Entries that are cut off the journal at once: callers wait meanwhile.
const CUT: u64 = 1_000;

impl Runtime {
    /// Moves entries that are older than `before` into verified files. Files are written while commands run; the
    /// journal then drops the entries in small steps. Broken off anywhere, it is taken up the next time.
    pub fn archive(&self, before: Timestamp) -> Result<Vec<ArchiveHeader>, Failure> {
        // Entries that are not flushed yet stay.
        self.wait_until_written()?;
        let folder = match self.store().archive()?.folder() {
            Some(folder) => folder.to_owned(),
            None => return Err(Failure::Unavailable("this store keeps all of its journal".to_owned())),
        };
        let mut reader = self.store().reader()?;
        let mut moved = Vec::new();
        let still_needed = Arc::new(still_needed(reader.as_mut())?);
        // Effects answered since the last time need not stay.
        self.cut(reader.base()?, &still_needed)?;
        loop {
            let Ok(_alone) = self.shared().archiving.try_lock() else {
                return Err(Failure::Overloaded("archive files are being written already"));
            };
            let Some(about) = write_out(reader.as_mut(), &folder, before, FILE)? else { return Ok(moved) };
            self.delete_archived_entries(reader.as_mut(), about.after, &still_needed)?;
            moved.push(about);
        }
    }

    /// Cuts the journal, a little at a time.
    fn delete_archived_entries(
        &self,
        reader: &mut dyn Reader,
        upto: Chain,
        still_needed: &Arc<BTreeSet<u64>>,
    ) -> Result<(), Failure> {
        loop {
            let next = reader.base()?.seq.saturating_add(CUT);
            let part = match next < upto.seq {
                false => upto,
                true => {
                    let record = reader.record(next)?;
                    let record =
                        record.ok_or(StoreError::Chain { seq: next, what: "is missing".to_owned() })?;
                    Chain { seq: next, hash: record.hash }
                }
            };
            self.cut(part, still_needed)?;
            if part == upto {
                return Ok(());
            }
        }
    }
}
