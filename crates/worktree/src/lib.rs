//! Worktrees of tasks: made, saved, merged and removed. git's command line does the work.
//!
//! Three rules hold. Every step is written down before it is taken, so a kill at any point recovers. Nothing unmerged
//! is deleted before it is saved. Commands that race in git run under a lock of the repository.

mod change;
mod checkout_git;
mod checkout_work;
mod commands;
mod commands_of_task;
mod detached_worktree;
mod error;
mod files;
mod fingerprint;
mod git;
mod lost;
mod merge_report;
mod merging;
mod pool;
mod record;
mod recovery;
mod repository;
mod restoring;
mod settings;
mod snapshot;
mod step_log;
mod trash;
mod worktree;

pub use change::{
    ChangeFigures, ChangeHunk, ChangeLine, ChangeLineKind, ChangedFile, ChangedFileStatus, CommitChange,
    LARGEST_CHANGE, read_bounded_change, read_change,
};
pub use commands::CommandEnding;
pub use commands_of_task::{CommitOutcome, CommitRequest};
pub use error::WorktreeError;
pub use files::FileLock;
pub use fingerprint::{CheckoutFingerprint, WorktreeFacts, is_present};
pub use git::{GitError, GitFolder, is_object_id};
pub use lost::LostWorktree;
pub use merging::{MergeOutcome, MergeRequest, MergeWay};
pub use record::{RequestOrigin, WorktreeRecord, WorktreeState};
pub use repository::{ListedWorktree, Repository};
pub use settings::{
    CommandRule, PortRule, RequestedSettings, SETTINGS_FILE, TrashRules, WorktreeKind, WorktreeSettings,
};
pub use step_log::{StepHook, UnfinishedOperation};
/// The present moment.
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

pub use restoring::restore_saved_work;
pub use trash::{SavedWork, list_saved_work, prune_saved_work};
pub use worktree::{CreateOutcome, CreateRequest, RemoveOutcome, RemoveRequest};
