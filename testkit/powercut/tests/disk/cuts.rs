//! SQLite keeps answered transactions through a power cut at every boundary of a run; without syncs it does
//! not, and the test detects that.

use trackside_powercut::{OperationKind, Unsynced, VirtualDisk};

use crate::story::{DATABASE, DurabilitySettings, check, open, promised_count, run, tell};

const WAL: DurabilitySettings = DurabilitySettings { journal: "wal", synchronous: "full" };

/// All failures, over all boundaries and `torn` torn ways.
fn failures(disk: &VirtualDisk, settings: DurabilitySettings, answered: &[u64], torn: u64) -> Vec<String> {
    let operations = disk.operations();
    let mut failures = Vec::new();
    for (at, how) in disk.cuts(torn) {
        if let Err(error) = check(disk.after_cut_at(at, how), settings, promised_count(answered, at)) {
            let after = at.checked_sub(1).and_then(|it| operations.get(it as usize));
            let after = after.map_or("the start".to_owned(), ToString::to_string);
            failures.push(format!("boundary {at}, after {after}, {how:?}: {error}"));
        }
    }
    failures
}

/// Checks that the run is worth cutting: it has checkpoints, a WAL that restarts and one that is removed.
fn has_checkpoints(disk: &VirtualDisk) {
    let operations = disk.operations();
    let synced = operations
        .iter()
        .filter(|it| &*it.file == DATABASE && matches!(it.act, OperationKind::Sync { .. }))
        .count();
    let restarted = operations
        .iter()
        .filter(|it| it.file.ends_with("-wal") && matches!(it.act, OperationKind::Write { offset: 0, .. }))
        .count();
    let removed = operations
        .iter()
        .filter(|it| it.file.ends_with("-wal") && matches!(it.act, OperationKind::Delete { .. }))
        .count();
    assert!(synced > 4 && restarted > 4 && removed == 2, "{synced} {restarted} {removed}");
}

#[test]
fn with_a_wal_nothing_that_was_answered_is_lost() {
    let disk = VirtualDisk::new();
    let answered = run(&disk, WAL, 15);
    has_checkpoints(&disk);
    let failures = failures(&disk, WAL, &answered, 4);
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), disk.boundary(), failures.join("\n"));
}

#[test]
fn with_a_rollback_journal_nothing_that_was_answered_is_lost() {
    let disk = VirtualDisk::new();
    let settings = DurabilitySettings { journal: "delete", synchronous: "extra" };
    let answered = run(&disk, settings, 6);
    let failures = failures(&disk, settings, &answered, 4);
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), disk.boundary(), failures.join("\n"));
}

#[test]
fn a_disk_that_ignores_syncs_is_detected() {
    let disk = VirtualDisk::new();
    disk.ignore_syncs(true);
    let answered = run(&disk, WAL, 6);
    let failures = failures(&disk, WAL, &answered, 4);
    assert!(failures.iter().any(|it| it.contains("lost: ")), "{failures:?}");
    assert!(failures.iter().any(|it| it.contains("Torn") && !it.contains("lost: ")), "{failures:?}");
    assert!(!failures.iter().any(|it| it.contains("Kept")), "{failures:?}");
}

#[test]
fn a_database_that_does_not_sync_is_detected() {
    for journal in ["wal", "delete"] {
        let disk = VirtualDisk::new();
        let settings = DurabilitySettings { journal, synchronous: "off" };
        let answered = run(&disk, settings, 5);
        assert!(!disk.operations().iter().any(|it| matches!(it.act, OperationKind::Sync { .. })));
        let failures = failures(&disk, settings, &answered, 4);
        assert!(failures.iter().any(|it| it.contains("lost: ")), "{journal}: {failures:?}");
    }
}

/// `synchronous = NORMAL` promises that a WAL is never torn, not that the last transactions are there.
#[test]
fn a_wal_that_is_synced_only_by_checkpoints_loses_answers_but_stays_sound() {
    let disk = VirtualDisk::new();
    let settings = DurabilitySettings { journal: "wal", synchronous: "normal" };
    let answered = run(&disk, settings, 9);
    let failures = failures(&disk, settings, &answered, 4);
    assert!(!failures.is_empty());
    assert!(failures.iter().all(|it| it.contains("lost: ")), "{failures:?}");
}

#[test]
fn a_second_cut_while_the_first_is_recovered_from_loses_nothing() {
    let disk = VirtualDisk::new();
    let answered = run(&disk, WAL, 12);
    for at in (0..=disk.boundary()).step_by(31) {
        let how = Unsynced::ways(1).nth(at as usize % 3).unwrap();
        let promised = promised_count(&answered, at);
        let again = VirtualDisk::from_image(disk.after_cut_at(at, how));
        let mut db = open(&again, WAL);
        if promised > 0 {
            let last: i64 = db.query_row("SELECT number FROM last", [], |row| row.get(0)).unwrap();
            tell(&mut db, last + 1).unwrap();
        }
        drop(db);
        for (second, how) in again.cuts(2) {
            let found = check(again.after_cut_at(second, how), WAL, promised);
            assert_eq!(found, Ok(()), "cut at {at}, then at {second}, {how:?}");
        }
    }
}

#[test]
fn boundaries_can_be_asked_for_in_any_order() {
    let disk = VirtualDisk::new();
    run(&disk, WAL, 3);
    let forth: Vec<_> = disk.cuts(1).map(|(at, how)| disk.after_cut_at(at, how)).collect();
    let mut back: Vec<_> = disk.cuts(1).collect();
    back.reverse();
    let mut back: Vec<_> = back.into_iter().map(|(at, how)| disk.after_cut_at(at, how)).collect();
    back.reverse();
    assert!(forth == back);
    assert!(disk.after_cut_at(disk.boundary(), Unsynced::Kept) == disk.image());
    assert!(disk.after_cut_at(0, Unsynced::Kept).files().next().is_none());
}
