//! Without cuts and faults it is a disk like any other.
#![expect(unsafe_code, reason = "SQLite's file controls have no safe form")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, TransactionBehavior, ffi};
use trackside_powercut::VirtualDisk;

use crate::story::{DATABASE, DurabilitySettings, check, create, open, tell};

const WAL: DurabilitySettings = DurabilitySettings { journal: "wal", synchronous: "full" };

fn number(db: &Connection, query: &str) -> i64 {
    db.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_database_is_used_closed_and_found_again() {
    for journal in ["wal", "delete", "truncate", "persist", "memory"] {
        let disk = VirtualDisk::new();
        let settings = DurabilitySettings { journal, synchronous: "full" };
        let mut db = open(&disk, settings);
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, journal);
        create(&db);
        (1..20).for_each(|it| tell(&mut db, it).unwrap());
        db.execute_batch("BEGIN; DELETE FROM entry; ROLLBACK; VACUUM").unwrap();
        drop(db);
        assert_eq!(check(disk.image(), settings, 20), Ok(()), "{journal}");
        assert_eq!(number(&disk.open(DATABASE).unwrap(), "SELECT count(*) FROM entry"), 57);
    }
}

#[test]
fn temporary_files_work_and_leave_nothing() {
    let disk = VirtualDisk::new();
    let db = open(&disk, WAL);
    create(&db);
    let before = disk.boundary();
    db.execute_batch(
        "PRAGMA temp_store = file; PRAGMA cache_size = 10; PRAGMA temp.cache_size = 10; CREATE TEMP TABLE t (x, y);
         WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 3000)
         INSERT INTO t SELECT x * 7919 % 3001, hex(zeroblob(100)) FROM n; SAVEPOINT s; UPDATE t SET y = 1; ROLLBACK TO s",
    )
    .unwrap();
    assert_eq!(number(&db, "SELECT sum(length(y)) FROM (SELECT * FROM t ORDER BY x)"), 600_000);
    assert_eq!(disk.boundary(), before);
    assert!(disk.image().files().all(|(name, _)| name.starts_with(DATABASE)));
}

#[test]
fn two_databases_change_together() {
    let disk = VirtualDisk::new();
    let db = disk.open("a.db").unwrap();
    db.execute_batch(
        "ATTACH 'b.db' AS b; CREATE TABLE main.t (x); CREATE TABLE b.t (x);
         BEGIN; INSERT INTO main.t VALUES (1); INSERT INTO b.t VALUES (1); COMMIT",
    )
    .unwrap();
    drop(db);
    let names: Vec<String> = disk.image().files().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["a.db", "b.db"], "journals are gone");
    assert_eq!(number(&disk.open("b.db").unwrap(), "SELECT count(*) FROM t"), 1);
}

/// One writes, one checkpoints, three read: each sees whole transactions, and never fewer than before.
#[test]
fn readers_and_a_writer_share_a_wal() {
    const LAST: i64 = 150;
    let disk = VirtualDisk::new();
    let mut writer = open(&disk, WAL);
    create(&writer);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let reader = disk.open(DATABASE).unwrap();
                reader.busy_timeout(Duration::from_secs(10)).unwrap();
                let mut seen = 0;
                while seen < LAST {
                    let all: (i64, i64, i64) = reader
                        .query_row(
                            "SELECT (SELECT number FROM last), count(*), coalesce(max(number), 0) FROM entry",
                            [],
                            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                        )
                        .unwrap();
                    assert_eq!((all.1, all.2), (all.0 * 3, all.0));
                    assert!(all.0 >= seen, "{all:?} after {seen}");
                    seen = all.0;
                }
            });
        }
        scope.spawn(|| {
            let db = disk.open(DATABASE).unwrap();
            while !done.load(Ordering::SeqCst) {
                db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
                thread::yield_now();
            }
        });
        writer.busy_timeout(Duration::from_secs(10)).unwrap();
        (1..=LAST).for_each(|it| tell(&mut writer, it).unwrap());
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(check(disk.image(), WAL, LAST + 1), Ok(()));
}

