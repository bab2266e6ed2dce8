//! The folder of an agent that works on a task without owning its worktree, such as a reviewer.

use std::path::PathBuf;

use trackside_worktree::{Repository, WorktreeError, WorktreeRecord};

use super::git_work::WORKTREES;

/// Checks out the work of a task, without its branch, in a folder of this agent. Earlier work in the folder is saved.
/// Without a `commit`, the branch of the task is checked out.
pub(crate) fn prepare_review_folder(
    repository: &Repository,
    record: &WorktreeRecord,
    commit: Option<String>,
    agent: &str,
) -> Result<PathBuf, WorktreeError> {
    let _ = repository.fetch_home(record);
    let path = format!("{WORKTREES}/.review/{agent}");
    repository.check_out_detached(&path, &commit.unwrap_or_else(|| format!("refs/heads/{}", record.branch)))
}
