//! Nothing unmerged is deleted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use trackside_random::Random;
use trackside_worktree::{Repository, WorktreeError, list_saved_work, prune_saved_work, restore_saved_work};

use crate::fixture::*;

/// What a worktree contains: contents and commits.
#[derive(Debug, Default)]
pub struct Inventory {
    /// By path: the content of every file, or the target of a link.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Staged contents, unmerged ones among them.
    staged: Vec<String>,
    commits: Vec<String>,
}

impl Inventory {
    pub fn of(folder: &Path, commits: &[String]) -> Self {
        let staged = git(folder, &["ls-files", "-s"]);
        let object = |it: &str| it.split(' ').nth(1).map(str::to_owned).filter(|_| !it.starts_with("160000"));
        let mut inventory = Self { staged: staged.lines().filter_map(object).collect(), ..Self::default() };
        inventory.commits = commits.to_vec();
        inventory.files = files_in(folder);
        inventory
    }

    /// Checks that everything is reachable from a ref or stands in a folder.
    pub fn is_safe(&self, test: &TestRepository, context: &str) {
        let reachable = test.git(&["rev-list", "--objects", "--all", "--no-object-names"]);
        let objects: std::collections::BTreeSet<&str> = reachable.lines().collect();
        for object in self.staged.iter().chain(&self.commits) {
            assert!(objects.contains(object.as_str()), "{context}: {object} is lost");
        }
        let kept: Vec<Vec<u8>> = files_in(&test.root.join(".worktrees")).into_values().collect();
        for (path, content) in &self.files {
            let is_kept = || kept.iter().any(|it| it == content);
            assert!(
                objects.contains(hash(test, content).as_str()) || is_kept(),
                "{context}: {path:?} is lost"
            );
        }
    }
}

pub fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    let (mut files, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if path == folder.join(".git") {
                continue;
            }
            if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), target);
            } else if kind.is_dir() {
                open.push(path);
            } else {
                let content = fs::read(&path).unwrap();
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
    }
    files
}

