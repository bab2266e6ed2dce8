//! A kill between two steps leaves no folder, branch or entry behind: ready worktrees, folders of reviewers and of checks,
//! restored and pruned work.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trackside_worktree::{Repository, WorktreeError, list_saved_work, prune_saved_work, restore_saved_work};

use crate::fixture::*;
use crate::kills::moments;
use crate::saving::files_in;

/// Fills the pool. A process that another test starts at this moment can hold its lock for a moment: then again.
fn fill(repository: &Repository) -> Result<usize, WorktreeError> {
    for _ in 0..20 {
        match repository.fill_pool(".worktrees", "integration", &environment()) {
            Ok(0) => std::thread::sleep(Duration::from_millis(10)),
            filled => return filled,
        }
    }
    Ok(0)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect()
}

/// Fills the pool until it has one ready worktree and nothing else: in its folder, among its entries, in git, and in the
/// log of steps.
fn has_one_ready(repository: &Repository, others: usize, context: &str) {
    let mut seen = String::new();
    for _ in 0..100 {
        fill(repository).unwrap();
        repository.recover().unwrap();
        let ready = folders_in(&repository.root().join(".worktrees/.pool"));
        let mut entries = folders_in(&repository.common().join("trackside/pool"));
        entries.retain(|it| it.extension().is_some_and(|it| it == "json"));
        let admins = folders_in(&repository.common().join("worktrees"));
        let listed = repository.worktrees().unwrap();
        let steps = folders_in(&repository.common().join("trackside/steps"));
        let is_right = ready.len() == 1
            && ready.iter().all(|it| it.join("README").exists())
            && entries.len() == 1
            && admins.len() == 1 + others
            && listed.len() == 2 + others
            && listed.iter().all(|it| it.locked.is_none())
            && steps.is_empty();
        if is_right {
            return;
        }
        seen = format!("{ready:?} {entries:?} {admins:?} {listed:?} {steps:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{context}: {seen}");
}

#[test]
fn a_kill_while_the_pool_is_filled_leaves_nothing() {
    for moment in moments("pool", &["add", "checkout", "setup", "entry", "ready"]) {
        for recovers in [false, true] {
            let context = format!("{moment}, {recovers}");
            let test = TestRepository::new();
            test.write(".trackside/worktree.yaml", "setup: [{ run: 'echo ready > made.ignored' }]\n");
            let error = fill(&test.killed_at(&moment)).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{context}: {error}");
            let next = test.open();
            if recovers {
                next.recover().unwrap();
            }
            has_one_ready(&next, 0, &context);
            // It serves the next task.
            let record = create(&next, "T-1", 1);
            assert_eq!(folders_in(&test.root.join(".worktrees/.pool")), Vec::<PathBuf>::new(), "{context}");
            assert!(record.path.join("made.ignored").exists(), "{context}");
        }
    }
}

#[test]
fn a_kill_while_a_ready_worktree_is_taken_leaves_nothing() {
    for moment in ["claim.move:begun", "claim.move:taken", "create.add:taken", "create.checkout:done"] {
        let test = TestRepository::new();
        fill(&test.open()).unwrap();
        let error = test.killed_at(moment).create_worktree(&create_request("T-1", 1, true)).unwrap_err();
        assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
        let next = test.open();
        fill(&next).unwrap();
        create(&next, "T-1", 1);
        has_one_ready(&next, 1, moment);
    }
}

#[test]
fn a_failing_setup_command_and_a_smaller_pool_leave_nothing() {
    let test = TestRepository::new();
    let repository = test.open();
    test.write(".trackside/worktree.yaml", "pool: 3\n");
    assert_eq!(fill(&repository).unwrap(), 3);
    test.write(".trackside/worktree.yaml", "setup: [{ run: 'exit 3' }]\n");
    let error = fill(&repository).unwrap_err();
    assert!(error.to_string().contains("exit 3"), "{error}");
    assert_eq!(folders_in(&test.root.join(".worktrees/.pool")), Vec::<PathBuf>::new());
    for settings in ["pool: 0\n", "kind: clone\n"] {
        test.write(".trackside/worktree.yaml", "");
        assert_eq!(fill(&repository).unwrap(), 1);
        test.write(".trackside/worktree.yaml", settings);
        assert_eq!(fill(&repository).unwrap(), 0, "{settings}");
        assert_eq!(folders_in(&test.root.join(".worktrees/.pool")), Vec::<PathBuf>::new(), "{settings}");
        assert_eq!(repository.worktrees().unwrap().len(), 1, "{settings}");
    }
}

#[test]
fn a_review_folder_is_made_after_a_kill_at_any_step() {
    const PLACE: &str = ".worktrees/.review/code-reviewer-1";
    for moment in moments("review", &["add", "checkout", "ready"]) {
        for recovers in [false, true] {
            let test = TestRepository::new();
            let error = test.killed_at(&moment).check_out_detached(PLACE, "main").unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            let next = test.open();
            if recovers {
                next.recover().unwrap();
            }
            let place = next.check_out_detached(PLACE, "main").unwrap();
            next.recover().unwrap();
            assert_eq!(git(&place, &["status", "--porcelain"]), "", "{moment}");
            assert_eq!(next.worktrees().unwrap().last().unwrap().locked, None, "{moment}");
            assert_eq!(
                test.refs("refs/trackside/trash"),
                Vec::<String>::new(),
                "{moment}: nothing was in it"
            );
            // Work that was left in a finished one is saved, also after a recovery.
            write(&place, "notes", b"notes");
            next.recover().unwrap();
            assert_eq!(fs::read(place.join("notes")).unwrap(), b"notes", "{moment}");
        }
    }
}

#[test]
fn the_folder_of_checks_is_made_after_a_kill_at_any_step() {
    for moment in moments("integration", &["add", "checkout", "ready"]) {
        for recovers in [false, true] {
            let test = TestRepository::new();
            test.write(".trackside/worktree.yaml", "checks: [{ run: 'test -f work' }]\n");
            let record = create(&test.open(), "T-1", 1);
            write(&record.path, "work", b"work");
            let head = commit_all(&record.path, "work");
            let request = merge_request("T-1", &head, 2);
            let killed = test.killed_at(&moment);
            let queue = killed.lock_merge_queue().unwrap();
            let error = killed.merge(&request, &queue).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            drop(queue);
            let next = test.open();
            if recovers {
                next.recover().unwrap();
            }
            assert_eq!(merged(merge(&next, &request)), head, "{moment}");
            let left = next.worktrees().unwrap();
            assert_eq!(left.len(), 2, "{moment}: {left:?}");
            assert_eq!(left[1].locked, None, "{moment}");
        }
    }
}

/// A save with files in git, in the index, and aside.
fn saved_work(test: &TestRepository) -> String {
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    commit_all(&record.path, "work");
    write(&record.path, "README", b"staged");
    git(&record.path, &["add", "README"]);
    write(&record.path, "README", b"unstaged");
    write(&record.path, "nested/file", b"nested");
    git(&record.path.join("nested"), &["init", "-q"]);
    remove(&repository, "T-1", 2).unwrap()
}

#[test]
fn work_is_restored_after_a_kill_at_any_step() {
    for moment in moments("restore", &["add", "files", "base", "kept", "ready"]) {
        for recovers in [false, true] {
            let test = TestRepository::new();
            let id = saved_work(&test);
            let error = restore_saved_work(&test.killed_at(&moment), &id, None).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            let next = test.open();
            let place = test.root.join(".worktrees/T-1");
            if recovers {
                next.recover().unwrap();
            }
            let is_ready = place.exists()
                && next.worktrees().unwrap().iter().any(|it| it.path == place && it.locked.is_none());
            if !is_ready {
                let (_, branch) = restore_saved_work(&next, &id, None).unwrap();
                assert_eq!(branch.as_deref(), Some("task/T-1"), "{moment}");
            }
            assert_eq!(fs::read(place.join("README")).unwrap(), b"unstaged", "{moment}");
            assert_eq!(git(&place, &["show", ":README"]), "staged", "{moment}");
            assert_eq!(fs::read(place.join("nested/file")).unwrap(), b"nested", "{moment}");
            let listed = next.worktrees().unwrap();
            assert_eq!((listed.len(), &listed[1].locked), (2, &None), "{moment}");
        }
    }
}

#[test]
fn an_interrupted_restore_deletes_nothing_that_a_person_wrote_since() {
    let test = TestRepository::new();
    let id = saved_work(&test);
    restore_saved_work(&test.killed_at("restore.kept:begun"), &id, None).unwrap_err();
    let place = test.root.join(".worktrees/T-1");
    write(&place, "since", b"of a person");
    let next = test.open();
    next.recover().unwrap();
    assert_eq!(fs::read(place.join("since")).unwrap(), b"of a person");
    restore_saved_work(&next, &id, None).unwrap();
    let saved = test.refs("refs/trackside/trash");
    assert!(saved.iter().any(|it| try_git(&test.root, &["cat-file", "-e", &format!("{it}:since")]).1));
    // A third time beside it: each has a branch of its own.
    let branches = [1, 2].map(|it| {
        let to = test.root.join(format!(".worktrees/beside-{it}"));
        restore_saved_work(&next, &id, Some(&to)).unwrap().1.unwrap()
    });
    assert_eq!(branches, [format!("restored/{id}"), format!("restored/{id}-2")]);
}

#[test]
fn saved_work_is_deleted_completely_after_a_kill_at_any_step() {
    for moment in moments("prune", &["kept", "ref"]) {
        for recovers in [false, true] {
            let test = TestRepository::new();
            let id = saved_work(&test);
            let ids = [id.clone()];
            let now = jiff::Timestamp::now();
            let error = prune_saved_work(&test.killed_at(&moment), now, &ids).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            let next = test.open();
            if recovers {
                next.recover().unwrap();
            } else {
                prune_saved_work(&next, now, &ids).unwrap();
            }
            assert!(list_saved_work(&next).unwrap().is_empty(), "{moment}");
            assert!(files_in(&test.root.join(".worktrees")).is_empty(), "{moment}");
        }
    }
}

/// The folder of a task is gone and its branch continues.
#[test]
fn a_lost_folder_is_made_again_after_a_kill_at_any_step() {
    let steps = ["save", "move", "verify", "forget", "branch", "delete", "removed"];
    for moment in moments("clear", &steps) {
        for recovers in [false, true] {
            let test = TestRepository::new();
            let record = create(&test.open(), "T-1", 1);
            let head = commit_all(&record.path, "work");
            fs::remove_file(record.path.join(".git")).unwrap();
            write(&record.path, "left", b"left");
            let request = create_request("T-1", 2, false);
            let error = test.killed_at(&moment).create_worktree(&request).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{moment}: {error}");
            let next = test.open();
            if recovers {
                next.recover().unwrap();
            }
            let again = ready(next.create_worktree(&request).unwrap());
            next.recover().unwrap();
            assert_eq!(git(&again.path, &["rev-parse", "task/T-1"]), head, "{moment}");
            assert_eq!(git(&again.path, &["symbolic-ref", "HEAD"]), "refs/heads/task/T-1", "{moment}");
            assert_eq!(again.base, record.base, "{moment}");
            let saved = test.refs("refs/trackside/trash");
            let has_left =
                saved.iter().any(|it| try_git(&test.root, &["cat-file", "-e", &format!("{it}:left")]).1);
            let kept = files_in(&test.root.join(".worktrees/.kept"));
            assert!(has_left || kept.values().any(|it| it == b"left"), "{moment}: the file is lost");
        }
    }
}
