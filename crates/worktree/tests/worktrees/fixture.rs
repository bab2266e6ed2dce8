//! A repository in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_worktree::{
    CreateOutcome, CreateRequest, FileLock, MergeOutcome, MergeRequest, RemoveOutcome, RemoveRequest,
    Repository, RequestOrigin, StepHook, WorktreeRecord,
};

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct TestRepository {
    pub root: PathBuf,
}

impl Drop for TestRepository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl TestRepository {
    /// A repository with a commit on `main`.
    pub fn new() -> Self {
        let repository = Self::empty();
        repository.write("README", "first\n");
        repository.write(".gitignore", "*.ignored\nbuild/\n");
        repository.commit_all("first");
        repository
    }

    pub fn empty() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("trackside-git-{}-{number}", std::process::id());
        let root = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir_all(&root).unwrap();
        let repository = Self { root };
        repository.git(&["init", "-q", "-b", "main"]);
        for (name, value) in [("user.name", "Ada"), ("user.email", "ada@example.com"), ("gc.auto", "0")] {
            repository.git(&["config", name, value]);
        }
        repository
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    pub fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text.as_bytes());
    }

    pub fn commit_all(&self, message: &str) -> String {
        commit_all(&self.root, message)
    }

    pub fn open(&self) -> Repository {
        Repository::open(&self.root).unwrap()
    }

    /// Opened by a process that is killed at this moment of a step.
    pub fn killed_at(&self, moment: &str) -> Repository {
        let moment = moment.to_owned();
        self.open().with_hook(StepHook::new(move |it| it == moment))
    }

    pub fn refs(&self, below: &str) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname)", below]);
        text.lines().map(str::to_owned).collect()
    }

    pub fn commit(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")])
    }
}

pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = try_git(folder, args);
    assert!(output.1, "git {args:?} in {}: {}", folder.display(), output.0);
    output.0
}

/// Returns the output and whether the command succeeded.
pub fn try_git(folder: &Path, args: &[&str]) -> (String, bool) {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GIT_")) {
        command.env_remove(name);
    }
    let output = command.current_dir(folder).args(args).output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (String::from_utf8_lossy(&text).trim_end().to_owned(), output.status.success())
}

pub fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub fn commit_all(folder: &Path, message: &str) -> String {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--no-verify", "--no-gpg-sign", "--allow-empty", "-m", message]);
    git(folder, &["rev-parse", "HEAD"])
}

pub fn origin(number: u64) -> RequestOrigin {
    RequestOrigin { origin: "server".to_owned(), number }
}

pub fn create_request(id: &str, number: u64, reset: bool) -> CreateRequest {
    CreateRequest {
        path: format!(".worktrees/{id}"),
        branch: format!("task/{id}"),
        from: "integration".to_owned(),
        reset,
        entity: Some(format!("coding.task/{id}")),
        slot: Some("work".to_owned()),
        made_for: origin(number),
        environment: environment(),
    }
}

pub fn remove_request(id: &str, number: u64) -> RemoveRequest {
    RemoveRequest { path: format!(".worktrees/{id}"), branch: format!("task/{id}"), made_for: origin(number) }
}

pub fn merge_request(id: &str, commit: &str, number: u64) -> MergeRequest {
    MergeRequest {
        path: Some(format!(".worktrees/{id}")),
        branch: format!("task/{id}"),
        commit: commit.to_owned(),
        into: "integration".to_owned(),
        base: None,
        entity: Some(format!("coding.task/{id}")),
        made_for: origin(number),
        environment: environment(),
    }
}

pub fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())])
}

pub fn create(repository: &Repository, id: &str, number: u64) -> WorktreeRecord {
    ready(repository.create_worktree(&create_request(id, number, true)).unwrap())
}

pub fn ready(outcome: CreateOutcome) -> WorktreeRecord {
    match outcome {
        CreateOutcome::Ready { record, .. } => record,
        CreateOutcome::Outdated => panic!("outdated"),
    }
}

pub fn remove(repository: &Repository, id: &str, number: u64) -> Option<String> {
    match repository.remove_worktree(&remove_request(id, number)).unwrap() {
        RemoveOutcome::Removed { saved } => saved,
        RemoveOutcome::Outdated => panic!("outdated"),
    }
}

pub fn merge(repository: &Repository, request: &MergeRequest) -> MergeOutcome {
    let queue: FileLock = repository.lock_merge_queue().unwrap();
    repository.merge(request, &queue).unwrap()
}

pub fn merged(outcome: MergeOutcome) -> String {
    match outcome {
        MergeOutcome::Merged { merge_commit, .. } => merge_commit,
        MergeOutcome::Failed { summary, output } => panic!("{summary}\n{output}"),
    }
}
