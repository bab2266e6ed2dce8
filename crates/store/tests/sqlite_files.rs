//! The files themselves: WALs that do not grow, dropped bytes, foreign files, backups.

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{StoreFolder, batch, entity, entry, row};
use rusqlite::Connection;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_store::archive::ArchivedSlice;
use trackside_store::projection::Notice;
use trackside_store::record::Hash;
use trackside_store::{Batch, Chain, Projection, Sqlite, SqliteOptions, Store, StoreError};

const MARK: &str = "the-word-that-must-go";

fn open(folder: &Path) -> Sqlite {
    Sqlite::open(folder, SqliteOptions::default()).unwrap()
}

fn open_error(folder: &Path) -> StoreError {
    Sqlite::open(folder, SqliteOptions::default()).map(|_| ()).unwrap_err()
}

fn hash_of(store: &Sqlite, seq: u64) -> Hash {
    store.reader().unwrap().record(seq).unwrap().unwrap().hash
}

/// The files of a folder in which a text occurs.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// A copy of a folder in its present state, as if its owner had been killed. Made by another process:
/// closing a file in this one drops the locks of SQLite.
fn snatch(folder: &Path) -> StoreFolder {
    let copy = StoreFolder::new("snatch");
    std::fs::create_dir_all(copy.path()).unwrap();
    let from = folder.join(".");
    let done = std::process::Command::new("cp").arg("-r").arg(from).arg(copy.path()).status().unwrap();
    assert!(done.success());
    copy
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_made_is_open_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = StoreFolder::new("private");
    let (data, copy, mine) =
        (folder.path().join("a/data"), folder.path().join("copy"), folder.path().join("b"));
    let store = open(&data);
    assert_eq!(mode(&data), 0o700);
    store.backup(&copy, &mut |_, _| {}).unwrap();
    assert_eq!(mode(&copy), 0o700);
    std::fs::create_dir(&mine).unwrap();
    std::fs::set_permissions(&mine, std::fs::Permissions::from_mode(0o750)).unwrap();
    drop(open(&mine));
    assert_eq!(mode(&mine), 0o750, "one that was there is let be");
}

#[test]
fn the_wal_restarts_under_load_and_is_never_truncated() {
    let folder = StoreFolder::new("log");
    let options = SqliteOptions::default().with_logs(16, 64);
    let store = Sqlite::open(folder.path(), options).unwrap();
    let mut journal = store.journal().unwrap();
    let mut reader = store.reader().unwrap();
    let mut chain = Chain::default();
    let log = || std::fs::metadata(folder.path().join("journal.db-wal")).unwrap().len() / 4096;
    let mut longest = 0;
    for n in 0..1_500 {
        journal.append(&batch(&mut chain, 3)).unwrap();
        assert!(log() >= longest, "a log that is cut off must be made to grow again");
        longest = longest.max(log());
        if n % 50 == 0 {
            assert_eq!(reader.records(chain.seq - 1, 9).unwrap().len(), 1);
        }
    }
    assert!(longest < 640, "{longest} pages: the WAL of 3,000 and more never restarted");
    assert_eq!(reader.head().unwrap().chain, chain);
}

#[test]
fn a_wal_held_back_by_a_reader_restarts_later() {
    let folder = StoreFolder::new("held");
    let options = SqliteOptions::default().with_logs(16, 64);
    let store = Sqlite::open(folder.path(), options).unwrap();
    let mut journal = store.journal().unwrap();
    let mut chain = Chain::default();
    journal.append(&batch(&mut chain, 3)).unwrap();
    let slow = Connection::open(folder.path().join("journal.db")).unwrap();
    slow.execute_batch("BEGIN; SELECT count(*) FROM journal;").unwrap();
    let log = || std::fs::metadata(folder.path().join("journal.db-wal")).unwrap().len() / 4096;
    for _ in 0..300 {
        journal.append(&batch(&mut chain, 3)).unwrap();
    }
    let held = log();
    assert!(held > 300, "the WAL does not restart during a read");
    slow.execute_batch("COMMIT;").unwrap();
    for _ in 0..600 {
        journal.append(&batch(&mut chain, 3)).unwrap();
    }
    assert!(log() < held + 300, "from {held} to {} pages", log());
}

