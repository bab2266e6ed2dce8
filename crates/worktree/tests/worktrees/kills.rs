//! A kill between any two steps, and a real one.

use std::fs;
use std::process::Command;

use trackside_worktree::{StepHook, WorktreeError};

use crate::fixture::*;

pub fn moments(operation: &str, steps: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = steps
        .iter()
        .flat_map(|step| ["begun", "taken", "done"].map(|it| format!("{operation}.{step}:{it}")))
        .collect();
    all.push(format!("{operation}:end"));
    all
}

#[test]
fn a_worktree_is_made_after_a_kill_at_any_step() {
    for moment in moments("create", &["record", "add", "checkout", "setup", "ready"]) {
        for kind in ["worktree", "clone"] {
            let test = TestRepository::new();
            test.write(".trackside/worktree.yaml", &format!("kind: {kind}\n"));
            let error = test.killed_at(&moment).create_worktree(&create_request("T-1", 1, true)).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            let next = test.open();
            next.recover().unwrap();
            let record = create(&next, "T-1", 1);
            assert_eq!(git(&record.path, &["status", "--porcelain"]), "", "{moment}");
            assert_eq!(git(&record.path, &["symbolic-ref", "HEAD"]), "refs/heads/task/T-1", "{moment}");
            assert_eq!(record.base, test.commit("main"), "{moment}");
            assert_eq!(test.refs("refs/trackside/trash"), Vec::<String>::new(), "{moment}");
        }
    }
}

#[test]
fn nothing_is_lost_by_a_kill_at_any_step_of_a_removal() {
    let moments = moments("remove", &["save", "move", "verify", "forget", "branch", "delete", "removed"]);
    for (number, moment) in moments.into_iter().enumerate() {
        for kind in ["worktree", "clone"] {
            {
                let recovers = (number % 2 == 0) == (kind == "clone");
                let test = TestRepository::new();
                test.write(".trackside/worktree.yaml", &format!("kind: {kind}\n"));
                let record = create(&test.open(), "T-1", 1);
                let head = commit_all(&record.path, "work");
                write(&record.path, "untracked", b"untracked");
                write(&record.path, "nested/file", b"nested");
                git(&record.path.join("nested"), &["init", "-q"]);
                let error = test.killed_at(&moment).remove_worktree(&remove_request("T-1", 2)).unwrap_err();
                assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
                let next = test.open();
                if recovers {
                    let report = next.recover().unwrap();
                    assert!(report.iter().all(|it| it.starts_with("finished")), "{moment}: {report:?}");
                }
                next.remove_worktree(&remove_request("T-1", 2)).unwrap();
                next.recover().unwrap();
                assert!(!record.path.exists(), "{moment}");
                assert_eq!(next.worktrees().unwrap().len(), 1, "{moment}");
                let saved: Vec<String> = test
                    .refs("refs/trackside/trash")
                    .into_iter()
                    .filter(|it| try_git(&test.root, &["merge-base", "--is-ancestor", &head, it]).1)
                    .filter(|it| try_git(&test.root, &["cat-file", "-e", &format!("{it}:untracked")]).1)
                    .collect();
                assert!(!saved.is_empty(), "{moment} {kind} {recovers}");
                let kept = test.root.join(".worktrees/.kept");
                let nested =
                    fs::read_dir(kept).unwrap().flatten().any(|it| it.path().join("nested/file").exists());
                assert!(nested, "{moment}");
            }
        }
    }
}

#[test]
fn locks_of_a_killed_git_command_are_removed() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let commit = ["commit", "-q", "--allow-empty", "-m", "work"];
    for lock in
        [".git/worktrees/T-1/index.lock", ".git/worktrees/T-1/HEAD.lock", ".git/refs/heads/task/T-1.lock"]
    {
        fs::write(test.root.join(lock), "").unwrap();
        assert!(!try_git(&record.path, &commit).1, "{lock}");
        repository.clear_stale_locks(&record.path, &record.branch).unwrap();
        assert!(try_git(&record.path, &commit).1, "{lock}");
        fs::write(test.root.join(lock), "").unwrap();
    }
    remove(&repository, "T-1", 2);
    assert_eq!(test.refs("refs/heads/task"), Vec::<String>::new());
}

const CHILD: &str = "TRACKSIDE_TEST_KILLED_AT";

/// The process that the next test kills. Without its variable it does nothing.
#[test]
fn killed_process() {
    let Ok(moment) = std::env::var(CHILD) else { return };
    let (root, moment) = moment.split_once(' ').unwrap();
    let moment = moment.to_owned();
    let hook = StepHook::new(move |it| {
        if it == moment {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        }
        false
    });
    let repository = trackside_worktree::Repository::open(root.as_ref()).unwrap().with_hook(hook);
    repository.create_worktree(&create_request("T-1", 2, true)).unwrap();
}

#[test]
fn a_killed_process_keeps_no_lock_and_loses_nothing() {
    for moment in [
        "remove.save:taken",
        "remove.move:taken",
        "remove.forget:begun",
        "create.add:taken",
        "create.checkout:begun",
    ] {
        let test = TestRepository::new();
        let record = create(&test.open(), "T-1", 1);
        write(&record.path, "work", b"work");
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["kills::killed_process", "--exact", "--test-threads=1"])
            .env(CHILD, format!("{} {moment}", test.root.display()))
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "{moment}");
        let next = test.open();
        next.recover().unwrap();
        let record = create(&next, "T-1", 2);
        assert!(!record.path.join("work").exists(), "{moment}: it is fresh");
        let trash = test.refs("refs/trackside/trash");
        assert!(
            trash.iter().any(|it| try_git(&test.root, &["cat-file", "-e", &format!("{it}:work")]).1),
            "{moment}"
        );
    }
}
