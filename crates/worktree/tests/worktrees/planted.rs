//! What an agent leaves in its worktree, or in the folders of git that it can write, runs nothing as the runner's owner,
//! reaches no file outside and moves no other branch.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use trackside_worktree::{
    ChangedFileStatus, GitFolder, MergeOutcome, MergeWay, WorktreeRecord, list_saved_work, read_change,
    restore_saved_work,
};

use crate::fixture::*;

const HOOKS: [&str; 8] = [
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "post-merge",
    "pre-auto-gc",
    "post-rewrite",
    "update",
];

/// A program that leaves a mark wherever git would run it.
struct PlantedProgram {
    mark: PathBuf,
    program: PathBuf,
}

impl PlantedProgram {
    fn new(test: &TestRepository) -> Self {
        let folder = test.root.join("planted.ignored");
        fs::create_dir_all(&folder).unwrap();
        let (mark, program) = (folder.join("mark"), folder.join("program"));
        executable(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display()));
        Self { mark, program }
    }

    /// Settings with which git runs it.
    fn settings(&self) -> String {
        let program = self.program.display();
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tgitProxy = {program}\n\teditor = {program}\n\tpager = {program}\n\talternateRefsCommand = {program}\n\
             [filter \"evil\"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n\
             [filter \"evil2\"]\n\tprocess = {program}\n\
             [diff \"evil\"]\n\ttextconv = {program}\n\tcommand = {program}\n[diff]\n\texternal = {program}\n\
             [merge \"evil\"]\n\tdriver = {program}\n\
             [alias]\n\tstatus = !{program}\n\trev-parse = !{program}\n\
             [uploadpack]\n\tpackObjectsHook = {program}\n\
             [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ssh://example.invalid/x\n\tpromisor = true\n\tuploadpack = {program}\n\
             [include]\n\tpath = {program}.config\n"
        )
    }

    fn hooks(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for name in HOOKS {
            let _ = fs::remove_file(folder.join(name));
            symlink(&self.program, folder.join(name)).unwrap();
        }
    }

    fn did_not_run(&self, context: &str) {
        let said = fs::read_to_string(&self.mark).unwrap_or_default();
        assert!(said.is_empty(), "{context}: it ran as {said}");
    }
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes a file as an agent does: git's lock files do not matter to it.
fn plant(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::write(path, text).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

/// The names of the plants, and how an agent makes each.
type Plant = (&'static str, &'static str, fn(&TestRepository, &WorktreeRecord, &PlantedProgram));

const PLANTS: [Plant; 7] = [
    ("link to a repository of its own", "worktree", |test, record, program| {
        let own = record.path.join("own.ignored");
        copy_folder(&test.root.join(".git"), &own);
        plant(&own.join("config"), &program.settings());
        program.hooks(&own.join("hooks"));
        plant(&record.path.join(".git"), &format!("gitdir: {}\n", own.display()));
    }),
    ("a repository in place of the link", "worktree", |_, record, program| {
        fs::remove_file(record.path.join(".git")).unwrap();
        git(&record.path, &["init", "-q"]);
        git(
            &record.path,
            &["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "own"],
        );
        plant(&record.path.join(".git/config"), &program.settings());
        program.hooks(&record.path.join(".git/hooks"));
    }),
    ("common folder of its own", "worktree", |test, record, program| {
        let own = record.path.join("own.ignored");
        copy_folder(&test.root.join(".git"), &own);
        plant(&own.join("config"), &program.settings());
        program.hooks(&own.join("hooks"));
        plant(&test.root.join(".git/worktrees/T-1/commondir"), &format!("{}\n", own.display()));
    }),
    ("settings of the worktree", "worktree", |test, record, program| {
        let _ = record;
        plant(&test.root.join(".git/worktrees/T-1/config.worktree"), &program.settings());
    }),
    ("settings of the clone", "clone", |_, record, program| {
        plant(&record.path.join(".git/config"), &program.settings());
        program.hooks(&record.path.join(".git/hooks"));
    }),
    ("settings of a worktree of the clone", "clone", |_, record, program| {
        let settings = format!("{}[extensions]\n\tworktreeConfig = true\n", program.settings());
        plant(&record.path.join(".git/config"), &settings);
        plant(&record.path.join(".git/config.worktree"), &program.settings());
    }),
    ("common folder of the clone", "clone", |_, record, program| {
        let own = record.path.join("own.ignored");
        copy_folder(&record.path.join(".git"), &own);
        plant(&own.join("config"), &program.settings());
        program.hooks(&own.join("hooks"));
        plant(&record.path.join(".git/commondir"), &format!("{}\n", own.display()));
    }),
];

#[test]
fn planted_settings_hooks_and_links_run_nothing() {
    for (name, kind, plant_it) in PLANTS {
        let test = TestRepository::new();
        test.write(".trackside/worktree.yaml", &format!("kind: {kind}\npool: 0\n"));
        // Sparse checkouts of a person turn this on.
        test.git(&["config", "core.repositoryformatversion", "1"]);
        test.git(&["config", "extensions.worktreeConfig", "true"]);
        let repository = test.open();
        let record = create(&repository, "T-1", 1);
        let program = PlantedProgram::new(&test);
        write(&record.path, ".gitattributes", b"* filter=evil diff=evil merge=evil\n*.two filter=evil2\n");
        write(&record.path, "a.two", b"two");
        let reviewed = commit_all(&record.path, "work");
        repository.fetch_home(&record).unwrap();
        plant_it(&test, &record, &program);
        // Every file must be read, so that filters would run.
        for file in ["README", "a.two", "untracked"] {
            write(&record.path, file, b"edited after the commit\n");
        }
        let _ = repository.is_usable(&record);
        let _ = repository.worktree_facts(&record);
        let _ = repository.create_worktree(&create_request("T-1", 2, false));
        program.did_not_run(&format!("{name}: looked at"));
        let review = repository.check_out_detached(".worktrees/.review/code-reviewer-1", &reviewed).unwrap();
        plant(&review.join(".git"), &format!("gitdir: {}\n", record.path.join("own.ignored").display()));
        let again =
            repository.check_out_detached(".worktrees/.review/code-reviewer-1", "integration").unwrap();
        assert_eq!(fs::read_to_string(again.join("README")).unwrap(), "first\n", "{name}");
        program.did_not_run(&format!("{name}: reviewed"));
        let _ = repository.fetch_home(&record);
        let queue = repository.lock_merge_queue().unwrap();
        let _ = repository.merge(&merge_request("T-1", &reviewed, 3), &queue);
        drop(queue);
        program.did_not_run(&format!("{name}: merged"));
        remove(&repository, "T-1", 4);
        program.did_not_run(&format!("{name}: removed"));
        assert_eq!(test.commit("integration"), reviewed, "{name}");
        assert!(!record.path.exists(), "{name}");
        let saved = list_saved_work(&repository).unwrap();
        let is_saved = saved.iter().any(|it| {
            let tree = it.work.clone().unwrap_or_default();
            try_git(&test.root, &["show", &format!("{tree}:README")]).0 == "edited after the commit"
        });
        assert!(is_saved, "{name}: {saved:?}");
    }
}

/// A nested repository that the index names as a submodule: git would run its own status in it.
#[test]
fn a_planted_submodule_runs_nothing() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let program = PlantedProgram::new(&test);
    let nested = record.path.join("nested");
    write(&nested, "file", b"n");
    git(&nested, &["init", "-q"]);
    for (key, value) in [("user.name", "a"), ("user.email", "a")] {
        git(&nested, &["config", key, value]);
    }
    write(&nested, ".gitattributes", b"* filter=evil\n");
    commit_all(&nested, "inside");
    commit_all(&record.path, "a gitlink");
    assert!(git(&record.path, &["ls-files", "-s"]).contains("160000"));
    let settings = program.settings();
    plant(&nested.join(".git/config"), &settings);
    program.hooks(&nested.join(".git/hooks"));
    write(&nested, "file", b"changed");
    let _ = repository.worktree_facts(&record);
    program.did_not_run("looked at");
    remove(&repository, "T-1", 2);
    program.did_not_run("removed");
    let kept = fs::read_dir(test.root.join(".worktrees/.kept")).unwrap().flatten();
    assert!(
        kept.into_iter().any(|it| it.path().join("nested/file").exists()),
        "the nested repository is kept"
    );
}

/// A person's own filter with a relative path would run a program of the agent.
#[test]
fn a_filter_of_the_repository_is_not_run_on_the_content_of_an_agent() {
    let test = TestRepository::new();
    let command = "test ! -e tools/clean.sh || sh tools/clean.sh; cat";
    for name in ["clean", "smudge"] {
        test.git(&["config", &format!("filter.own.{name}"), command]);
    }
    test.git(&["config", "filter.own.required", "true"]);
    test.write("tools/clean.sh", "cat\n");
    test.write(".gitattributes", "*.txt filter=own\n");
    test.write("a.txt", "a\n");
    test.commit_all("filter");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let program = PlantedProgram::new(&test);
    fs::copy(&program.program, record.path.join("tools/clean.sh")).unwrap();
    git(
        &record.path,
        &["-c", "filter.own.clean=cat", "-c", "filter.own.required=false", "commit", "-qam", "x"],
    );
    write(&record.path, "a.txt", b"edited\n");
    program.did_not_run("before");
    let _ = repository.worktree_facts(&record);
    program.did_not_run("looked at");
    repository.check_out_detached(".worktrees/.review/r", "task/T-1").unwrap();
    program.did_not_run("reviewed");
    // The folder vanished, and the branch continues.
    fs::remove_dir_all(&record.path).unwrap();
    let record = ready(repository.create_worktree(&create_request("T-1", 2, false)).unwrap());
    program.did_not_run("continued");
    write(&record.path, "a.txt", b"edited\n");
    remove(&repository, "T-1", 3);
    program.did_not_run("removed");
}

/// The branches below `task/` can be written by every agent.
#[test]
fn a_branch_that_leads_to_another_branch_moves_only_itself() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let head = commit_all(&record.path, "work");
    let integration = test.commit("integration");
    // The commit of its branch is that of the other one, so that an instruction with its old value would match.
    plant(&test.root.join(".git/refs/heads/task/T-1"), "ref: refs/heads/integration\n");
    plant(&test.root.join(".git/worktrees/T-1/HEAD"), &format!("{head}\n"));
    remove(&repository, "T-1", 2);
    assert_eq!(test.commit("integration"), integration);
    assert!(!test.root.join(".git/refs/heads/task/T-1").exists());
    let trash = test.refs("refs/trackside/trash");
    assert!(trash.iter().any(|it| try_git(&test.root, &["merge-base", "--is-ancestor", &head, it]).1));
    // And as a link of the file system, for the branch and for its log.
    let outside = test.root.join("outside.ignored");
    fs::write(&outside, "of a person").unwrap();
    for path in [".git/refs/heads/task/T-2", ".git/logs/refs/heads/task/T-2"] {
        let path = test.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&outside, path).unwrap();
    }
    create(&repository, "T-2", 3);
    remove(&repository, "T-2", 4);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "of a person");
}

