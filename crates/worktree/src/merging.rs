//! Merges reviewed commits into an integration branch, one at a time, without a working tree.
//!
//! The merged commit is built and checked before the branch moves. So the branch never has a commit that failed a check,
//! and nothing has to be undone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::commands::run_command;
use crate::error::WorktreeError;
use crate::files::{FileLock, exists};
use crate::git::GitFolder;
use crate::merge_report::MergeReport;
use crate::record::{RequestOrigin, WorktreeState};
use crate::repository::{Repository, claimed_place};
use crate::snapshot::base_ref;
use crate::step_log::LoggedOperation;
use crate::trash::as_trackside;
use crate::worktree::{RemoveOutcome, RemoveRequest};

/// Attempts while other programs move the branch at the same time.
const ATTEMPTS: usize = 8;
/// The worktree in which checks run. It stays, so that their caches do.
const INTEGRATION: &str = ".integration";

/// A request to merge a reviewed commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MergeRequest {
    /// The worktree of the task, below the main checkout.
    pub path: Option<String>,
    pub branch: String,
    /// The commit that was reviewed.
    pub commit: String,
    pub into: String,
    /// The commit from which the work started.
    pub base: Option<String>,
    /// LIFECYCLE/ID of the task.
    pub entity: Option<String>,
    pub made_for: RequestOrigin,
    /// The environment of the checks.
    #[serde(skip)]
    pub environment: BTreeMap<String, String>,
}

/// How a reviewed commit came into the integration branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeWay {
    FastForward,
    MergeCommit,
    /// The branch had the commit, or all of its changes.
    AlreadyMerged,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    Merged {
        merge_commit: String,
        way: MergeWay,
        /// The commit of the branch before the merge; none if the branch had the work already.
        before: Option<String>,
        /// The commits that the branch had got since the work started.
        drift: Option<u64>,
        /// What the checks wrote.
        output: String,
        /// Whether the worktree of the task was removed.
        is_removed: bool,
        /// Problems after the merge.
        warnings: Vec<String>,
    },
    /// The task has to change: a conflict, a failed check, or commits without a review.
    Failed { summary: String, output: String },
}

/// A merge that is about to move the branch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoggedMerge {
    request: MergeRequest,
    before: String,
    after: String,
}

/// The next step of a merge.
enum Candidate {
    Move {
        after: String,
        way: MergeWay,
    },
    /// `report` is that of the merge, if Trackside made it.
    Already {
        merge_commit: String,
        report: MergeReport,
    },
    Failed(MergeOutcome),
}

impl Candidate {
    /// Work that the branch has, and that Trackside did not merge.
    fn elsewhere(merge_commit: String) -> Self {
        Self::Already { merge_commit, report: MergeReport::default() }
    }
}

/// What happened to the worktree after a merge.
#[derive(Default)]
struct CleanUp {
    is_removed: bool,
    warnings: Vec<String>,
}

impl Repository {
    /// Waits for the merge queue: one merge at a time. Take the oldest request after it, and they are merged in order.
    pub fn lock_merge_queue(&self) -> Result<FileLock, WorktreeError> {
        FileLock::wait(&self.data().join("merge.lock"))
    }

    /// The merge queue, if no other process merges now.
    pub fn take_merge_queue(&self) -> Result<Option<FileLock>, WorktreeError> {
        FileLock::take(&self.data().join("merge.lock"))
    }

    /// Whether the repository has a commit.
    pub fn has_commit(&self, name: &str) -> bool {
        self.bare_git().commit(name).is_ok_and(|it| it.is_some())
    }

    /// Checks that the integration branch can be moved now. An error names the obstacle.
    pub fn check_merge_is_possible(&self, into: &str) -> Result<(), WorktreeError> {
        self.check_fitness(into)?;
        for checkout in self.checkouts_of(into)? {
            let changed =
                GitFolder::new(&checkout).text(&["status", "--porcelain", "--untracked-files=no"])?;
            if !changed.is_empty() {
                return Err(WorktreeError::Hold(format!(
                    "{into} is checked out in {} with uncommitted changes. Commit or stash them, or check out another branch there; then merges continue",
                    checkout.display()
                )));
            }
        }
        Ok(())
    }

