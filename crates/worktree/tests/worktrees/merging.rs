//! The merge queue.

use std::fs;

use trackside_worktree::{MergeOutcome, MergeWay, WorktreeError};

use crate::fixture::*;

fn failed(outcome: MergeOutcome) -> (String, String) {
    match outcome {
        MergeOutcome::Failed { summary, output } => (summary, output),
        MergeOutcome::Merged { merge_commit, .. } => panic!("merged as {merge_commit}"),
    }
}

fn way(outcome: &MergeOutcome) -> MergeWay {
    match outcome {
        MergeOutcome::Merged { way, .. } => *way,
        MergeOutcome::Failed { summary, .. } => panic!("{summary}"),
    }
}

#[test]
fn a_reviewed_commit_is_merged_once_and_its_worktree_goes() {
    let test = TestRepository::new();
    let repository = test.open();
    let (first, second) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    write(&first.path, "one", b"1");
    write(&second.path, "two", b"2");
    let (one, two) = (commit_all(&first.path, "one"), commit_all(&second.path, "two"));
    let outcome = merge(&repository, &merge_request("T-1", &one, 3));
    assert_eq!(way(&outcome), MergeWay::FastForward);
    assert_eq!(test.commit("integration"), one);
    let outcome = merge(&repository, &merge_request("T-2", &two, 4));
    let MergeOutcome::Merged { merge_commit, way, before, drift, is_removed, warnings, .. } = outcome else {
        panic!()
    };
    assert_eq!((way, drift, is_removed, warnings.len()), (MergeWay::MergeCommit, Some(1), true, 0));
    assert_eq!(before.as_ref(), Some(&one));
    assert_eq!(test.commit("integration"), merge_commit);
    assert_eq!(
        test.git(&["rev-list", "--parents", "-1", &merge_commit]),
        format!("{merge_commit} {one} {two}")
    );
    assert!(!first.path.exists() && !second.path.exists());
    assert_eq!(test.refs("refs/heads/task"), Vec::<String>::new());
    assert_eq!(test.refs("refs/trackside/trash"), Vec::<String>::new(), "nothing would have been lost");
    // Again, by any runner, also long after.
    for _ in 0..2 {
        assert_eq!(merged(merge(&test.open(), &merge_request("T-2", &two, 4))), merge_commit);
    }
    assert_eq!(test.git(&["rev-list", "--count", "integration"]), "4");
}

#[test]
fn a_conflict_is_reported_and_the_worktree_stays() {
    let test = TestRepository::new();
    let repository = test.open();
    let (first, second) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    write(&first.path, "README", b"one\n");
    write(&second.path, "README", b"two\n");
    let (one, two) = (commit_all(&first.path, "one"), commit_all(&second.path, "two"));
    merged(merge(&repository, &merge_request("T-1", &one, 3)));
    let (summary, output) = failed(merge(&repository, &merge_request("T-2", &two, 4)));
    assert_eq!(summary, "task/T-2 conflicts with integration in README");
    assert!(output.contains("CONFLICT"), "{output}");
    assert_eq!(test.commit("integration"), one);
    assert!(second.path.join("README").exists());
}

/// After a conflict, a coder merges the integration branch into its work. Moving the branch to that commit would make the line
/// of the task its own line, and earlier merges would not be found on it any more.
#[test]
fn work_that_has_merged_the_branch_keeps_the_line_of_the_branch() {
    let test = TestRepository::new();
    let repository = test.open();
    let (first, second) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    write(&first.path, "one", b"1");
    write(&second.path, "two", b"2");
    let (one, two) = (commit_all(&first.path, "one"), commit_all(&second.path, "two"));
    merged(merge(&repository, &merge_request("T-1", &one, 3)));
    git(&second.path, &["merge", "--quiet", "--no-edit", "integration"]);
    let fixed = git(&second.path, &["rev-parse", "HEAD"]);
    let outcome = merge(&repository, &merge_request("T-2", &fixed, 4));
    assert_eq!(way(&outcome), MergeWay::MergeCommit);
    let merge_commit = merged(outcome);
    let own_line = test.git(&["rev-list", "--first-parent", "integration"]);
    assert_eq!(own_line.lines().take(2).collect::<Vec<_>>(), [merge_commit.as_str(), &one]);
    assert!(!own_line.contains(&two));
    assert_eq!(test.git(&["show", "integration:one", "integration:two"]), "12");
}

#[test]
fn commits_after_the_review_invalidate_it() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let reviewed = commit_all(&record.path, "reviewed");
    let later = commit_all(&record.path, "later");
    let (summary, output) = failed(merge(&repository, &merge_request("T-1", &reviewed, 2)));
    assert!(summary.contains(&later) && output.contains("later"), "{summary}\n{output}");
    assert_eq!(test.commit("integration"), test.commit("main"));
}

