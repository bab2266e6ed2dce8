//! Commits that a pack asks for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use trackside_worktree::{CommitOutcome, CommitRequest, Repository, WorktreeError};

use crate::fixture::*;

fn commit(
    test: &TestRepository,
    repository: &Repository,
    number: u64,
) -> Result<CommitOutcome, WorktreeError> {
    let request = CommitRequest {
        folder: test.root.clone(),
        entity: None,
        message: "fix: the file (T-1, approved by quin)".to_owned(),
        made_for: origin(number),
        environment: environment(),
    };
    let queue = repository.lock_merge_queue().unwrap();
    repository.commit_work(&request, &queue)
}

#[test]
fn a_commit_is_made_once_after_a_kill_at_any_step() {
    for moment in ["commit.commit:begun", "commit.commit:taken", "commit.commit:done", "commit:end"] {
        let test = TestRepository::new();
        test.write("work", "w");
        let error = commit(&test, &test.killed_at(moment), 1).unwrap_err();
        assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
        let next = test.open();
        next.recover().unwrap();
        for _ in 0..2 {
            let outcome = commit(&test, &next, 1).unwrap();
            assert_eq!(outcome, CommitOutcome::Committed { commit: test.commit("HEAD") }, "{moment}");
        }
        assert_eq!(test.git(&["rev-list", "--count", "HEAD"]), "2", "{moment}");
        assert_eq!(test.git(&["log", "-1", "--format=%s"]), "fix: the file (T-1, approved by quin)");
    }
}

#[test]
fn a_refused_commit_says_why_and_a_busy_folder_is_no_fault_of_the_task() {
    let test = TestRepository::new();
    let refused = |number: u64| match commit(&test, &test.open(), number).unwrap() {
        CommitOutcome::Refused { summary, .. } => summary,
        CommitOutcome::Committed { commit } => panic!("committed as {commit}"),
    };
    assert_eq!(refused(1), "there is nothing to commit");
    test.write("work", "w");
    let hook = test.root.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho checking\necho work is not formatted >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(refused(2), "work is not formatted");
    fs::remove_file(&hook).unwrap();
    let lock = test.root.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let error = commit(&test, &test.open(), 3).unwrap_err();
    assert!(matches!(error, WorktreeError::Hold(_)), "{error}");
    fs::remove_file(lock).unwrap();
    assert!(matches!(commit(&test, &test.open(), 3).unwrap(), CommitOutcome::Committed { .. }));
}
