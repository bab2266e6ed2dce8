//! Git effects: worktrees of tasks and merges, requested by packs and carried out by runners.
//!
//! The runner that claimed a task makes its worktree. Merges and removals are done beside the agent, by any runner of
//! the repository.

mod background;
mod base_notice;
mod checkout_record;
mod effect_client;
mod git_work;
mod plan_file;
mod reported_worktree;
mod review_folder;
mod sweep;
mod task_commands;
mod task_folder;
mod upkeep;
mod work_report;

pub(crate) use background::work_beside;
pub(crate) use git_work::GitWork;
pub use task_folder::TaskFolder;
pub(crate) use task_folder::{FolderState, UnfitRepository};