#[test]
fn dropped_payloads_are_gone_from_every_file() {
    let folder = StoreFolder::new("bytes");
    let store = open(folder.path());
    let (mut journal, mut projector) = (store.journal().unwrap(), store.projector().unwrap());
    let mut chain = Chain::default();
    // A payload that fits into a page, and one that does not.
    let long = format!("{} {MARK}", "long ".repeat(3_000));
    let records = vec![
        chain.seal(entry(1, MARK), 0).unwrap(),
        chain.seal(entry(2, &long), 0).unwrap(),
        chain.seal(entry(3, "stays"), 0).unwrap(),
    ];
    journal.append(&Batch { records, definitions: Vec::new() }).unwrap();
    let told = |text: &str, seq| {
        let mut told = entity("T-1", "open", seq);
        told.fields.set(&Name::new("text"), Value::text(text));
        let mut row = row(told);
        row.indexed =
            vec![(Name::new("text"), Value::text(&text.chars().rev().take(30).collect::<String>()))];
        Projection { position: seq, entities: vec![row], ..Projection::default() }
    };
    projector.project(&told(&long, 2)).unwrap();
    assert!(!files_with(snatch(folder.path()).path(), MARK).is_empty(), "it must be there to be dropped");

    assert_eq!(journal.drop_payloads(&[1, 2]).unwrap(), 2);
    projector.project(&told("", 3)).unwrap();
    projector.scrub().unwrap();
    let none: [&str; 0] = [];
    assert_eq!(files_with(snatch(folder.path()).path(), MARK), none);
    let back: String = MARK.chars().rev().collect();
    assert_eq!(files_with(snatch(folder.path()).path(), &back), none);
    assert_eq!(journal.drop_payloads(&[1, 2]).unwrap(), 0);
    let records = store.reader().unwrap().records(0, 9).unwrap();
    assert_eq!(records.iter().map(|it| it.is_redacted()).collect::<Vec<_>>(), [true, true, false]);
    let mut chain = Chain::default();
    records.iter().for_each(|it| chain.follow(it).unwrap());
}

#[test]
fn files_of_a_later_release_are_left_alone() {
    for name in ["journal.db", "state.db"] {
        let folder = StoreFolder::new("later");
        let mut chain = Chain::default();
        open(folder.path()).journal().unwrap().append(&batch(&mut chain, 2)).unwrap();
        let file = Connection::open(folder.path().join(name)).unwrap();
        file.execute("UPDATE meta SET value = 99 WHERE key = 'schema'", []).unwrap();
        drop(file);
        if name == "journal.db" {
            let refused = open_error(folder.path());
            assert!(matches!(refused, StoreError::TooNew { found: 99, known: 4, .. }), "{refused}");
        } else {
            // The rest can be rebuilt.
            let store = open(folder.path());
            assert_eq!(store.projector().unwrap().position().unwrap(), 0);
            assert_eq!(store.reader().unwrap().head().unwrap().chain, chain);
        }
    }
}

/// The files of a server that was killed: entries in the log, in the file and in both.
fn killed() -> (StoreFolder, Chain) {
    let folder = StoreFolder::new("killed");
    let store = Sqlite::open(folder.path(), SqliteOptions::default().with_logs(8, 16)).unwrap();
    let (mut journal, mut chain) = (store.journal().unwrap(), Chain::default());
    let mut projector = store.projector().unwrap();
    for _ in 0..12 {
        journal.append(&batch(&mut chain, 3)).unwrap();
    }
    let mut projection = Projection { position: 9, ..Projection::default() };
    projection.entities = vec![row(entity("T-1", "open", 9))];
    projector.project(&projection).unwrap();
    (snatch(folder.path()), chain)
}

