//! Each fault gives SQLite's own error for it, loses no answered transaction, and ends when it is lifted.

use rusqlite::{Connection, OpenFlags, ffi};
use trackside_powercut::{DiskFault, OperationKind, Unsynced, VirtualDisk};

use crate::story::{DATABASE, DurabilitySettings, check, create, open, promised_count, tell};

const WAL: DurabilitySettings = DurabilitySettings { journal: "wal", synchronous: "full" };

/// SQLite's extended error code.
fn code<T>(answer: rusqlite::Result<T>) -> Option<i32> {
    answer.err()?.sqlite_error().map(|it| it.extended_code)
}

fn count(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT count(*) FROM entry", [], |row| row.get(0))
}

/// A disk with two transactions on it, and the connection that wrote them.
fn begin_story(settings: DurabilitySettings) -> (VirtualDisk, Connection) {
    let disk = VirtualDisk::new();
    let mut db = open(&disk, settings);
    create(&db);
    tell(&mut db, 1).unwrap();
    tell(&mut db, 2).unwrap();
    (disk, db)
}

/// The fault strikes a transaction; then it is removed, and the same connection continues.
fn strikes(settings: DurabilitySettings, fault: DiskFault, expected: i32) {
    let (disk, mut db) = begin_story(settings);
    disk.fail(fault);
    assert_eq!(code(tell(&mut db, 3)), Some(expected), "{settings:?} {fault:?}");
    disk.lift();
    tell(&mut db, 3).unwrap();
    assert_eq!(count(&db), Ok(9));
    drop(db);
    assert_eq!(check(disk.image(), settings, 4), Ok(()), "{settings:?} {fault:?}");
}

#[test]
fn each_commit_fault_has_its_code_and_the_connection_recovers() {
    for journal in ["wal", "delete"] {
        let settings = DurabilitySettings { journal, synchronous: "full" };
        strikes(settings, DiskFault::Full, ffi::SQLITE_FULL);
        strikes(settings, DiskFault::FullAfter { bytes: 700 }, ffi::SQLITE_FULL);
        strikes(settings, DiskFault::SyncFails { forgets: false }, ffi::SQLITE_IOERR_FSYNC);
        strikes(settings, DiskFault::SyncFails { forgets: true }, ffi::SQLITE_IOERR_FSYNC);
        strikes(settings, DiskFault::WriteFails, ffi::SQLITE_IOERR_WRITE);
    }
    strikes(WAL, DiskFault::ReadOnly, ffi::SQLITE_IOERR_WRITE);
    strikes(DurabilitySettings { journal: "delete", ..WAL }, DiskFault::ReadOnly, ffi::SQLITE_CANTOPEN);
}

#[test]
fn a_disk_is_full_after_as_many_bytes_as_it_was_given() {
    let (disk, mut db) = begin_story(WAL);
    let size = |disk: &VirtualDisk| disk.image().files().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let before = size(&disk);
    disk.fail(DiskFault::FullAfter { bytes: 100_000 });
    let failed = (3..).find(|number| code(tell(&mut db, *number)) == Some(ffi::SQLITE_FULL)).unwrap();
    assert!(failed > 5, "no transaction fitted: {failed}");
    assert_eq!(size(&disk), before + 100_000, "the last write is done in part");
    assert_eq!(count(&db), Ok((failed - 1) * 3), "reading still works");
    disk.lift();
    tell(&mut db, failed).unwrap();
}

