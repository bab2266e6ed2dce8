//! Creates and removes the worktree of a task.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::commands::run_command;
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{FileLock, exists, remove_file};
use crate::git::GitFolder;
use crate::pool;
use crate::record::{RequestOrigin, WorktreeRecord, WorktreeState, record_name};
use crate::repository::{BEING_MADE, Repository};
use crate::settings::{WorktreeKind, WorktreeSettings};
use crate::snapshot::{CheckoutFolders, IgnoredRules, base_ref};
use crate::step_log::LoggedOperation;
use crate::trash::{SaveRequest, SaveResult, kept_folder, new_trash_id, save};

/// Attempts to save a checkout that changes while it is saved.
const SAVES: usize = 4;

/// A request for a worktree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateRequest {
    /// Below the main checkout.
    pub path: String,
    pub branch: String,
    /// The integration branch, from which the branch starts.
    pub from: String,
    /// Remove an earlier worktree of the task first.
    pub reset: bool,
    pub entity: Option<String>,
    pub slot: Option<String>,
    pub made_for: RequestOrigin,
    /// The environment of setup commands.
    #[serde(skip)]
    pub environment: BTreeMap<String, String>,
}

/// A request to remove a worktree and its branch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoveRequest {
    pub path: String,
    pub branch: String,
    pub made_for: RequestOrigin,
}

/// A remove request and the id of its save, which stays the same when a killed operation is carried out again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoggedRemoval {
    pub request: RemoveRequest,
    trash: String,
    entity: Option<String>,
}

/// The result of a request for a worktree.
#[derive(Clone, Debug)]
pub enum CreateOutcome {
    /// It is ready. `is_new` is false if it existed before.
    Ready { record: WorktreeRecord, is_new: bool },
    /// A later request has been carried out already.
    Outdated,
}

/// The result of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// It is gone. `saved` is the id of the save, if anything unmerged was in it.
    Removed { saved: Option<String> },
    /// A later request has been carried out already.
    Outdated,
}

impl Repository {
    /// Makes the worktree of a task ready. The same request again changes nothing.
    pub fn create_worktree(&self, request: &CreateRequest) -> Result<CreateOutcome, WorktreeError> {
        let place = self.place(&request.path)?;
        self.check_branch(&request.branch)?;
        let tip = self.check_fitness(&request.from)?;
        let _lock = self.lock_worktree(&place)?;
        self.finish_removals_of(&place)?;
        self.clear_planted_refs(&request.branch)?;
        let record = self.worktree_record(&place)?;
        if let Some(record) = &record {
            if is_outdated(record, &request.made_for) {
                return Ok(CreateOutcome::Outdated);
            }
            if record.made_for == request.made_for
                && record.state == WorktreeState::Ready
                && self.is_usable(record)?
            {
                self.restore_links(record)?;
                return Ok(CreateOutcome::Ready { record: record.clone(), is_new: false });
            }
        }
        let settings = self.settings()?;
        if let Some(record) = &record
            && record.state == WorktreeState::Ready
            && !request.reset
            && self.is_usable(record)?
        {
            self.restore_links(record)?;
            let record = WorktreeRecord {
                made_for: request.made_for.clone(),
                entity: request.entity.clone().or_else(|| record.entity.clone()),
                slot: request.slot.clone().or_else(|| record.slot.clone()),
                ..record.clone()
            };
            self.save_record(&record)?;
            return Ok(CreateOutcome::Ready { record, is_new: false });
        }
        self.clear_place(&place, &request.branch, record.as_ref(), request)?;
        let operation = LoggedOperation::begin(&self.steps(), "create", request, &self.hook)?;
        self.make(operation, request, &place, &tip, &settings)
    }

    /// Makes room: an earlier worktree is saved and removed, or only its folder if its branch continues.
    fn clear_place(
        &self,
        place: &Path,
        branch: &str,
        record: Option<&WorktreeRecord>,
        request: &CreateRequest,
    ) -> Result<(), WorktreeError> {
        if record.is_some_and(|it| it.state == WorktreeState::Making) {
            // An attempt was killed. The folder contains no work.
            return self.discard_half_made(place);
        }
        let has_branch = self.bare_git().commit(&format!("refs/heads/{branch}"))?.is_some();
        let is_there = exists(place) || self.admin_of(place)?.is_some();
        if is_there || (request.reset && has_branch) {
            let keep_branch = !request.reset && has_branch;
            self.remove_content(place, branch, record, &request.made_for, keep_branch)?;
        }
        Ok(())
    }

