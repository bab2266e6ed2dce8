//! Whether the main checkout was touched while an agent worked in its own worktree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::repository::Repository;

/// How a path differs from the commit, its size and when it changed.
pub(crate) type PathState = (String, u64, i64);

/// The state of a checkout at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutFingerprint {
    /// The branch or commit in HEAD.
    head: String,
    commit: Option<String>,
    /// Every path that differs from the commit.
    pub(crate) changed: BTreeMap<String, PathState>,
}

/// Facts about a worktree, for the people who watch it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeFacts {
    pub head: Option<String>,
    /// Commits that the integration branch does not have.
    pub unmerged: u64,
    /// Files with changes that are not committed.
    pub dirty: u64,
    /// Lines that differ from the base, uncommitted ones among them.
    pub additions: u64,
    pub deletions: u64,
}

impl Repository {
    /// The present state of the main checkout. Changes nothing.
    pub fn fingerprint(&self) -> Result<CheckoutFingerprint, WorktreeError> {
        let git = self.git();
        let head = fs::read_to_string(self.root().join(".git/HEAD")).unwrap_or_default().trim().to_owned();
        let listed = git.bytes(&["status", "--porcelain", "--untracked-files=all", "--no-renames", "-z"])?;
        let mut changed = BTreeMap::new();
        for line in listed.split(|it| *it == 0).filter(|it| it.len() > 3) {
            let (how, path) = line.split_at(3);
            let full = self.root().join(std::ffi::OsStr::from_bytes(path));
            let (size, time) = full
                .symlink_metadata()
                .map_or((0, 0), |it| (it.len(), it.mtime().wrapping_mul(1_000_000_000) + it.mtime_nsec()));
            let path = String::from_utf8_lossy(path).into_owned();
            changed.insert(path, (String::from_utf8_lossy(how).trim_end().to_owned(), size, time));
        }
        Ok(CheckoutFingerprint { head, commit: git.commit("HEAD")?, changed })
    }

    /// The paths that were touched between two moments. A merge that moved the checked-out branch touches none.
    pub fn touched_between(
        &self,
        before: &CheckoutFingerprint,
        after: &CheckoutFingerprint,
    ) -> Result<Vec<String>, WorktreeError> {
        let mut touched: Vec<String> = after
            .changed
            .iter()
            .filter(|(path, state)| before.changed.get(*path) != Some(state))
            .map(|(path, _)| path.clone())
            .collect();
        // A path that is clean now was reverted or committed.
        touched.extend(before.changed.keys().filter(|it| !after.changed.contains_key(*it)).cloned());
        if before.commit != after.commit || before.head != after.head {
            let is_merge = before.head == after.head && self.is_own_merge(before, after)?;
            if !is_merge {
                touched.push("HEAD".to_owned());
            }
        }
        touched.sort();
        touched.dedup();
        Ok(touched)
    }

    /// Whether a merge of Trackside moved the branch to where it is now.
    fn is_own_merge(
        &self,
        before: &CheckoutFingerprint,
        after: &CheckoutFingerprint,
    ) -> Result<bool, WorktreeError> {
        let (Some(from), Some(to)) = (&before.commit, &after.commit) else { return Ok(false) };
        let git = self.bare_git();
        let merged = git.lines(&["for-each-ref", "--format=%(objectname)", "refs/trackside/merged"])?;
        Ok(merged.contains(to) && git.is_ancestor(from, to)?)
    }

    /// Facts about a worktree.
    pub fn worktree_facts(
        &self,
        record: &crate::record::WorktreeRecord,
    ) -> Result<WorktreeFacts, WorktreeError> {
        let git = self.task_git(record)?;
        let Some(head) = git.commit("HEAD")? else { return Ok(WorktreeFacts::default()) };
        let integration = format!("refs/heads/{}", record.integration);
        let integration = self.bare_git().commit(&integration)?.unwrap_or_else(|| record.base.clone());
        let count = git.text(&["rev-list", "--count", &head, &format!("^{integration}")])?;
        let dirty =
            git.bytes(&["status", "--porcelain", "--no-renames", "--ignore-submodules=dirty", "-z"])?;
        let mut facts = WorktreeFacts {
            unmerged: count.parse().unwrap_or(0),
            dirty: dirty.split(|it| *it == 0).filter(|it| !it.is_empty()).count() as u64,
            head: Some(head),
            ..WorktreeFacts::default()
        };
        for line in git.lines(&[
            "diff",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            &record.base,
        ])? {
            let mut words = line.split('\t').map(|it| it.parse::<u64>().unwrap_or(0));
            facts.additions += words.next().unwrap_or(0);
            facts.deletions += words.next().unwrap_or(0);
        }
        Ok(facts)
    }
}

/// Whether the folder of a worktree is still there, with git's link in it.
pub fn is_present(folder: &Path) -> bool {
    folder.join(".git").exists()
}
