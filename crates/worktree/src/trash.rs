//! Saved work: everything of a removed checkout that no ref reaches, under `refs/trackside/trash/ID`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{AtPath as _, WorktreeError};
use crate::files::{exists, random_id};
use crate::git::GitFolder;
use crate::repository::Repository;
use crate::snapshot::{CheckoutFolders, IgnoredRules, WorkSnapshot, base_ref, take_snapshot};
use crate::step_log::{LoggedOperation, now_as_name};

pub(crate) const TRASH: &str = "refs/trackside/trash/";
/// The folder beside worktrees for files that cannot be stored as objects.
const KEPT: &str = ".kept";

/// Saved work.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedWork {
    pub id: String,
    /// The worktree that it comes from.
    pub path: PathBuf,
    pub branch: String,
    /// LIFECYCLE/ID of the task; none if it is not known.
    pub entity: Option<String>,
    pub saved_at: String,
    /// When `prune` may delete it.
    pub kept_until: String,
    /// The commit that was checked out.
    pub head: Option<String>,
    /// The commit from which the branch was started.
    pub base: Option<String>,
    /// The number of commits that no other ref reached.
    pub commits: usize,
    /// Paths that were moved aside into `kept`: nested repositories and large ignored files.
    pub left: BTreeSet<PathBuf>,
    pub kept: Option<PathBuf>,
    /// Ignored paths that were not saved, because they can be made again.
    pub discarded: BTreeSet<PathBuf>,
    /// The trees of the files and of the index.
    pub work: Option<String>,
    pub index: Option<String>,
}

impl SavedWork {
    fn is_due(&self, now: jiff::Timestamp) -> bool {
        self.kept_until.parse::<jiff::Timestamp>().is_ok_and(|it| it <= now)
    }
}

/// A request to save a checkout.
#[derive(Clone, Debug)]
pub(crate) struct SaveRequest<'a> {
    pub id: &'a str,
    pub path: &'a Path,
    pub entity: Option<&'a str>,
    pub retention: jiff::SignedDuration,
    pub rules: &'a IgnoredRules,
}

/// The result of a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SaveResult {
    /// Nothing would be lost.
    Nothing,
    /// It is saved now, or has changed since it was saved and is saved again.
    Saved(WorkSnapshot),
    /// It is saved already, as it is.
    Unchanged(WorkSnapshot),
}

/// The message of a save: a line for people, then JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct SaveMessage {
    #[serde(flatten)]
    pub saved: SavedWork,
    pub snapshot: WorkSnapshot,
}

/// A new id. Ids sort by time.
pub(crate) fn new_trash_id(branch: &str) -> String {
    let name: String = branch.rsplit('/').next().unwrap_or(branch).chars().take(100).collect();
    format!("{}-{name}-{}", now_as_name(), random_id())
}

/// Where the files of a save are moved that cannot be stored as objects.
pub(crate) fn kept_folder(place: &Path, id: &str) -> PathBuf {
    place.parent().unwrap_or(place).join(KEPT).join(id)
}

/// Whether a path is that of the moved files of a save.
fn is_kept_folder(path: &Path, id: &str) -> bool {
    path.ends_with(Path::new(KEPT).join(id))
}

/// Saves a checkout under an id. It can be called again with the same id, to save later changes.
pub(crate) fn save(
    repository: &Repository,
    folders: &CheckoutFolders,
    request: &SaveRequest<'_>,
) -> Result<SaveResult, WorktreeError> {
    let saved = save_snapshot(repository, folders, request);
    saved.map_err(|error| match error {
        stopped @ WorktreeError::Stopped(_) => stopped,
        error => WorktreeError::NotSaved { path: request.path.to_owned(), why: error.to_string() },
    })
}