#[test]
fn a_worktree_that_claims_the_integration_branch_holds_up_no_merge() {
    let test = TestRepository::new();
    let repository = test.open();
    let (first, second) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    write(&second.path, "two", b"2");
    let two = commit_all(&second.path, "two");
    plant(&test.root.join(".git/worktrees/T-1/HEAD"), "ref: refs/heads/integration\n");
    write(&first.path, "README", b"changed");
    merged(merge(&repository, &merge_request("T-2", &two, 3)));
    assert_eq!(test.commit("integration"), two);
    assert_eq!(fs::read(first.path.join("README")).unwrap(), b"changed");
}

/// The folder in which git keeps a worktree says where it is. An agent can change that of its own.
#[test]
fn a_worktree_that_claims_the_folder_of_another_one_changes_only_itself() {
    let test = TestRepository::new();
    let repository = test.open();
    let (first, second) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    write(&second.path, "two", b"2");
    let gitdir = test.root.join(".git/worktrees/T-1/gitdir");
    plant(&gitdir, &format!("{}\n", second.path.join(".git").display()));
    let saved = remove(&repository, "T-2", 3).unwrap();
    assert_eq!(test.git(&["show", &format!("refs/trackside/trash/{saved}:two")]), "2");
    assert!(!second.path.exists() && !test.root.join(".git/worktrees/T-2").exists());
    // Its owner finds it again.
    assert!(test.root.join(".git/worktrees/T-1/HEAD").exists());
    write(&first.path, "one", b"1");
    let saved = remove(&repository, "T-1", 4).unwrap();
    assert_eq!(test.git(&["show", &format!("refs/trackside/trash/{saved}:one")]), "1");
}

