//! The disk is full, read-only or damaged; files are missing or owned by another user. Callers get an error that says
//! what to do, no answered command is lost, and if possible the project resumes by itself.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests stop at the first surprise"
)]

mod denied;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use trackside_crash::consistency::check_reads;
use trackside_crash::folder::TestFolder;
use trackside_crash::journal::{StoredJournal, WrittenCommand};
use trackside_crash::load::{self, CommandKey, command};
use trackside_crash::packs::packs;
use trackside_crash::script::written_command;
use trackside_crash::writer::{options, sqlite};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_powercut::{DiskFault, Unsynced, VirtualDisk};
use trackside_runtime::{Failure, Runtime};
use trackside_store::backups::back_up;
use trackside_store::store::DueAt;
use trackside_store::{Sqlite, SqliteOptions, Store, StoreError};

/// A project on some store, and its answers.
struct Project {
    runtime: Option<Runtime>,
    store: Arc<Sqlite>,
    answered: BTreeMap<String, WrittenCommand>,
    next: CommandKey,
}

impl Project {
    fn open(dir: &Path, sqlite: SqliteOptions) -> Self {
        let store = Arc::new(Sqlite::open(dir, sqlite).unwrap());
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        for command in load::agents() {
            runtime.gateway().unwrap().ask(command).unwrap();
        }
        let next = CommandKey { round: 0, caller: 1, step: 0 };
        Self { runtime: Some(runtime), store, answered: BTreeMap::new(), next }
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    /// Submits the next step.
    fn ask(&mut self) -> Result<(), Failure> {
        let answer = self.runtime().gateway().unwrap().ask(command(self.next))?;
        self.answered.extend(written_command(&answer).map(|it| (self.next.to_string(), it)));
        self.next = self.next.next();
        Ok(())
    }

    fn asks(&mut self, times: usize) {
        for _ in 0..times {
            self.ask().unwrap();
        }
    }

    /// Submits until it fails, and returns the error.
    fn until_trouble(&mut self) -> String {
        for _ in 0..20_000 {
            match self.ask() {
                Ok(()) => {}
                Err(Failure::Unavailable(why) | Failure::NoSpace(why)) => return why,
                Err(Failure::Overloaded(_)) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        }
        panic!("the fault was not reported");
    }

    /// Submits again until it works, without a restart.
    fn until_well(&mut self) {
        for _ in 0..600 {
            match self.ask() {
                Ok(()) => return,
                Err(Failure::Unavailable(_) | Failure::NoSpace(_) | Failure::Overloaded(_)) => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                Err(other) => panic!("{other}"),
            }
        }
        panic!("it does not recover by itself: {:?}", self.runtime().problem());
    }

    /// All that was answered is there, and shown.
    fn is_whole(&self) {
        for _ in 0..200 {
            if self.runtime().lag() == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let journal = check_reads(self.runtime(), &*self.store).unwrap();
        journal.has(&self.answered).unwrap();
        assert!(self.answered.len() > 3);
        assert_eq!(self.runtime().problem(), None);
    }

    fn stop(mut self) -> BTreeMap<String, WrittenCommand> {
        self.runtime.take().unwrap().stop();
        std::mem::take(&mut self.answered)
    }
}

fn says(why: &str, words: &[&str]) {
    for word in words {
        assert!(why.contains(word), "`{word}` is not said: {why}");
    }
}

/// A reopened folder has every answered command.
fn is_there(dir: &Path, answered: &BTreeMap<String, WrittenCommand>) {
    let store = Sqlite::open(dir, sqlite()).unwrap();
    StoredJournal::read(store.reader().unwrap().as_mut()).unwrap().has(answered).unwrap();
}

fn open_error(dir: &Path) -> StoreError {
    Sqlite::open(dir, sqlite()).map(drop).unwrap_err()
}

#[test]
fn every_disk_fault_is_reported_and_survived() {
    let faults = [
        (DiskFault::Full, vec!["journal.db", "disk is full", "Free some space"]),
        (DiskFault::FullAfter { bytes: 20_000 }, vec!["disk is full", "Free some space"]),
        (DiskFault::WriteFails, vec!["journal.db", "the disk returned an error", "try again"]),
        (DiskFault::ReadOnly, vec!["journal.db"]),
        (DiskFault::SyncFails { forgets: false }, vec!["journal.db", "the disk returned an error"]),
        (DiskFault::SyncFails { forgets: true }, vec!["journal.db", "the disk returned an error"]),
    ];
    for (fault, words) in faults {
        let disk = VirtualDisk::new();
        let sqlite =
            SqliteOptions { vfs: Some(disk.vfs().to_owned()), ..SqliteOptions::default() }.with_logs(24, 48);
        let mut project = Project::open(Path::new("data"), sqlite.clone());
        project.asks(6);
        disk.fail(fault);
        let why = project.until_trouble();
        println!("{fault:?}: {why}");
        says(&why, &words);
        assert!(project.runtime().problem().is_some(), "{fault:?}");
        let before = project.answered.clone();
        let told = project.ask();
        assert!(
            matches!(told, Err(Failure::Unavailable(_) | Failure::NoSpace(_))),
            "{fault:?}: while it lasts: {told:?}"
        );
        assert_eq!(before, project.answered);
        disk.lift();
        project.until_well();
        project.asks(4);
        // After a power cut now, later answers must not depend on data that was not synced then.
        let cut = VirtualDisk::from_image(disk.after_cut_at(disk.boundary(), Unsynced::Lost));
        let after = SqliteOptions { vfs: Some(cut.vfs().to_owned()), ..SqliteOptions::default() };
        let after = Sqlite::open(Path::new("data"), after).unwrap();
        StoredJournal::read(after.reader().unwrap().as_mut()).unwrap().has(&project.answered).unwrap();
        project.is_whole();
        let answered = project.stop();
        let again = Sqlite::open(Path::new("data"), sqlite).unwrap();
        StoredJournal::read(again.reader().unwrap().as_mut()).unwrap().has(&answered).unwrap();
    }
}

/// A small file system, unmounted at the end; none if this user may not mount.
struct SmallMount(TestFolder);

impl SmallMount {
    fn mount(size: &str) -> Option<Self> {
        let folder = TestFolder::new("small");
        std::fs::create_dir_all(folder.path()).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .stderr(std::process::Stdio::null())
            .status();
        match done.is_ok_and(|it| it.success()) {
            true => Some(Self(folder)),
            false => {
                println!("this user may not mount: only the disk in memory was tried");
                None
            }
        }
    }

    fn again(&self, how: &str) {
        let done = Command::new("mount").args(["-o", how]).arg(self.0.path()).status().unwrap();
        assert!(done.success(), "mount -o {how}");
    }
}

impl Drop for SmallMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_or_read_only_file_system_is_reported_and_survived() {
    let Some(small) = SmallMount::mount("3m") else { return };
    let dir = small.0.path().join("data");
    let mut project = Project::open(&dir, sqlite());
    project.asks(6);
    let why = project.until_trouble();
    println!("full: {why}");
    says(&why, &["disk is full", "Free some space"]);
    small.again("remount,size=64m");
    project.until_well();
    project.asks(10);
    project.is_whole();
    // A file system with files open for writing can only be made read-only by force; so the project starts there.
    let answered = project.stop();
    is_there(&dir, &answered);
    small.again("remount,ro");
    let why = open_error(&dir).to_string();
    println!("read-only: {why}");
    says(&why, &["data", "cannot be written", "Make the folder"]);
    small.again("remount,rw");
    is_there(&dir, &answered);
}

#[test]
fn a_project_on_a_full_disk_starts_and_is_read() {
    let Some(small) = SmallMount::mount("8m") else { return };
    let dir = small.0.path().join("data");
    let fill = small.0.path().join("fill");
    for killed in [false, true] {
        let mut project = Project::open(&dir, sqlite());
        project.asks(6);
        let answered = match killed {
            false => project.stop(),
            // As a kill would leave it: the files are copied while they are in use, and the index is gone.
            true => {
                let copy = TestFolder::new("killed");
                let parts = ["cp", "-r", dir.to_str().unwrap(), copy.path().to_str().unwrap()];
                assert!(Command::new(parts[0]).args(&parts[1..]).status().unwrap().success());
                let answered = project.stop();
                std::fs::remove_dir_all(&dir).unwrap();
                let parts = ["cp", "-r", copy.path().to_str().unwrap(), dir.to_str().unwrap()];
                assert!(Command::new(parts[0]).args(&parts[1..]).status().unwrap().success());
                for name in ["journal.db-shm", "state.db-shm"] {
                    std::fs::remove_file(dir.join(name)).ok();
                }
                answered
            }
        };
        // dd exits with an error when the disk is full.
        let to = format!("of={}", fill.display());
        Command::new("dd")
            .args(["if=/dev/zero", &to, "bs=4096"])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let store = Arc::new(Sqlite::open(&dir, sqlite()).unwrap());
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        let mut full = Project {
            runtime: Some(runtime),
            store,
            answered,
            next: CommandKey { round: 1, caller: 1, step: 0 },
        };
        // Every entity is shown as the journal has it, although no projection can be written.
        let journal = StoredJournal::read(full.store.reader().unwrap().as_mut()).unwrap();
        journal.has(&full.answered).unwrap();
        for entity in journal.replay(u64::MAX).entities() {
            assert_eq!(full.runtime().entity(&entity.key).unwrap().unwrap().seq, entity.seq);
        }
        let refused = (0..2_000).find_map(|_| full.ask().err()).unwrap();
        assert!(matches!(refused, Failure::NoSpace(_)), "{refused:?}");
        std::fs::remove_file(&fill).unwrap();
        full.until_well();
        full.is_whole();
        full.stop();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_backup_that_does_not_fit_leaves_nothing() {
    let Some(small) = SmallMount::mount("200k") else { return };
    let (folder, _) = worked_in("no-room", 20);
    let to = small.0.path().join("backup");
    let store = Sqlite::open(folder.path(), sqlite()).unwrap();
    // Found before anything is written.
    let why = back_up(&store, folder.path(), &to, &mut |_, _| {}).unwrap_err().to_string();
    says(&why, &["the copy needs", "free", "Nothing was written", "another disk"]);
    assert!(!to.exists());
    // Found while it is written.
    let why = store.backup(&to, &mut |_, _| {}).unwrap_err().to_string();
    says(&why, &["disk is full"]);
    assert!(!to.exists(), "the part that was written is gone");
    std::fs::create_dir(&to).unwrap();
    store.backup(&to, &mut |_, _| {}).unwrap_err();
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), 0, "an existing folder stays, and is empty");
}

#[test]
fn a_second_owner_learns_who_the_first_is() {
    let folder = TestFolder::new("two");
    let mut project =
        Project::open(folder.path(), SqliteOptions { owner: Some("the server".into()), ..sqlite() });
    project.asks(5);
    let why = open_error(folder.path()).to_string();
    says(&why, &["is in use by the server (process", "Stop that process first"]);
    project.asks(2);
    project.is_whole();
}

/// A folder with some work in it, closed.
fn worked_in(name: &str, steps: usize) -> (TestFolder, BTreeMap<String, WrittenCommand>) {
    let folder = TestFolder::new(name);
    let mut project = Project::open(folder.path(), sqlite());
    project.asks(steps);
    project.is_whole();
    let answered = project.stop();
    assert!(!folder.path().join("state.db-wal").exists(), "it was closed");
    (folder, answered)
}

fn scribble(path: &Path, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    for byte in &mut bytes[page * 4096..(page + 1) * 4096] {
        *byte ^= 0x5a;
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_invalid_state_db_is_set_aside_and_rebuilt() {
    for page in [0, 1] {
        let (folder, answered) = worked_in("state", 30);
        let path = folder.path().join("state.db");
        scribble(&path, page);
        let damaged = std::fs::read(&path).unwrap();
        let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
        let aside = store.set_aside().expect("it was damaged").to_owned();
        says(&aside.display().to_string(), &["state.db.damaged-1"]);
        assert_eq!(std::fs::read(&aside).unwrap(), damaged, "it is kept");
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        check_reads(&runtime, &*store).unwrap().has(&answered).unwrap();
        runtime.stop();
        drop(store);
        assert_eq!(Sqlite::open(folder.path(), sqlite()).unwrap().set_aside(), None);
    }
}

#[test]
fn a_damaged_page_found_later_names_the_repair_and_the_repair_works() {
    let (folder, answered) = worked_in("deep", 60);
    let path = folder.path().join("state.db");
    let pages = std::fs::metadata(&path).unwrap().len() as usize / 4096;
    let mut met = 0;
    for page in 2..pages {
        let whole = std::fs::read(&path).unwrap();
        scribble(&path, page);
        let all = trackside_store::store::Listing { most: 10_000, ..Default::default() };
        let listed = Sqlite::open(folder.path(), sqlite()).and_then(|store| {
            if store.set_aside().is_some() {
                Ok(vec![])
            } else {
                store.reader()?.list(&all).map(|it| it.value)
            }
        });
        if let Err(why) = listed {
            let why = why.to_string();
            says(&why, &["state.db", "rebuilt from the journal", "Start the server again"]);
            met += 1;
            if met == 1 {
                Sqlite::set_state_aside(folder.path()).unwrap();
                let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
                let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
                check_reads(&runtime, &*store).unwrap().has(&answered).unwrap();
                runtime.stop();
                return;
            }
        }
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.path().join(format!("state.db{end}")));
        }
        std::fs::write(&path, whole).unwrap();
    }
    panic!("no damaged page was met among {pages}");
}

/// Damages the row of the entity whose timer is due first. Returns its key.
fn spoil_first(dir: &Path, also: &str) -> EntityKey {
    let file = rusqlite::Connection::open(dir.join("state.db")).unwrap();
    let first = "SELECT lifecycle, id FROM timer ORDER BY due, lifecycle, id LIMIT 1";
    let (lifecycle, id): (String, String) =
        file.query_row(first, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let sql = format!(
        "UPDATE entity SET body = '{{\"key\":'{also} \
         WHERE id = ?2 AND lifecycle = (SELECT id FROM name WHERE text = ?1)"
    );
    assert_eq!(file.execute(&sql, [&lifecycle, &id]).unwrap(), 1);
    EntityKey::new(lifecycle.as_str(), id.as_str())
}

/// Timers that should have fired by now, as the projections have them.
fn late(runtime: &Runtime, store: &Sqlite, now: Timestamp) -> Vec<DueAt> {
    for _ in 0..200 {
        if runtime.lag() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let due = store.reader().unwrap().timers(None, 1_000).unwrap().value;
    due.into_iter().filter(|it| it.due <= now).collect()
}

#[test]
fn an_invalid_row_delays_no_other_timer() {
    // The second record does not even name its last entry.
    for also in ["", ", seq = 0"] {
        let (folder, _) = worked_in("timer", 60);
        let spoiled = spoil_first(folder.path(), also);
        let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        let due = store.reader().unwrap().timers(None, 1_000).unwrap().value;
        let to = due[0].due.plus(Span::seconds(60 * 60));
        let others = due.iter().filter(|it| it.due <= to && it.entity != spoiled).count();
        assert!(others > 2, "{due:#?}");
        runtime.gateway().unwrap().advance(to).unwrap().wait().unwrap();
        let (problem, left) = (runtime.problem(), late(&runtime, &store, to));
        println!("{spoiled}: {problem:?}");
        assert_eq!((problem, left.len()), (None, 0), "{left:#?}");
        let found = store.reader().unwrap().entity(&spoiled).unwrap();
        assert_eq!(found, runtime.entity(&spoiled).unwrap(), "its record is whole again");
        runtime.stop();
        drop(store);
        // The advice of the error message.
        Sqlite::set_state_aside(folder.path()).unwrap();
        let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        runtime.gateway().unwrap().advance(to.plus(Span(1))).unwrap().wait().unwrap();
        assert_eq!((runtime.problem(), late(&runtime, &store, to).len()), (None, 0), "it fired, late");
    }
}

#[test]
fn a_damaged_journal_is_refused_and_left_alone() {
    let (folder, _) = worked_in("journal", 30);
    let path = folder.path().join("journal.db");
    let whole = std::fs::read(&path).unwrap();
    for page in [0, 1] {
        scribble(&path, page);
        let damaged = std::fs::read(&path).unwrap();
        let why = open_error(folder.path()).to_string();
        says(
            &why,
            &["journal.db is damaged", "Delete nothing", "restore a backup", "docs/operating/recovery.md"],
        );
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "it is left as it is");
        std::fs::write(&path, &whole).unwrap();
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let last: i64 = file.query_row("SELECT max(seq) FROM journal", [], |row| row.get(0)).unwrap();
    file.execute("UPDATE journal SET header = replace(header, 'bob', 'eve') WHERE seq > ?1", [last - 8])
        .unwrap();
    drop(file);
    let why = open_error(folder.path()).to_string();
    println!("{why}");
    says(&why, &["journal.db is damaged: journal entry ", "restore a backup"]);
    // Every page, one at a time: it is refused, or an audit finds it, or it was a page without words in it.
    std::fs::write(&path, &whole).unwrap();
    let (mut refusals, mut findings) = (0, 0);
    for page in 0..whole.len() / 4096 {
        scribble(&path, page);
        match Sqlite::open(folder.path(), sqlite()) {
            Err(_) => refusals += 1,
            Ok(store) => {
                let mut reader = store.reader().unwrap();
                let definitions = reader.definitions().is_ok();
                findings += usize::from(StoredJournal::read(reader.as_mut()).is_err() || !definitions);
            }
        }
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.path().join(format!("journal.db{end}")));
        }
        std::fs::write(&path, &whole).unwrap();
    }
    println!("{} pages: {refusals} refused, {findings} found by reading", whole.len() / 4096);
    assert!(refusals > 0 && findings > 0);
}

/// A log that was cut off, by a file system that lost its end or by a copy that left it out.
#[test]
fn a_truncated_wal_is_reported_and_the_evidence_stays() {
    let folder = TestFolder::new("wal");
    let mut project = Project::open(folder.path(), SqliteOptions::default());
    project.asks(30);
    project.is_whole();
    let copy = TestFolder::new("wal-copy");
    for part in [0_u64, 1, 3, 7, 9, 10] {
        let _ = std::fs::remove_dir_all(copy.path());
        std::fs::create_dir_all(copy.path()).unwrap();
        // By another process: a file that is closed in this one takes the locks of SQLite with it.
        let from = folder.path().join(".");
        assert!(Command::new("cp").arg("-r").arg(from).arg(copy.path()).status().unwrap().success());
        let path = copy.path().join("journal.db-wal");
        let whole = std::fs::read(&path).unwrap();
        let cut = &whole[..usize::try_from(whole.len() as u64 * part / 10).unwrap()];
        std::fs::write(&path, cut).unwrap();
        if part == 10 {
            is_there(copy.path(), &project.answered);
            continue;
        }
        let told: Vec<String> = (0..2).map(|_| open_error(copy.path()).to_string()).collect();
        println!("{part} of 10: {}", told[0]);
        for why in &told {
            says(why, &["journal.db is damaged", "-wal", "restore a backup"]);
            assert!(why.contains("was acknowledged") || why.contains("state.db was built from"), "{why}");
        }
        // The beginning is long: the definitions.
        let has_entries = told[0].contains("it ends at ");
        assert!(has_entries || part < 7, "{}", told[0]);
        if has_entries {
            assert_eq!(std::fs::read(&path).unwrap(), cut, "the rest of the file is unchanged");
        }
        // The file is found again, or restored from a copy.
        std::fs::write(&path, &whole).unwrap();
        is_there(copy.path(), &project.answered);
        // Or it stays missing: the rest can be used with an explicit command.
        std::fs::write(&path, cut).unwrap();
        let journal = copy.path().join("journal.db");
        assert!(
            Command::new("cp")
                .arg(folder.path().join("journal.db"))
                .arg(&journal)
                .status()
                .unwrap()
                .success()
        );
        if part == 7 {
            says(&open_error(copy.path()).to_string(), &["it ends at "]);
            // The witness has the entries of the last second at the latest.
            let _ = std::fs::remove_file(copy.path().join("journal.end"));
            says(&open_error(copy.path()).to_string(), &["state.db was built from"]);
            Sqlite::set_state_aside(copy.path()).unwrap();
            let store = Arc::new(Sqlite::open(copy.path(), sqlite()).unwrap());
            let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
            check_reads(&runtime, &*store).unwrap();
            runtime.stop();
        }
    }
}

/// Writes an entry after the last one, as a program does that knows the table: well sealed, or with a hash of another entry.
fn writes_beside(dir: &Path, sealed: bool) -> u64 {
    let file = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    let mut reader = Sqlite::open_to_read(dir, sqlite()).unwrap();
    let mut chain = reader.head().unwrap().chain;
    let mut entry = reader.record(chain.seq).unwrap().unwrap().entry().unwrap();
    (entry.seq, entry.key) = (chain.seq + 1, None);
    let mut record = chain.seal(entry, chain.seq).unwrap();
    if !sealed {
        record.hash = [7; 32];
    }
    let sql = "INSERT INTO journal (seq, prev, format, header, payload, digest, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let row = rusqlite::params![
        record.seq as i64,
        record.prev as i64,
        record.format,
        record.header,
        record.payload,
        record.digest,
        record.hash
    ];
    file.execute(sql, row).unwrap();
    record.seq
}

#[test]
fn a_journal_written_by_another_program_is_not_continued() {
    for sealed in [false, true] {
        let folder = TestFolder::new("foreign");
        let mut project = Project::open(folder.path(), sqlite());
        project.asks(8);
        project.is_whole();
        let (before, known) = (project.answered.clone(), project.runtime().seq());
        let foreign = writes_beside(folder.path(), sealed);
        assert_eq!(foreign, known + 1);
        // However often it is tried, the lock is not taken over.
        for _ in 0..12 {
            match project.ask() {
                Err(Failure::Unavailable(why)) => {
                    says(&why, &["an entry that this process did not write", "docs/operating/recovery.md"])
                }
                other => panic!("sealed: {sealed}: {other:?}"),
            }
            std::thread::sleep(std::time::Duration::from_millis(40));
        }
        assert!(project.runtime().problem().is_some_and(|it| it.contains("did not write")));
        assert_eq!((project.runtime().seq(), &project.answered), (known, &before), "no follower got it");
        let file = rusqlite::Connection::open(folder.path().join("journal.db")).unwrap();
        file.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        file.execute("DELETE FROM journal WHERE seq = ?1", [foreign as i64]).unwrap();
        drop(file);
        project.until_well();
        project.asks(3);
        project.is_whole();
        let answered = project.stop();
        is_there(folder.path(), &answered);
    }
}

#[test]
fn a_journal_with_a_gap_is_not_caught_up_with() {
    let (folder, _) = worked_in("follows", 40);
    let file = rusqlite::Connection::open(folder.path().join("journal.db")).unwrap();
    // Far from the end, which is checked when the folder is opened.
    let changed = "UPDATE journal SET header = replace(header, 'bob', 'eve') WHERE seq = \
                   (SELECT min(seq) FROM journal WHERE header LIKE '%bob%')";
    assert_eq!(file.execute(changed, []).unwrap(), 1);
    drop(file);
    // Projected entries were checked when written; the others must be checked.
    let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
    Runtime::start(store.clone(), &packs(), options(&*store)).unwrap().stop();
    drop(store);
    Sqlite::set_state_aside(folder.path()).unwrap();
    let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
    let why = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap_err().to_string();
    says(&why, &["journal entry ", "was changed"]);
    assert_eq!(store.reader().unwrap().position().unwrap(), 0, "nothing of it is projected");
}

#[test]
fn a_journal_that_is_taken_away_while_it_runs_is_noticed_and_taken_back() {
    let folder = TestFolder::new("away");
    let mut project = Project::open(folder.path(), sqlite());
    project.asks(8);
    let (path, away) = (folder.path().join("journal.db"), folder.path().join("elsewhere.db"));
    std::fs::rename(&path, &away).unwrap();
    let before = project.answered.clone();
    let why = project.until_trouble();
    println!("{why}");
    says(&why, &["journal.db", "removed or replaced", "Put it back"]);
    assert_eq!(before, project.answered, "every answered command can be found");
    assert!(!path.exists(), "nothing is made in its place");
    std::fs::write(&path, "").unwrap();
    says(&project.until_trouble(), &["journal.db"]);
    std::fs::rename(&away, &path).unwrap();
    project.until_well();
    project.asks(5);
    project.is_whole();
    let answered = project.stop();
    is_there(folder.path(), &answered);
}

#[test]
fn a_folder_whose_journal_is_gone_is_not_taken_for_a_new_one() {
    let (folder, answered) = worked_in("gone", 20);
    let (path, away) = (folder.path().join("journal.db"), folder.path().join("elsewhere.db"));
    std::fs::rename(&path, &away).unwrap();
    for _ in 0..2 {
        let why = open_error(folder.path()).to_string();
        says(&why, &["journal.db", "Put the journal back", "restore a backup"]);
    }
    std::fs::rename(&away, &path).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.path().join(format!("journal.db{end}")));
    }
    is_there(folder.path(), &answered);
}
