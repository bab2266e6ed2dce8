//! Finds worktrees whose folder is gone although Trackside did not remove it.

use crate::error::WorktreeError;
use crate::files::FileLock;
use crate::record::{WorktreeRecord, WorktreeState, record_name};
use crate::repository::Repository;

/// A worktree that is ready by its record, and whose folder cannot be used. Nobody makes or removes it while this lives.
#[derive(Debug)]
pub struct LostWorktree {
    pub record: WorktreeRecord,
    _lock: FileLock,
}

impl Repository {
    /// The worktree of a record, if it is lost. None while another process makes or removes it.
    pub fn find_lost(&self, record: &WorktreeRecord) -> Result<Option<LostWorktree>, WorktreeError> {
        let name = record_name(&record.path, self.root());
        let Some(lock) = FileLock::take(&self.record_folder().join(format!("{name}.lock")))? else {
            return Ok(None);
        };
        // It may have changed before the lock.
        let Some(record) = self.worktree_record(&record.path)? else { return Ok(None) };
        if record.state != WorktreeState::Ready || self.is_usable(&record)? {
            return Ok(None);
        }
        Ok(Some(LostWorktree { record, _lock: lock }))
    }
}