/// An index names paths. Those outside of the worktree are not read: every agent can read the object store.
#[test]
fn a_planted_index_leads_to_no_file_outside() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    test.write("secret.ignored", "a secret of the owner");
    let hash = test.git(&["hash-object", "secret.ignored"]);
    write(&record.path, "aa/bb/secret.ignored", b"x");
    git(&record.path, &["add", "-f", "aa/bb/secret.ignored"]);
    let path = test.root.join(".git/worktrees/T-1/index");
    let mut index = fs::read(&path).unwrap();
    let at = index.windows(5).position(|it| it == b"aa/bb").unwrap();
    index[at..at + 5].copy_from_slice(b"../..");
    let end = index.len() - 20;
    // Zeros are the mark of an index without a checksum.
    index[end..].fill(0);
    fs::write(&path, index).unwrap();
    assert!(git(&record.path, &["ls-files"]).contains("../../secret.ignored"), "git reads it");
    write(&record.path, "work", b"work");
    let _ = repository.worktree_facts(&record);
    let _ = repository.remove_worktree(&remove_request("T-1", 2));
    assert!(!try_git(&test.root, &["cat-file", "-e", &hash]).1, "the secret is in the object store");
    assert_eq!(fs::read_to_string(test.root.join("secret.ignored")).unwrap(), "a secret of the owner");
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

