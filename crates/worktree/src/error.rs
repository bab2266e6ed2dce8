//! The errors of operations on worktrees.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::GitError;

/// Why an operation on a worktree did not happen.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The repository cannot be used. This is no fault of the task.
    #[error("the repository {} cannot be used: {why}", path.display())]
    Unfit { path: PathBuf, why: String },
    /// The request cannot be carried out in any repository.
    #[error("{0}")]
    Request(String),
    /// Work could not be saved, so nothing was deleted.
    #[error("{} was not removed, because its content could not be saved: {why}", path.display())]
    NotSaved { path: PathBuf, why: String },
    /// Something has to change before the operation can happen.
    #[error("{0}")]
    Hold(String),
    /// A test ended the operation between two steps.
    #[error("stopped at {0}")]
    Stopped(String),
}

impl WorktreeError {
    /// Whether the repository or the machine is the reason, and not the task.
    pub fn is_fault_of_machine(&self) -> bool {
        !matches!(self, Self::Request(_))
    }
}

/// Adds the path to an input or output error.
pub(crate) trait AtPath<T> {
    fn at(self, path: &Path) -> Result<T, WorktreeError>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, WorktreeError> {
        self.map_err(|error| WorktreeError::File { path: path.to_owned(), error })
    }
}
