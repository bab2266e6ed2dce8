//! Random histories whose save fails, and what a save leaves as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use trackside_random::Random;
use trackside_worktree::{RemoveOutcome, Repository, WorktreeError};

use crate::fixture::*;
use crate::saving::{Inventory, LIMITS, act, add_obstacles, files_in};

type FileContents = BTreeMap<PathBuf, Vec<u8>>;
/// Each file that git has for a worktree, if it exists.
type GitFiles = BTreeMap<String, Option<Vec<u8>>>;

/// A worktree of this kind after a random history, in a repository whose hooks and filters stop a person's commit.
struct RandomWork {
    test: TestRepository,
    place: PathBuf,
    inventory: Inventory,
}

impl RandomWork {
    fn new(seed: u64, kind: &str) -> Self {
        let test = TestRepository::new();
        test.write(".gitattributes", "*.txt filter=upper\n");
        test.write(".trackside/worktree.yaml", &format!("{LIMITS}kind: {kind}\n"));
        test.commit_all("attributes");
        let place = create(&test.open(), "T-1", 1).path;
        let mut random = Random::new(seed);
        let mut commits = Vec::new();
        for _ in 0..random.between(1, 10) {
            act(&place, &mut random, &mut commits);
        }
        // Something that cannot be compressed: it does not fit on a full disk.
        let noise: Vec<u8> = (0..400_000).map(|_| (random.draw() % 256) as u8).collect();
        write(&place, "noise", &noise);
        add_obstacles(&test);
        let inventory = Inventory::of(&place, &commits);
        Self { test, place, inventory }
    }

    /// The files of the worktree, and what git has in its own files for it.
    fn content(&self) -> (FileContents, GitFiles) {
        let admin = self.test.root.join(".git/worktrees/T-1");
        let admin = if admin.exists() { admin } else { self.place.join(".git") };
        let names = ["index", "HEAD", "ORIG_HEAD", "MERGE_HEAD", "logs/HEAD"];
        let of_git = names.map(|it| (it.to_owned(), fs::read(admin.join(it)).ok()));
        (files_in(&self.place), BTreeMap::from(of_git))
    }

    fn branches(&self) -> String {
        self.test.git(&["for-each-ref", "refs/heads"])
    }
}

fn in_the_way(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "in the way").unwrap();
}

/// Something that makes a save fail.
#[derive(Clone, Copy, Debug)]
enum SaveObstacle {
    NoRef,
    NoObject,
    FullDisk,
}

impl SaveObstacle {
    const ALL: [Self; 3] = [Self::NoRef, Self::NoObject, Self::FullDisk];

    fn put(self, root: &Path) {
        let git = root.join(".git");
        match self {
            Self::NoRef => in_the_way(&git.join("refs/trackside/trash")),
            Self::NoObject => {
                let (objects, real) = (git.join("objects"), git.join("objects.real"));
                fs::rename(&objects, &real).unwrap();
                fs::create_dir_all(objects.join("info")).unwrap();
                fs::write(objects.join("info/alternates"), format!("{}\n", real.display())).unwrap();
                for name in (0..256).map(|it| format!("{it:02x}")).chain(["pack".to_owned()]) {
                    in_the_way(&objects.join(name));
                }
            }
            Self::FullDisk => {}
        }
    }

    fn lift(self, root: &Path) {
        let git = root.join(".git");
        match self {
            Self::NoRef => fs::remove_file(git.join("refs/trackside/trash")).unwrap(),
            Self::NoObject => {
                fs::remove_dir_all(git.join("objects")).unwrap();
                fs::rename(git.join("objects.real"), git.join("objects")).unwrap();
            }
            Self::FullDisk => {}
        }
    }

    /// Attempts to remove the worktree, and to make it again for another agent. Both fail.
    fn attempt(self, root: &Path, context: &str) {
        if !matches!(self, Self::FullDisk) {
            return attempts(root, context);
        }
        let own = std::env::current_exe().unwrap();
        // Blocks of 512 or 1024 bytes: the records fit, the noise does not.
        let script =
            "ulimit -f 128; exec \"$0\" failing_saves::process_whose_disk_is_full --exact --test-threads=1";
        let output = Command::new("sh").args(["-c", script]).arg(own).env(ROOT, root).output().unwrap();
        assert!(output.status.success(), "{context}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

fn attempts(root: &Path, context: &str) {
    let repository = Repository::open(root).unwrap();
    let error = repository.remove_worktree(&remove_request("T-1", 2)).unwrap_err();
    assert!(matches!(error, WorktreeError::NotSaved { .. }), "{context}: {error}");
    let error = repository.create_worktree(&create_request("T-1", 3, true)).unwrap_err();
    assert!(matches!(error, WorktreeError::NotSaved { .. }), "{context}: {error}");
}

const ROOT: &str = "TRACKSIDE_TEST_NO_SPACE";

/// The process of the next test, in which no file can grow. Without its variable it does nothing.
#[test]
fn process_whose_disk_is_full() {
    if let Ok(root) = std::env::var(ROOT) {
        attempts(root.as_ref(), "full disk");
    }
}

/// S7: for random histories, a save that fails changes nothing. Once it can succeed, it does, and nothing is lost.
#[test]
fn s7_a_failed_save_of_a_random_history_changes_nothing() {
    let seeds: u64 =
        std::env::var("TRACKSIDE_WORKTREE_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(6);
    for seed in 0..seeds {
        for (kind, start) in [("worktree", 0), ("clone", 1)] {
            let obstacle = SaveObstacle::ALL[((seed + start) % 3) as usize];
            let context = format!("seed {seed}, {kind}, {obstacle:?}");
            let work = RandomWork::new(1_000 + seed, kind);
            let (before, branches) = (work.content(), work.branches());
            obstacle.put(&work.test.root);
            obstacle.attempt(&work.test.root, &context);
            obstacle.lift(&work.test.root);
            assert!(work.content() == before, "{context}: the worktree has changed");
            assert_eq!(work.branches(), branches, "{context}");
            let repository = work.test.open();
            repository.recover().unwrap();
            assert!(work.content() == before, "{context}: the recovery changed the worktree");
            let outcome = repository.remove_worktree(&remove_request("T-1", 4)).unwrap();
            assert!(matches!(outcome, RemoveOutcome::Removed { saved: Some(_) }), "{context}: {outcome:?}");
            assert!(!work.place.exists(), "{context}");
            work.inventory.is_safe(&work.test, &context);
        }
    }
}

/// A save reads a copy of the index: files, index and HEAD are the same bytes after it.
#[test]
fn a_save_changes_no_byte_of_the_worktree() {
    for seed in 0..6 {
        for kind in ["worktree", "clone"] {
            let work = RandomWork::new(2_000 + seed, kind);
            let before = work.content();
            let killed = work.test.killed_at("remove.save:taken");
            let error = killed.remove_worktree(&remove_request("T-1", 2)).unwrap_err();
            assert!(matches!(error, WorktreeError::Stopped(_)), "{error}");
            assert!(!work.test.refs("refs/trackside/trash").is_empty(), "seed {seed}, {kind}: it is saved");
            let after = work.content();
            assert_eq!(
                after.0.keys().collect::<Vec<_>>(),
                before.0.keys().collect::<Vec<_>>(),
                "seed {seed}, {kind}"
            );
            assert!(after == before, "seed {seed}, {kind}: a file, the index or HEAD has changed");
        }
    }
}
