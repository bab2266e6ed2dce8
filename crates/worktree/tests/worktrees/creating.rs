//! Making worktrees ready.

use std::fs;
use std::process::Command;

use trackside_worktree::{CreateOutcome, Repository, WorktreeError, WorktreeState};

use crate::fixture::*;

#[test]
fn a_worktree_starts_at_the_integration_branch_which_is_made_from_main() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    assert_eq!(record.state, WorktreeState::Ready);
    assert_eq!(record.base, test.commit("main"));
    assert_eq!(test.commit("integration"), test.commit("main"));
    assert_eq!(git(&record.path, &["symbolic-ref", "HEAD"]), "refs/heads/task/T-1");
    assert_eq!(fs::read_to_string(record.path.join("README")).unwrap(), "first\n");
    assert_eq!(test.git(&["status", "--porcelain"]), "", "the main checkout does not show the worktrees");
    let listed = repository.worktrees().unwrap();
    assert_eq!(listed.last().unwrap().locked, None, "it is locked only while it is being made");
    assert_eq!(repository.worktree_of("coding.task/T-1").unwrap().unwrap().path, record.path);
}

#[test]
fn the_same_request_again_changes_nothing() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 7);
    write(&record.path, "work", b"unsaved");
    let again = repository.create_worktree(&create_request("T-1", 7, true)).unwrap();
    assert!(matches!(again, CreateOutcome::Ready { is_new: false, .. }));
    assert_eq!(fs::read(record.path.join("work")).unwrap(), b"unsaved");
    let outdated = repository.create_worktree(&create_request("T-1", 6, true)).unwrap();
    assert!(matches!(outdated, CreateOutcome::Outdated), "an earlier request came late");
    assert_eq!(fs::read(record.path.join("work")).unwrap(), b"unsaved");
}

/// S7: a resumed worktree's base is the one recorded at its first creation.
#[test]
fn s7_a_resumed_worktree_keeps_its_first_base() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let base = record.base.clone();
    let head = commit_all(&record.path, "work");
    test.write("elsewhere", "x");
    let moved = test.commit_all("main moves");
    test.git(&["update-ref", "refs/heads/integration", &moved]);
    // Its folder is gone, and the branch continues.
    fs::remove_dir_all(&record.path).unwrap();
    let resumed = ready(repository.create_worktree(&create_request("T-1", 2, false)).unwrap());
    assert_eq!(resumed.base, base);
    assert_eq!(git(&resumed.path, &["rev-parse", "HEAD"]), head);
    // Another agent starts fresh.
    let fresh = ready(repository.create_worktree(&create_request("T-1", 3, true)).unwrap());
    assert_eq!(fresh.base, moved);
    assert_eq!(git(&fresh.path, &["rev-parse", "HEAD"]), moved);
}

#[test]
fn a_worktree_is_reused_without_reset() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "work", b"unsaved");
    let again = repository.create_worktree(&create_request("T-1", 2, false)).unwrap();
    assert!(matches!(again, CreateOutcome::Ready { is_new: false, .. }));
    assert_eq!(fs::read(record.path.join("work")).unwrap(), b"unsaved");
}

#[test]
fn settings_prepare_a_worktree() {
    let test = TestRepository::new();
    test.write("secrets.ignored", "s");
    test.write("build/tool", "t");
    test.write(
        ".trackside/worktree.yaml",
        "copy: [secrets.ignored]\nlink: [build]\nports: { from: 20000, count: 10 }\ncaches: { CACHE: build/cache }\nsetup: [{ run: 'echo $TRACKSIDE_PORT > port.ignored', limit: 30s }]\npool: 0\n",
    );
    let repository = test.open();
    let first = create(&repository, "T-1", 1);
    let second = create(&repository, "T-2", 2);
    assert_eq!(fs::read_to_string(first.path.join("secrets.ignored")).unwrap(), "s");
    assert!(first.path.join("build").is_symlink());
    assert_eq!(fs::read_to_string(first.path.join("port.ignored")).unwrap(), "20000\n");
    assert_eq!(fs::read_to_string(second.path.join("port.ignored")).unwrap(), "20010\n");
    assert_eq!(second.variables["CACHE"], test.root.join("build/cache").display().to_string());
    // A failed command blames the machine, and leaves nothing behind.
    test.write(".trackside/worktree.yaml", "setup: [{ run: 'echo no luck; exit 3' }]\n");
    let error = repository.create_worktree(&create_request("T-3", 3, true)).unwrap_err();
    assert!(error.is_fault_of_machine() && error.to_string().contains("no luck"), "{error}");
    assert!(!test.root.join(".worktrees/T-3").exists());
    assert_eq!(test.refs("refs/heads/task/T-3"), Vec::<String>::new());
}

