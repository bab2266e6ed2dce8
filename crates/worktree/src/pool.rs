//! Ready worktrees: created and set up before a task needs them. They contain no work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::commands::run_command;
use crate::detached_worktree::POOL;
use crate::error::WorktreeError;
use crate::files::{FileLock, exists, random_id, read_json, remove_file, write_json};
use crate::git::GitFolder;
use crate::record::WorktreeRecord;
use crate::repository::Repository;
use crate::settings::{SETTINGS_FILE, WorktreeKind, WorktreeSettings};

/// The folder of ready worktrees, beside those of tasks.
const FOLDER: &str = ".pool";

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
                || repository.is_being_made(&pooled.path)?
            {
                continue;
            }
            repository.hook.pass("claim.move:begun")?;
            let args = [Path::new("worktree"), Path::new("move"), &pooled.path, &record.path];
            moved = repository.git().succeeds(&args)?;
            if !moved {
                repository.discard(&pooled.path)?;
            }
            repository.hook.pass("claim.move:taken")?;
            // After the move: an entry without a folder is removed by the next fill, a folder without an entry by nobody.
            remove_file(&file)?;
            if moved {
                break;
            }
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
        repository.discard_half_made(&record.path)?;
        return Ok(false);
    }
    Ok(true)
}

impl Repository {
    /// Makes ready worktrees in `parent`, a path below the main checkout, until there are as many as the settings say.
    /// Removes those that do not fit the settings any more, and what killed processes left. Returns how many were made.
    pub fn fill_pool(
        &self,
        parent: &str,
        integration: &str,
        environment: &BTreeMap<String, String>,
    ) -> Result<usize, WorktreeError> {
        let settings = self.settings()?;
        let wanted = match settings.kind {
            Some(WorktreeKind::Clone) => 0,
            _ => usize::try_from(settings.pool).unwrap_or(usize::MAX),
        };
        // With the lock, no other process makes one.
        let Some(_only) = FileLock::take(&folder(self).join("lock"))? else { return Ok(0) };
        self.recover_kinds(|it| it == POOL)?;
        let text = settings_text(self);
        let mut ready = 0;
        for (file, pooled) in pooled(self)? {
            let _lock = self.lock()?;
            if ready < wanted
                && pooled.settings == text
                && exists(&pooled.path)
                && !self.is_being_made(&pooled.path)?
            {
                ready += 1;
            } else {
                self.discard(&pooled.path)?;
                remove_file(&file)?;
            }
        }
        let mut made = 0;
        while ready + made < wanted {
            let tip = self.check_fitness(integration)?;
            self.make_pooled(parent, &tip, &text, &settings, environment)?;
            made += 1;
        }
        Ok(made)
    }

    fn make_pooled(
        &self,
        parent: &str,
        tip: &str,
        text: &str,
        settings: &WorktreeSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<(), WorktreeError> {
        let id = random_id();
        let place = self.place(&format!("{parent}/{FOLDER}/{id}"))?;
        self.ignore_folder(&self.place(&format!("{parent}/{FOLDER}"))?)?;
        self.add_detached(POOL, &place, tip, |operation| {
            operation
                .step("checkout", || Ok(GitFolder::new(&place).run(&["reset", "--hard", "--quiet", tip])?))?;
            operation.step("setup", || self.set_up(&place, settings, environment))?;
            operation.step("entry", || {
                let pooled = PooledWorktree { path: place.clone(), settings: text.to_owned() };
                write_json(&folder(self).join(format!("{id}.json")), &pooled)
            })
        })
    }

    fn set_up(
        &self,
        place: &Path,
        settings: &WorktreeSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<(), WorktreeError> {
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
