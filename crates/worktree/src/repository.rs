//! A repository: where it is, whether it can be used, and its lock.

use std::path::{Path, PathBuf};

use crate::checkout_git::is_file;
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{FileLock, exists, write_file};
use crate::git::{GitError, GitFolder};
use crate::record::WorktreeState;
use crate::settings::{RequestedSettings, WorktreeSettings};
use crate::step_log::StepHook;

/// Branches from which a missing integration branch is created, in this order.
const ORIGINS: [&str; 3] = ["refs/heads/main", "refs/heads/master", "HEAD"];
/// The oldest git that merges without a working tree.
const OLDEST: (u32, u32) = (2, 38);
/// The reason with which a worktree is locked while it is being made.
pub(crate) const BEING_MADE: &str = "trackside: being made";

/// A repository with a main checkout.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    common: PathBuf,
    pub(crate) hook: StepHook,
    pub(crate) requested: RequestedSettings,
}

/// A worktree as git lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedWorktree {
    pub path: PathBuf,
    /// Without `refs/heads/`; none if it is detached.
    pub branch: Option<String>,
    pub locked: Option<String>,
}

impl Repository {
    /// Opens the repository that contains a folder. A linked worktree belongs to the repository of its main checkout.
    pub fn open(folder: &Path) -> Result<Self, WorktreeError> {
        let unfit = |why: String| WorktreeError::Unfit { path: folder.to_owned(), why };
        let git = GitFolder::new(folder);
        let version = git.text(&["version"])?;
        if !is_recent(&version) {
            return Err(unfit(format!(
                "it needs git {}.{} or newer, and this is {version}",
                OLDEST.0, OLDEST.1
            )));
        }
        let asked =
            git.output(&["rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository"]);
        let output = asked?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(unfit(format!("{why}. Run git init, or name another folder with --repo")));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let common = PathBuf::from(lines.next().unwrap_or_default());
        // The main checkout is listed first. In a worktree of a bare repository this is the repository itself.
        let first = git.lines(&["worktree", "list", "--porcelain"]);
        let first = match first {
            Ok(lines) => lines,
            Err(error) if error.says("commondir") || error.says("gitdir") => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let is_bare = lines.next() == Some("true")
            || first.iter().take_while(|it| !it.is_empty()).any(|it| it == "bare");
        if is_bare {
            return Err(unfit(
                "it is bare: worktrees need a main checkout. Clone it, and use the clone".to_owned(),
            ));
        }
        let root = match first.first().and_then(|it| it.strip_prefix("worktree ")) {
            // With `--separate-git-dir` git lists the folder of the repository.
            Some(path) if Path::new(path) != common => PathBuf::from(path),
            _ if common.ends_with(".git") => common.parent().unwrap_or(&common).to_owned(),
            _ => PathBuf::from(git.text(&["rev-parse", "--show-toplevel"])?),
        };
        Ok(Self { root, common, hook: StepHook::default(), requested: RequestedSettings::default() })
    }

    /// With a hook into every step. For tests.
    #[must_use]
    pub fn with_hook(mut self, hook: StepHook) -> Self {
        self.hook = hook;
        self
    }

    /// With the settings that a request names. Those in the repository's own file come first.
    #[must_use]
    pub fn with_settings(mut self, requested: RequestedSettings) -> Self {
        self.requested = requested;
        self
    }

    /// The settings of the repository's file, completed by those of the request.
    pub fn settings(&self) -> Result<WorktreeSettings, WorktreeError> {
        WorktreeSettings::read(&self.root, &self.requested)
    }

    /// The main checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that all worktrees share.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// Commands in the main checkout.
    pub fn git(&self) -> GitFolder {
        GitFolder::new(&self.root)
    }

    /// Commands that need no checkout. They work even if the main checkout is in an unusual state.
    pub(crate) fn bare_git(&self) -> GitFolder {
        GitFolder::new(&self.common).with("GIT_DIR", &self.common)
    }

    /// The folder for records, locks and logs.
    pub(crate) fn data(&self) -> PathBuf {
        self.common.join("trackside")
    }

    pub(crate) fn steps(&self) -> PathBuf {
        self.data().join("steps")
    }

    /// Takes the lock for commands that change the list of worktrees. Parallel ones fail.
    pub(crate) fn lock(&self) -> Result<FileLock, WorktreeError> {
        FileLock::wait(&self.data().join("lock"))
    }

    /// The absolute path of a worktree. A relative path starts at the main checkout and may not leave it.
    pub(crate) fn place(&self, path: &str) -> Result<PathBuf, WorktreeError> {
        let refused = |why: &str| {
            Err(WorktreeError::Request(format!("{path:?} cannot be the path of a worktree: {why}")))
        };
        let given = Path::new(path);
        if path.is_empty() || given.components().any(|it| matches!(it, std::path::Component::ParentDir)) {
            return refused("it is empty or contains `..`");
        }
        let place = self.root.join(given);
        if place == self.root || self.root.starts_with(&place) || place.starts_with(&self.common) {
            return refused("the main checkout is there");
        }
        Ok(place)
    }

    /// Checks that worktrees can be made, and returns the commit of the integration branch. A missing integration branch
    /// is created.
    pub fn check_fitness(&self, integration: &str) -> Result<String, WorktreeError> {
        let unfit = |why: String| WorktreeError::Unfit { path: self.root.clone(), why };
        let git = self.bare_git();
        let data = self.data();
        std::fs::create_dir_all(&data)
            .map_err(|it| unfit(format!("{} cannot be written: {it}", data.display())))?;
        drop(self.lock().map_err(|it| unfit(it.to_string()))?);
        let branch = format!("refs/heads/{integration}");
        if !git.succeeds(&["check-ref-format", &branch])? {
            return Err(unfit(format!(
                "{integration:?} cannot be the name of a branch: change the setting of the pack"
            )));
        }
        if let Some(commit) = git.commit(&branch)? {
            return Ok(commit);
        }
        for origin in ORIGINS {
            let Some(commit) = git.commit(origin)? else { continue };
            // Another process may create it at the same moment.
            let made = git.update_refs(&[format!("create {branch} {commit}")]);
            return match (git.commit(&branch)?, made) {
                (Some(commit), _) => Ok(commit),
                (None, Err(error)) => {
                    Err(unfit(format!("the branch {integration} cannot be created: {error}")))
                }
                (None, Ok(())) => Err(unfit(format!("the branch {integration} has no commit"))),
            };
        }
        Err(unfit("it has no commit. Commit something first".to_owned()))
    }

    /// The worktrees, the main checkout first.
    pub fn worktrees(&self) -> Result<Vec<ListedWorktree>, GitError> {
        let listed = self.git().bytes(&["worktree", "list", "--porcelain", "-z"])?;
        let mut found: Vec<ListedWorktree> = Vec::new();
        for line in listed.split(|it| *it == 0) {
            let line = String::from_utf8_lossy(line);
            let (key, value) = line.split_once(' ').unwrap_or((&line, ""));
            if key == "worktree" {
                found.push(ListedWorktree { path: PathBuf::from(value), ..ListedWorktree::default() });
            } else if let Some(last) = found.last_mut() {
                match key {
                    "branch" => {
                        last.branch = Some(value.strip_prefix("refs/heads/").unwrap_or(value).to_owned())
                    }
                    "locked" => last.locked = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// The folder in which git keeps the state of the worktree at this path; none if there is none.
    /// An agent can change what its own folder there says, so the record of a worktree decides.
    pub(crate) fn admin_of(&self, place: &Path) -> Result<Option<PathBuf>, WorktreeError> {
        let folder = self.common.join("worktrees");
        let recorded = self.worktree_record(place)?.filter(|it| it.state != WorktreeState::Removed);
        if let Some(name) = recorded.and_then(|it| it.admin) {
            let admin = folder.join(name);
            return Ok(admin.is_dir().then_some(admin));
        }
        let mut found = self.claimed_admin(&folder, place)?;
        if !found.is_empty() {
            let others = self.recorded_admins()?;
            found.retain(|it| !others.contains(it));
        }
        Ok(found.into_iter().next())
    }

    /// The folders of git that belong to worktrees with a record.
    pub(crate) fn recorded_admins(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let folder = self.common.join("worktrees");
        let living = self.worktree_records()?.into_iter().filter(|it| it.state != WorktreeState::Removed);
        Ok(living.filter_map(|it| Some(folder.join(it.admin?))).collect())
    }

    /// The folders that say that they belong to the worktree at this path.
    fn claimed_admin(&self, folder: &Path, place: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
        let mut claimed = Vec::new();
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(claimed),
            Err(error) => return Err(error).at(folder),
        };
        for entry in entries {
            let admin = entry.at(folder)?.path();
            let Some(found) = claimed_place(&admin) else { continue };
            if found == place || (exists(&found) && found.canonicalize().ok() == place.canonicalize().ok()) {
                claimed.push(admin);
            }
        }
        Ok(claimed)
    }

    /// Removes half-made worktrees of killed processes. Until then, many git commands fail in this repository. Call it
    /// under the lock.
    pub(crate) fn repair_half_made(&self) -> Result<usize, WorktreeError> {
        let folder = self.common.join("worktrees");
        let mut repaired = 0;
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let admin = entry.path();
            let half = std::fs::read(admin.join("commondir")).map_or(true, |it| it.is_empty());
            // An agent cannot have worked in it: it has no HEAD that git can read.
            if half && admin.is_dir() && !admin.join("logs/HEAD").exists() {
                std::fs::remove_dir_all(&admin).at(&admin)?;
                repaired += 1;
            }
        }
        Ok(repaired)
    }

    /// Keeps the worktrees out of the status of the main checkout.
    pub(crate) fn ignore_folder(&self, place: &Path) -> Result<(), WorktreeError> {
        let Some(folder) = place.strip_prefix(&self.root).ok().and_then(Path::parent).and_then(Path::to_str)
        else {
            return Ok(());
        };
        // Without a folder of its own, the worktree itself is ignored.
        let folder = if folder.is_empty() {
            place.file_name().unwrap_or_default().to_string_lossy().into_owned()
        } else {
            folder.to_owned()
        };
        let line = format!("/{folder}/");
        let path = self.common.join("info/exclude");
        // Two processes that read the same text would keep one line of two.
        let _only = FileLock::wait(&self.common.join("trackside/exclude.lock"))?;
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.lines().any(|it| it == line) {
            return Ok(());
        }
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        write_file(&path, format!("{text}{separator}{line}\n").as_bytes())
    }
}

/// The folder that a worktree's state says it belongs to.
pub(crate) fn claimed_place(admin: &Path) -> Option<PathBuf> {
    let path = admin.join("gitdir");
    let text = if is_file(&path) { std::fs::read_to_string(path).ok()? } else { return None };
    // Absolute, or relative to the folder itself.
    Some(admin.join(text.trim_end_matches('\n')).parent()?.to_owned())
}

fn is_recent(version: &str) -> bool {
    let mut numbers =
        version.split_whitespace().nth(2).unwrap_or_default().split('.').map_while(|it| it.parse().ok());
    let found: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    found >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_ignored_at_once_are_all_ignored() {
        let root = std::env::temp_dir().join(format!("trackside-exclude-{}", crate::files::random_id()));
        let made = std::process::Command::new("git").args(["init", "-q"]).arg(&root).status().unwrap();
        assert!(made.success());
        let repository = Repository::open(&root).unwrap();
        std::thread::scope(|scope| {
            for number in 0..16 {
                let repository = &repository;
                scope.spawn(move || {
                    repository
                        .ignore_folder(&repository.root().join(format!("folder-{number}/T-1")))
                        .unwrap();
                });
            }
        });
        let text = std::fs::read_to_string(root.join(".git/info/exclude")).unwrap();
        let missing: Vec<u32> =
            (0..16).filter(|it| !text.lines().any(|line| line == format!("/folder-{it}/"))).collect();
        assert!(missing.is_empty(), "{missing:?} are missing in:\n{text}");
        std::fs::remove_dir_all(root).unwrap();
    }
}
