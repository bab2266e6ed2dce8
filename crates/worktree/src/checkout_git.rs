//! Git in the checkout of a task, which an agent can change.
//!
//! The link of the checkout to the repository, its HEAD, its index and the settings of a clone can come from the agent.
//! Settings and attributes make git run programs. So git gets a private folder here, with the settings of the owner's
//! repository, and reads only commits, refs, the index and files of the checkout.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{AtPath as _, WorktreeError};
use crate::files::{exists, random_id, remove_file};
use crate::git::GitFolder;
use crate::record::WorktreeRecord;
use crate::repository::Repository;
use crate::settings::WorktreeKind;
use crate::snapshot::CheckoutFolders;
use crate::step_log::now_as_name;
use crate::trash::kept_folder;

/// The longest time of one git command. A pipe in place of a file would stop it for ever.
const LIMIT: Duration = Duration::from_secs(600);
/// The largest HEAD file that is read.
const LONGEST_HEAD: u64 = 4_096;
/// Files below a checkout that git opens without a look at their kind.
const OPENED: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
/// Filters whose programs run nothing that is in the checkout.
const KNOWN_FILTERS: [&str; 2] = ["git-lfs", "git-crypt"];

/// A private folder, removed with its last user.
#[derive(Debug)]
pub(crate) struct RemovedFolder(pub PathBuf);

impl Drop for RemovedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Repository {
    /// Git in the worktree of a task. It changes nothing there.
    pub fn task_git(&self, record: &WorktreeRecord) -> Result<GitFolder, WorktreeError> {
        self.checkout_git(&self.checkout_folders(record)?)
    }

    /// The commit that is checked out in the worktree of a task.
    pub fn task_head(&self, record: &WorktreeRecord) -> Result<Option<String>, WorktreeError> {
        Ok(self.task_git(record)?.commit("HEAD")?)
    }

    fn checkout_folders(&self, record: &WorktreeRecord) -> Result<CheckoutFolders, WorktreeError> {
        let is_clone = record.kind == WorktreeKind::Clone;
        let admin = if is_clone { Some(record.path.join(".git")) } else { self.admin_of(&record.path)? };
        let unknown = || WorktreeError::Hold(format!("{} is no worktree of git", record.path.display()));
        Ok(CheckoutFolders {
            place: record.path.clone(),
            admin: admin.filter(|it| exists(it)).ok_or_else(unknown)?,
            branch: record.branch.clone(),
            is_clone,
        })
    }

    /// Git with a private folder that takes HEAD and index from a checkout, and nothing else.
    pub(crate) fn checkout_git(&self, folders: &CheckoutFolders) -> Result<GitFolder, WorktreeError> {
        let folder = self.data().join("tmp").join(format!("checkout-{}", random_id()));
        fs::create_dir_all(&folder).at(&folder)?;
        let scratch = Arc::new(RemovedFolder(folder.clone()));
        let head = folder.join("HEAD");
        fs::write(&head, read_head(&folders.admin, &folders.branch)).at(&head)?;
        if folders.is_clone {
            self.fill_clone(&folder, &folders.admin)?;
        } else {
            let common = folder.join("commondir");
            fs::write(&common, format!("{}\n", self.common().display())).at(&common)?;
        }
        let index = folders.admin.join("index");
        let index = if is_file(&index) { index } else { folder.join("index") };
        let is_there = is_dir(&folders.place);
        let mut git = GitFolder::new(if is_there { &folders.place } else { &folder })
            .with("GIT_DIR", &folder)
            .with("GIT_INDEX_FILE", index);
        if is_there {
            remove_pipes(&folders.place);
            git = git.with("GIT_WORK_TREE", &folders.place);
        }
        Ok(self.without_filters(git)?.with_limit(LIMIT).keeping(scratch))
    }