/// Every acknowledged entry is there, or the folder is refused with the next steps.
fn is_whole_or_refused(folder: &Path, end: Chain, what: &str) -> bool {
    match Sqlite::open(folder, SqliteOptions::default()) {
        Ok(store) => {
            assert_eq!(store.reader().unwrap().head().unwrap().chain, end, "{what}");
            true
        }
        Err(error) => {
            let why = error.to_string();
            assert!(why.contains("backup") || why.contains("the journal back"), "{what}: {why}");
            assert!(Sqlite::examine(folder).is_err(), "{what}: the doctor sees nothing: {why}");
            false
        }
    }
}

#[test]
fn acknowledged_entries_that_are_missing_after_a_kill_are_noticed() {
    let (folder, end) = killed();
    let names =
        ["journal.db-wal", "journal.db-shm", "state.db", "state.db-wal", "state.db-shm", "journal.db"];
    let mut whole = 0;
    for subset in 0..1_u32 << names.len() {
        let copy = snatch(folder.path());
        let gone: Vec<&str> =
            names.iter().enumerate().filter(|(at, _)| subset & (1 << at) != 0).map(|(_, it)| *it).collect();
        for name in &gone {
            std::fs::remove_file(copy.path().join(name)).ok();
        }
        whole += u32::from(is_whole_or_refused(copy.path(), end, &format!("without {gone:?}")));
    }
    assert!(whole >= 16, "{whole}: all that keep journal.db and its log");
    // A log that is cut, at each frame and within it.
    let log = std::fs::read(folder.path().join("journal.db-wal")).unwrap();
    let frames = (log.len() - 32) / (24 + 4096);
    assert!(frames > 8, "{frames}");
    let cuts = (0..=frames).flat_map(|it| [32 + it * (24 + 4096), 32 + it * (24 + 4096) + 100]);
    for cut in cuts.chain([0, 10]).filter(|it| *it <= log.len()) {
        let copy = snatch(folder.path());
        std::fs::write(copy.path().join("journal.db-wal"), &log[..cut]).unwrap();
        std::fs::remove_file(copy.path().join("state.db")).unwrap();
        is_whole_or_refused(copy.path(), end, &format!("log cut at {cut}"));
    }
    // A bit in the middle of the log.
    for at in (40..log.len()).step_by(1_013) {
        let copy = snatch(folder.path());
        let mut log = log.clone();
        log[at] ^= 1;
        std::fs::write(copy.path().join("journal.db-wal"), &log).unwrap();
        is_whole_or_refused(copy.path(), end, &format!("a bit of byte {at} of the log"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_foreign_lock_is_not_blamed_on_an_owner_that_has_ended() {
    let folder = StoreFolder::new("foreign-lock");
    drop(open(folder.path()));
    let lock = std::fs::File::open(folder.path().join("lock")).unwrap();
    lock.lock_shared().unwrap();
    let why = open_error(folder.path()).to_string();
    assert!(why.contains("does not own it but has locked the file"), "{why}");
    drop(lock);
    open(folder.path());
}

#[test]
fn a_salt_hides_a_dropped_payload_and_is_no_part_of_the_entry() {
    let seal = |salt| Chain::default().seal_salted(entry(1, "4711"), 0, salt).unwrap();
    let (one, two, bare) =
        (seal([1; 16]), seal([2; 16]), Chain::default().seal(entry(1, "4711"), 0).unwrap());
    assert!(one.digest != two.digest && one.digest != bare.digest && one.hash != two.hash);
    assert_eq!(one.entry().unwrap(), bare.entry().unwrap());
    for record in [&one, &two, &bare] {
        let dropped = trackside_store::Record { payload: None, ..record.clone() };
        Chain::default().follow(record).unwrap();
        Chain::default().follow(&dropped).unwrap();
    }
    let other = trackside_store::Record { payload: bare.payload.clone(), ..one };
    assert!(Chain::default().follow(&other).is_err());
}

#[test]
fn projections_of_another_journal_are_thrown_away() {
    let folder = StoreFolder::new("other");
    let mut chain = Chain::default();
    let filled = |chain: &mut Chain| {
        let store = open(folder.path());
        store.journal().unwrap().append(&batch(chain, 3)).unwrap();
        let entities = vec![row(entity("T-1", "open", 3))];
        let projection = Projection { position: 3, entities, ..Projection::default() };
        let mut projector = store.projector().unwrap();
        if projector.position().unwrap() == 0 {
            projector.project(&projection).unwrap();
        }
    };
    filled(&mut chain);
    assert_eq!(open(folder.path()).projector().unwrap().position().unwrap(), 3);
    std::fs::remove_file(folder.path().join("journal.db")).unwrap();
    let why = open_error(folder.path()).to_string();
    assert!(why.contains("state.db was built from 3 entries. Put the journal back"), "{why}");
    // Shorter.
    let shorter = StoreFolder::new("shorter");
    open(shorter.path()).journal().unwrap().append(&batch(&mut Chain::default(), 2)).unwrap();
    std::fs::copy(shorter.path().join("journal.db"), folder.path().join("journal.db")).unwrap();
    let state = || {
        let file = Connection::open(folder.path().join("state.db")).unwrap();
        let sql = "SELECT value, (SELECT count(*) FROM entity) FROM meta WHERE key = 'position'";
        file.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap()
    };
    for _ in 0..2 {
        let why = open_error(folder.path()).to_string();
        assert!(
            why.contains("journal.db is damaged: it ends at 2, but state.db was built from 3 entries"),
            "{why}"
        );
        assert_eq!(state(), (3, 1), "it is the only proof that something is missing");
    }
    // Not by its tables either.
    let old = Connection::open(folder.path().join("state.db")).unwrap();
    old.execute("UPDATE meta SET value = 1 WHERE key = 'schema'", []).unwrap();
    assert!(open_error(folder.path()).to_string().contains("it ends at 2"));
    old.execute("UPDATE meta SET value = 4 WHERE key = 'schema'", []).unwrap();
    drop(old);
    assert_eq!(state(), (3, 1));
    let mut reader = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
    let audit = trackside_store::audit::verify(reader.as_mut(), &[], &mut |_, _| {}).unwrap();
    assert_eq!(
        audit.problems.iter().map(|it| (it.seq, it.what.code())).collect::<Vec<_>>(),
        [(3, "cut-off")]
    );
    drop(reader);
    std::fs::remove_file(folder.path().join("journal.db")).unwrap();
    // A journal of the same length, with other entries.
    let elsewhere = StoreFolder::new("elsewhere");
    let mut other = Chain::default();
    let records = (1..=3).map(|seq| other.seal(entry(seq, "else"), 0).unwrap()).collect();
    let store = open(elsewhere.path());
    store.journal().unwrap().append(&Batch { records, definitions: Vec::new() }).unwrap();
    drop(store);
    std::fs::copy(elsewhere.path().join("journal.db"), folder.path().join("journal.db")).unwrap();
    assert!(open_error(folder.path()).to_string().contains("entry 3 is not the one that was acknowledged"));
    std::fs::remove_file(folder.path().join("journal.end")).unwrap();
    assert_eq!(open(folder.path()).projector().unwrap().position().unwrap(), 0, "the entries differ");
}

#[test]
fn a_file_that_is_no_journal_is_named() {
    let folder = StoreFolder::new("none");
    std::fs::create_dir_all(folder.path()).unwrap();
    std::fs::write(folder.path().join("journal.db"), "once upon a time ".repeat(500)).unwrap();
    let refused = open_error(folder.path());
    assert!(
        matches!(&refused, StoreError::Damaged { path, .. } if path.ends_with("journal.db")),
        "{refused}"
    );
    let file = folder.path().join("journal.db").join("below");
    let below = Sqlite::open(&file, SqliteOptions::default()).map(|_| ()).unwrap_err();
    assert!(below.to_string().contains("journal.db"), "{below}");
}

#[test]
fn a_changed_end_is_noticed_when_the_folder_is_opened() {
    let folder = StoreFolder::new("changed");
    let mut chain = Chain::default();
    open(folder.path()).journal().unwrap().append(&batch(&mut chain, 40)).unwrap();
    let change = |sql: &str| {
        let file = Connection::open(folder.path().join("journal.db")).unwrap();
        assert_eq!(file.execute(sql, []).unwrap(), 1, "{sql}");
    };
    let named = |seq: u64| {
        let why = open_error(folder.path()).to_string();
        assert!(why.contains(&format!("journal.db is damaged: journal entry {seq} ")), "{why}");
        assert!(why.contains("restore a backup"), "{why}");
    };
    open(folder.path());
    change("UPDATE journal SET header = replace(header, 'ada', 'bob') WHERE seq = 39");
    named(39);
    change("UPDATE journal SET header = replace(header, 'bob', 'ada') WHERE seq = 39");
    open(folder.path());
    change("UPDATE journal SET payload = replace(payload, 'words', 'sword') WHERE seq = 40");
    named(40);
    change("UPDATE journal SET header = CAST(x'ff00' AS TEXT) WHERE seq = 40");
    named(40);
}

#[test]
fn a_damaged_page_is_named_and_the_rest_is_read() {
    let folder = StoreFolder::new("page");
    let mut chain = Chain::default();
    open(folder.path()).journal().unwrap().append(&batch(&mut chain, 400)).unwrap();
    let path = folder.path().join("journal.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let page = bytes.len() / 4096 / 2;
    bytes[page * 4096..(page + 1) * 4096].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    // Its end is whole: the rest is found by a full check.
    let store = open(folder.path());
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.head().unwrap().chain, chain);
    let error = reader.records(0, 1_000).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged { path, .. } if path.ends_with("journal.db")), "{error}");
}

#[test]
fn a_reader_may_read_while_the_owner_writes() {
    let folder = StoreFolder::new("look");
    let nobody = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).map(|_| ()).unwrap_err();
    assert!(nobody.to_string().contains("--data"), "{nobody}");
    let store = open(folder.path());
    let mut journal = store.journal().unwrap();
    let mut chain = Chain::default();
    journal.append(&batch(&mut chain, 3)).unwrap();
    let mut looker = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
    assert_eq!(looker.head().unwrap().chain, chain);
    journal.append(&batch(&mut chain, 3)).unwrap();
    assert_eq!(looker.records(0, 99).unwrap().len(), 6);
    drop((journal, store));
    // And when no process owns it.
    drop(looker);
    let mut looker = Sqlite::open_to_read(folder.path(), SqliteOptions::default()).unwrap();
    assert_eq!(looker.head().unwrap().chain, chain);
    assert!(looker.entity(&entity("T-1", "open", 1).key).unwrap().is_none());
}

#[test]
fn a_store_that_was_not_closed_is_complete() {
    let folder = StoreFolder::new("killed");
    let store = open(folder.path());
    let mut journal = store.journal().unwrap();
    let mut chain = Chain::default();
    for _ in 0..20 {
        journal.append(&batch(&mut chain, 5)).unwrap();
    }
    let killed = snatch(folder.path());
    assert_eq!(open(killed.path()).reader().unwrap().head().unwrap().chain, chain);
    // Without its log it is an older journal, and a whole one. It is opened only if that is wanted.
    let cut = snatch(folder.path());
    std::fs::remove_file(cut.path().join("journal.db-wal")).unwrap();
    assert!(open_error(cut.path()).to_string().contains("Entry 100 was acknowledged"));
    std::fs::remove_file(cut.path().join("journal.end")).unwrap();
    let mut older = Chain::default();
    let store = Sqlite::open(cut.path(), SqliteOptions::default()).unwrap();
    let mut reader = store.reader().unwrap();
    reader.records(0, 999).unwrap().iter().for_each(|it| older.follow(it).unwrap());
    assert_eq!(reader.head().unwrap().chain, older);
}

#[test]
fn a_backup_is_consistent_under_concurrent_writes() {
    let folder = StoreFolder::new("live");
    let store = open(folder.path());
    let mut chain = Chain::default();
    let mut journal = store.journal().unwrap();
    let mut projector = store.projector().unwrap();
    journal.append(&batch(&mut chain, 2_000)).unwrap();
    let stop = AtomicBool::new(false);
    let (mut ends, backups) =
        (Vec::new(), [StoreFolder::new("backup"), StoreFolder::new("backup"), StoreFolder::new("backup")]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                journal.append(&batch(&mut chain, 20)).unwrap();
                let entities = (0..20).map(|n| row(entity(&format!("T-{n}"), "open", chain.seq))).collect();
                let projection = Projection { position: chain.seq, entities, ..Projection::default() };
                projector.project(&projection).unwrap();
            }
        });
        for to in &backups {
            let mut told = (0, 0);
            let end = store.backup(to.path(), &mut |done, of| {
                assert!(done <= of && done >= told.0, "{done} of {of} after {told:?}");
                told = (done, of);
                // Long enough for others to write between two steps.
                std::thread::sleep(std::time::Duration::from_millis(2));
            });
            ends.push(end.unwrap());
            assert!(told.0 > 0 && told.0 == told.1, "{told:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(ends[0].seq >= 2_000 && ends[0].seq < ends[1].seq && ends[1].seq < ends[2].seq, "{ends:?}");
    for (to, end) in backups.iter().zip(ends) {
        assert!(store.backup(to.path(), &mut |_, _| {}).is_err(), "existing files stay");
        let restored = StoreFolder::new("restored");
        assert_eq!(Sqlite::restore(to.path(), restored.path()).unwrap(), end);
        assert!(Sqlite::restore(to.path(), restored.path()).is_err(), "existing files stay");
        let back = open(restored.path());
        let mut reader = back.reader().unwrap();
        assert_eq!(reader.head().unwrap().chain, end);
        let position = reader.position().unwrap();
        assert!(position <= end.seq);
        if position > 0 {
            assert_eq!(reader.entity(&entity("T-1", "open", 1).key).unwrap().unwrap().seq, position);
        }
    }
}

#[test]
fn a_backup_that_was_changed_is_not_restored() {
    let (folder, to) = (StoreFolder::new("live"), StoreFolder::new("backup"));
    let mut chain = Chain::default();
    let store = open(folder.path());
    store.journal().unwrap().append(&batch(&mut chain, 300)).unwrap();
    store.backup(to.path(), &mut |_, _| {}).unwrap();
    let file = Connection::open(to.path().join("journal.db")).unwrap();
    file.execute("UPDATE journal SET header = replace(header, 'ada', 'eve') WHERE seq = 7", []).unwrap();
    drop(file);
    let restored = StoreFolder::new("restored");
    let refused = Sqlite::restore(to.path(), restored.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Chain { seq: 7, .. }), "{refused}");
    assert!(!restored.path().exists(), "nothing is made of it");
    // Nor is the folder of a running server a backup.
    let refused = Sqlite::restore(folder.path(), restored.path()).unwrap_err();
    assert!(refused.to_string().contains("still in the -wal file"), "{refused}");
}

