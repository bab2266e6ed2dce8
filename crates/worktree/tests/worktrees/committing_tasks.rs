//! Commits in the main checkout: the changes of one task, as they were reviewed, and nothing of a person or another task.

use std::fs;

use trackside_worktree::{CommitOutcome, CommitRequest, Repository, WorktreeError};

use crate::fixture::*;

const TASK: &str = "build.task/T-1";
const OTHER: &str = "build.task/T-2";

fn commit(test: &TestRepository, entity: &str, number: u64) -> Result<CommitOutcome, WorktreeError> {
    let repository = test.open();
    let request = CommitRequest {
        folder: repository.root().to_owned(),
        entity: Some(entity.to_owned()),
        message: format!("fix: {entity}"),
        made_for: origin(number),
        environment: environment(),
    };
    let queue = repository.lock_merge_queue().unwrap();
    repository.commit_work(&request, &queue)
}

/// The paths of the commit that was made for a task.
fn committed(test: &TestRepository, entity: &str, number: u64) -> String {
    match commit(test, entity, number).unwrap() {
        CommitOutcome::Committed { commit } => {
            test.git(&["show", "--format=", "--name-status", "--no-renames", &commit])
        }
        CommitOutcome::Refused { summary, .. } => panic!("{summary}"),
    }
}

fn refused(test: &TestRepository, entity: &str, number: u64) -> String {
    match commit(test, entity, number).unwrap() {
        CommitOutcome::Refused { summary, .. } => summary,
        CommitOutcome::Committed { commit } => panic!("committed as {commit}"),
    }
}

/// A run of an agent that does something.
fn run(repository: &Repository, entity: &str, agent: &str, act: impl FnOnce()) {
    repository.begin_work(entity, agent).unwrap();
    act();
    repository.end_work(entity, agent).unwrap();
}

#[test]
fn files_of_a_person_are_not_in_the_commit_of_a_task() {
    let test = TestRepository::new();
    test.write("old.txt", "old\n");
    test.write("gone.txt", "gone\n");
    test.commit_all("more");
    // A person has changes of every kind.
    test.write("README", "of a person\n");
    test.write("staged.txt", "staged\n");
    test.git(&["add", "staged.txt"]);
    test.write("own.txt", "not added\n");
    let repository = test.open();
    run(&repository, TASK, "dev-1", || {
        test.write("src/new file.txt", "new\n");
        test.write("a*.txt", "a pattern\n");
        test.write("old.txt", "changed\n");
        fs::remove_file(test.root.join(".gitignore")).unwrap();
        test.git(&["rm", "-q", "gone.txt"]);
    });
    // Between the runs, and after them.
    test.write("ab.txt", "of a person\n");
    run(&repository, TASK, "mon-1", || {});
    test.write("later.txt", "of a person\n");
    let names = "D\t.gitignore\nA\ta*.txt\nD\tgone.txt\nM\told.txt\nA\tsrc/new file.txt";
    assert_eq!(committed(&test, TASK, 1), names);
    let left =
        "M  staged.txt\n M README\n?? ab.txt\n?? later.txt\n?? own.txt".replace("M  staged", "A  staged");
    let mut status: Vec<String> =
        test.git(&["status", "--porcelain"]).lines().map(|it| it.trim_start().to_owned()).collect();
    let mut left: Vec<String> = left.lines().map(|it| it.trim_start().to_owned()).collect();
    status.sort();
    left.sort();
    assert_eq!(status, left);
    assert_eq!(committed(&test, TASK, 1), names, "the same request again");
    let error = commit(&test, TASK, 2).unwrap_err();
    assert!(
        matches!(&error, WorktreeError::Hold(why) if why.contains("no run of build.task/T-1")),
        "{error}"
    );
}

#[test]
fn a_file_that_changed_after_the_review_is_not_committed() {
    let test = TestRepository::new();
    let repository = test.open();
    run(&repository, TASK, "dev-1", || test.write("code.txt", "good\n"));
    run(&repository, TASK, "mon-1", || {});
    test.write("code.txt", "changed by another program\n");
    let why = refused(&test, TASK, 1);
    assert!(why.contains("code.txt has changed after the last run"), "{why}");
    assert_eq!(test.git(&["rev-list", "--count", "HEAD"]), "1");
    run(&repository, TASK, "mon-1", || {});
    assert_eq!(committed(&test, TASK, 2), "A\tcode.txt");
    assert_eq!(test.git(&["show", "HEAD:code.txt"]), "changed by another program");
}

#[test]
fn a_file_with_changes_of_a_person_and_of_a_task_is_not_committed() {
    let test = TestRepository::new();
    test.write("README", "of a person\n");
    let repository = test.open();
    run(&repository, TASK, "dev-1", || {
        test.write("README", "of a person and an agent\n");
        test.write("code.txt", "good\n");
    });
    let why = refused(&test, TASK, 1);
    assert!(why.contains("README had changes that were not committed"), "{why}");
    assert_eq!(test.git(&["status", "--porcelain"]), " M README\n?? code.txt");
}

#[test]
fn each_task_commits_its_own_files() {
    let test = TestRepository::new();
    let repository = test.open();
    run(&repository, TASK, "dev-1", || test.write("one.txt", "1\n"));
    run(&repository, OTHER, "dev-2", || test.write("two.txt", "2\n"));
    // Agents of both work at once: only the second one goes on with its file.
    repository.begin_work(TASK, "mon-1").unwrap();
    repository.begin_work(OTHER, "dev-2").unwrap();
    test.write("three.txt", "3\n");
    test.write("four.txt", "4\n");
    repository.end_work(TASK, "mon-1").unwrap();
    test.write("three.txt", "33\n");
    repository.end_work(OTHER, "dev-2").unwrap();
    assert_eq!(committed(&test, TASK, 1), "A\tfour.txt\nA\tone.txt", "the one of both goes with the first");
    assert_eq!(committed(&test, OTHER, 2), "A\tthree.txt\nA\ttwo.txt");
}

/// An agent can hand its work in before its run has ended.
#[test]
fn work_of_a_run_that_has_not_ended_is_committed() {
    let test = TestRepository::new();
    let repository = test.open();
    repository.begin_work(TASK, "dev-1").unwrap();
    test.write("code.txt", "good\n");
    repository.begin_work(TASK, "mon-1").unwrap();
    assert_eq!(committed(&test, TASK, 1), "A\tcode.txt");
    repository.end_work(TASK, "dev-1").unwrap();
    repository.end_work(TASK, "mon-1").unwrap();
    assert!(!repository.has_work_of(TASK).unwrap(), "nothing of it is remembered");
}

#[test]
fn a_commit_that_had_to_wait_is_made_later() {
    let test = TestRepository::new();
    let repository = test.open();
    run(&repository, TASK, "dev-1", || test.write("code.txt", "good\n"));
    let lock = test.root.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let error = commit(&test, TASK, 1).unwrap_err();
    assert!(matches!(error, WorktreeError::Hold(_)), "{error}");
    fs::remove_file(lock).unwrap();
    // The index has the file already, as after a hook that refused.
    test.git(&["add", "code.txt"]);
    assert_eq!(committed(&test, TASK, 1), "A\tcode.txt");
    run(&repository, OTHER, "dev-1", || {});
    assert_eq!(refused(&test, OTHER, 2), "there is nothing to commit");
}