    /// The refs and objects of a clone beside settings of our own.
    fn fill_clone(&self, folder: &Path, admin: &Path) -> Result<(), WorktreeError> {
        let format = self.git().text(&["rev-parse", "--show-object-format"])?;
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = {format}\n"
        );
        let path = folder.join("config");
        fs::write(&path, config).at(&path)?;
        for name in ["objects", "refs", "logs", "packed-refs", "shallow"] {
            let (from, to) = (admin.join(name), folder.join(name));
            if is_dir(&from) || is_file(&from) {
                symlink(&from, &to).at(&to)?;
            } else if matches!(name, "objects" | "refs") {
                fs::create_dir_all(&to).at(&to)?;
            }
        }
        Ok(())
    }

    /// Without the filters of the owner's settings, but for those whose programs are known: a command such as
    /// `sh tools/clean.sh` would run a file of the checkout.
    pub(crate) fn without_filters(&self, git: GitFolder) -> Result<GitFolder, WorktreeError> {
        let pattern = r"^filter\..*\.(clean|smudge|process)$";
        let listed = self.git().output(&["config", "--null", "--get-regexp", pattern])?;
        let mut settings: Vec<(String, String)> = Vec::new();
        for entry in listed.stdout.split(|it| *it == 0).filter(|it| !it.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let (key, command) = entry.split_once('\n').unwrap_or((&entry, ""));
            let Some((filter, _)) = key.rsplit_once('.') else { continue };
            if self.is_known_filter(command) {
                continue;
            }
            settings.push((key.to_owned(), String::new()));
            settings.push((format!("{filter}.required"), "false".to_owned()));
        }
        Ok(git.with_settings(&settings))
    }

    fn is_known_filter(&self, command: &str) -> bool {
        if command.contains(|it: char| "|;&$`<>(){}\\\n".contains(it)) {
            return false;
        }
        let mut words = command.split_whitespace().map(|it| it.trim_matches(['"', '\'']));
        let program = Path::new(words.next().unwrap_or_default());
        let is_elsewhere = program.components().count() == 1
            || (program.is_absolute() && !program.starts_with(self.root().join(".worktrees")));
        let name = program.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let name = match (name, words.next()) {
            ("git", Some(part)) => format!("git-{part}"),
            _ => name.to_owned(),
        };
        is_elsewhere && KNOWN_FILTERS.contains(&name.as_str())
    }

    /// Puts back the files with which git finds the repository of a worktree, so that its owner can use git in it. What
    /// was in their place is kept. Returns whether one was wrong. Call it when no process works in the worktree.
    pub fn restore_links(&self, record: &WorktreeRecord) -> Result<bool, WorktreeError> {
        if record.kind == WorktreeKind::Clone || !is_dir(&record.path) {
            return Ok(false);
        }
        let Some(admin) = self.admin_of(&record.path)? else { return Ok(false) };
        self.restore_links_of(&record.path, &admin)
    }

    pub(crate) fn restore_links_of(&self, place: &Path, admin: &Path) -> Result<bool, WorktreeError> {
        let link = place.join(".git");
        let mut was_wrong = false;
        if !exists(&link) {
            return Ok(false);
        }
        if !points_to(&link, "gitdir: ", place, admin) {
            let id = format!("{}-{}-{}", now_as_name(), "link", random_id());
            let kept = kept_folder(place, &id);
            fs::create_dir_all(&kept).at(&kept)?;
            fs::rename(&link, kept.join("git")).at(&link)?;
            fs::write(&link, format!("gitdir: {}\n", admin.display())).at(&link)?;
            was_wrong = true;
        }
        for (name, target, text) in [
            ("commondir", self.common().to_owned(), format!("{}\n", self.common().display())),
            ("gitdir", link.clone(), format!("{}\n", link.display())),
        ] {
            let path = admin.join(name);
            if !points_to(&path, "", admin, &target) {
                remove_planted(&path)?;
                fs::write(&path, text).at(&path)?;
                was_wrong = true;
            }
        }
        let own = admin.join("config.worktree");
        if exists(&own) && !self.is_plain_config(&own)? {
            remove_planted(&own)?;
            was_wrong = true;
        }
        Ok(was_wrong)
    }

    /// Whether the settings of a worktree are those that git itself writes for a sparse checkout.
    fn is_plain_config(&self, path: &Path) -> Result<bool, WorktreeError> {
        if !is_file(path) {
            return Ok(false);
        }
        let file = path.to_string_lossy();
        let listed = self.git().output(&[
            "config",
            "--file",
            &file,
            "--no-includes",
            "--null",
            "--name-only",
            "--list",
        ])?;
        let is_plain = |it: &[u8]| it.starts_with(b"core.sparsecheckout") || it == b"index.sparse";
        Ok(listed.status.success()
            && listed.stdout.split(|it| *it == 0).filter(|it| !it.is_empty()).all(is_plain))
    }

    /// Removes a branch file that leads elsewhere, and a log that is a link: git would write to their targets.
    pub(crate) fn clear_planted_refs(&self, branch: &str) -> Result<(), WorktreeError> {
        let name = Path::new("refs/heads").join(branch);
        let path = self.common().join(&name);
        let is_planted = match path.symlink_metadata() {
            Ok(found) if found.is_dir() => false,
            Ok(found) if found.is_file() => read_start(&path).starts_with("ref:"),
            Ok(_) => true,
            Err(_) => false,
        };
        if is_planted {
            remove_file(&path)?;
        }
        let log = self.common().join("logs").join(&name);
        match log.symlink_metadata() {
            Ok(found) if !found.is_file() && !found.is_dir() => remove_file(&log),
            _ => Ok(()),
        }
    }
}

/// Whether something is a file and not a link or a pipe.
pub(crate) fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_file())
}

fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

fn read_start(path: &Path) -> String {
    let mut bytes = Vec::new();
    if is_file(path)
        && let Ok(file) = fs::File::open(path)
    {
        let _ = file.take(LONGEST_HEAD).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The HEAD of a checkout. One that names no commit and no branch counts as the branch of the task.
fn read_head(admin: &Path, branch: &str) -> String {
    let text = read_start(&admin.join("HEAD"));
    let line = text.trim_end();
    let is_branch = line.strip_prefix("ref: refs/").is_some_and(|it| {
        !it.is_empty() && !it.contains("..") && !it.contains(|it: char| it.is_control() || it == ' ')
    });
    if is_branch || crate::git::is_object_id(line) {
        return format!("{line}\n");
    }
    format!("ref: refs/heads/{branch}\n")
}

/// Whether a file contains, after a prefix, a path that leads to the target.
fn points_to(file: &Path, prefix: &str, folder: &Path, target: &Path) -> bool {
    let text = read_start(file);
    let Some(path) = text.strip_prefix(prefix) else { return false };
    let path = folder.join(path.trim_end_matches('\n'));
    path == target || matches!((path.canonicalize(), target.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn remove_planted(path: &Path) -> Result<(), WorktreeError> {
    if is_dir(path) { fs::remove_dir_all(path).at(path) } else { remove_file(path) }
}

/// Removes pipes that git would open. They have no content.
fn remove_pipes(place: &Path) {
    let mut open = vec![place.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_fifo() && OPENED.iter().any(|it| entry.file_name() == *it) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