#[test]
fn a_journal_that_was_changed_leaves_nothing_that_looks_like_a_backup() {
    let (folder, to) = (StoreFolder::new("changed"), StoreFolder::new("no-backup"));
    let mut chain = Chain::default();
    let store = open(folder.path());
    store.journal().unwrap().append(&batch(&mut chain, 300)).unwrap();
    let file = Connection::open(folder.path().join("journal.db")).unwrap();
    let change = |from: &str, to: &str| {
        let sql = "UPDATE journal SET header = replace(header, ?1, ?2) WHERE seq = 7";
        file.execute(sql, (from, to)).unwrap();
    };
    change("ada", "EVE");
    let refused = store.backup(to.path(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(refused, StoreError::Chain { seq: 7, .. }), "{refused}");
    assert!(!to.path().exists(), "nothing of it is left");
    // After the repair, the same place can be used.
    change("EVE", "ada");
    store.backup(to.path(), &mut |_, _| {}).unwrap();
}

#[test]
fn people_can_read_the_tables() {
    let folder = StoreFolder::new("tables");
    let mut chain = Chain::default();
    let store = open(folder.path());
    store.journal().unwrap().append(&batch(&mut chain, 2)).unwrap();
    let entities = vec![row(entity("T-1", "open", 2))];
    let projection = Projection { position: 2, entities, ..Projection::default() };
    store.projector().unwrap().project(&projection).unwrap();
    let journal = Connection::open(folder.path().join("journal.db")).unwrap();
    let sql = "SELECT seq || ' ' || at || ' ' || lifecycle || '/' || id || ' ' || event || ' ' || actor || ' ' || \
               actor_kind || ' ' || \"to\" || ' ' || reason FROM entries WHERE seq = 2";
    let line: String = journal.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(line, "2 1970-01-01T00:00:02.000Z kind.thing/T-2 CREATED ada human open because");
    let state = Connection::open(folder.path().join("state.db")).unwrap();
    let views: Vec<String> = state
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
        .and_then(|mut it| it.query_map([], |row| row.get(0))?.collect())
        .unwrap();
    for view in &views {
        state.query_row(&format!("SELECT count(*) FROM \"{view}\""), [], |_| Ok(())).unwrap();
    }
    let line: String = state
        .query_row("SELECT lifecycle || '/' || id || ' ' || state FROM entities", [], |row| row.get(0))
        .unwrap();
    assert_eq!(line, "kind.thing/T-1 open");
    // The documentation page describes each of them.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/store.md");
    let page = std::fs::read_to_string(page).unwrap();
    for file in [&journal, &state] {
        let names: Vec<String> = file
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
            )
            .and_then(|mut it| it.query_map([], |row| row.get(0))?.collect())
            .unwrap();
        let missing: Vec<_> = names.iter().filter(|it| !page.contains(&format!("`{it}`"))).collect();
        assert!(missing.is_empty(), "docs/internals/store.md does not tell of {missing:?}");
    }
}