    fn make(
        &self,
        mut operation: LoggedOperation,
        request: &CreateRequest,
        place: &Path,
        tip: &str,
        settings: &WorktreeSettings,
    ) -> Result<CreateOutcome, WorktreeError> {
        let reference = format!("refs/heads/{}", request.branch);
        let had_branch = self.bare_git().commit(&reference)?.is_some();
        let made = self.make_steps(&mut operation, request, place, tip, settings);
        if let Err(error) = &made
            && !matches!(error, WorktreeError::Stopped(_))
        {
            // Remove the failed attempt. Its error is more useful than one of the removal.
            let _ = self.discard_half_made(place);
            if !had_branch {
                let _ = self.delete_branch(&request.branch);
            }
        }
        let record = operation.conclude(made)?;
        Ok(CreateOutcome::Ready { record, is_new: true })
    }

    fn make_steps(
        &self,
        operation: &mut LoggedOperation,
        request: &CreateRequest,
        place: &Path,
        tip: &str,
        settings: &WorktreeSettings,
    ) -> Result<WorktreeRecord, WorktreeError> {
        let git = self.bare_git();
        let reference = format!("refs/heads/{}", request.branch);
        let existing = git.commit(&reference)?;
        // The base is recorded once. A branch that continues has one, or the point where it left the other branch.
        let base_name = base_ref(&request.branch);
        let base = match (git.commit(&base_name)?, &existing) {
            (Some(base), Some(_)) => base,
            (_, None) => tip.to_owned(),
            (None, Some(existing)) => {
                let found = git.output(&["merge-base", existing, tip])?;
                let text = String::from_utf8_lossy(&found.stdout).trim().to_owned();
                if found.status.success() { text } else { tip.to_owned() }
            }
        };
        let mut record = WorktreeRecord {
            path: place.to_owned(),
            branch: request.branch.clone(),
            kind: settings.kind.unwrap_or_default(),
            state: WorktreeState::Making,
            entity: request.entity.clone(),
            slot: request.slot.clone(),
            base: base.clone(),
            integration: request.from.clone(),
            made_for: request.made_for.clone(),
            admin: None,
            port: None,
            variables: BTreeMap::new(),
        };
        operation.step("record", || {
            let _lock = self.lock()?;
            record.port = self.free_port(settings, place)?;
            self.save_record(&record)?;
            git.update_refs(&[format!("update {base_name} {base}")])?;
            self.ignore_folder(place)
        })?;
        if let Some(saved) = self.worktree_record(place)? {
            record = saved;
        }
        let start = existing.unwrap_or_else(|| tip.to_owned());
        let is_merged = start == tip || git.is_ancestor(&start, tip)?;
        let mut is_set_up = false;
        operation.step("add", || {
            is_set_up = self.add(&record, &start)?;
            Ok(())
        })?;
        operation.step("checkout", || {
            if is_set_up { Ok(()) } else { self.checkout(&record, &start, is_merged) }
        })?;
        operation.step("setup", || {
            let commands = if is_set_up { &[] } else { settings.setup.as_slice() };
            record.variables = self.prepare(&record, settings, commands, &request.environment)?;
            Ok(())
        })?;
        operation.step("ready", || {
            self.unlock(place)?;
            let admin = self.admin_of(place)?;
            record.admin = admin.and_then(|it| Some(it.file_name()?.to_string_lossy().into_owned()));
            record.state = WorktreeState::Ready;
            self.save_record(&record)
        })?;
        self.worktree_record(place)?
            .ok_or_else(|| WorktreeError::Request("the record of the worktree is gone".to_owned()))
    }