type PlantedPipe = fn(&TestRepository, &WorktreeRecord);

/// A pipe in place of a file: opening it waits for ever.
#[test]
fn pipes_in_place_of_files_stop_nothing() {
    let plants: [(&str, PlantedPipe); 5] = [
        ("index", |test, _| pipe(&test.root.join(".git/worktrees/T-1/index"))),
        ("HEAD", |test, _| pipe(&test.root.join(".git/worktrees/T-1/HEAD"))),
        ("ignore rules", |_, record| pipe(&record.path.join(".gitignore"))),
        ("attributes", |_, record| pipe(&record.path.join(".gitattributes"))),
        ("copied file", |_, record| pipe(&record.path.join("secrets.ignored"))),
    ];
    for (name, plant_it) in plants {
        let test = TestRepository::new();
        test.write("secrets.ignored", "s");
        test.write(".trackside/worktree.yaml", "copy: [secrets.ignored]\npool: 0\n");
        let repository = test.open();
        let record = create(&repository, "T-1", 1);
        write(&record.path, "work", b"work");
        plant_it(&test, &record);
        let (sender, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _ = repository.worktree_facts(&record);
            let _ = sender.send(remove(&repository, "T-1", 2));
        });
        let saved = done.recv_timeout(std::time::Duration::from_secs(60));
        let saved = saved.unwrap_or_else(|_| panic!("{name}: it still waits")).unwrap();
        let trash = format!("refs/trackside/trash/{saved}");
        let is_saved = try_git(&test.root, &["show", &format!("{trash}:work")]).0 == "work";
        let kept = test.root.join(".worktrees/.kept").join(&saved).join("work").exists();
        assert!(is_saved || kept, "{name}");
    }
}

/// Names that tools take for options, ends of lines or text.
#[test]
fn files_with_odd_names_are_shown_merged_saved_and_restored() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let long = "l".repeat(255);
    let deep = vec!["d".repeat(200); 12].join("/");
    let names: Vec<Vec<u8>> = vec![
        b"-rf".to_vec(),
        b"--output=x".to_vec(),
        b"a\nb".to_vec(),
        b"tab\there".to_vec(),
        b"quote\"'".to_vec(),
        b" leading and trailing ".to_vec(),
        b":(glob)**".to_vec(),
        b"*".to_vec(),
        b"back\\slash".to_vec(),
        vec![b'n', 0xff, 0xfe],
        "\u{202e}name".as_bytes().to_vec(),
        long.into_bytes(),
        format!("{deep}/file").into_bytes(),
    ];
    let path = |folder: &Path, name: &[u8]| folder.join(OsStr::from_bytes(name));
    for name in &names {
        let full = path(&record.path, name);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, b"one\n").unwrap();
    }
    let head = commit_all(&record.path, "odd names");
    let change = read_change(&GitFolder::new(&test.root), &record.base, &head).unwrap();
    assert_eq!(change.files.len(), names.len());
    for file in &change.files {
        assert_eq!((file.status, file.hunks.len()), (ChangedFileStatus::Added, 1), "{:?}", file.path);
    }
    merged(merge(&repository, &merge_request("T-1", &head, 2)));
    let record = create(&repository, "T-1", 3);
    for name in &names {
        assert_eq!(fs::read(path(&record.path, name)).unwrap(), b"one\n");
        fs::write(path(&record.path, name), b"two\n").unwrap();
        let mut other = name.clone();
        other.truncate(200);
        other.extend(b"-untracked");
        let other = path(&record.path, &other);
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::write(other, b"new\n").unwrap();
    }
    let before = crate::saving::files_in(&record.path);
    let saved = remove(&repository, "T-1", 4).unwrap();
    restore_saved_work(&repository, &saved, None).unwrap();
    assert_eq!(crate::saving::files_in(&record.path), before);
}