    /// Merges a reviewed commit. The same request again gives the same result. Hold the lock of the merge queue.
    pub fn merge(&self, request: &MergeRequest, _queue: &FileLock) -> Result<MergeOutcome, WorktreeError> {
        if let Some(path) = &request.path
            && let Some(record) = self.worktree_record(&self.place(path)?)?
        {
            self.fetch_home(&record)?;
        }
        let git = self.bare_git();
        let commit = git.commit(&request.commit)?.ok_or_else(|| {
            WorktreeError::Hold(format!(
                "the commit {} is not in the repository {}. A runner of the repository that has it merges it",
                request.commit,
                self.root().display()
            ))
        })?;
        for _ in 0..ATTEMPTS {
            let before = self.check_fitness(&request.into)?;
            match self.candidate(request, &commit, &before)? {
                Candidate::Failed(outcome) => return Ok(outcome),
                Candidate::Already { merge_commit, report } => {
                    let mut cleaning = CleanUp::default();
                    self.clean_up(request, &mut cleaning);
                    return Ok(MergeOutcome::Merged {
                        merge_commit,
                        way: MergeWay::AlreadyMerged,
                        before: report.before,
                        drift: self.drift(request, &commit, &before)?,
                        output: report.output,
                        is_removed: cleaning.is_removed,
                        warnings: cleaning.warnings,
                    });
                }
                Candidate::Move { after, way } => {
                    let output = match self.check(&after, request)? {
                        Ok(output) => output,
                        Err(failed) => return Ok(failed),
                    };
                    // Commits that were made while the checks ran have no review.
                    if self.head_of(request)?.is_some_and(|it| it != commit) {
                        continue;
                    }
                    self.check_merge_is_possible(&request.into)?;
                    let drift = self.drift(request, &commit, &before)?;
                    let report = MergeReport { before: Some(before.clone()), output };
                    self.save_merge_report(&marker(request, &commit), &report)?;
                    let logged = LoggedMerge { request: request.clone(), before, after: after.clone() };
                    let mut operation = LoggedOperation::begin(&self.steps(), "merge", &logged, &self.hook)?;
                    let mut cleaning = CleanUp::default();
                    let result = self.merge_steps(&mut operation, &logged, &mut cleaning);
                    if operation.conclude(result)? {
                        return Ok(MergeOutcome::Merged {
                            merge_commit: after,
                            way,
                            before: report.before,
                            drift,
                            output: report.output,
                            is_removed: cleaning.is_removed,
                            warnings: cleaning.warnings,
                        });
                    }
                }
            }
        }
        Err(WorktreeError::Hold(format!("other programs keep moving {}", request.into)))
    }

    /// Builds the commit that the branch is to get. Changes nothing.
    fn candidate(
        &self,
        request: &MergeRequest,
        commit: &str,
        before: &str,
    ) -> Result<Candidate, WorktreeError> {
        let git = self.bare_git();
        if let Some(merged) = git.commit(&marker(request, commit))?
            && git.is_ancestor(&merged, before)?
            && git.is_ancestor(commit, &merged)?
        {
            let report = self.merge_report(&marker(request, commit))?;
            return Ok(Candidate::Already { merge_commit: merged, report });
        }
        let head = self.head_of(request)?;
        let later = head.filter(|it| it != commit);
        if git.is_ancestor(commit, before)?
            && later.as_ref().is_none_or(|it| git.is_ancestor(it, before).unwrap_or(false))
        {
            return Ok(Candidate::elsewhere(self.first_with(commit, before)?));
        }
        if let Some(head) = later {
            let summary = format!(
                "the branch {} is at {head}, and {commit} was reviewed: commits after the review need a review",
                request.branch
            );
            let output = git.output(&["log", "--oneline", "--max-count=50", &format!("{commit}..{head}")])?;
            let output = String::from_utf8_lossy(&output.stdout).into_owned();
            return Ok(Candidate::Failed(MergeOutcome::Failed { summary, output }));
        }
        if self.continues_own_line(before, commit)? {
            return Ok(Candidate::Move { after: commit.to_owned(), way: MergeWay::FastForward });
        }
        let merged = git.output(&["merge-tree", "--write-tree", "-z", "--messages", before, commit])?;
        let fields: Vec<String> =
            merged.stdout.split(|it| *it == 0).map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let tree = fields.first().cloned().unwrap_or_default();
        let is_tree = crate::git::is_object_id(&tree);
        match merged.status.code() {
            Some(0) if is_tree => {
                if git.resolve(before, "tree")?.as_deref() == Some(&tree) {
                    return Ok(Candidate::elsewhere(before.to_owned()));
                }
                let message = merge_message(request, commit);
                let args = ["commit-tree", "--no-gpg-sign", "-p", before, "-p", commit, "-F", "-", &tree];
                let made = as_trackside(git).feed(&args, message.as_bytes())?;
                let after = String::from_utf8_lossy(&made).trim().to_owned();
                Ok(Candidate::Move { after, way: MergeWay::MergeCommit })
            }
            // A name that does not exist gives the same exit code, but no tree.
            Some(1) if is_tree => {
                if self.is_squashed(commit, before)? {
                    return Ok(Candidate::elsewhere(before.to_owned()));
                }
                Ok(Candidate::Failed(conflict(request, &fields)))
            }
            code => {
                let stderr = String::from_utf8_lossy(&merged.stderr).trim().to_owned();
                let command = "merge-tree".to_owned();
                Err(crate::git::GitError::Failed { command, code: code.unwrap_or(-1), stderr }.into())
            }
        }
    }

