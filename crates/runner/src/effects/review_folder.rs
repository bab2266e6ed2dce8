//! The folder of an agent that works on a task without owning its worktree, such as a reviewer.

use std::path::PathBuf;

use trackside_worktree::{Repository, WorktreeError, WorktreeRecord};

/// Checks out the work of a task, without its branch, in a folder of this agent. Earlier work in the folder is saved.
pub(crate) fn prepare_review_folder(
    repository: &Repository,
    record: &WorktreeRecord,
    agent: &str,
) -> Result<PathBuf, WorktreeError> {
    let _ = repository.fetch_home(record);
    let path = format!(".worktrees/.review/{agent}");
    repository.check_out_detached(&path, &format!("refs/heads/{}", record.branch))
}