/// A link out of the worktree is a link: nothing behind it is stored, written or deleted.
#[test]
fn links_out_of_the_worktree_are_not_followed() {
    let test = TestRepository::new();
    test.write("outside.ignored/keep", "of a person");
    test.write("config/own.ignored", "copied");
    test.write(".trackside/worktree.yaml", "copy: [config/own.ignored]\npool: 0\n");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    let outside = test.root.join("outside.ignored");
    symlink(&outside, record.path.join("out")).unwrap();
    fs::remove_dir_all(record.path.join("config")).unwrap();
    symlink(&outside, record.path.join("config")).unwrap();
    symlink(&outside, record.path.join("build")).unwrap();
    commit_all(&record.path, "links");
    // The branch continues in a new folder: copies are not written through the link.
    fs::remove_dir_all(&record.path).unwrap();
    let _ = repository.create_worktree(&create_request("T-1", 2, false));
    assert!(!outside.join("own.ignored").exists(), "a copy was written through the link");
    remove(&repository, "T-1", 3);
    assert_eq!(fs::read_to_string(outside.join("keep")).unwrap(), "of a person");
    let hash = test.git(&["hash-object", "outside.ignored/keep"]);
    assert!(!try_git(&test.root, &["cat-file", "-e", &hash]).1, "a file behind the link was stored");
}

/// A mark of a merge counts only if the marked commit contains the reviewed one.
#[test]
fn tampered_refs_of_trackside_merge_nothing_and_delete_nothing() {
    let test = TestRepository::new();
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    write(&record.path, "one", b"1");
    let head = commit_all(&record.path, "work");
    let tip = test.commit("integration");
    test.git(&["update-ref", &format!("refs/trackside/merged/task/T-1/{head}"), &tip]);
    test.git(&["update-ref", "refs/trackside/base/task/T-1", &head]);
    let outcome = merge(&repository, &merge_request("T-1", &head, 2));
    let MergeOutcome::Merged { way, merge_commit, .. } = outcome else { panic!() };
    assert_eq!((way, merge_commit), (MergeWay::FastForward, head.clone()));
    // Saved work whose message names a folder of a person, and saved work without a message.
    test.write("precious.ignored/file", "of a person");
    let precious = test.root.join("precious.ignored");
    let record = create(&repository, "T-2", 3);
    write(&record.path, "two", b"2");
    let id = remove(&repository, "T-2", 4).unwrap();
    let reference = format!("refs/trackside/trash/{id}");
    let message = test.git(&["log", "-1", "--format=%B", &reference]);
    let message = message.replace("\"kept\": null", &format!("\"kept\": \"{}\"", precious.display()));
    let tree = test.git(&["rev-parse", &format!("{reference}^{{tree}}")]);
    let planted = test.git(&["commit-tree", "-m", &message, &tree]);
    test.git(&["update-ref", &reference, &planted]);
    test.git(&["update-ref", "refs/trackside/trash/without-message", &head]);
    assert_eq!(list_saved_work(&repository).unwrap().len(), 1);
    trackside_worktree::prune_saved_work(&repository, jiff::Timestamp::MAX, &[]).unwrap();
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "of a person");
}

/// `git gc --prune=now` takes every object that no ref reaches.
#[test]
fn garbage_collection_takes_nothing_of_living_or_saved_work() {
    let test = TestRepository::new();
    let repository = test.open();
    let (living, removed) = (create(&repository, "T-1", 1), create(&repository, "T-2", 2));
    for record in [&living, &removed] {
        write(&record.path, "staged", b"staged");
        git(&record.path, &["add", "staged"]);
        commit_all(&record.path, "on the branch");
        git(&record.path, &["checkout", "-q", "--detach"]);
        commit_all(&record.path, "detached");
        write(&record.path, "again", b"staged again");
        git(&record.path, &["add", "again"]);
    }
    let saved = remove(&repository, "T-2", 3).unwrap();
    test.git(&["reflog", "expire", "--expire=now", "--all"]);
    test.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(git(&living.path, &["show", ":again"]), "staged again");
    let (place, _) = restore_saved_work(&repository, &saved, None).unwrap();
    assert_eq!(git(&place, &["log", "-1", "--format=%s"]), "detached");
    assert_eq!(git(&place, &["show", ":again"]), "staged again");
}