#[test]
fn a_reader_keeps_its_snapshot_during_writes() {
    let disk = VirtualDisk::new();
    let mut writer = open(&disk, WAL);
    create(&writer);
    tell(&mut writer, 1).unwrap();
    let reader = disk.open(DATABASE).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(number(&reader, "SELECT number FROM last"), 1);
    (2..40).for_each(|it| tell(&mut writer, it).unwrap());
    writer.busy_timeout(Duration::ZERO).unwrap();
    let busy = number(&writer, "PRAGMA wal_checkpoint(RESTART)");
    assert_eq!(busy, 1, "the WAL restarted under a reader");
    assert_eq!(number(&reader, "SELECT number FROM last"), 1);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(number(&reader, "SELECT number FROM last"), 39);
    assert_eq!(number(&writer, "PRAGMA wal_checkpoint(RESTART)"), 0);
}

#[test]
fn writers_take_turns() {
    for journal in ["wal", "delete"] {
        let disk = VirtualDisk::new();
        let settings = DurabilitySettings { journal, synchronous: "full" };
        create(&open(&disk, settings));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut db = disk.open(DATABASE).unwrap();
                    db.busy_timeout(Duration::from_secs(20)).unwrap();
                    for _ in 0..30 {
                        let turn = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
                        let last = number(&turn, "SELECT number FROM last");
                        turn.execute("UPDATE last SET number = ?1", [last + 1]).unwrap();
                        turn.commit().unwrap();
                    }
                });
            }
        });
        assert_eq!(number(&disk.open(DATABASE).unwrap(), "SELECT number FROM last"), 90, "{journal}");
    }
}

#[test]
fn a_second_writer_gets_busy() {
    for journal in ["wal", "delete"] {
        let disk = VirtualDisk::new();
        let first = open(&disk, DurabilitySettings { journal, synchronous: "full" });
        create(&first);
        let second = disk.open(DATABASE).unwrap();
        second.busy_timeout(Duration::ZERO).unwrap();
        first.execute_batch("BEGIN IMMEDIATE; UPDATE last SET number = 7").unwrap();
        let answer = second.execute_batch("BEGIN IMMEDIATE");
        assert_eq!(
            answer.unwrap_err().sqlite_error_code(),
            Some(rusqlite::ErrorCode::DatabaseBusy),
            "{journal}"
        );
        assert_eq!(number(&second, "SELECT number FROM last"), 0, "{journal}: reading is not stopped");
        first.execute_batch("COMMIT").unwrap();
        second.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
    }
}

#[test]
fn disks_are_apart_and_connections_outlive_them() {
    let (one, other) = (VirtualDisk::new(), VirtualDisk::new());
    assert_ne!(one.vfs(), other.vfs());
    let mut db = open(&one, WAL);
    create(&db);
    assert!(other.image().files().next().is_none());
    let name = one.vfs().to_owned();
    drop(one);
    (1..30).for_each(|it| tell(&mut db, it).unwrap());
    let again = Connection::open_with_flags_and_vfs(DATABASE, Default::default(), name.as_str());
    assert!(again.is_err(), "its VFS is known still");
}

#[test]
fn a_backup_goes_from_disk_to_disk() {
    let (from, to) = (VirtualDisk::new(), VirtualDisk::new());
    let mut source = open(&from, WAL);
    create(&source);
    (1..9).for_each(|it| tell(&mut source, it).unwrap());
    let mut target = to.open(DATABASE).unwrap();
    Backup::new(&source, &mut target).unwrap().run_to_completion(5, Duration::ZERO, None).unwrap();
    drop(target);
    assert_eq!(check(to.image(), WAL, 9), Ok(()));
}

#[test]
fn a_wal_stays_after_the_last_connection_if_asked_to() {
    for stays in [true, false] {
        let disk = VirtualDisk::new();
        let db = open(&disk, WAL);
        create(&db);
        let mut flag = c_int::from(stays);
        // SAFETY: the connection is open, and this control takes a number.
        let answer = unsafe {
            let flag = (&raw mut flag).cast();
            ffi::sqlite3_file_control(db.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_PERSIST_WAL, flag)
        };
        assert_eq!(answer, ffi::SQLITE_OK);
        drop(db);
        assert_eq!(disk.image().file(&format!("{}-wal", DATABASE)).is_some(), stays);
    }
}