fn hash(test: &TestRepository, content: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = Command::new("git")
        .args(["hash-object", "--stdin"])
        .current_dir(&test.root)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Does something in a worktree as an agent might. Returns the commits that it made.
pub fn act(folder: &Path, random: &mut Random, commits: &mut Vec<String>) {
    let file = format!("file-{}", random.below(4));
    let text = format!("{}\n", random.draw());
    let quiet = |args: &[&str]| try_git(folder, args).1;
    match random.below(21) {
        0 | 1 => write(folder, &file, text.as_bytes()),
        2 => {
            write(folder, &file, text.as_bytes());
            quiet(&["add", &file]);
            write(folder, &file, format!("changed {text}").as_bytes());
        }
        3 | 4 => {
            write(folder, &file, text.as_bytes());
            quiet(&["add", "-A"]);
            quiet(&["-c", "commit.gpgSign=false", "commit", "-q", "--no-verify", "-m", "work"]);
        }
        5 => {
            quiet(&[
                "-c",
                "commit.gpgSign=false",
                "commit",
                "-q",
                "--no-verify",
                "--amend",
                "--allow-empty",
                "-m",
                &text,
            ]);
        }
        6 => {
            quiet(&["reset", "-q", "--hard", "HEAD~1"]);
        }
        7 => {
            write(folder, &file, text.as_bytes());
            quiet(&["add", &file]);
            quiet(&["-c", "commit.gpgSign=false", "stash", "-q"]);
            let stash = try_git(folder, &["rev-parse", "-q", "--verify", "refs/stash"]);
            commits.extend(stash.1.then_some(stash.0));
        }
        8 => {
            quiet(&["checkout", "-q", "--detach"]);
        }
        9 => {
            quiet(&["checkout", "-q", "-b", &format!("side-{}", random.draw())]);
        }
        10 => write(folder, "untracked/deep/file", text.as_bytes()),
        11 => write(folder, "small.ignored", text.as_bytes()),
        12 => write(folder, "build/large", &vec![b'x'; 3 << 20]),
        13 => {
            write(folder, "nested/inner", text.as_bytes());
            git(&folder.join("nested"), &["init", "-q"]);
            if random.percent(50) {
                quiet(&["-C", "nested", "-c", "user.name=a", "-c", "user.email=a", "add", "-A"]);
                quiet(&[
                    "-C",
                    "nested",
                    "-c",
                    "user.name=a",
                    "-c",
                    "user.email=a",
                    "commit",
                    "-q",
                    "--no-gpg-sign",
                    "-m",
                    "x",
                ]);
            }
        }
        14 => {
            let _ = fs::remove_file(folder.join(&file));
            let _ = std::os::unix::fs::symlink(&text, folder.join(&file));
        }
        15 => {
            let _ = fs::remove_file(folder.join(&file));
            write(folder, &format!("{file}.d/below"), text.as_bytes());
        }
        16 => {
            // A conflict in the middle.
            let name = format!("conflict-{}", random.draw());
            quiet(&["checkout", "-q", "-f", "-b", &name, "HEAD"]);
            write(folder, "README", text.as_bytes());
            quiet(&["-c", "commit.gpgSign=false", "commit", "-q", "--no-verify", "-am", "theirs"]);
            quiet(&["checkout", "-q", "-"]);
            write(folder, "README", format!("ours {text}").as_bytes());
            quiet(&["-c", "commit.gpgSign=false", "commit", "-q", "--no-verify", "-am", "ours"]);
            quiet(&["-c", "commit.gpgSign=false", "merge", "-q", &name]);
        }
        17 => {
            quiet(&["update-index", "--assume-unchanged", "README"]);
            write(folder, "README", text.as_bytes());
        }
        18 => {
            quiet(&["update-index", "--skip-worktree", "README"]);
            write(folder, "README", text.as_bytes());
        }
        19 => write(folder, "a\nb", text.as_bytes()),
        _ => write(folder, "windows.txt", format!("{}\r\n", random.draw()).as_bytes()),
    }
    let head = try_git(folder, &["rev-parse", "-q", "--verify", "HEAD"]);
    commits.extend(head.1.then_some(head.0));
}

/// Things that would stop a commit of a person.
pub fn add_obstacles(test: &TestRepository) {
    use std::os::unix::fs::PermissionsExt as _;
    for hook in [
        "pre-commit",
        "commit-msg",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "post-commit",
    ] {
        let path = test.root.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    test.git(&["config", "commit.gpgSign", "true"]);
    test.git(&["config", "gpg.program", "/nonexistent/gpg"]);
    test.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    test.git(&["config", "filter.upper.smudge", "cat"]);
    test.git(&["config", "core.autocrlf", "input"]);
    test.git(&["config", "core.safecrlf", "true"]);
}

pub const LIMITS: &str = "trash: { ignored_mib: 1 }\npool: 0\n";

fn histories(seeds: std::ops::Range<u64>, kind: &str) {
    for seed in seeds {
        let test = TestRepository::new();
        test.write(".gitattributes", "*.txt filter=upper\n");
        test.write(".trackside/worktree.yaml", &format!("{LIMITS}kind: {kind}\n"));
        test.commit_all("attributes");
        let repository = test.open();
        let record = create(&repository, "T-1", 1);
        let mut random = Random::new(seed);
        let mut commits = Vec::new();
        // Git as the agent uses it: its hooks would stop it, ours are off.
        for _ in 0..random.between(1, 10) {
            act(&record.path, &mut random, &mut commits);
        }
        add_obstacles(&test);
        let context = format!("seed {seed}, {kind}");
        let inventory = Inventory::of(&record.path, &commits);
        match random.below(3) {
            0 => {
                remove(&repository, "T-1", 2);
                assert!(!record.path.exists(), "{context}");
            }
            1 => {
                let fresh = create(&repository, "T-1", 2);
                assert_eq!(
                    try_git(&fresh.path, &["-c", "core.hooksPath=/dev/null", "status", "--porcelain"]).0,
                    "",
                    "{context}"
                );
            }
            _ => {
                // The folder vanished: what git's data says about it is still there.
                if kind == "clone" {
                    continue;
                }
                fs::remove_dir_all(&record.path).unwrap();
                remove(&repository, "T-1", 2);
                let inventory = Inventory { files: BTreeMap::new(), ..inventory };
                inventory.is_safe(&test, &context);
                continue;
            }
        }
        inventory.is_safe(&test, &context);
    }
}

/// S7: for random histories, every byte is reachable afterwards, or stands in a folder.
#[test]
fn s7_no_path_deletes_work() {
    let seeds: u64 =
        std::env::var("TRACKSIDE_WORKTREE_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(12);
    histories(0..seeds, "worktree");
    histories(0..seeds / 3, "clone");
}

fn s7_dirty(test: &TestRepository) -> (Repository, PathBuf, Inventory) {
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let head = commit_all(&record.path, "work");
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..400_000).map(|_| (random.draw() % 256) as u8).collect();
    write(&record.path, "large", &noise);
    write(&record.path, "README", b"changed");
    let inventory = Inventory::of(&record.path, &[head]);
    (repository, record.path, inventory)
}

/// S7: a save that fails deletes nothing, for any request.
#[test]
fn s7_a_failed_save_deletes_nothing() {
    let obstacles: [fn(&TestRepository); 2] = [
        |test| {
            // No ref can be written.
            let refs = test.root.join(".git/refs/trackside");
            fs::create_dir_all(&refs).unwrap();
            fs::write(refs.join("trash"), "in the way").unwrap();
        },
        |test| {
            // No object can be written.
            let objects = test.root.join(".git/objects");
            let real = test.root.join(".git/objects.real");
            fs::rename(&objects, &real).unwrap();
            fs::create_dir_all(objects.join("info")).unwrap();
            fs::write(objects.join("info/alternates"), format!("{}\n", real.display())).unwrap();
            for number in 0..256 {
                fs::write(objects.join(format!("{number:02x}")), "in the way").unwrap();
            }
        },
    ];
    for (number, obstacle) in obstacles.iter().enumerate() {
        let test = TestRepository::new();
        let (repository, place, inventory) = s7_dirty(&test);
        obstacle(&test);
        let tip = test.commit("task/T-1");
        let error = repository.remove_worktree(&remove_request("T-1", 2)).unwrap_err();
        assert!(matches!(error, WorktreeError::NotSaved { .. }), "{number}: {error}");
        let error = repository.create_worktree(&create_request("T-1", 3, true)).unwrap_err();
        assert!(matches!(error, WorktreeError::NotSaved { .. }), "{number}: {error}");
        assert_eq!(files_in(&place), inventory.files, "{number}");
        assert_eq!(test.commit("task/T-1"), tip, "{number}");
    }
}

const FULL: &str = "TRACKSIDE_TEST_FULL_DISK";

/// S7: git looks at the size and the second of a file. An edit that keeps both is saved, too.
#[test]
fn s7_an_edit_of_the_same_size_in_the_same_second_is_saved() {
    let test = TestRepository::new();
    let repository = test.open();
    test.git(&["config", "core.trustctime", "false"]);
    let record = create(&repository, "T-1", 1);
    let file = fs::File::options().write(true).open(record.path.join("README")).unwrap();
    let checked_out = file.metadata().unwrap().modified().unwrap();
    fs::write(record.path.join("README"), b"FIRST\n").unwrap();
    file.set_modified(checked_out).unwrap();
    let index = fs::File::options().write(true).open(test.root.join(".git/worktrees/T-1/index")).unwrap();
    index.set_modified(checked_out).unwrap();
    let saved = remove(&repository, "T-1", 2).expect("the edit is work");
    assert_eq!(test.git(&["show", &format!("refs/trackside/trash/{saved}:README")]), "FIRST");
}

/// The process of the next test, in which no file can grow. Without its variable it does nothing.
#[test]
fn process_on_a_full_disk() {
    let Ok(root) = std::env::var(FULL) else { return };
    let repository = Repository::open(root.as_ref()).unwrap();
    let error = repository.remove_worktree(&remove_request("T-1", 2)).unwrap_err();
    assert!(matches!(error, WorktreeError::NotSaved { .. }), "{error}");
}

#[test]
fn s7_a_full_disk_deletes_nothing() {
    let test = TestRepository::new();
    let (_, place, inventory) = s7_dirty(&test);
    let own = std::env::current_exe().unwrap();
    // Blocks of 512 or 1024 bytes: the records fit, the large file does not.
    let script = "ulimit -f 128; exec \"$0\" saving::process_on_a_full_disk --exact --test-threads=1";
    let output = Command::new("sh").args(["-c", script]).arg(own).env(FULL, &test.root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(files_in(&place), inventory.files);
}

#[test]
fn restored_work_is_what_it_was() {
    let test = TestRepository::new();
    test.write(".trackside/worktree.yaml", LIMITS);
    test.write(".gitattributes", "*.txt eol=crlf\n");
    test.write("text.txt", "one\ntwo\n");
    test.commit_all("attributes");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let place = &record.path;
    commit_all(place, "work");
    write(place, "README", b"staged");
    git(place, &["add", "README"]);
    write(place, "README", b"unstaged");
    write(place, "untracked", b"u");
    write(place, "small.ignored", b"i");
    write(place, "build/large", &vec![b'x'; 2 << 20]);
    write(place, "text.txt", b"mixed\r\nends\n");
    write(place, "nested/file", b"n");
    git(&place.join("nested"), &["init", "-q"]);
    fs::remove_file(place.join(".gitignore")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.join("link")).unwrap();
    let (files, status) = (files_in(place), git(place, &["status", "--porcelain"]));
    let staged = git(place, &["ls-files", "-s"]);
    let id = remove(&repository, "T-1", 2).unwrap();
    assert!(!place.exists());
    let listed = list_saved_work(&repository).unwrap();
    assert_eq!((listed.len(), &listed[0].id, listed[0].entity.as_deref()), (1, &id, Some("coding.task/T-1")));
    let (restored, branch) = restore_saved_work(&repository, &id, None).unwrap();
    assert_eq!((&restored, branch.as_deref()), (place, Some("task/T-1")));
    assert_eq!(files_in(place), files);
    assert_eq!(git(place, &["ls-files", "-s"]), staged);
    assert_eq!(git(place, &["status", "--porcelain"]), status);
    // Beside it, a second time: the branch is taken.
    let other = test.root.join(".worktrees/again");
    let (_, branch) = restore_saved_work(&repository, &id, Some(&other)).unwrap();
    assert_eq!(branch, Some(format!("restored/{id}")));
    assert_eq!(files_in(&other), files);
    let error = restore_saved_work(&repository, &id, None).unwrap_err();
    assert!(error.to_string().contains("--to"), "{error}");
}

#[test]
fn saved_work_is_kept_for_its_retention() {
    let test = TestRepository::new();
    test.write(".trackside/worktree.yaml", "trash: { retention: 7d }\n");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "nested/file", b"n");
    git(&record.path.join("nested"), &["init", "-q"]);
    let id = remove(&repository, "T-1", 2).unwrap();
    let now = jiff::Timestamp::now();
    let later = |days: i64| now.checked_add(jiff::SignedDuration::from_hours(24 * days)).unwrap();
    assert_eq!(prune_saved_work(&repository, later(6), &[]).unwrap(), Vec::<String>::new());
    assert_eq!(prune_saved_work(&repository, later(8), &[]).unwrap(), vec![id]);
    assert_eq!(files_in(&test.root.join(".worktrees")), BTreeMap::new());
}

#[test]
fn a_clean_merged_worktree_leaves_nothing_behind() {
    let test = TestRepository::new();
    let repository = test.open();
    create(&repository, "T-1", 1);
    assert_eq!(remove(&repository, "T-1", 2), None);
    assert_eq!(test.refs("refs/trackside"), Vec::<String>::new());
    assert_eq!(remove(&repository, "T-1", 3), None, "again");
}