    /// Whether a branch has all changes of a commit as one commit, and has changed the same lines since.
    fn is_squashed(&self, commit: &str, before: &str) -> Result<bool, WorktreeError> {
        let git = self.bare_git();
        let base = git.output(&["merge-base", before, commit])?;
        let base = String::from_utf8_lossy(&base.stdout).trim().to_owned();
        let (false, Some(tree)) = (base.is_empty(), git.resolve(commit, "tree")?) else { return Ok(false) };
        let args = ["commit-tree", "--no-gpg-sign", "-p", &base, "-m", "squash", &tree];
        let squashed = as_trackside(git.clone()).text(&args)?;
        Ok(git.text(&["cherry", before, &squashed])?.starts_with('-'))
    }

    /// The head of the task's work: that of its worktree, else of its branch.
    fn head_of(&self, request: &MergeRequest) -> Result<Option<String>, WorktreeError> {
        if let Some(path) = &request.path {
            let place = self.place(path)?;
            if let Some(record) = self.worktree_record(&place)?
                && record.state == WorktreeState::Ready
                && self.is_usable(&record)?
            {
                return self.task_head(&record);
            }
        }
        Ok(self.bare_git().commit(&format!("refs/heads/{}", request.branch))?)
    }

    /// Whether a branch can move to a commit without a merge, and its earlier commits stay on its own line. A commit that has
    /// merged the branch into itself needs a merge: the line of its first parents is that of the task.
    fn continues_own_line(&self, before: &str, commit: &str) -> Result<bool, WorktreeError> {
        if before == commit {
            return Ok(true);
        }
        let args = ["rev-list", "--first-parent", "--parents", &format!("{before}..{commit}")];
        let oldest = self.bare_git().lines(&args)?.pop().unwrap_or_default();
        Ok(oldest.split(' ').nth(1) == Some(before))
    }

    /// The first commit of a branch's own line that contains a commit.
    fn first_with(&self, commit: &str, tip: &str) -> Result<String, WorktreeError> {
        let args =
            ["rev-list", "--first-parent", "--ancestry-path", "--reverse", &format!("{commit}..{tip}")];
        let own_line = self.bare_git().lines(&["rev-list", "--first-parent", "--max-count=10000", tip])?;
        if own_line.iter().any(|it| it == commit) {
            return Ok(commit.to_owned());
        }
        Ok(self.bare_git().lines(&args)?.into_iter().next().unwrap_or_else(|| tip.to_owned()))
    }

    fn drift(
        &self,
        request: &MergeRequest,
        commit: &str,
        before: &str,
    ) -> Result<Option<u64>, WorktreeError> {
        let git = self.bare_git();
        let named = request.base.clone().unwrap_or_else(|| base_ref(&request.branch));
        let Some(base) = git.commit(&named)? else { return Ok(None) };
        let count = git.text(&["rev-list", "--count", before, &format!("^{base}"), &format!("^{commit}")])?;
        Ok(count.parse().ok())
    }

