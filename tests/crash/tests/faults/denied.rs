//! A user without permission to read or write the folder, or a file in it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use trackside_crash::folder::TestFolder;
use trackside_store::Sqlite;

use crate::{is_there, says, sqlite, worked_in};

/// The variable that names the action to try.
const TRIED: &str = "TRACKSIDE_DENIED_FOLDER";

/// Run by the tests below as another user: tries to own the folder, and to read it.
#[test]
fn somebody_tries() {
    let Some(dir) = std::env::var_os(TRIED).map(PathBuf::from) else { return };
    let owned = Sqlite::open(&dir, sqlite()).map(drop);
    println!("\nowned: {}", owned.map_or_else(|it| it.to_string(), |()| "yes".to_owned()));
    let read = Sqlite::open_to_read(&dir, sqlite()).and_then(|mut it| it.head());
    println!("\nread: {}", read.map_or_else(|it| it.to_string(), |it| format!("up to {}", it.chain.seq)));
}

/// The command prefix that drops root rights; empty if we are not root.
fn becoming() -> Option<Vec<String>> {
    let said = |command: &str, args: &[&str]| {
        let output = Command::new(command).args(args).output().ok().filter(|it| it.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if said("id", &["-u"]).is_some_and(|it| it != "0") {
        return Some(Vec::new());
    }
    let ways = [
        vec!["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        vec!["su", "nobody", "-s", "/usr/bin/env", "--"],
    ];
    let works = |it: &&Vec<&str>| {
        let with: Vec<&str> = it[1..].iter().copied().chain(["id", "-u"]).collect();
        said(it[0], &with).is_some_and(|it| it != "0")
    };
    let way = ways.iter().find(works)?;
    Some(way.iter().map(|it| (*it).to_owned()).collect())
}

/// A copy of this program that any user may run.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<(TestFolder, PathBuf)> = OnceLock::new();
    let (_, path) = PROGRAM.get_or_init(|| {
        let folder = TestFolder::new("program");
        std::fs::create_dir_all(folder.path()).unwrap();
        mode(folder.path(), 0o755);
        let path = folder.path().join("faults");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        mode(&path, 0o755);
        (folder, path)
    });
    path
}

/// The errors for a user without rights: as owner, and as reader. None if there is no such user here.
fn run_denied(dir: &Path) -> Option<(String, String)> {
    let Some(way) = becoming() else {
        println!("SKIPPED: this is root, and neither setpriv nor su can become somebody without rights");
        return None;
    };
    let mut all: Vec<String> = way;
    all.push(program().to_str().unwrap().to_owned());
    all.extend(["--exact", "denied::somebody_tries", "--nocapture"].map(str::to_owned));
    let output = Command::new(&all[0]).args(&all[1..]).env(TRIED, dir).current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let after = |start: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix(start));
        line.unwrap_or_else(|| panic!("{start} {text}\n{}", String::from_utf8_lossy(&output.stderr)))
            .to_owned()
    };
    let told = (after("owned: "), after("read: "));
    println!("{told:?}");
    Some(told)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file of a folder as it is.
fn image(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file());
    files.map(|it| (it.clone(), std::fs::read(&it).unwrap())).collect()
}

/// The files that must not change. The lock names the last owner; SQLite leaves an empty WAL and its index
/// if it may not remove them.
fn kept_files(mut files: BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    files.retain(|path, bytes| {
        let name = path.to_string_lossy();
        !(name.ends_with("/lock") || name.ends_with("-shm") || name.ends_with("-wal") && bytes.is_empty())
    });
    files
}

/// Denies access to a file, returns the error, and checks that nothing changed.
fn denied(name: &str, file: &str, to: u32, owned: &[&str], read: &[&str]) {
    let (folder, answered) = worked_in(name, 8);
    let dir = folder.path();
    // Everything else is readable and writable by all.
    mode(dir, 0o777);
    for path in image(dir).keys() {
        mode(path, 0o666);
    }
    let before = image(dir);
    let path = dir.join(file);
    mode(&path, to);
    let told = run_denied(dir);
    mode(&path, if path.is_dir() { 0o777 } else { 0o666 });
    let Some((wanted, looked)) = told else { return };
    says(&wanted, owned);
    says(&looked, read);
    assert!(kept_files(image(dir)) == kept_files(before), "a file came, went or was changed");
    is_there(dir, &answered);
}

#[test]
fn a_read_only_folder_can_be_read_and_the_error_names_the_next_step() {
    denied("denied-folder", ".", 0o555, &["cannot be written", "writable for this user"], &["up to"]);
}

#[test]
fn a_folder_that_may_not_be_entered_is_reported() {
    let words = ["cannot be opened", "may not read its folder", "for this user"];
    denied("denied-entry", ".", 0o000, &["cannot be written", "this user"], &words);
}

#[test]
fn a_journal_that_may_not_be_written_is_reported() {
    let words = ["journal.db", "cannot be written", "writable for this user"];
    denied("denied-journal-write", "journal.db", 0o444, &words, &["up to"]);
}

#[test]
fn a_journal_that_may_not_be_read_is_reported() {
    let words = ["journal.db", "may not open it", "readable and writable"];
    denied("denied-journal", "journal.db", 0o000, &words, &words);
}

#[test]
fn a_state_db_without_permission_is_not_taken_for_a_damaged_one() {
    let words = ["state.db", "may not open it", "readable and writable"];
    denied("denied-state", "state.db", 0o000, &words, &words);
    denied("denied-state-write", "state.db", 0o444, &["state.db", "cannot be written"], &["up to"]);
}

#[test]
fn a_lock_of_another_user_is_reported() {
    denied(
        "denied-lock",
        "lock",
        0o444,
        &["lock", "cannot be written", "writable for this user"],
        &["up to"],
    );
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let parent = TestFolder::new("denied-parent");
    std::fs::create_dir_all(parent.path()).unwrap();
    mode(parent.path(), 0o555);
    let told = run_denied(&parent.path().join("data"));
    mode(parent.path(), 0o755);
    let Some((owned, read)) = told else { return };
    says(&owned, &["data cannot be written", "Permission denied", "Choose another folder with --data"]);
    says(&read, &["there is no such file"]);
    assert!(!parent.path().join("data").exists());
}