#[test]
fn an_unfit_repository_is_no_fault_of_the_task() {
    let outside = std::env::temp_dir().join(format!("trackside-no-repository-{}", std::process::id()));
    fs::create_dir_all(&outside).unwrap();
    let unfit = |error: WorktreeError, word: &str| {
        assert!(error.is_fault_of_machine(), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    unfit(Repository::open(&outside).unwrap_err(), "git init");
    git(&outside, &["init", "-q", "--bare", "bare"]);
    unfit(Repository::open(&outside.join("bare")).unwrap_err(), "bare");
    let empty = TestRepository::empty();
    unfit(empty.open().create_worktree(&create_request("T-1", 1, true)).unwrap_err(), "no commit");
    let test = TestRepository::new();
    test.git(&["branch", "task"]);
    unfit(test.open().create_worktree(&create_request("T-1", 1, true)).unwrap_err(), "task");
    // A name that no repository takes is one.
    let mut request = create_request("T-1", 1, true);
    request.branch = "task/a..b".to_owned();
    assert!(!test.open().create_worktree(&request).unwrap_err().is_fault_of_machine());
    let _ = fs::remove_dir_all(outside);
}

#[test]
fn a_half_made_worktree_of_a_dead_process_is_repaired() {
    let test = TestRepository::new();
    let repository = test.open();
    create(&repository, "T-0", 1);
    // What a SIGKILL inside `git worktree add` leaves.
    let admin = test.root.join(".git/worktrees/T-1");
    fs::create_dir_all(&admin).unwrap();
    fs::write(admin.join("gitdir"), format!("{}\n", test.root.join(".worktrees/T-1/.git").display()))
        .unwrap();
    fs::write(admin.join("locked"), "trackside: being made").unwrap();
    fs::write(admin.join("commondir"), "").unwrap();
    assert!(!try_git(&test.root, &["worktree", "list"]).1, "git fails for everybody");
    let record = create(&test.open(), "T-1", 2);
    assert!(record.path.join("README").exists());
    assert!(try_git(&test.root, &["worktree", "list"]).1);
}

/// S9: fifty claims at once, beside a fetch and a gc.
#[test]
fn s9_fifty_at_once_beside_a_fetch_and_a_gc() {
    let test = TestRepository::new();
    let repository = test.open();
    repository.check_fitness("integration").unwrap();
    let other = TestRepository::new();
    let foreign = |args: &[&str]| Command::new("git").args(args).current_dir(&test.root).output();
    std::thread::scope(|scope| {
        scope.spawn(|| foreign(&["fetch", "-q", &other.root.display().to_string()]));
        scope.spawn(|| foreign(&["gc", "-q"]));
        let made: Vec<_> = (0..50)
            .map(|number| {
                let repository = &repository;
                scope.spawn(move || {
                    repository.create_worktree(&create_request(&format!("T-{number}"), number, true))
                })
            })
            .collect();
        for outcome in made {
            let record = ready(outcome.join().unwrap().unwrap());
            assert_eq!(git(&record.path, &["status", "--porcelain"]), "");
        }
    });
    assert_eq!(repository.worktrees().unwrap().len(), 51);
}

#[test]
fn a_worktree_comes_from_the_pool() {
    let test = TestRepository::new();
    test.write(".trackside/worktree.yaml", "setup: [{ run: 'echo ready > made.ignored' }]\n");
    let repository = test.open();
    let fill = || repository.fill_pool(".worktrees", "integration", &environment()).unwrap();
    assert_eq!(fill(), 1);
    assert_eq!(fill(), 0, "one is enough");
    // The branch has moved since.
    test.write("later", "x");
    let moved = test.commit_all("later");
    test.git(&["update-ref", "refs/heads/integration", &moved]);
    let before = repository.worktrees().unwrap().len();
    let record = create(&repository, "T-1", 1);
    assert_eq!(repository.worktrees().unwrap().len(), before, "it was moved, not made");
    assert_eq!(git(&record.path, &["rev-parse", "HEAD"]), moved);
    assert_eq!(git(&record.path, &["status", "--porcelain"]), "");
    assert!(record.path.join("later").exists() && record.path.join("made.ignored").exists());
    assert_eq!(fill(), 1);
    // Other settings: a ready one does not fit any more.
    test.write(".trackside/worktree.yaml", "setup: [{ run: 'echo other > other.ignored' }]\n");
    assert!(create(&repository, "T-2", 2).path.join("other.ignored").exists());
}

#[test]
fn a_clone_protects_the_main_repository() {
    let test = TestRepository::new();
    test.write(".trackside/worktree.yaml", "kind: clone\n");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    git(&record.path, &["tag", "mine"]);
    assert_eq!(test.refs("refs/tags"), Vec::<String>::new());
    write(&record.path, "work", b"work");
    let head = commit_all(&record.path, "work");
    repository.fetch_home(&record).unwrap();
    assert_eq!(test.commit("task/T-1"), head);
    let merge_commit = merged(merge(&repository, &merge_request("T-1", &head, 2)));
    assert_eq!(merge_commit, head);
    assert!(!record.path.exists());
    // What only the clone has is brought home before it is deleted.
    let record = create(&repository, "T-2", 3);
    git(&record.path, &["checkout", "-q", "-b", "side"]);
    write(&record.path, "side", b"side");
    let side = commit_all(&record.path, "side");
    git(&record.path, &["checkout", "-q", "task/T-2"]);
    write(&record.path, "README", b"stashed");
    git(&record.path, &["stash", "-q"]);
    write(&record.path, "untracked", b"untracked");
    let stash = git(&record.path, &["rev-parse", "refs/stash"]);
    let saved = remove(&repository, "T-2", 4).unwrap();
    let trash = format!("refs/trackside/trash/{saved}");
    for commit in [side, stash] {
        assert!(try_git(&test.root, &["merge-base", "--is-ancestor", &commit, &trash]).1, "{commit} is lost");
    }
    assert_eq!(test.git(&["show", &format!("{trash}:untracked")]), "untracked");
}

/// A worktree counts as lost if nobody makes or removes it at that moment.
#[test]
fn a_deleted_worktree_is_lost_unless_it_is_being_removed() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    assert!(repository.find_lost(&record).unwrap().is_none());
    fs::remove_dir_all(&record.path).unwrap();
    let lost = repository.find_lost(&record).unwrap().unwrap();
    assert_eq!(lost.record.branch, "task/T-1");
    assert!(repository.find_lost(&record).unwrap().is_none(), "another process has it");
    drop(lost);
    remove(&repository, "T-1", 2);
    assert!(repository.find_lost(&record).unwrap().is_none());
}

#[test]
fn one_process_runs_commands_in_a_folder() {
    let test = TestRepository::new();
    let (one, other) = (test.open(), test.open());
    let record = create(&one, "T-1", 1);
    let held = one.take_folder(&record.path).unwrap();
    assert!(held.is_some() && other.take_folder(&record.path).unwrap().is_none());
    assert!(other.take_folder(&test.root).unwrap().is_some(), "another folder");
    drop(held);
    assert!(other.take_folder(&record.path).unwrap().is_some());
}