#[test]
fn merged_elsewhere_is_recognised_also_as_a_squash() {
    let test = TestRepository::new();
    let repository = test.open();
    let mut heads = Vec::new();
    for (number, id) in ["T-1", "T-2", "T-3"].iter().enumerate() {
        let record = create(&repository, id, number as u64);
        write(&record.path, id, b"a\n");
        commit_all(&record.path, "a");
        write(&record.path, id, b"a\nb\n");
        heads.push(commit_all(&record.path, "b"));
    }
    test.git(&["checkout", "-q", "integration"]);
    test.git(&["merge", "-q", "--no-ff", "-m", "by hand", "task/T-1"]);
    let by_hand = test.commit("integration");
    test.git(&["merge", "-q", "--squash", "task/T-2"]);
    test.git(&["commit", "-q", "-m", "squash"]);
    test.git(&["merge", "-q", "--squash", "task/T-3"]);
    test.git(&["commit", "-q", "-m", "squash"]);
    // Changed since: the content alone no longer says that it is there.
    test.write("T-3", "other\n");
    test.commit_all("changed since");
    let tip = test.commit("integration");
    for (id, head, expected) in
        [("T-1", &heads[0], Some(&by_hand)), ("T-2", &heads[1], None), ("T-3", &heads[2], None)]
    {
        let outcome = merge(&repository, &merge_request(id, head, 9));
        assert_eq!(way(&outcome), MergeWay::AlreadyMerged, "{id}");
        if let Some(expected) = expected {
            assert_eq!(&merged(outcome), expected);
        }
    }
    assert_eq!(test.commit("integration"), tip);
}

#[test]
fn a_failing_check_leaves_the_branch_where_it_was() {
    let test = TestRepository::new();
    test.write(
        ".trackside/worktree.yaml",
        "checks: [{ run: 'ls; test ! -e bad' }, { run: 'sleep 60', limit: 1s }]\n",
    );
    let repository = test.open();
    let before = test.commit("main");
    let record = create(&repository, "T-1", 1);
    write(&record.path, "bad", b"");
    let bad = commit_all(&record.path, "bad");
    let (summary, output) = failed(merge(&repository, &merge_request("T-1", &bad, 2)));
    assert!(summary.contains("`ls; test ! -e bad` failed"), "{summary}");
    assert!(output.contains("README"), "{output}");
    assert_eq!(test.commit("integration"), before);
    fs::remove_file(record.path.join("bad")).unwrap();
    let good = commit_all(&record.path, "good");
    let (summary, _) = failed(merge(&repository, &merge_request("T-1", &good, 3)));
    assert!(summary.contains("stopped after 1 s"), "{summary}");
    test.write(".trackside/worktree.yaml", "checks: [{ run: 'test ! -e bad' }]\n");
    assert_eq!(merged(merge(&repository, &merge_request("T-1", &good, 4))), good);
}

/// Also if the process was killed after the merge: the next one finds it done, and reports the same.
#[test]
fn the_output_of_the_checks_and_the_commit_before_are_reported() {
    for moment in ["none", "merge.move:taken", "merge:end"] {
        let test = TestRepository::new();
        test.write(".trackside/worktree.yaml", "checks: [{ run: 'echo all is well' }]\n");
        let record = create(&test.open(), "T-1", 1);
        let before = test.commit("integration");
        write(&record.path, "one", b"1");
        let request = merge_request("T-1", &commit_all(&record.path, "one"), 2);
        let killed = test.killed_at(moment);
        let queue = killed.lock_merge_queue().unwrap();
        let first = killed.merge(&request, &queue);
        drop(queue);
        assert_eq!(first.is_ok(), moment == "none", "{moment}");
        let outcome = merge(&test.open(), &request);
        let MergeOutcome::Merged { before: reported, output, is_removed, .. } = outcome else { panic!() };
        assert_eq!((reported, is_removed), (Some(before), true), "{moment}");
        assert!(output.contains("all is well"), "{moment}: {output}");
    }
}

#[test]
fn a_commit_that_is_made_while_the_checks_run_invalidates_the_review() {
    let test = TestRepository::new();
    let late = "git -C ../T-1 -c user.name=t -c user.email=t@t commit -q --allow-empty -m late";
    test.write(".trackside/worktree.yaml", &format!("checks: [{{ run: '{late}' }}]\n"));
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "one", b"1");
    let reviewed = commit_all(&record.path, "reviewed");
    let before = test.commit("integration");
    let (summary, output) = failed(merge(&repository, &merge_request("T-1", &reviewed, 2)));
    assert!(summary.contains("commits after the review") && output.contains("late"), "{summary}\n{output}");
    assert_eq!(test.commit("integration"), before);
    assert!(record.path.exists());
}

/// The worktree stays if its content cannot be moved aside, and the result of the merge says so.
#[test]
fn a_worktree_that_cannot_be_removed_is_not_reported_as_removed() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let one = commit_all(&record.path, "one");
    test.write(".worktrees/.kept", "in the way");
    let outcome = merge(&repository, &merge_request("T-1", &one, 2));
    let MergeOutcome::Merged { is_removed, warnings, .. } = outcome else { panic!() };
    assert!(!is_removed && warnings[0].contains("was not removed"), "{warnings:?}");
    fs::remove_file(test.root.join(".worktrees/.kept")).unwrap();
    let outcome = merge(&repository, &merge_request("T-1", &one, 2));
    let MergeOutcome::Merged { is_removed, .. } = outcome else { panic!() };
    assert!(is_removed && !record.path.exists());
}