    /// Runs the checks of the settings on the merged commit. Returns what they wrote, or the failure.
    fn check(
        &self,
        commit: &str,
        request: &MergeRequest,
    ) -> Result<Result<String, MergeOutcome>, WorktreeError> {
        let settings = self.settings()?;
        let mut output = String::new();
        if settings.checks.is_empty() {
            return Ok(Ok(output));
        }
        let place = self.integration_worktree(request, commit)?;
        for rule in &settings.checks {
            let outcome = run_command(rule, &place, &request.environment, &self.data().join("tmp"))?;
            output.push_str(&format!("$ {}\n{}\n{}\n", rule.run, outcome.output.trim_end(), outcome.ending));
            if !outcome.succeeded {
                let summary =
                    format!("the check `{}` failed on the merged commit ({})", rule.run, outcome.ending);
                return Ok(Err(MergeOutcome::Failed { summary, output }));
            }
        }
        Ok(Ok(output))
    }

    /// The worktree for checks, at a commit. Ignored files stay in it from one merge to the next.
    fn integration_worktree(&self, request: &MergeRequest, commit: &str) -> Result<PathBuf, WorktreeError> {
        let parent = request
            .path
            .as_deref()
            .and_then(|it| Path::new(it).parent())
            .unwrap_or_else(|| Path::new(".worktrees"));
        let place = self.place(&parent.join(INTEGRATION).to_string_lossy())?;
        let _lock = self.lock_worktree(&place)?;
        if !place.join(".git").exists() || self.admin_of(&place)?.is_none() || self.is_being_made(&place)? {
            // Only checks ran in it.
            self.discard_half_made(&place)?;
            self.add_detached(crate::detached_worktree::INTEGRATION, &place, commit, |operation| {
                operation.step("checkout", || {
                    Ok(GitFolder::new(&place).run(&["reset", "--hard", "--quiet", commit])?)
                })
            })?;
        }
        let own = GitFolder::new(&place);
        if let Some(admin) = self.admin_of(&place)? {
            // Left by a check that was stopped. The lock of the merge queue says that none runs now.
            crate::files::remove_file(&admin.join("index.lock"))?;
        }
        own.run(&["checkout", "--quiet", "--force", "--detach", commit])?;
        own.run(&["clean", "-ffdq"])?;
        Ok(place)
    }

    /// Moves the branch and tidies up. False if the branch was moved by another program meanwhile.
    fn merge_steps(
        &self,
        operation: &mut LoggedOperation,
        logged: &LoggedMerge,
        cleaning: &mut CleanUp,
    ) -> Result<bool, WorktreeError> {
        let LoggedMerge { request, before, after } = logged;
        let git = self.bare_git();
        let commit = git.commit(&request.commit)?.unwrap_or_default();
        let branch = self.target_of(&format!("refs/heads/{}", request.into))?;
        let marker = marker(request, &commit);
        let mut is_moved = operation.is_done("move");
        operation.step("move", || {
            if git.commit(&marker)?.as_deref() == Some(after) && git.is_ancestor(after, &branch)? {
                is_moved = true;
                return Ok(());
            }
            // In one transaction: the marker proves that the branch was moved.
            let moved = git.update_refs(&[
                format!("update {branch} {after} {before}"),
                format!("update {marker} {after}"),
            ]);
            match moved {
                Ok(()) => is_moved = true,
                Err(error) if git.commit(&branch)?.as_deref() == Some(before.as_str()) => {
                    return Err(error.into());
                }
                Err(_) => {}
            }
            Ok(())
        })?;
        if !is_moved {
            return Ok(false);
        }
        operation.step("checkout", || {
            for checkout in self.checkouts_of(&request.into)? {
                let own = GitFolder::new(&checkout);
                if let Err(error) = own.run(&["read-tree", "-m", "-u", before, after]) {
                    cleaning
                        .warnings
                        .push(format!("{} still shows the files of {before}: {error}", checkout.display()));
                }
            }
            Ok(())
        })?;
        operation.step("clean", || {
            self.clean_up(request, cleaning);
            Ok(())
        })?;
        Ok(true)
    }