#[test]
fn open_work_is_known_without_counting_rows() {
    let folder = StoreFolder::new("census");
    let store = open(folder.path());
    let notice = |seq, kind| Notice { seq, kind, entity: entity("T-1", "open", 1).key };
    let written = |position, notices| {
        let projection = Projection { position, notices, ..Projection::default() };
        store.projector().unwrap().project(&projection).unwrap();
    };
    let violations = || store.reader().unwrap().census().unwrap().value.violations;
    written(3, vec![notice(1, "VIOLATION"), notice(2, "VIOLATION"), notice(3, "VIOLATION")]);
    written(4, vec![notice(4, "VIOLATION_CLEARED")]);
    assert_eq!(violations(), 2);
    let file = Connection::open(folder.path().join("state.db")).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    // The length of the history does not matter: it is not read.
    file.execute("DELETE FROM notice WHERE seq = 2", []).unwrap();
    assert_eq!(violations(), 2);
    // A file of a release without counts is counted once.
    file.execute("DELETE FROM meta WHERE key = 'census'", []).unwrap();
    assert_eq!(violations(), 1);
    written(5, vec![notice(5, "VIOLATION")]);
    assert_eq!(violations(), 2);
    file.execute("DELETE FROM notice", []).unwrap();
    assert_eq!(violations(), 2);
    store.projector().unwrap().clear().unwrap();
    assert_eq!(violations(), 0);
}