#[test]
fn a_shallow_clone_has_worktrees_and_merges() {
    for kind in ["worktree", "clone"] {
        let origin = TestRepository::new();
        for number in 0..4 {
            origin.write("file", &number.to_string());
            origin.commit_all("more");
        }
        let test = TestRepository::empty();
        let url = format!("file://{}", origin.root.display());
        test.git(&["fetch", "-q", "--depth=2", &url, "main"]);
        test.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
        test.write(".trackside/worktree.yaml", &format!("kind: {kind}\n"));
        assert_eq!(test.git(&["rev-parse", "--is-shallow-repository"]), "true");
        let repository = test.open();
        let record = create(&repository, "T-1", 1);
        write(&record.path, "one", b"1");
        let head = commit_all(&record.path, "work");
        write(&record.path, "two", b"2");
        repository.fetch_home(&record).unwrap();
        merged(merge(&repository, &merge_request("T-1", &head, 2)));
        assert_eq!(test.commit("integration"), head, "{kind}");
        assert_eq!(list_saved_work(&repository).unwrap().len(), 1, "{kind}");
    }
}

/// Large files are pointers in git, and a program of the owner brings their content.
#[test]
fn pointers_to_large_files_keep_their_content() {
    let test = TestRepository::new();
    let bin = test.root.join("bin.ignored");
    fs::create_dir_all(&bin).unwrap();
    // Its content is the pointer's with another word.
    executable(
        &bin.join("git-lfs"),
        "#!/bin/sh\ncase \"$1\" in clean) sed s/content/pointer/;; smudge) sed s/pointer/content/;; esac\n",
    );
    let own = bin.join("git-lfs");
    test.git(&["config", "filter.lfs.clean", &format!("{} clean -- %f", own.display())]);
    test.git(&["config", "filter.lfs.smudge", &format!("{} smudge -- %f", own.display())]);
    test.git(&["config", "filter.lfs.required", "true"]);
    test.write(".gitattributes", "*.bin filter=lfs\n");
    test.write("large.bin", "content\n");
    test.commit_all("large");
    assert_eq!(test.git(&["show", "HEAD:large.bin"]), "pointer");
    let repository = test.open();
    let record = create(&repository, "T-1", 1);
    assert_eq!(fs::read_to_string(record.path.join("large.bin")).unwrap(), "content\n");
    // Its time changes, and not its content.
    write(&record.path, "large.bin", b"content\n");
    write(&record.path, "other.bin", b"content of another\n");
    assert_eq!(repository.worktree_facts(&record).unwrap().dirty, 1, "only the new file");
    let head = commit_all(&record.path, "other");
    assert_eq!(test.git(&["show", &format!("{head}:other.bin")]), "pointer of another");
    let review = repository.check_out_detached(".worktrees/.review/r", &head).unwrap();
    assert_eq!(fs::read_to_string(review.join("other.bin")).unwrap(), "content of another\n");
    merged(merge(&repository, &merge_request("T-1", &head, 2)));
    assert_eq!(test.refs("refs/trackside/trash"), Vec::<String>::new(), "nothing would have been lost");
}

#[test]
fn ids_of_tasks_that_look_like_options_have_worktrees() {
    let test = TestRepository::new();
    let repository = test.open();
    for (number, id) in ["-x", "--detach", "HEAD", "T.1", "ä"].iter().enumerate() {
        let record = create(&repository, id, number as u64);
        write(&record.path, "work", b"w");
        let head = commit_all(&record.path, id);
        assert_eq!(repository.worktree_facts(&record).unwrap().unmerged, 1, "{id}");
        let outcome = merge(&repository, &merge_request(id, &head, 100 + number as u64));
        assert_eq!(merged(outcome), test.commit("integration"), "{id}");
    }
    for id in ["a.lock", "a b", "a..b", "a~1", "a:b", "a\nb", "..", ""] {
        let refused = repository.create_worktree(&create_request(id, 200, true));
        assert!(refused.is_err_and(|it| !it.is_fault_of_machine()), "{id:?}");
    }
}
