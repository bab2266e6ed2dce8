//! Arguments of `trackside worktree`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct WorktreeArgs {
    #[command(subcommand)]
    pub(crate) command: WorktreeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// List the worktrees of tasks, and the saved work of removed ones
    #[command(visible_alias = "ls", after_help = "Example:\n  trackside worktree list")]
    List(RepositoryArgs),
    /// Put saved work of a removed worktree back, in a new worktree
    Restore(RestoreWorkArgs),
    /// Delete saved work whose retention has ended
    Prune(PruneWorkArgs),
}

/// The repository to look at.
#[derive(Debug, ClapArgs)]
pub(crate) struct RepositoryArgs {
    /// Folder of the git repository [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside worktree restore 20260101T120000000Z-T-1-0f1e2d3c\n\nIt restores the commits, the index and the files. The saved work stays until its retention ends."
)]
pub(crate) struct RestoreWorkArgs {
    /// Saved work, as `trackside worktree list` lists it
    #[arg(value_name = "SAVED")]
    pub(crate) id: String,
    /// Folder for it [default: where it was]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  trackside worktree prune\n\nRetention is 30 days unless `trash.retention` in .trackside/worktree.yaml says otherwise."
)]
pub(crate) struct PruneWorkArgs {
    /// Delete this saved work now, before its retention ends; can be repeated
    #[arg(value_name = "SAVED")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,
}
