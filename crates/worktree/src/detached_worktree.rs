//! Worktrees without a branch: those of reviewers, of checks before a merge, and ready ones.
//!
//! Such a worktree is locked in git until its last step is taken. A lock that a dead process left says that the folder
//! contains no work, so it is discarded and made again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{AtPath as _, WorktreeError};
use crate::files::exists;
use crate::git::GitFolder;
use crate::record::RequestOrigin;
use crate::repository::{BEING_MADE, Repository};
use crate::snapshot::CheckoutFolders;
use crate::step_log::LoggedOperation;

/// The operations that add a worktree without a branch.
pub(crate) const REVIEW: &str = "review";
pub(crate) const INTEGRATION: &str = "integration";
pub(crate) const POOL: &str = "pool";

/// The folder that an operation makes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoggedFolder {
    pub place: PathBuf,
}

impl Repository {
    /// Adds a worktree at a commit, without a branch. `fill` takes the steps that write its files. `kind` names the
    /// operation in the log of steps.
    pub(crate) fn add_detached(
        &self,
        kind: &str,
        place: &Path,
        commit: &str,
        fill: impl FnOnce(&mut LoggedOperation) -> Result<(), WorktreeError>,
    ) -> Result<(), WorktreeError> {
        let request = LoggedFolder { place: place.to_owned() };
        let mut operation = LoggedOperation::begin(&self.steps(), kind, &request, &self.hook)?;
        let made = self.detached_steps(&mut operation, place, commit, fill);
        if let Err(error) = &made
            && !matches!(error, WorktreeError::Stopped(_))
        {
            // Its error is more useful than one of the removal.
            let _ = self.discard_half_made(place);
        }
        operation.conclude(made)
    }

    fn detached_steps(
        &self,
        operation: &mut LoggedOperation,
        place: &Path,
        commit: &str,
        fill: impl FnOnce(&mut LoggedOperation) -> Result<(), WorktreeError>,
    ) -> Result<(), WorktreeError> {
        operation.step("add", || {
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent).at(parent)?;
            }
            self.ignore_folder(place)?;
            let _lock = self.lock()?;
            self.repair_half_made()?;
            let place = place.to_string_lossy();
            Ok(self.git().run(&[
                "worktree",
                "add",
                "--quiet",
                "--no-checkout",
                "--lock",
                "--reason",
                BEING_MADE,
                "--detach",
                &place,
                commit,
            ])?)
        })?;
        fill(operation)?;
        operation.step("ready", || self.unlock(place))
    }

    /// Whether the worktree at this path is still being made. If no process makes it, it was left by a dead one.
    pub(crate) fn is_being_made(&self, place: &Path) -> Result<bool, WorktreeError> {
        let Some(admin) = self.admin_of(place)? else { return Ok(false) };
        Ok(fs::read_to_string(admin.join("locked")).is_ok_and(|it| it.trim_end() == BEING_MADE))
    }

    /// Checks out a commit without a branch, in a folder of its own that is used again and again. Work that was left in
    /// it is saved first.
    pub fn check_out_detached(&self, path: &str, name: &str) -> Result<PathBuf, WorktreeError> {
        let place = self.place(path)?;
        let _lock = self.lock_worktree(&place)?;
        self.finish_removals_of(&place)?;
        let missing = || WorktreeError::Hold(format!("there is no commit {name}"));
        let commit = self.bare_git().commit(name)?.ok_or_else(missing)?;
        let branch = format!("review/{}", place.file_name().unwrap_or_default().to_string_lossy());
        if self.is_being_made(&place)? {
            self.discard_half_made(&place)?;
        }
        if let Some(admin) = self.admin_of(&place)?.filter(|_| place.join(".git").exists()) {
            self.restore_links_of(&place, &admin)?;
            let folders =
                CheckoutFolders { place: place.clone(), admin, branch: branch.clone(), is_clone: false };
            let own = self.checkout_git(&folders)?;
            let status = own.text(&["status", "--porcelain", "--ignore-submodules=dirty"]);
            if status.is_ok_and(|it| it.is_empty()) && own.commit("HEAD")?.as_deref() == Some(&commit) {
                return Ok(place);
            }
        }
        if exists(&place) || self.admin_of(&place)?.is_some() {
            self.remove_content(&place, &branch, None, &RequestOrigin::default(), false)?;
        }
        self.add_detached(REVIEW, &place, &commit, |operation| {
            operation.step("checkout", || {
                let own = self.without_filters(GitFolder::new(&place))?;
                Ok(own.run(&["reset", "--hard", "--quiet", &commit])?)
            })
        })?;
        Ok(place)
    }
}