    /// Adds the worktree without its files, or takes a ready one from the pool. True if its files are there.
    fn add(&self, record: &WorktreeRecord, start: &str) -> Result<bool, WorktreeError> {
        let place = &record.path;
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).at(parent)?;
        }
        if exists(place) || self.admin_of(place)?.is_some() {
            // An earlier attempt was killed. Its record says that it was being made, so it contains no work.
            self.discard_half_made(place)?;
        }
        if record.kind == WorktreeKind::Clone {
            return self.add_clone(record, start).map(|()| false);
        }
        if pool::claim(self, record, start)? {
            return Ok(true);
        }
        let _lock = self.lock()?;
        self.repair_half_made()?;
        let folder = place.to_string_lossy().into_owned();
        // After a failed attempt the branch may exist.
        let has_branch = self.bare_git().commit(&format!("refs/heads/{}", record.branch))?.is_some();
        let mut args = vec!["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", BEING_MADE];
        if has_branch {
            args.extend([folder.as_str(), record.branch.as_str()]);
        } else {
            args.extend(["--no-track", "-b", &record.branch, &folder, start]);
        }
        self.git().run(&args)?;
        Ok(false)
    }

    fn add_clone(&self, record: &WorktreeRecord, start: &str) -> Result<(), WorktreeError> {
        let place = record.path.to_string_lossy().into_owned();
        let root = self.root().to_string_lossy().into_owned();
        self.bare_git().run(&[
            "clone",
            "--quiet",
            "--shared",
            "--no-checkout",
            "--no-tags",
            &root,
            &place,
        ])?;
        let own = GitFolder::new(&record.path);
        own.run(&["update-ref", &format!("refs/heads/{}", record.branch), start])?;
        own.run(&["symbolic-ref", "HEAD", &format!("refs/heads/{}", record.branch)])?;
        for (name, value) in [("gc.auto", "0"), ("maintenance.auto", "false")] {
            own.run(&["config", name, value])?;
        }
        for name in ["user.name", "user.email"] {
            let value = self.git().output(&["config", "--get", name])?;
            let value = String::from_utf8_lossy(&value.stdout).trim().to_owned();
            if !value.is_empty() {
                own.run(&["config", name, &value])?;
            }
        }
        // So that the branch is seen in the main checkout from the start.
        self.bare_git().update_refs(&[format!("update refs/heads/{} {start}", record.branch)])?;
        Ok(())
    }

    /// Brings the commits of a clone home: its branch in the main repository becomes the same as in the clone.
    pub fn fetch_home(&self, record: &WorktreeRecord) -> Result<(), WorktreeError> {
        if record.kind != WorktreeKind::Clone || !exists(&record.path) {
            return Ok(());
        }
        self.clear_planted_refs(&record.branch)?;
        let own = self.task_git(record)?;
        let from = own.variable("GIT_DIR").unwrap_or_default();
        let refs = format!("+refs/heads/{0}:refs/heads/{0}", record.branch);
        let args = [
            "-c",
            "fetch.fsckObjects=true",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            &from,
            &refs,
        ];
        // From our own view of the clone: its settings can come from an agent.
        Ok(self.bare_git().run(&args)?)
    }

    /// Links, copies and commands of the settings. Returns the variables for processes in the worktree.
    fn prepare(
        &self,
        record: &WorktreeRecord,
        settings: &WorktreeSettings,
        commands: &[crate::settings::CommandRule],
        environment: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, WorktreeError> {
        let mut variables = BTreeMap::new();
        if let (Some(port), Some(rule)) = (record.port, settings.ports) {
            variables.insert("TRACKSIDE_PORT".to_owned(), port.to_string());
            variables.insert("TRACKSIDE_PORT_COUNT".to_owned(), rule.count.to_string());
        }
        for (name, folder) in &settings.caches {
            let folder = self.root().join(folder);
            fs::create_dir_all(&folder).at(&folder)?;
            variables.insert(name.clone(), folder.display().to_string());
        }
        let pairs =
            settings.copy.iter().map(|it| (it, false)).chain(settings.link.iter().map(|it| (it, true)));
        for (path, is_link) in pairs {
            let (from, to) = (self.root().join(path), record.path.join(path));
            if !exists(&from) || exists(&to) {
                continue;
            }
            // A link in the worktree can lead anywhere.
            let inside = path.ancestors().skip(1).map(|it| record.path.join(it));
            if inside.into_iter().any(|it| exists(&it) && !it.symlink_metadata().is_ok_and(|it| it.is_dir()))
            {
                continue;
            }
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).at(parent)?;
            }
            if is_link {
                std::os::unix::fs::symlink(&from, &to).at(&to)?;
            } else {
                fs::copy(&from, &to).map(|_| ()).at(&from)?;
            }
        }
        let mut environment = environment.clone();
        environment.extend(variables.clone());
        for rule in commands {
            let outcome = run_command(rule, &record.path, &environment, &self.data().join("tmp"))?;
            if !outcome.succeeded {
                let output = outcome.output.trim();
                let why = format!("the setup command `{}` failed ({}): {output}", rule.run, outcome.ending);
                return Err(WorktreeError::Unfit { path: self.root().to_owned(), why });
            }
        }
        Ok(variables)
    }

    /// The first of the ports of a worktree: a range that no other one has.
    fn free_port(&self, settings: &WorktreeSettings, place: &Path) -> Result<Option<u16>, WorktreeError> {
        let Some(rule) = settings.ports else { return Ok(None) };
        let taken: Vec<u16> = self
            .worktree_records()?
            .into_iter()
            .filter(|it| it.state != WorktreeState::Removed && it.path != place)
            .filter_map(|it| it.port)
            .collect();
        let free = (rule.from..=u16::MAX - rule.count + 1).step_by(usize::from(rule.count));
        match free.into_iter().find(|it| !taken.contains(it)) {
            Some(port) => Ok(Some(port)),
            None => {
                let why = format!("no range of {} ports from {} is free", rule.count, rule.from);
                Err(WorktreeError::Unfit { path: self.root().to_owned(), why })
            }
        }
    }

    /// Takes back the lock that says that a worktree is being made.
    pub(crate) fn unlock(&self, place: &Path) -> Result<(), WorktreeError> {
        match self.admin_of(place)? {
            Some(admin) => remove_file(&admin.join("locked")),
            None => Ok(()),
        }
    }

    /// Removes a worktree that was being made. It contains no work.
    pub(crate) fn discard_half_made(&self, place: &Path) -> Result<(), WorktreeError> {
        let _lock = self.lock()?;
        self.repair_half_made()?;
        self.discard(place)
    }

    /// Removes a worktree that contains no work. Call it under the lock.
    pub(crate) fn discard(&self, place: &Path) -> Result<(), WorktreeError> {
        if let Some(admin) = self.admin_of(place)? {
            fs::remove_dir_all(&admin).at(&admin)?;
        }
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(place),
            _ => Ok(()),
        }
    }

    /// Removes lock files that a killed git command left in a worktree. Call it only when no process works in it.
    pub fn clear_stale_locks(&self, place: &Path, branch: &str) -> Result<(), WorktreeError> {
        if let Some(admin) = self.admin_of(place)? {
            for name in ["index.lock", "HEAD.lock"] {
                remove_file(&admin.join(name))?;
            }
        }
        remove_file(&self.common().join("refs/heads").join(format!("{branch}.lock")))
    }

    /// The folder in which git keeps the state of a worktree.
    pub fn admin_folder(&self, place: &Path) -> Option<PathBuf> {
        self.admin_of(place).ok().flatten()
    }

    /// Whether the folder of a worktree is there and git works in it.
    pub fn is_usable(&self, record: &WorktreeRecord) -> Result<bool, WorktreeError> {
        let is_folder = |it: &Path| it.symlink_metadata().is_ok_and(|it| it.is_dir());
        let link = record.path.join(".git");
        if !is_folder(&record.path) || !exists(&link) {
            return Ok(false);
        }
        if record.kind == WorktreeKind::Clone {
            return Ok(is_folder(&link) && self.task_head(record)?.is_some());
        }
        Ok(self.admin_of(&record.path)?.is_some())
    }

    /// Removes the worktree of a task and its branch. Unmerged work is saved first.
    pub fn remove_worktree(&self, request: &RemoveRequest) -> Result<RemoveOutcome, WorktreeError> {
        let place = self.place(&request.path)?;
        self.check_branch(&request.branch)?;
        let _lock = self.lock_worktree(&place)?;
        self.finish_removals_of(&place)?;
        self.clear_planted_refs(&request.branch)?;
        let record = self.worktree_record(&place)?;
        if let Some(record) = &record
            && (is_outdated(record, &request.made_for)
                || (record.made_for == request.made_for && record.state == WorktreeState::Ready))
        {
            return Ok(RemoveOutcome::Outdated);
        }
        let saved =
            self.remove_content(&place, &request.branch, record.as_ref(), &request.made_for, false)?;
        Ok(RemoveOutcome::Removed { saved })
    }

    pub(crate) fn remove_content(
        &self,
        place: &Path,
        branch: &str,
        record: Option<&WorktreeRecord>,
        made_for: &RequestOrigin,
        keep_branch: bool,
    ) -> Result<Option<String>, WorktreeError> {
        let path = place.strip_prefix(self.root()).unwrap_or(place).to_string_lossy().into_owned();
        let removal = LoggedRemoval {
            request: RemoveRequest { path, branch: branch.to_owned(), made_for: made_for.clone() },
            trash: new_trash_id(branch),
            entity: record.and_then(|it| it.entity.clone()),
        };
        let kind = if keep_branch { "clear" } else { "remove" };
        let mut operation = LoggedOperation::begin(&self.steps(), kind, &removal, &self.hook)?;
        let result = self.remove_steps(&mut operation, &removal, keep_branch);
        operation.conclude(result)
    }

    pub(crate) fn remove_steps(
        &self,
        operation: &mut LoggedOperation,
        removal: &LoggedRemoval,
        keep_branch: bool,
    ) -> Result<Option<String>, WorktreeError> {
        let LoggedRemoval { request, trash, entity } = removal;
        let place = self.place(&request.path)?;
        let record = self.worktree_record(&place)?;
        let kept = kept_folder(&place, trash);
        let settings = self.settings()?;
        let rules = IgnoredRules {
            limit: settings.trash.ignored_mib.saturating_mul(1 << 20),
            discard: settings.trash.discard.clone(),
            copies: settings.copy.iter().map(|it| (it.clone(), self.root().join(it))).collect(),
        };
        let retention =
            jiff::SignedDuration::try_from(settings.trash.kept_for()).unwrap_or(jiff::SignedDuration::MAX);
        let save_request =
            SaveRequest { id: trash, path: &place, entity: entity.as_deref(), retention, rules: &rules };
        let is_clone = record.as_ref().is_some_and(|it| it.kind == WorktreeKind::Clone)
            && [&place, &kept].iter().any(|it| it.join(".git").is_dir());
        let folders = |place: &Path| -> Result<Option<CheckoutFolders>, WorktreeError> {
            let admin = match is_clone {
                true => Some(place.join(".git")),
                false => self.admin_of(&removal_place(self, request)?)?,
            };
            let branch = request.branch.clone();
            Ok(admin.map(|admin| CheckoutFolders { place: place.to_owned(), admin, branch, is_clone }))
        };
        operation.step("save", || {
            match folders(&place)? {
                Some(folders) => save(self, &folders, &save_request).map(|_| ()),
                // Nothing of git is left for it. The branch alone can still have commits.
                None => self.save_branch(&save_request, &request.branch),
            }
        })?;
        operation.step("move", || {
            if !exists(&place) {
                return Ok(());
            }
            let parent = kept.parent().unwrap_or(&kept);
            fs::create_dir_all(parent).at(parent)?;
            fs::rename(&place, &kept).at(&place)
        })?;
        let mut left = None;
        operation.step("verify", || {
            let Some(folders) = folders(&kept)? else { return Ok(()) };
            // A process that was still writing is cut off now, because the path has changed.
            for _ in 0..SAVES {
                match save(self, &folders, &save_request)? {
                    SaveResult::Nothing | SaveResult::Unchanged(_) => return Ok(()),
                    SaveResult::Saved(_) => {}
                }
            }
            let why = format!("its files keep changing. They are in {}", kept.display());
            Err(WorktreeError::NotSaved { path: place.clone(), why })
        })?;
        operation.step("forget", || {
            let _lock = self.lock()?;
            if let Some(admin) = self.admin_of(&place)? {
                let modules = admin.join("modules");
                if modules.is_dir() {
                    let to = kept.join(".git-modules");
                    fs::rename(&modules, &to).at(&modules)?;
                    left = Some(to);
                }
                fs::remove_dir_all(&admin).at(&admin)?;
            }
            Ok(())
        })?;
        operation.step("branch", || {
            // The folder is gone, so no process works on the branch.
            self.clear_stale_locks(&place, &request.branch)?;
            if keep_branch { Ok(()) } else { self.delete_branch(&request.branch) }
        })?;
        let saved = crate::trash::find_saved_work(self, trash)?;
        operation.step("delete", || {
            let stays = saved.as_ref().map(|it| it.left.clone()).unwrap_or_default();
            // Without git's data the changes are unknown: the whole folder stays in its new place.
            if stays.contains(Path::new(".")) {
                return Ok(());
            }
            let mut stays: Vec<PathBuf> = stays.into_iter().collect();
            if kept.join(".git-modules").exists() {
                stays.push(PathBuf::from(".git-modules"));
            }
            delete_except(&kept, Path::new(""), &stays)
        })?;
        operation.step("removed", || {
            let mut record = record.unwrap_or_default();
            record.path.clone_from(&place);
            record.branch.clone_from(&request.branch);
            record.state = WorktreeState::Removed;
            record.admin = None;
            record.made_for = request.made_for.clone();
            self.save_record(&record)
        })?;
        Ok(saved.map(|it| it.id))
    }

    /// Saves the commits of a branch without a worktree, and the folder if there is one.
    fn save_branch(&self, request: &SaveRequest<'_>, branch: &str) -> Result<(), WorktreeError> {
        crate::trash::save_without_checkout(self, request, branch)
    }

    /// Deletes a branch and its base. Its commits are saved by then.
    fn delete_branch(&self, branch: &str) -> Result<(), WorktreeError> {
        let git = self.bare_git();
        let mut lines = Vec::new();
        for name in [format!("refs/heads/{branch}"), base_ref(branch)] {
            if let Some(commit) = git.commit(&name)? {
                lines.push(format!("delete {name} {commit}"));
            }
        }
        if !lines.is_empty() {
            git.update_refs(&lines)?;
        }
        Ok(())
    }

    /// Writes the files of a worktree that contains no work yet. What an agent committed passes no filter of the owner.
    fn checkout(&self, record: &WorktreeRecord, start: &str, is_merged: bool) -> Result<(), WorktreeError> {
        let own = GitFolder::new(&record.path);
        let own = if is_merged { own } else { self.without_filters(own)? };
        Ok(own.run(&["reset", "--hard", "--quiet", start])?)
    }

    fn check_branch(&self, branch: &str) -> Result<(), WorktreeError> {
        if self.bare_git().succeeds(&["check-ref-format", "--branch", branch])? {
            return Ok(());
        }
        Err(WorktreeError::Request(format!("{branch:?} cannot be the name of a branch: use another id")))
    }

    pub(crate) fn lock_worktree(&self, place: &Path) -> Result<FileLock, WorktreeError> {
        FileLock::wait(&self.record_folder().join(format!("{}.lock", record_name(place, self.root()))))
    }
}

