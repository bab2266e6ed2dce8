//! Changes as data, and files touched outside a worktree.

use std::fs;

use trackside_worktree::{ChangeLineKind, ChangedFileStatus, GitFolder, read_bounded_change, read_change};

use crate::fixture::*;

#[test]
fn a_change_has_files_hunks_and_figures() {
    let test = TestRepository::new();
    test.write("gone", "a\n");
    test.write("moved", "one\ntwo\nthree\nfour\nfive\n");
    test.write("long", &(0..40).map(|it| format!("line {it}\n")).collect::<String>());
    test.write("run", "#!/bin/sh\n");
    let base = test.commit_all("base");
    fs::remove_file(test.root.join("gone")).unwrap();
    fs::rename(test.root.join("moved"), test.root.join("moved here")).unwrap();
    test.write("moved here", "one\ntwo\nthree\nfour\nsix\n");
    let long: String = (0..40)
        .map(|it| if it == 3 || it == 30 { "-- a line\n".to_owned() } else { format!("line {it}\n") })
        .collect();
    test.write("long", &long);
    test.write("new", "no line break at the end");
    fs::write(test.root.join("binary"), [0u8, 1, 2, 0]).unwrap();
    test.git(&["add", "-A"]);
    test.git(&["update-index", "--chmod=+x", "run"]);
    test.git(&["commit", "-q", "-m", "head"]);
    let head = test.commit("HEAD");
    let change = read_change(&GitFolder::new(&test.root), &base, &head).unwrap();
    let file = |path: &str| change.files.iter().find(|it| it.path == path).unwrap();
    let statuses: Vec<(&str, ChangedFileStatus, bool)> =
        ["binary", "gone", "long", "moved here", "new", "run"]
            .map(|it| (it, file(it).status, file(it).binary))
            .to_vec();
    assert_eq!(
        statuses,
        [
            ("binary", ChangedFileStatus::Added, true),
            ("gone", ChangedFileStatus::Deleted, false),
            ("long", ChangedFileStatus::Modified, false),
            ("moved here", ChangedFileStatus::Renamed, false),
            ("new", ChangedFileStatus::Added, false),
            ("run", ChangedFileStatus::Mode, false),
        ]
    );
    assert_eq!(file("moved here").old_path.as_deref(), Some("moved"));
    assert_eq!((change.stats.files, change.stats.additions, change.stats.deletions), (6, 4, 4));
    assert_eq!(file("long").hunks.len(), 2);
    let first = &file("long").hunks[0];
    assert_eq!((first.old_start, first.old_lines, first.new_start, first.new_lines), (1, 7, 1, 7));
    let line = |kind: ChangeLineKind| {
        first.lines.iter().filter(|it| it.kind == kind).map(|it| it.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        (line(ChangeLineKind::Delete), line(ChangeLineKind::Add)),
        (vec!["line 3"], vec!["-- a line"])
    );
    assert_eq!(line(ChangeLineKind::Context).len(), 6);
    assert_eq!(file("new").hunks[0].lines[0].text, "no line break at the end");
    assert!(!change.truncated);
}

#[test]
fn the_hunks_of_the_largest_files_are_left_out() {
    let test = TestRepository::new();
    let base = test.commit("HEAD");
    test.write("small", "a\n");
    test.write("large", &"a long line of text\n".repeat(2_000));
    let head = test.commit_all("head");
    let change = read_bounded_change(&GitFolder::new(&test.root), &base, &head, 20_000).unwrap();
    let hunks: Vec<(&str, usize, u64)> =
        change.files.iter().map(|it| (it.path.as_str(), it.hunks.len(), it.additions)).collect();
    assert_eq!((hunks, change.truncated), (vec![("large", 0, 2_000), ("small", 1, 1)], true));
    assert!(serde_json::to_vec(&change).unwrap().len() <= 20_000);
}

/// S8: edits by an absolute path into the main checkout are found, and named.
#[test]
fn s8_the_main_checkout_is_untouched() {
    let test = TestRepository::new();
    test.write("notes", "of a person");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let before = repository.fingerprint().unwrap();
    write(&record.path, "work", b"work");
    let head = commit_all(&record.path, "work");
    let touched = || repository.touched_between(&before, &repository.fingerprint().unwrap()).unwrap();
    assert_eq!(touched(), Vec::<String>::new());
    // Earlier changes by a person do not count as the agent's, unless they change again.
    test.write("README", "edited by an absolute path\n");
    test.write("new file", "x");
    test.write("notes", "of an agent");
    assert_eq!(touched(), ["README", "new file", "notes"]);
    test.git(&["checkout", "-q", "README"]);
    fs::remove_file(test.root.join("new file")).unwrap();
    assert_eq!(touched(), ["notes"]);
    // It commits there.
    test.git(&["commit", "-q", "--allow-empty", "-m", "in the wrong place"]);
    assert_eq!(touched(), ["HEAD", "notes"]);
    // A merge that moves the checked-out branch is our own.
    test.git(&["checkout", "-q", "integration"]);
    let before = repository.fingerprint().unwrap();
    merged(merge(&repository, &merge_request("T-1", &head, 2)));
    assert_eq!(
        repository.touched_between(&before, &repository.fingerprint().unwrap()).unwrap(),
        Vec::<String>::new()
    );
}

#[test]
fn facts_of_a_worktree() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "one", b"1\n2\n");
    let head = commit_all(&record.path, "one");
    write(&record.path, "README", b"changed\n");
    let facts = repository.worktree_facts(&record).unwrap();
    assert_eq!(facts.head, Some(head));
    assert_eq!((facts.unmerged, facts.dirty, facts.additions, facts.deletions), (1, 1, 3, 1));
    assert!(trackside_worktree::is_present(&record.path));
    fs::remove_dir_all(&record.path).unwrap();
    assert!(!trackside_worktree::is_present(&record.path));
}