/// A value as it is after a bit flipped.
fn flipped(value: rusqlite::types::Value) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match value {
        Value::Integer(it) => Value::Integer(it ^ 1),
        Value::Blob(mut it) => {
            *it.first_mut().unwrap() ^= 1;
            Value::Blob(it)
        }
        // The last one, so that a key stays in its place.
        Value::Text(it) => {
            let mut bytes = it.into_bytes();
            *bytes.last_mut().unwrap() ^= 1;
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        other => other,
    }
}

#[test]
fn a_damaged_property_of_the_journal_is_refused() {
    let base = StoreFolder::new("properties");
    let mut chain = Chain::default();
    let moved = entry(1, "x").entity;
    {
        let store = open(base.path());
        let mut journal = store.journal().unwrap();
        assert_eq!(journal.begin().unwrap(), 1);
        journal.append(&batch(&mut chain, 3)).unwrap();
        let projection = Projection { position: 3, ..Projection::default() };
        store.projector().unwrap().project(&projection).unwrap();
        let (payloads, upto) = (Vec::new(), 1);
        journal.move_payloads(&ArchivedSlice { entity: moved.clone(), upto, payloads }).unwrap();
        journal.cut(Chain { seq: 1, hash: hash_of(&store, 1) }, &BTreeSet::new()).unwrap();
    }
    let properties: Vec<String> = {
        let file = Connection::open(base.path().join("journal.db")).unwrap();
        let mut keys = file.prepare("SELECT key FROM meta WHERE key <> 'schema' ORDER BY key").unwrap();
        keys.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let archived = format!("archived:{moved}");
    assert_eq!(properties, [archived.as_str(), "base_hash", "base_seq", "begun"]);
    for (key, column) in properties.iter().flat_map(|key| ["key", "value", "sum"].map(|it| (key, it))) {
        let copy = snatch(base.path());
        let file = Connection::open(copy.path().join("journal.db")).unwrap();
        let sql = format!("SELECT {column} FROM meta WHERE key = ?1");
        let old = file.query_row(&sql, [key], |row| row.get(0)).unwrap();
        let sql = format!("UPDATE meta SET {column} = ?1 WHERE key = ?2");
        let damage = || file.execute(&sql, (flipped(old), key)).unwrap();
        // While the folder is in use.
        let store = open(copy.path());
        let mut journal = store.journal().unwrap();
        let mut reader = store.reader().unwrap();
        assert_eq!(damage(), 1, "{key} {column}");
        let refused = match key.as_str() {
            "begun" => journal.begin().map(|it| it.to_string()),
            "base_seq" | "base_hash" => reader.records(1, 9).map(|it| format!("{it:?}")),
            _ => reader.archived_upto(&moved).map(|it| format!("{it:?}")),
        };
        assert!(refused.is_err(), "{key} {column}: {refused:?}");
        drop((journal, reader, store));
        // At the next start, and for `doctor`.
        let examined = Sqlite::examine(copy.path()).unwrap_err();
        for refused in [open_error(copy.path()), examined] {
            let names_it =
                matches!(&refused, StoreError::Damaged { path, .. } if path.ends_with("journal.db"));
            assert!(names_it, "{key} {column}: {refused}");
        }
    }
}

#[test]
fn a_damaged_list_of_tables_is_noticed() {
    let base = StoreFolder::new("tables");
    let mut chain = Chain::default();
    open(base.path()).journal().unwrap().append(&batch(&mut chain, 3)).unwrap();
    let list = "SELECT rootpage FROM sqlite_schema WHERE name = 'field'";
    // Another page, as after a flipped bit.
    let damage = |folder: &Path| {
        let file = Connection::open(folder.join("state.db")).unwrap();
        let page: i64 = file.query_row(list, [], |row| row.get(0)).unwrap();
        file.execute_batch("PRAGMA writable_schema = ON").unwrap();
        let sql = "UPDATE sqlite_schema SET rootpage = ?1 WHERE name = 'field'";
        assert_eq!(file.execute(sql, [page ^ 1]).unwrap(), 1);
    };
    damage(base.path());
    // It is rebuilt at the next start.
    let store = open(base.path());
    assert!(store.set_aside().is_some());
    store.reader().unwrap();
    // Readers that are opened later notice it, too.
    damage(base.path());
    let refused = store.reader().map(|_| ()).unwrap_err();
    assert!(refused.is_state_damage(), "{refused}");
}