    /// The ref that a ref leads to, or itself.
    fn target_of(&self, name: &str) -> Result<String, WorktreeError> {
        let output = self.bare_git().output(&["symbolic-ref", "--quiet", name])?;
        let target = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(if output.status.success() && target.starts_with("refs/heads/") {
            target
        } else {
            name.to_owned()
        })
    }

    /// Removes the worktree and the branch of a merged task. A failure is no reason to merge again.
    fn clean_up(&self, request: &MergeRequest, cleaning: &mut CleanUp) {
        let Some(path) = &request.path else { return };
        let removal = RemoveRequest {
            path: path.clone(),
            branch: request.branch.clone(),
            made_for: request.made_for.clone(),
        };
        match self.remove_worktree(&removal) {
            Ok(RemoveOutcome::Removed { saved }) => {
                cleaning.is_removed = true;
                let words = saved.map(|id| format!("the worktree had unmerged work, saved as {id}"));
                cleaning.warnings.extend(words);
            }
            Ok(RemoveOutcome::Outdated) => {}
            Err(error) => cleaning.warnings.push(format!("the worktree was not removed: {error}")),
        }
    }

    /// The folders of people in which a branch is checked out. A worktree of a task has its own branch, whatever an
    /// agent wrote into its HEAD, and may claim any folder.
    fn checkouts_of(&self, branch: &str) -> Result<Vec<PathBuf>, WorktreeError> {
        let of_tasks: Vec<PathBuf> =
            self.recorded_admins()?.iter().filter_map(|it| claimed_place(it)).collect();
        let is_own = |it: &PathBuf| it == self.root() || !of_tasks.contains(it);
        let all = self.worktrees()?.into_iter();
        Ok(all
            .filter(|it| it.branch.as_deref() == Some(branch) && exists(&it.path) && is_own(&it.path))
            .map(|it| it.path)
            .collect())
    }
}

/// Finishes a merge whose process was killed, if it had moved the branch.
pub(crate) fn finish_merge(
    repository: &Repository,
    operation: &mut LoggedOperation,
    request: Value,
) -> Result<String, WorktreeError> {
    let logged: LoggedMerge =
        serde_json::from_value(request).map_err(|it| WorktreeError::Request(it.to_string()))?;
    let git = repository.bare_git();
    let commit = git.commit(&logged.request.commit)?.unwrap_or_default();
    if git.commit(&marker(&logged.request, &commit))?.as_deref() != Some(&logged.after) {
        return Ok("that had not begun".to_owned());
    }
    repository.merge_steps(operation, &logged, &mut CleanUp::default())?;
    Ok(format!("of {}", logged.request.branch))
}

/// The ref that says that a reviewed commit was merged, and as which commit.
fn marker(request: &MergeRequest, commit: &str) -> String {
    format!("refs/trackside/merged/{}/{commit}", request.branch)
}

fn merge_message(request: &MergeRequest, commit: &str) -> String {
    let task = request.entity.as_deref().map(|it| format!("Trackside-Task: {it}\n")).unwrap_or_default();
    format!("Merge {} into {}\n\n{task}Trackside-Commit: {commit}\n", request.branch, request.into)
}

/// Describes a conflict: the files, and git's messages.
fn conflict(request: &MergeRequest, fields: &[String]) -> MergeOutcome {
    let mut files: Vec<String> = Vec::new();
    let entries = fields.iter().skip(1).take_while(|it| !it.is_empty());
    for entry in entries {
        if let Some((_, path)) = entry.split_once('\t')
            && !files.iter().any(|it| it == path)
        {
            files.push(path.to_owned());
        }
    }
    let messages: Vec<&str> = fields
        .iter()
        .map(|it| it.trim_end())
        .filter(|it| it.contains("CONFLICT") && it.contains(' '))
        .collect();
    let list = files.join(", ");
    let summary = format!("{} conflicts with {} in {list}", request.branch, request.into);
    MergeOutcome::Failed { summary, output: messages.join("\n") }
}
