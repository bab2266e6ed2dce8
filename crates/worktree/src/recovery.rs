//! Finishes the operations of processes that were killed.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::detached_worktree::{INTEGRATION, LoggedFolder, POOL, REVIEW};
use crate::error::WorktreeError;
use crate::files::FileLock;
use crate::repository::Repository;
use crate::step_log::{UnfinishedOperation, continue_log, logs, read_request};
use crate::worktree::LoggedRemoval;

/// The operations that remove a worktree.
const REMOVALS: [&str; 2] = ["remove", "clear"];

impl Repository {
    /// Finishes the operations of killed processes. Returns a line about each.
    pub fn recover(&self) -> Result<Vec<String>, WorktreeError> {
        self.recover_kinds(|_| true)
    }

    /// Finishes the operations of killed processes whose kind is among these.
    pub(crate) fn recover_kinds(&self, is_meant: fn(&str) -> bool) -> Result<Vec<String>, WorktreeError> {
        {
            let _lock = self.lock()?;
            self.repair_half_made()?;
        }
        let mut report = Vec::new();
        for path in logs(&self.steps())? {
            let Some((kind, request)) = read_request(&path).filter(|(kind, _)| is_meant(kind)) else {
                continue;
            };
            // A living process has its log locked.
            if FileLock::take(&path)?.is_none() {
                continue;
            }
            let place = folder_of(&kind, request).map(|it| self.place(&it)).transpose()?;
            // The lock of the folder comes before that of the log, as for every user of the folder.
            let _lock = place.map(|it| self.lock_worktree(&it)).transpose()?;
            let Some(log) = FileLock::take(&path)? else { continue };
            if let Some(operation) = continue_log(path, log, &self.hook)? {
                report.push(self.finish(operation));
            }
        }
        Ok(report)
    }

    /// Finishes removals of the worktree at this path that were interrupted. Call it under the lock of the worktree,
    /// before anything else happens there: finished later, they would remove what was made since.
    pub(crate) fn finish_removals_of(&self, place: &Path) -> Result<(), WorktreeError> {
        for path in logs(&self.steps())? {
            let Some((kind, request)) = read_request(&path) else { continue };
            let is_its = REMOVALS.contains(&kind.as_str())
                && folder_of(&kind, request).is_some_and(|it| self.place(&it).is_ok_and(|it| it == place));
            if !is_its {
                continue;
            }
            // Its process had the lock of the worktree, so it is dead.
            let log = FileLock::wait(&path)?;
            if let Some(mut operation) = continue_log(path, log, &self.hook)? {
                let result = self.finish_removal(&mut operation);
                operation.log.conclude(result)?;
            }
        }
        Ok(())
    }

    fn finish(&self, mut operation: UnfinishedOperation) -> String {
        let kind = operation.kind.clone();
        let result = match kind.as_str() {
            "remove" | "clear" => self.finish_removal(&mut operation),
            "merge" => crate::merging::finish_merge(self, &mut operation.log, operation.request),
            "prune" => crate::trash::finish_pruning(self, &mut operation.log, operation.request),
            REVIEW | INTEGRATION | POOL => self.discard_detached(operation.request),
            // A worktree that was being made or restored, or a commit: the next request does it again.
            _ => Ok(String::new()),
        };
        let line = match &result {
            Ok(what) => format!("finished an interrupted {kind} {what}").trim_end().to_owned(),
            Err(error) => format!("an interrupted {kind} could not be finished: {error}"),
        };
        let _ = operation.log.conclude(result.map(|_| ()));
        line
    }

    fn finish_removal(&self, operation: &mut UnfinishedOperation) -> Result<String, WorktreeError> {
        let removal: LoggedRemoval = read(operation.request.clone())?;
        self.remove_steps(&mut operation.log, &removal, operation.kind == "clear")?;
        Ok(removal.request.path)
    }

    /// Discards what a killed operation left of a worktree without a branch. A finished one stays: its folder can be in
    /// use again.
    fn discard_detached(&self, request: Value) -> Result<String, WorktreeError> {
        let LoggedFolder { place } = read(request)?;
        if self.is_being_made(&place)? {
            self.discard_half_made(&place)?;
        }
        Ok(format!("of {}", place.display()))
    }
}

/// The folder of an operation that other processes use under its lock; none of a ready worktree, which has a name of its
/// own.
fn folder_of(kind: &str, request: Value) -> Option<String> {
    let path = match kind {
        "remove" | "clear" => PathBuf::from(read::<LoggedRemoval>(request).ok()?.request.path),
        REVIEW | INTEGRATION => read::<LoggedFolder>(request).ok()?.place,
        _ => return None,
    };
    Some(path.to_string_lossy().into_owned())
}

fn read<T: DeserializeOwned>(request: Value) -> Result<T, WorktreeError> {
    serde_json::from_value(request).map_err(|it| WorktreeError::Request(it.to_string()))
}
