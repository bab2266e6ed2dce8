//! The whole content of a checkout as objects: staged, unstaged, untracked and ignored files, and commits that no ref
//! reaches. The checkout and its index stay byte for byte as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkout_git::is_file;
use crate::error::{AtPath as _, WorktreeError};
use crate::files::{exists, random_id};
use crate::git::{GitFolder, is_object_id};
use crate::repository::Repository;

/// Files of git's own folder that name no commit, or that are too large to search.
const NOT_SEARCHED: [&str; 7] = ["objects", "hooks", "modules", "lfs", "index", "config", "info"];
const LARGEST_SEARCHED: u64 = 64 << 20;

/// A checkout to save.
#[derive(Clone, Debug)]
pub(crate) struct CheckoutFolders {
    /// The files. The folder may be gone.
    pub place: PathBuf,
    /// The state that git keeps for the checkout: its index, HEAD and logs.
    pub admin: PathBuf,
    /// The branch that goes with it, without `refs/heads/`.
    pub branch: String,
    /// A clone has its own refs and objects.
    pub is_clone: bool,
}

/// Which ignored files are saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IgnoredRules {
    /// Bytes of one ignored file or folder that are stored. A larger one is moved aside instead.
    pub limit: u64,
    /// Names of files and folders that can be made again.
    pub discard: Vec<String>,
    /// Copies of files of the main checkout, by path. They are saved only if they differ.
    pub copies: BTreeMap<PathBuf, PathBuf>,
}

/// The content of a checkout that no remaining ref reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkSnapshot {
    pub head: Option<String>,
    pub branch: Option<String>,
    /// The tree of the files.
    pub work: Option<String>,
    /// The tree of the index.
    pub index: Option<String>,
    /// A tree with the sides of unmerged files, in folders named after their stage.
    pub unmerged: Option<String>,
    /// Commits that no ref reaches which stays.
    pub commits: Vec<String>,
    /// Paths that cannot be stored as objects: nested repositories and large ignored files.
    pub left: BTreeSet<PathBuf>,
    /// Ignored paths that can be made again.
    pub discarded: BTreeSet<PathBuf>,
}

impl WorkSnapshot {
    /// Whether anything would be lost with the checkout. `tree` is the tree of its HEAD.
    pub fn has_work(&self, tree: Option<&str>) -> bool {
        let differs = |it: &Option<String>| it.is_some() && it.as_deref() != tree;
        differs(&self.work)
            || differs(&self.index)
            || self.unmerged.is_some()
            || !self.commits.is_empty()
            || !self.left.is_empty()
    }
}

/// Stores the content of a checkout.
pub(crate) fn take_snapshot(
    repository: &Repository,
    folders: &CheckoutFolders,
    rules: &IgnoredRules,
) -> Result<WorkSnapshot, WorktreeError> {
    let git = repository.checkout_git(folders)?;
    let scratch = repository.data().join("tmp").join(random_id());
    fs::create_dir_all(&scratch).at(&scratch)?;
    let taken = SnapshotTaker { repository, folders, rules, git, scratch: &scratch }.take();
    let _ = fs::remove_dir_all(&scratch);
    taken
}

/// Commits that only a branch without a checkout and its log lead to.
pub(crate) fn commits_of_branch(
    repository: &Repository,
    folders: &CheckoutFolders,
) -> Result<Vec<String>, WorktreeError> {
    let rules = IgnoredRules { limit: 0, discard: Vec::new(), copies: BTreeMap::new() };
    let git = repository.bare_git();
    let taker = SnapshotTaker { repository, folders, rules: &rules, git, scratch: Path::new("") };
    let log = repository.common().join("logs/refs/heads").join(&folders.branch);
    taker.commits_named(&repository.bare_git(), &WorkSnapshot::default(), &log)
}

struct SnapshotTaker<'a> {
    repository: &'a Repository,
    folders: &'a CheckoutFolders,
    rules: &'a IgnoredRules,
    git: GitFolder,
    scratch: &'a Path,
}