fn save_snapshot(
    repository: &Repository,
    folders: &CheckoutFolders,
    request: &SaveRequest<'_>,
) -> Result<SaveResult, WorktreeError> {
    let own = repository.checkout_git(folders)?;
    let snapshot = take_snapshot(repository, folders, request.rules)?;
    let tree = match &snapshot.head {
        Some(head) => own.resolve(head, "tree")?,
        None => None,
    };
    let reference = format!("{TRASH}{}", request.id);
    let earlier = repository.bare_git().commit(&reference)?;
    if let Some(earlier) = &earlier
        && read_message(repository, earlier)?.is_some_and(|it| is_same(&it.snapshot, &snapshot))
    {
        return Ok(SaveResult::Unchanged(snapshot));
    }
    if earlier.is_none() && !snapshot.has_work(tree.as_deref()) {
        return Ok(SaveResult::Nothing);
    }
    let writer = SaveWriter { own: own.clone(), snapshot: &snapshot };
    let now = jiff::Timestamp::now();
    let kept = kept_folder(request.path, request.id);
    let saved = SavedWork {
        id: request.id.to_owned(),
        path: request.path.to_owned(),
        branch: folders.branch.clone(),
        entity: request.entity.map(str::to_owned),
        saved_at: now.to_string(),
        kept_until: now.checked_add(request.retention).unwrap_or(jiff::Timestamp::MAX).to_string(),
        head: snapshot.head.clone(),
        base: repository.bare_git().commit(&base_ref(&folders.branch))?,
        commits: snapshot.commits.len(),
        kept: (!snapshot.left.is_empty()).then_some(kept),
        left: snapshot.left.clone(),
        discarded: snapshot.discarded.clone(),
        work: snapshot.work.clone(),
        index: snapshot.index.clone(),
    };
    let commit = writer.write(saved, earlier.as_deref())?;
    publish(repository, folders, &own, &reference, &commit, earlier.as_deref())?;
    Ok(SaveResult::Saved(snapshot))
}

/// The save itself makes the commits of the checkout reachable, so they do not count.
fn is_same(saved: &WorkSnapshot, now: &WorkSnapshot) -> bool {
    let without = |it: &WorkSnapshot| WorkSnapshot { commits: Vec::new(), ..it.clone() };
    without(saved) == without(now) && now.commits.iter().all(|it| saved.commits.contains(it))
}

struct SaveWriter<'a> {
    own: GitFolder,
    snapshot: &'a WorkSnapshot,
}

impl SaveWriter<'_> {
    fn write(&self, saved: SavedWork, earlier: Option<&str>) -> Result<String, WorktreeError> {
        let snapshot = self.snapshot;
        let mut parents: Vec<String> = snapshot.head.iter().cloned().collect();
        for (tree, name) in [(&snapshot.index, "index"), (&snapshot.unmerged, "unmerged files")] {
            if let Some(tree) = tree {
                parents.push(self.commit(tree, &snapshot.head.iter().cloned().collect::<Vec<_>>(), name)?);
            }
        }
        parents.extend(snapshot.commits.iter().cloned());
        parents.extend(earlier.map(str::to_owned));
        parents.dedup();
        let tree = match snapshot.work.clone().or_else(|| snapshot.index.clone()) {
            Some(tree) => tree,
            None => {
                let empty = self.own.feed(&["mktree"], b"")?;
                String::from_utf8_lossy(&empty).trim().to_owned()
            }
        };
        let title = format!("Saved work of {}", saved.path.display());
        let message = SaveMessage { saved, snapshot: snapshot.clone() };
        let text = serde_json::to_string_pretty(&message).unwrap_or_default();
        self.commit(&tree, &parents, &format!("{title}\n\n{text}"))
    }

    fn commit(&self, tree: &str, parents: &[String], message: &str) -> Result<String, WorktreeError> {
        let mut args = vec!["commit-tree", "--no-gpg-sign", "-F", "-"];
        for (place, parent) in parents.iter().enumerate() {
            if !parents.iter().take(place).any(|it| it == parent) {
                args.extend(["-p", parent]);
            }
        }
        args.push(tree);
        let made = as_trackside(self.own.clone()).feed(&args, message.as_bytes())?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }
}

