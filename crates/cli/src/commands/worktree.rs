//! `trackside worktree`: the worktrees of tasks, and the saved work of removed ones.

use std::path::{Path, PathBuf};

use serde_json::json;
use trackside_worktree::{
    Repository, SavedWork, WorktreeError, WorktreeRecord, WorktreeState, list_saved_work, prune_saved_work,
    restore_saved_work,
};

use crate::args::{PruneWorkArgs, RepositoryArgs, RestoreWorkArgs, WorktreeArgs, WorktreeCommand};
use crate::folder::CliError;
use crate::styled::BREAK;
use crate::table::print_table;
use crate::{exit, print};

pub(crate) fn run(args: &WorktreeArgs) -> u8 {
    let done = match &args.command {
        WorktreeCommand::List(args) => list(args),
        WorktreeCommand::Restore(args) => restore(args),
        WorktreeCommand::Prune(args) => prune(args),
    };
    done.unwrap_or_else(CliError::report)
}

fn open(args: &RepositoryArgs) -> Result<Repository, CliError> {
    let folder = args.repo.clone().unwrap_or_else(|| PathBuf::from("."));
    let folder =
        folder.canonicalize().map_err(|it| CliError::usage(format!("{}: {it}", folder.display())))?;
    Repository::open(&folder).map_err(refused)
}

fn refused(error: WorktreeError) -> CliError {
    CliError::refused(format!("error: {error}"))
}

fn list(args: &RepositoryArgs) -> Result<u8, CliError> {
    let repository = open(args)?;
    let mut worktrees = repository.worktree_records().map_err(refused)?;
    worktrees.retain(|it| it.state != WorktreeState::Removed);
    let saved = list_saved_work(&repository).map_err(refused)?;
    if args.json {
        let items: Vec<_> = worktrees
            .iter()
            .map(|it| {
                let facts = repository.worktree_facts(it).unwrap_or_default();
                json!({ "worktree": it, "facts": facts, "present": trackside_worktree::is_present(&it.path) })
            })
            .collect();
        print::json(&json!({ "items": items, "saved": saved }));
        return Ok(exit::DONE);
    }
    if worktrees.is_empty() && saved.is_empty() {
        print::message("no worktrees of tasks and no saved work found");
        return Ok(exit::DONE);
    }
    if !worktrees.is_empty() {
        print_table(["WORKTREE", "ENTITY", "BRANCH", "UNMERGED", "UNCOMMITTED", "LINES"], &worktrees, |it| {
            row(&repository, it)
        });
    }
    if !saved.is_empty() {
        print_table(["SAVED", "ENTITY", "COMMITS", "KEPT UNTIL", "FROM"], &saved, |it| {
            saved_row(&repository, it)
        });
    }
    Ok(exit::DONE)
}

fn row(repository: &Repository, record: &WorktreeRecord) -> [String; 6] {
    let entity = record.entity.clone().unwrap_or_else(|| "-".to_owned());
    let path = below(repository, &record.path);
    if !trackside_worktree::is_present(&record.path) {
        let none = || "-".to_owned();
        return [path, entity, record.branch.clone(), "gone".to_owned(), none(), none()];
    }
    let facts = repository.worktree_facts(record).unwrap_or_default();
    let lines = format!("+{} -{}", facts.additions, facts.deletions);
    [path, entity, record.branch.clone(), facts.unmerged.to_string(), facts.dirty.to_string(), lines]
}

fn saved_row(repository: &Repository, saved: &SavedWork) -> [String; 5] {
    let until: String = saved.kept_until.chars().take(10).collect();
    let entity = saved.entity.clone().unwrap_or_else(|| "-".to_owned());
    [saved.id.clone(), entity, saved.commits.to_string(), until, below(repository, &saved.path)]
}

fn below(repository: &Repository, path: &Path) -> String {
    path.strip_prefix(repository.root()).unwrap_or(path).display().to_string()
}

fn restore(args: &RestoreWorkArgs) -> Result<u8, CliError> {
    let repository = open(&args.repository)?;
    let to = match &args.to {
        Some(to) => Some(std::path::absolute(to).map_err(|it| CliError::usage(it.to_string()))?),
        None => None,
    };
    let (folder, branch) = restore_saved_work(&repository, &args.id, to.as_deref()).map_err(refused)?;
    if args.repository.json {
        print::json(&json!({ "folder": folder, "branch": branch }));
    } else {
        let branch = branch.map(|it| format!(" on the branch {it}")).unwrap_or_default();
        print::line(styled!("restored {} in {}{branch}", args.id, folder.display()));
    }
    Ok(exit::DONE)
}

fn prune(args: &PruneWorkArgs) -> Result<u8, CliError> {
    let repository = open(&args.repository)?;
    let known = list_saved_work(&repository).map_err(refused)?;
    if let Some(unknown) = args.ids.iter().find(|id| !known.iter().any(|it| it.id == **id)) {
        return Err(CliError::refused(styled!(
            "error: there is no saved work {unknown}.{BREAK}`trackside worktree list` lists the saved work"
        )));
    }
    let now = trackside_worktree::now();
    let pruned = prune_saved_work(&repository, now, &args.ids).map_err(refused)?;
    if args.repository.json {
        print::json(&json!({ "pruned": pruned }));
    } else if pruned.is_empty() {
        print::message("nothing to delete: no retention has ended");
    } else {
        for id in &pruned {
            print::line(styled!("deleted {id}"));
        }
    }
    Ok(exit::DONE)
}