#[test]
fn a_read_only_disk_is_read_and_not_written() {
    for journal in ["wal", "delete"] {
        let settings = DurabilitySettings { journal, synchronous: "full" };
        let (disk, db) = begin_story(settings);
        // With the connection open, there is a WAL to be read; it is left as after a cut.
        let disk = VirtualDisk::from_image(disk.after_cut_at(disk.boundary(), Unsynced::Kept));
        drop(db);
        disk.fail(DiskFault::ReadOnly);
        let mut db = disk.open(DATABASE).unwrap();
        assert_eq!(count(&db), Ok(6), "{journal}");
        assert_eq!(code(tell(&mut db, 3)), Some(ffi::SQLITE_READONLY), "{journal}");
        assert_eq!(
            code(disk.open("new.db").and_then(|db| db.execute_batch("CREATE TABLE t (x)"))),
            Some(ffi::SQLITE_CANTOPEN)
        );
        assert_eq!(disk.boundary(), 0);
        disk.lift();
        let mut another = open(&disk, settings);
        tell(&mut another, 3).unwrap();
        assert_eq!(count(&db), Ok(9), "{journal}: the reader sees what another wrote");
    }
}

#[test]
fn a_reader_shares_the_wal_of_a_writer_it_may_not_be() {
    let (disk, mut db) = begin_story(WAL);
    let reader =
        Connection::open_with_flags_and_vfs(DATABASE, OpenFlags::SQLITE_OPEN_READ_ONLY, disk.vfs()).unwrap();
    assert_eq!(count(&reader), Ok(6));
    tell(&mut db, 3).unwrap();
    assert_eq!(count(&reader), Ok(9));
    assert_eq!(code(reader.execute("DELETE FROM entry", [])), Some(ffi::SQLITE_READONLY));
}

#[test]
fn files_that_cannot_be_opened_or_read_say_so() {
    let (disk, db) = begin_story(WAL);
    disk.fail(DiskFault::Denied);
    assert_eq!(code(disk.open(DATABASE)), Some(ffi::SQLITE_CANTOPEN));
    assert_eq!(count(&db), Ok(6), "open files stay open");
    disk.lift();
    let another = disk.open(DATABASE).unwrap();
    disk.fail(DiskFault::ReadFails);
    assert_eq!(code(count(&another)), Some(ffi::SQLITE_IOERR_READ));
    disk.lift();
    assert_eq!(count(&another), Ok(6));
}

#[test]
fn a_page_that_was_changed_on_the_disk_is_noticed() {
    let (disk, db) = begin_story(WAL);
    drop(db);
    let mut image = disk.image();
    image.file_mut(DATABASE)[4096..8192].fill(0xAA);
    assert!(check(image, WAL, 3).is_err());
}

/// One operation fails, each in its turn; the affected transaction is tried again. Power may fail right
/// after each answer.
#[test]
fn a_fault_at_any_one_operation_loses_nothing() {
    let (disk, mut db) = begin_story(WAL);
    let (from, start) = (disk.boundary(), disk.image());
    (3..6).for_each(|number| tell(&mut db, number).unwrap());
    let operations = disk.boundary() - from;
    drop((disk, db));
    for fault in [DiskFault::Full, DiskFault::WriteFails, DiskFault::SyncFails { forgets: true }] {
        let mut struck = 0;
        for operation in 1..=operations {
            let disk = VirtualDisk::from_image(start.clone());
            let mut db = open(&disk, WAL);
            disk.fail_only_at(operation, fault);
            let mut answered = vec![0, 0, 0];
            for number in 3..6 {
                if tell(&mut db, number).is_err() {
                    tell(&mut db, number).unwrap();
                }
                answered.push(disk.boundary());
            }
            let failed = |act: &OperationKind| {
                matches!(act, OperationKind::Failed { .. } | OperationKind::SyncFailed { .. })
            };
            struck += disk.operations().iter().filter(|it| failed(&it.act)).count();
            for (at, how) in disk.cuts(1).filter(|(at, _)| answered.contains(at)) {
                let found = check(disk.after_cut_at(at, how), WAL, promised_count(&answered, at));
                assert_eq!(found, Ok(()), "{fault:?} at {operation}, cut at {at}, {how:?}");
            }
        }
        assert!(struck > 3, "{fault:?} struck {struck} times");
    }
}