fn removal_place(repository: &Repository, request: &RemoveRequest) -> Result<PathBuf, WorktreeError> {
    repository.place(&request.path)
}

fn is_outdated(record: &WorktreeRecord, request: &RequestOrigin) -> bool {
    record.made_for.origin == request.origin && request.number < record.made_for.number
}

/// Deletes a folder but these paths in it.
fn delete_except(folder: &Path, relative: &Path, stays: &[PathBuf]) -> Result<(), WorktreeError> {
    let full = folder.join(relative);
    if !exists(&full) || stays.iter().any(|it| !relative.as_os_str().is_empty() && relative.starts_with(it)) {
        return Ok(());
    }
    let is_dir = full.symlink_metadata().at(&full)?.is_dir();
    if !is_dir {
        return fs::remove_file(&full).at(&full);
    }
    if relative.as_os_str().is_empty() && !stays.is_empty() || stays.iter().any(|it| it.starts_with(relative))
    {
        for entry in fs::read_dir(&full).at(&full)? {
            delete_except(folder, &relative.join(entry.at(&full)?.file_name()), stays)?;
        }
        return Ok(());
    }
    if fs::remove_dir_all(&full).is_err() {
        // Tools write-protect folders of their caches.
        make_writable(&full);
        fs::remove_dir_all(&full).at(&full)?;
    }
    Ok(())
}

fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