/// Commits of Trackside itself need no settings of a person.
pub(crate) fn as_trackside(git: GitFolder) -> GitFolder {
    ["AUTHOR", "COMMITTER"].iter().fold(git, |git, it| {
        git.with(&format!("GIT_{it}_NAME"), "Trackside")
            .with(&format!("GIT_{it}_EMAIL"), "trackside@localhost")
    })
}

/// Makes a save reachable in the repository. The objects of a clone are brought over first.
fn publish(
    repository: &Repository,
    folders: &CheckoutFolders,
    own: &GitFolder,
    reference: &str,
    commit: &str,
    earlier: Option<&str>,
) -> Result<(), WorktreeError> {
    let main = repository.bare_git();
    if folders.is_clone {
        own.update_refs(&[format!("update {reference} {commit}")])?;
        // From our own view of the clone: its settings can come from an agent.
        let from = own.variable("GIT_DIR").unwrap_or_default();
        let from = std::ffi::OsStr::new(&from);
        let refs = format!("+{reference}:{reference}");
        let words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"]
            .map(std::ffi::OsStr::new);
        let args: Vec<&std::ffi::OsStr> =
            words.into_iter().chain([from, std::ffi::OsStr::new(&refs)]).collect();
        main.run(&args)?;
    } else {
        let line = match earlier {
            Some(earlier) => format!("update {reference} {commit} {earlier}"),
            None => format!("create {reference} {commit}"),
        };
        main.update_refs(&[line])?;
    }
    // Read back: nothing is deleted unless its save exists.
    if main.commit(reference)?.as_deref() != Some(commit) {
        let why = format!("{reference} could not be read back");
        return Err(WorktreeError::NotSaved { path: folders.place.clone(), why });
    }
    Ok(())
}

pub(crate) fn read_message(
    repository: &Repository,
    commit: &str,
) -> Result<Option<SaveMessage>, WorktreeError> {
    let text = repository.bare_git().text(&["log", "-1", "--format=%B", commit])?;
    Ok(text.split_once("\n\n").and_then(|(_, json)| serde_json::from_str(json).ok()))
}

/// All saved work, oldest first.
pub fn list_saved_work(repository: &Repository) -> Result<Vec<SavedWork>, WorktreeError> {
    let refs = repository.bare_git().lines(&["for-each-ref", "--format=%(objectname) %(refname)", TRASH])?;
    let mut found = Vec::new();
    for line in refs {
        let (commit, name) = line.split_once(' ').unwrap_or((&line, ""));
        let Some(message) = read_message(repository, commit)? else { continue };
        // The name of the ref decides: a message can be written by anyone who can write refs.
        found.push(SavedWork { id: name.trim_start_matches(TRASH).to_owned(), ..message.saved });
    }
    Ok(found)
}

/// The saved work with this id.
pub(crate) fn find_saved_work(repository: &Repository, id: &str) -> Result<Option<SavedWork>, WorktreeError> {
    match repository.bare_git().commit(&format!("{TRASH}{id}"))? {
        Some(commit) => Ok(read_message(repository, &commit)?.map(|it| it.saved)),
        None => Ok(None),
    }
}

