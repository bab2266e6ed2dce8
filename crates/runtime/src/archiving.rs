//! Moves old journal into files while everything goes on.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{About, staying, write_out};
use trackside_store::{Chain, Reader, StoreError};

use crate::answer::Failure;
use crate::runtime::Runtime;

/// Most entries of one file, so that whoever must drop something from them does not wait long.
const FILE: u64 = 100_000;
/// Entries that are cut off the journal at once: callers wait meanwhile.
const CUT: u64 = 1_000;

impl Runtime {
    /// Moves entries that are older than `before` into verified files. They are written beside those who ask for
    /// something; the journal then lets go of them bit by bit. Broken off anywhere, it is taken up the next time.
    pub fn archive(&self, before: Timestamp) -> Result<Vec<About>, Failure> {
        // What is not in the projections yet cannot go.
        self.wait_until_written()?;
        let folder = match self.store().archive()?.folder() {
            Some(folder) => folder.to_owned(),
            None => return Err(Failure::Unavailable("this store keeps all of its journal".to_owned())),
        };
        let mut reader = self.store().reader()?;
        let mut moved = Vec::new();
        let staying = Arc::new(staying(reader.as_mut())?);
        // What was answered since the last time need not stay.
        self.cut(reader.base()?, &staying)?;
        loop {
            let Ok(_alone) = self.shared().archiving.try_lock() else {
                return Err(Failure::Overloaded("archive files are being written already"));
            };
            let Some(about) = write_out(reader.as_mut(), &folder, before, FILE)? else { return Ok(moved) };
            self.let_go(reader.as_mut(), about.after, &staying)?;
            moved.push(about);
        }
    }

    /// Cuts the journal, a little at a time.
    fn let_go(
        &self,
        reader: &mut dyn Reader,
        upto: Chain,
        staying: &Arc<BTreeSet<u64>>,
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
            self.cut(part, staying)?;
            if part == upto {
                return Ok(());
            }
        }
    }
}