impl SnapshotTaker<'_> {
    fn git(&self) -> GitFolder {
        self.git.clone()
    }

    fn take(&self) -> Result<WorkSnapshot, WorktreeError> {
        let git = self.git();
        let mut snapshot = WorkSnapshot { head: git.commit("HEAD")?, ..WorkSnapshot::default() };
        let branch = git.output(&["symbolic-ref", "--quiet", "HEAD"])?;
        if branch.status.success() {
            let name = String::from_utf8_lossy(&branch.stdout).trim().to_owned();
            snapshot.branch = name.strip_prefix("refs/heads/").map(str::to_owned);
        }
        let copy = self.scratch.join("index");
        let index = self.folders.admin.join("index");
        let copied = git.clone().with("GIT_INDEX_FILE", &copy);
        if is_file(&index) {
            // A copy keeps the times and sizes of files, so that unchanged ones need not be read.
            fs::copy(&index, &copy).at(&index)?;
            // Git reads a file again if it may have changed in the second in which the index was written. It knows that
            // second from the time of the index.
            let written = index.metadata().and_then(|it| it.modified()).at(&index)?;
            let file = fs::File::options().write(true).open(&copy).at(&copy)?;
            file.set_modified(written).at(&copy)?;
            snapshot.unmerged = self.take_unmerged(&copied)?;
            snapshot.index = Some(text_of(&copied.bytes(&["write-tree"])?));
        } else if snapshot.head.is_some() {
            copied.run(&["read-tree", "HEAD"])?;
        }
        if exists(&self.folders.place) {
            self.take_files(&copied, &mut snapshot)?;
            snapshot.work = Some(text_of(&copied.bytes(&["write-tree"])?));
        }
        snapshot.commits = self.commits(&git, &snapshot)?;
        Ok(snapshot)
    }

    /// Stores the sides of unmerged files and takes them out of the copied index.
    fn take_unmerged(&self, copied: &GitFolder) -> Result<Option<String>, WorktreeError> {
        let listed = copied.bytes(&["ls-files", "--unmerged", "-z"])?;
        let (mut sides, mut removals) = (Vec::new(), Vec::new());
        for line in records(&listed) {
            let Some((head, path)) = split_once(line, b'\t') else { continue };
            let head = String::from_utf8_lossy(head).into_owned();
            let mut words = head.split(' ');
            let (Some(mode), Some(object), Some(stage)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            sides.extend_from_slice(format!("{mode} {object}\tstage-{stage}/").as_bytes());
            sides.extend_from_slice(path);
            sides.push(0);
            removals.extend(removal(path, object.len()));
        }
        if sides.is_empty() {
            return Ok(None);
        }
        let other = self.git().with("GIT_INDEX_FILE", self.scratch.join("unmerged"));
        other.feed(&["update-index", "-z", "--index-info"], &sides)?;
        copied.feed(&["update-index", "-z", "--index-info"], &removals)?;
        Ok(Some(text_of(&other.bytes(&["write-tree"])?)))
    }

    /// Brings the files into the copied index as they are on the disk, without any filter.
    fn take_files(&self, copied: &GitFolder, snapshot: &mut WorkSnapshot) -> Result<(), WorktreeError> {
        self.clear_flags(copied)?;
        let nested = self.nested_repositories()?;
        snapshot.left.extend(nested.iter().cloned());
        let (mut changes, mut stored) = (Vec::new(), Vec::new());
        let listed =
            // Not a look into nested repositories: their settings can come from an agent.
            copied.bytes(&["diff-files", "--raw", "--no-renames", "--ignore-submodules=dirty", "-z"])?;
        let mut parts = records(&listed);
        let length = snapshot.head.as_ref().map_or(40, String::len);
        while let (Some(_), Some(path)) = (parts.next(), parts.next()) {
            let relative = PathBuf::from(OsStr::from_bytes(path));
            if nested.iter().any(|it| relative.starts_with(it)) || !is_inside(&relative) {
                continue;
            }
            let found = self.folders.place.join(&relative).symlink_metadata();
            changes.extend(removal(path, length));
            // A path behind a link or a file is gone: git follows no links.
            if found.is_ok_and(|it| !it.is_dir()) && !self.is_behind_link(&relative) {
                stored.push(relative);
            }
        }
        stored.extend(self.untracked(copied, &nested, snapshot)?);
        changes.extend(self.store(&stored)?);
        copied.feed(&["update-index", "-z", "--index-info"], &changes)?;
        Ok(())
    }

    fn is_behind_link(&self, relative: &Path) -> bool {
        relative
            .ancestors()
            .skip(1)
            .filter(|it| !it.as_os_str().is_empty())
            .any(|it| self.folders.place.join(it).symlink_metadata().is_ok_and(|found| !found.is_dir()))
    }

    /// Clears the flags with which an index hides changes of files.
    fn clear_flags(&self, copied: &GitFolder) -> Result<(), WorktreeError> {
        let listed = copied.bytes(&["ls-files", "-v", "-z"])?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for line in records(&listed) {
            let Some((tag, path)) = split_once(line, b' ') else { continue };
            let Some(tag) = tag.first() else { continue };
            let is_here = || exists(&self.folders.place.join(OsStr::from_bytes(path)));
            if tag.is_ascii_lowercase() {
                assumed.extend_from_slice(path);
                assumed.push(0);
            }
            if tag.eq_ignore_ascii_case(&b'S') && is_here() {
                skipped.extend_from_slice(path);
                skipped.push(0);
            }
        }
        for (flag, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
            if !paths.is_empty() {
                copied.feed(&["update-index", flag, "-z", "--stdin"], &paths)?;
            }
        }
        // Its exit code says only that files have changed.
        copied.output(&["update-index", "-q", "--refresh"])?;
        Ok(())
    }

    /// Folders inside the checkout that are repositories of their own.
    fn nested_repositories(&self) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let place = &self.folders.place;
        let (mut found, mut open) = (BTreeSet::new(), vec![PathBuf::new()]);
        while let Some(folder) = open.pop() {
            let full = place.join(&folder);
            for entry in fs::read_dir(&full).at(&full)? {
                let entry = entry.at(&full)?;
                let is_git = entry.file_name() == ".git";
                if is_git && folder.as_os_str().is_empty() {
                    continue;
                }
                if is_git {
                    found.insert(folder.clone());
                } else if entry.file_type().at(&full)?.is_dir() {
                    let name = folder.join(entry.file_name());
                    if !self.rules.is_discarded(&name) {
                        open.push(name);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Untracked files that are stored, ignored ones among them.
    fn untracked(
        &self,
        copied: &GitFolder,
        nested: &BTreeSet<PathBuf>,
        snapshot: &mut WorkSnapshot,
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let is_nested = |it: &Path| nested.iter().any(|outer| it.starts_with(outer));
        let mut stored = Vec::new();
        let listed = copied.bytes(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        for path in records(&listed) {
            let relative = PathBuf::from(OsStr::from_bytes(path));
            if path.ends_with(b"/") {
                snapshot.left.insert(relative);
            } else if !is_nested(&relative) && is_inside(&relative) {
                stored.push(relative);
            }
        }
        let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        for path in records(&copied.bytes(&ignored)?) {
            let relative = PathBuf::from(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)));
            if self.rules.is_discarded(&relative) {
                snapshot.discarded.insert(relative);
                continue;
            }
            if is_nested(&relative) || !is_inside(&relative) || self.is_same_as_source(&relative) {
                continue;
            }
            let mut files = Vec::new();
            let mut size = 0;
            self.walk(&relative, nested, &mut files, &mut size, snapshot)?;
            if size > self.rules.limit {
                snapshot.left.insert(relative);
            } else {
                stored.extend(files);
            }
        }
        Ok(stored)
    }

    fn walk(
        &self,
        relative: &Path,
        nested: &BTreeSet<PathBuf>,
        files: &mut Vec<PathBuf>,
        size: &mut u64,
        snapshot: &mut WorkSnapshot,
    ) -> Result<(), WorktreeError> {
        if nested.contains(relative) {
            return Ok(());
        }
        let full = self.folders.place.join(relative);
        let found = full.symlink_metadata().at(&full)?;
        if !found.is_dir() {
            *size += found.len();
            files.push(relative.to_owned());
            return Ok(());
        }
        for entry in fs::read_dir(&full).at(&full)? {
            let name = relative.join(entry.at(&full)?.file_name());
            if self.rules.is_discarded(&name) {
                snapshot.discarded.insert(name);
            } else {
                self.walk(&name, nested, files, size, snapshot)?;
            }
        }
        Ok(())
    }

    /// Whether a file is an unchanged copy of one in the main checkout.
    fn is_same_as_source(&self, relative: &Path) -> bool {
        let Some(source) = self.rules.copies.get(relative) else { return false };
        let copy = self.folders.place.join(relative);
        is_file(&copy)
            && is_file(source)
            && matches!((fs::read(copy), fs::read(source)), (Ok(copy), Ok(source)) if copy == source)
    }

    /// Stores files as they are. Returns the lines that add them to an index.
    fn store(&self, paths: &[PathBuf]) -> Result<Vec<u8>, WorktreeError> {
        let git = self.git();
        let mut lines = Vec::new();
        let mut add = |mode: &str, object: &str, path: &Path| {
            lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        };
        let (mut together, mut input) = (Vec::new(), Vec::new());
        for path in paths {
            let full = self.folders.place.join(path);
            let found = full.symlink_metadata().at(&full)?;
            if found.is_symlink() {
                let target = fs::read_link(&full).at(&full)?;
                let object = git.feed(&["hash-object", "-w", "--stdin"], target.as_os_str().as_bytes())?;
                add("120000", &text_of(&object), path);
            } else if found.is_file() {
                let mode = if found.permissions().mode() & 0o100 == 0 { "100644" } else { "100755" };
                if full.as_os_str().as_bytes().contains(&b'\n') {
                    let content = fs::read(&full).at(&full)?;
                    let object = git.feed(&["hash-object", "-w", "--stdin"], &content)?;
                    add(mode, &text_of(&object), path);
                } else {
                    let _ = input.write_all(full.as_os_str().as_bytes());
                    input.push(b'\n');
                    together.push((mode, path));
                }
            }
            // A pipe or a socket has no content.
        }
        if !together.is_empty() {
            let objects = git.feed(&["hash-object", "-w", "--no-filters", "--stdin-paths"], &input)?;
            let objects = String::from_utf8_lossy(&objects).into_owned();
            let objects: Vec<&str> = objects.lines().collect();
            if objects.len() != together.len() {
                let why = format!("git stored {} of {} files", objects.len(), together.len());
                return Err(WorktreeError::NotSaved { path: self.folders.place.clone(), why });
            }
            for ((mode, path), object) in together.into_iter().zip(objects) {
                add(mode, object, path);
            }
        }
        Ok(lines)
    }

    /// Commits that only this checkout or its branch leads to.
    fn commits(&self, git: &GitFolder, snapshot: &WorkSnapshot) -> Result<Vec<String>, WorktreeError> {
        self.commits_named(git, snapshot, &self.folders.admin)
    }

    fn commits_named(
        &self,
        git: &GitFolder,
        snapshot: &WorkSnapshot,
        state: &Path,
    ) -> Result<Vec<String>, WorktreeError> {
        let mut named: BTreeSet<String> = snapshot.head.iter().cloned().collect();
        let branch = format!("refs/heads/{}", self.folders.branch);
        named.extend(git.commit(&branch)?);
        objects_named_in(state, &mut named);
        for branch in [Some(&self.folders.branch), snapshot.branch.as_ref()].into_iter().flatten() {
            objects_named_in(&self.repository.common().join("logs/refs/heads").join(branch), &mut named);
            named.extend(self.stashed(git, branch)?);
        }
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let asked: String = named.iter().map(|it| format!("{it}\n")).collect();
        let types = git.feed(&["cat-file", "--batch-check=%(objectname) %(objecttype)"], asked.as_bytes())?;
        let types = String::from_utf8_lossy(&types).into_owned();
        let commits: BTreeSet<&str> = types.lines().filter_map(|it| it.strip_suffix(" commit")).collect();
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        // Refs that stay. That of the branch and that of its base go.
        let base = base_ref(&self.folders.branch);
        let refs =
            self.repository.bare_git().lines(&["for-each-ref", "--format=%(objectname) %(refname)"])?;
        let staying = refs.iter().filter_map(|it| {
            let (object, name) = it.split_once(' ')?;
            (name != branch && name != base).then_some(object)
        });
        let mut input: String = commits.iter().map(|it| format!("{it}\n")).collect();
        input.extend(staying.map(|it| format!("^{it}\n")));
        let unreached = git.feed(&["rev-list", "--stdin", "--ignore-missing"], input.as_bytes())?;
        let unreached = String::from_utf8_lossy(&unreached).into_owned();
        let lost: Vec<&str> = unreached.lines().filter(|it| commits.contains(it)).collect();
        let mut tips: Vec<String> = match lost.len() {
            2..=40 => {
                let args: Vec<&str> =
                    ["merge-base", "--independent"].into_iter().chain(lost.iter().copied()).collect();
                git.lines(&args)?
            }
            _ => lost.iter().map(|it| (*it).to_owned()).collect(),
        };
        tips.sort();
        Ok(tips)
    }

    /// The stash is shared by all worktrees: those of a branch name it.
    fn stashed(&self, git: &GitFolder, branch: &str) -> Result<Vec<String>, WorktreeError> {
        if git.commit("refs/stash")?.is_none() {
            return Ok(Vec::new());
        }
        let lines = git.lines(&["log", "--walk-reflogs", "--format=%H %gs", "refs/stash"])?;
        let of_branch = |it: &&String| {
            let Some((_, subject)) = it.split_once(' ') else { return false };
            subject.to_lowercase().contains(&format!("on {branch}:").to_lowercase())
        };
        Ok(lines.iter().filter(of_branch).filter_map(|it| Some(it.split_once(' ')?.0.to_owned())).collect())
    }
}

impl IgnoredRules {
    fn is_discarded(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.discard.iter().any(|it| OsStr::new(it) == name))
    }
}

/// Whether a path of an index stays in the checkout. An agent can write any path into its index.
fn is_inside(path: &Path) -> bool {
    path.components().all(|it| matches!(it, std::path::Component::Normal(_)))
}

/// The ref that keeps the commit from which a branch was started.
pub(crate) fn base_ref(branch: &str) -> String {
    format!("refs/trackside/base/{branch}")
}

/// Collects the names of objects from the text files under a path.
fn objects_named_in(path: &Path, named: &mut BTreeSet<String>) {
    let Ok(found) = path.symlink_metadata() else { return };
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if !NOT_SEARCHED.iter().any(|it| entry.file_name() == *it) {
                objects_named_in(&entry.path(), named);
            }
        }
    } else if found.is_file() && found.len() <= LARGEST_SEARCHED {
        let Ok(content) = fs::read(path) else { return };
        let words = content.split(|it| !it.is_ascii_alphanumeric());
        for word in words.filter_map(|it| std::str::from_utf8(it).ok()) {
            if is_object_id(word) && !word.bytes().all(|it| it == b'0') {
                named.insert(word.to_owned());
            }
        }
    }
}

fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|it| *it == 0).filter(|it| !it.is_empty())
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|it| *it == at)?;
    Some((bytes.get(..place)?, bytes.get(place + 1..)?))
}

/// The line that removes a path from an index. `length` is that of the names of objects.
fn removal(path: &[u8], length: usize) -> Vec<u8> {
    let mut line = format!("0 {}\t", "0".repeat(length)).into_bytes();
    line.extend_from_slice(path);
    line.push(0);
    line
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
