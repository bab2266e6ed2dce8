//! Puts saved work back.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{AtPath as _, WorktreeError};
use crate::files::exists;
use crate::git::GitFolder;
use crate::record::RequestOrigin;
use crate::repository::{BEING_MADE, Repository};
use crate::snapshot::base_ref;
use crate::step_log::LoggedOperation;
use crate::trash::{SaveMessage, TRASH, read_message};

/// A restore under way.
#[derive(Debug, Serialize, Deserialize)]
struct LoggedRestore {
    id: String,
    place: PathBuf,
}

/// Puts saved work back: its commits, its index and its files, in a new worktree at `path` or where it was. The save
/// stays. Returns the folder and its branch. After a kill, the same call again starts anew.
pub fn restore_saved_work(
    repository: &Repository,
    id: &str,
    path: Option<&Path>,
) -> Result<(PathBuf, Option<String>), WorktreeError> {
    let git = repository.bare_git();
    let unknown = || {
        WorktreeError::Request(format!(
            "there is no saved work {id}. `trackside worktree list` lists the saved work"
        ))
    };
    let commit = git.commit(&format!("{TRASH}{id}"))?.ok_or_else(unknown)?;
    let SaveMessage { saved, snapshot } = read_message(repository, &commit)?.ok_or_else(unknown)?;
    let place = path.map_or_else(|| saved.path.clone(), Path::to_owned);
    let _lock = repository.lock_worktree(&place)?;
    clear_interrupted(repository, &place)?;
    if exists(&place) {
        return Err(WorktreeError::Request(format!(
            "{} exists. Name another folder with --to",
            place.display()
        )));
    }
    let start = saved.head.clone().unwrap_or_else(|| commit.clone());
    let branch = match &snapshot.branch {
        Some(wanted) => Some(free_branch(repository, wanted, id)?),
        None => None,
    };
    let request = LoggedRestore { id: id.to_owned(), place: place.clone() };
    let mut operation = LoggedOperation::begin(&repository.steps(), "restore", &request, &repository.hook)?;
    let work = RestoredWork { saved, start, place: place.clone(), branch: branch.clone() };
    let result = work.restore_steps(repository, &mut operation);
    operation.conclude(result)?;
    Ok((place, branch))
}

/// Clears a folder in which a killed restore stopped. A person can have worked in it since, so it is saved first.
fn clear_interrupted(repository: &Repository, place: &Path) -> Result<(), WorktreeError> {
    {
        let _lock = repository.lock()?;
        repository.repair_half_made()?;
    }
    if !repository.is_being_made(place)?
        || repository.worktree_record(place)?.is_some_and(|it| it.is_living())
    {
        return Ok(());
    }
    let listed = repository.worktrees()?.into_iter().find(|it| it.path == place);
    let branch = listed.and_then(|it| it.branch).unwrap_or_else(|| "restored".to_owned());
    repository.remove_content(place, &branch, None, &RequestOrigin::default(), false)?;
    Ok(())
}

/// The wanted branch, or one for this restore if it is taken.
fn free_branch(repository: &Repository, wanted: &str, id: &str) -> Result<String, WorktreeError> {
    let git = repository.bare_git();
    let mut name = wanted.to_owned();
    let mut number = 1;
    while git.commit(&format!("refs/heads/{name}"))?.is_some() {
        name = if number == 1 { format!("restored/{id}") } else { format!("restored/{id}-{number}") };
        number += 1;
    }
    Ok(name)
}

struct RestoredWork {
    saved: crate::trash::SavedWork,
    /// The commit to check out.
    start: String,
    place: PathBuf,
    branch: Option<String>,
}

impl RestoredWork {
    fn restore_steps(
        &self,
        repository: &Repository,
        operation: &mut LoggedOperation,
    ) -> Result<(), WorktreeError> {
        let Self { saved, start, place, branch } = self;
        let git = repository.bare_git();
        operation.step("add", || {
            let _lock = repository.lock()?;
            repository.repair_half_made()?;
            let place = place.to_string_lossy().into_owned();
            let mut args =
                vec!["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", BEING_MADE];
            match branch {
                Some(branch) => args.extend(["--no-track", "-b", branch]),
                None => args.push("--detach"),
            }
            args.extend([place.as_str(), start]);
            Ok(repository.git().run(&args)?)
        })?;
        operation.step("files", || {
            repository.ignore_folder(place)?;
            let own = repository.without_filters(GitFolder::new(place))?;
            let index = saved.index.as_deref().or(saved.head.is_some().then_some("HEAD"));
            if let Some(index) = index {
                own.run(&["read-tree", index])?;
                own.run(&["checkout-index", "--all", "--force", "--quiet"])?;
                own.output(&["update-index", "-q", "--refresh"])?;
            }
            let Some(work) = &saved.work else { return Ok(()) };
            let from = match &saved.index {
                Some(index) => index.clone(),
                None => own.resolve("HEAD", "tree")?.unwrap_or_else(|| work.clone()),
            };
            restore_files(&own, place, &from, work)
        })?;
        operation.step("base", || {
            let (Some(base), Some(branch)) = (&saved.base, branch) else { return Ok(()) };
            let reference = base_ref(branch);
            if git.commit(&reference)?.is_none() {
                git.update_refs(&[format!("create {reference} {base}")])?;
            }
            Ok(())
        })?;
        operation.step("kept", || {
            let Some(kept) = saved.kept.as_ref().filter(|it| exists(it)) else { return Ok(()) };
            for left in &saved.left {
                let (from, to) = (kept.join(left), place.join(left));
                if exists(&from) {
                    copy_tree(&from, &to)?;
                }
            }
            Ok(())
        })?;
        operation.step("ready", || repository.unlock(place))
    }
}

/// Writes the files that differ between two trees as they were stored, without any filter.
fn restore_files(git: &GitFolder, place: &Path, from: &str, to: &str) -> Result<(), WorktreeError> {
    use std::os::unix::fs::PermissionsExt as _;
    let listed = git.bytes(&["diff-tree", "-r", "-z", "--no-renames", from, to])?;
    let mut parts = listed.split(|it| *it == 0).filter(|it| !it.is_empty());
    let mut written = Vec::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let full = place.join(std::ffi::OsStr::from_bytes(path));
        if exists(&full) {
            fs::remove_file(&full).at(&full)?;
        }
        if let [_, mode, _, object, status] = words.as_slice()
            && *status != "D"
        {
            written.push((full, (*mode).to_owned(), (*object).to_owned()));
        }
    }
    for (full, mode, object) in written {
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        let content = git.bytes(&["cat-file", "blob", &object])?;
        if mode == "120000" {
            std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&content), &full).at(&full)?;
        } else {
            fs::write(&full, &content).at(&full)?;
            let mode = if mode == "100755" { 0o755 } else { 0o644 };
            fs::set_permissions(&full, fs::Permissions::from_mode(mode)).at(&full)?;
        }
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), WorktreeError> {
    let found = from.symlink_metadata().at(from)?;
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).at(parent)?;
    }
    if found.is_symlink() {
        let target = fs::read_link(from).at(from)?;
        return std::os::unix::fs::symlink(target, to).at(to);
    }
    if found.is_dir() {
        fs::create_dir_all(to).at(to)?;
        for entry in fs::read_dir(from).at(from)? {
            let name = entry.at(from)?.file_name();
            copy_tree(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(|_| ()).at(to)
}
