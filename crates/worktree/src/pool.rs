//! Ready worktrees: created and set up before a task needs them. They contain no work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::commands::run_command;
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{exists, random_id, read_json, remove_file, write_json};
use crate::git::GitFolder;
use crate::record::WorktreeRecord;
use crate::repository::Repository;
use crate::settings::{SETTINGS_FILE, WorktreeKind, WorktreeSettings};

/// The folder of ready worktrees, beside those of tasks.
const POOL: &str = ".pool";

#[derive(Debug, Serialize, Deserialize)]
struct PooledWorktree {
    path: PathBuf,
    /// The settings with which it was set up.
    settings: String,
}

fn folder(repository: &Repository) -> PathBuf {
    repository.data().join("pool")
}

fn settings_text(repository: &Repository) -> String {
    fs::read_to_string(repository.root().join(SETTINGS_FILE)).unwrap_or_default()
}

fn pooled(repository: &Repository) -> Result<Vec<(PathBuf, PooledWorktree)>, WorktreeError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(repository)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|it| it == "json")
            && let Some(pooled) = read_json(&path)?
        {
            found.push((path, pooled));
        }
    }
    Ok(found)
}

/// Takes a ready worktree for a task: moves it and checks out the branch. False if there is none.
pub(crate) fn claim(
    repository: &Repository,
    record: &WorktreeRecord,
    start: &str,
) -> Result<bool, WorktreeError> {
    let settings = settings_text(repository);
    let moved = {
        let _lock = repository.lock()?;
        repository.repair_half_made()?;
        let mut moved = false;
        for (file, pooled) in pooled(repository)? {
            if pooled.settings != settings
                || pooled.path.parent().and_then(Path::parent) != record.path.parent()
            {
                continue;
            }
            remove_file(&file)?;
            let args = [Path::new("worktree"), Path::new("move"), &pooled.path, &record.path];
            if repository.git().succeeds(&args)? {
                moved = true;
                break;
            }
            discard(repository, &pooled.path)?;
        }
        moved
    };
    if !moved {
        return Ok(false);
    }
    let own = GitFolder::new(&record.path);
    let integration = format!("refs/heads/{}", record.integration);
    let git = repository.bare_git();
    let is_merged =
        git.commit(&integration)?.as_deref() == Some(start) || git.is_ancestor(start, &integration)?;
    let own = if is_merged { own } else { repository.without_filters(own)? };
    let has_branch = own.commit(&format!("refs/heads/{}", record.branch))?.is_some();
    let done = match has_branch {
        true => own.run(&["checkout", "--quiet", "--no-guess", &record.branch, "--"]),
        false => own.run(&["checkout", "--quiet", "--no-track", "-b", &record.branch, start, "--"]),
    };
    if done.is_err() {
        // Its files were changed by a setup command: a new one is made.
        let _lock = repository.lock()?;
        discard(repository, &record.path)?;
        return Ok(false);
    }
    Ok(true)
}

/// Removes a worktree that contains no work. Call it under the lock.
fn discard(repository: &Repository, place: &Path) -> Result<(), WorktreeError> {
    if let Some(admin) = repository.admin_of(place)? {
        fs::remove_dir_all(&admin).at(&admin)?;
    }
    if exists(place) { fs::remove_dir_all(place).at(place) } else { Ok(()) }
}

impl Repository {
    /// Makes ready worktrees in `parent`, a path below the main checkout, until there are as many as the settings say.
    /// Returns how many were made.
    pub fn fill_pool(
        &self,
        parent: &str,
        integration: &str,
        environment: &BTreeMap<String, String>,
    ) -> Result<usize, WorktreeError> {
        let settings = self.settings()?;
        if settings.kind == Some(WorktreeKind::Clone) {
            return Ok(0);
        }
        let Some(_only) = crate::files::FileLock::take(&folder(self).join("lock"))? else { return Ok(0) };
        let text = settings_text(self);
        let mut ready = 0;
        for (file, pooled) in pooled(self)? {
            if pooled.settings == text && exists(&pooled.path) {
                ready += 1;
            } else {
                let _lock = self.lock()?;
                remove_file(&file)?;
                discard(self, &pooled.path)?;
            }
        }
        let mut made = 0;
        while ready + made < usize::try_from(settings.pool).unwrap_or(usize::MAX) {
            let tip = self.check_fitness(integration)?;
            let id = random_id();
            let place = self.place(&format!("{parent}/{POOL}/{id}"))?;
            self.ignore_folder(&self.place(&format!("{parent}/{POOL}"))?)?;
            let result = self.make_pooled(&place, &tip, &settings, environment);
            if let Err(error) = result {
                let _lock = self.lock()?;
                discard(self, &place)?;
                return Err(error);
            }
            let pooled = PooledWorktree { path: place, settings: text.clone() };
            write_json(&folder(self).join(format!("{id}.json")), &pooled)?;
            made += 1;
        }
        Ok(made)
    }

    fn make_pooled(
        &self,
        place: &Path,
        tip: &str,
        settings: &WorktreeSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<(), WorktreeError> {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        {
            let _lock = self.lock()?;
            self.repair_half_made()?;
            let place = place.to_string_lossy().into_owned();
            self.git().run(&["worktree", "add", "--quiet", "--no-checkout", "--detach", &place, tip])?;
        }
        GitFolder::new(place).run(&["reset", "--hard", "--quiet", tip])?;
        for rule in &settings.setup {
            let outcome = run_command(rule, place, environment, &self.data().join("tmp"))?;
            if !outcome.succeeded {
                let why = format!("the setup command `{}` failed ({})", rule.run, outcome.ending);
                return Err(WorktreeError::Unfit { path: self.root().to_owned(), why });
            }
        }
        Ok(())
    }
}