#[test]
fn a_checked_out_integration_branch_follows_only_if_it_is_clean() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "one", b"1");
    let one = commit_all(&record.path, "one");
    test.git(&["checkout", "-q", "integration"]);
    test.write("README", "changed by a person\n");
    let queue = repository.lock_merge_queue().unwrap();
    let error = repository.merge(&merge_request("T-1", &one, 2), &queue).unwrap_err();
    assert!(matches!(&error, WorktreeError::Hold(why) if why.contains("uncommitted")), "{error}");
    drop(queue);
    assert_eq!(test.commit("integration"), test.commit("main"));
    test.git(&["checkout", "-q", "README"]);
    merged(merge(&repository, &merge_request("T-1", &one, 2)));
    assert_eq!(fs::read_to_string(test.root.join("one")).unwrap(), "1");
    assert_eq!(test.git(&["status", "--porcelain", "-uno"]), "");
}

#[test]
fn work_that_was_not_committed_is_saved_when_the_rest_is_merged() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "one", b"1");
    let one = commit_all(&record.path, "one");
    write(&record.path, "two", b"2");
    let outcome = merge(&repository, &merge_request("T-1", &one, 2));
    let MergeOutcome::Merged { warnings, .. } = outcome else { panic!() };
    assert!(warnings[0].contains("saved as"), "{warnings:?}");
    let trash = test.refs("refs/trackside/trash");
    assert_eq!(test.git(&["show", &format!("{}:two", trash[0])]), "2");
}

/// S10: kill at every step of a merge. Any other process finishes it, and it happens once.
#[test]
fn s10_a_merge_happens_once_and_is_always_finished() {
    let mut moments = vec!["none".to_owned()];
    for step in ["move", "checkout", "clean"] {
        moments.extend(["begun", "taken", "done"].map(|it| format!("merge.{step}:{it}")));
    }
    for step in ["save", "move", "verify", "forget", "branch", "delete", "removed"] {
        moments.push(format!("remove.{step}:taken"));
    }
    moments.extend(["merge:end".to_owned(), "remove:end".to_owned()]);
    for (number, moment) in moments.into_iter().enumerate() {
        // A runner that starts afterwards recovers first; one that was running already does not.
        {
            let recovers = number % 2 == 0;
            let test = TestRepository::new();
            let (other, record) = (create(&test.open(), "T-0", 0), create(&test.open(), "T-1", 1));
            test.git(&["checkout", "-q", "integration"]);
            write(&other.path, "zero", b"0");
            write(&record.path, "one", b"1");
            let (zero, one) = (commit_all(&other.path, "zero"), commit_all(&record.path, "one"));
            merged(merge(&test.open(), &merge_request("T-0", &zero, 2)));
            let request = merge_request("T-1", &one, 3);
            let killed = test.killed_at(&moment);
            let queue = killed.lock_merge_queue().unwrap();
            let _ = killed.merge(&request, &queue);
            drop(queue);
            let next = test.open();
            if recovers {
                let report = next.recover().unwrap();
                assert!(report.iter().all(|it| it.starts_with("finished")), "{moment}: {report:?}");
            }
            let merge_commit = merged(merge(&next, &request));
            let _ = next.recover().unwrap();
            assert_eq!(test.commit("integration"), merge_commit, "{moment}");
            assert_eq!(test.git(&["rev-list", "--count", "integration"]), "4", "{moment}");
            assert_eq!(test.git(&["status", "--porcelain"]), "", "{moment}: the main checkout follows");
            assert!(!record.path.exists(), "{moment}");
            assert_eq!(next.worktrees().unwrap().len(), 1, "{moment}");
            assert_eq!(test.refs("refs/heads/task"), Vec::<String>::new(), "{moment}");
            assert_eq!(fs::read_dir(test.root.join(".git/trackside/steps")).unwrap().count(), 0, "{moment}");
        }
    }
}

/// S10: siblings keep their place, and only the next one is built on the moved branch.
#[test]
fn merges_by_many_runners_are_one_after_the_other() {
    let test = TestRepository::new();
    let heads: Vec<(String, String)> = (0..8)
        .map(|number| {
            let id = format!("T-{number}");
            let record = create(&test.open(), &id, number);
            write(&record.path, &id, b"x");
            (id, commit_all(&record.path, "work"))
        })
        .collect();
    std::thread::scope(|scope| {
        for (id, head) in &heads {
            let test = &test;
            // Two runners for each.
            for _ in 0..2 {
                scope.spawn(move || merged(merge(&test.open(), &merge_request(id, head, 100))));
            }
        }
    });
    assert_eq!(test.git(&["rev-list", "--count", "--merges", "integration"]), "7");
    for (id, _) in &heads {
        assert_eq!(test.git(&["show", &format!("integration:{id}")]), "x");
    }
}