/// Saves a folder of which git knows nothing any more, and the commits of a branch. The folder is moved aside as a whole.
pub(crate) fn save_without_checkout(
    repository: &Repository,
    request: &SaveRequest<'_>,
    branch: &str,
) -> Result<(), WorktreeError> {
    let git = repository.bare_git();
    let reference = format!("{TRASH}{}", request.id);
    if git.commit(&reference)?.is_some() {
        return Ok(());
    }
    let tip = git.commit(&format!("refs/heads/{branch}"))?;
    // An empty folder state: only the branch and its log lead to commits.
    let scratch = repository.data().join("tmp").join(format!("no-checkout-{}", random_id()));
    fs::create_dir_all(&scratch).at(&scratch)?;
    let folders = CheckoutFolders {
        place: scratch.join("gone"),
        admin: repository.common().to_owned(),
        branch: branch.to_owned(),
        is_clone: false,
    };
    let commits = crate::snapshot::commits_of_branch(repository, &folders);
    let _ = fs::remove_dir_all(&scratch);
    let snapshot = WorkSnapshot {
        head: tip,
        branch: Some(branch.to_owned()),
        commits: commits?,
        left: exists(request.path).then(|| PathBuf::from(".")).into_iter().collect(),
        ..WorkSnapshot::default()
    };
    if !snapshot.has_work(None) {
        return Ok(());
    }
    let now = jiff::Timestamp::now();
    let saved = SavedWork {
        id: request.id.to_owned(),
        path: request.path.to_owned(),
        branch: branch.to_owned(),
        entity: request.entity.map(str::to_owned),
        saved_at: now.to_string(),
        kept_until: now.checked_add(request.retention).unwrap_or(jiff::Timestamp::MAX).to_string(),
        head: snapshot.head.clone(),
        base: git.commit(&base_ref(branch))?,
        commits: snapshot.commits.len(),
        kept: (!snapshot.left.is_empty()).then(|| kept_folder(request.path, request.id)),
        left: snapshot.left.clone(),
        discarded: BTreeSet::new(),
        work: None,
        index: None,
    };
    let own = repository.bare_git();
    let commit = SaveWriter { own: own.clone(), snapshot: &snapshot }.write(saved, None)?;
    publish(repository, &folders, &own, &reference, &commit, None)
}

/// Deletes saved work whose retention has ended, or one of these ids. Returns the deleted ids.
pub fn prune_saved_work(
    repository: &Repository,
    now: jiff::Timestamp,
    ids: &[String],
) -> Result<Vec<String>, WorktreeError> {
    let mut pruned = Vec::new();
    for saved in list_saved_work(repository)? {
        let is_due = if ids.is_empty() { saved.is_due(now) } else { ids.contains(&saved.id) };
        if !is_due {
            continue;
        }
        let request = LoggedPruning { id: saved.id.clone() };
        let mut operation = LoggedOperation::begin(&repository.steps(), "prune", &request, &repository.hook)?;
        let result = prune_steps(repository, &mut operation, &saved);
        operation.conclude(result)?;
        pruned.push(saved.id);
    }
    Ok(pruned)
}

/// The deletion of saved work.
#[derive(Debug, Serialize, Deserialize)]
struct LoggedPruning {
    id: String,
}

/// The ref goes last: it names the folder.
fn prune_steps(
    repository: &Repository,
    operation: &mut LoggedOperation,
    saved: &SavedWork,
) -> Result<(), WorktreeError> {
    operation.step("kept", || match &saved.kept {
        Some(kept) if is_kept_folder(kept, &saved.id) => match fs::remove_dir_all(kept) {
            // Another process prunes, too.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(kept),
            _ => Ok(()),
        },
        _ => Ok(()),
    })?;
    operation
        .step("ref", || Ok(repository.bare_git().update_refs(&[format!("delete {TRASH}{}", saved.id)])?))
}

/// Finishes a deletion whose process was killed.
pub(crate) fn finish_pruning(
    repository: &Repository,
    operation: &mut LoggedOperation,
    request: serde_json::Value,
) -> Result<String, WorktreeError> {
    let LoggedPruning { id } =
        serde_json::from_value(request).map_err(|it| WorktreeError::Request(it.to_string()))?;
    if let Some(saved) = list_saved_work(repository)?.into_iter().find(|it| it.id == id) {
        prune_steps(repository, operation, &saved)?;
    }
    Ok(format!("of {id}"))
}
