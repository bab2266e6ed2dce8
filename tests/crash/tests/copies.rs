//! Backups and archives interrupted anywhere: the result is complete or refused, and the journal loses nothing.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use trackside_crash::consistency::{check_reads, projections};
use trackside_crash::folder::TestFolder;
use trackside_crash::journal::StoredJournal;
use trackside_crash::load::{self, CommandKey, command};
use trackside_crash::packs::{pack, packs};
use trackside_crash::writer::{options, sqlite};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_random::Random;
use trackside_runtime::Runtime;
use trackside_store::archive::{Archive, FullJournal, move_out};
use trackside_store::backups::{back_up, remove_unfinished};
use trackside_store::{
    BackupSet, Batch, Chain, Head, JournalWriter, Sqlite, SqliteOptions, Store, StoreError,
};

/// A folder with some work in it, closed.
fn worked_in(folder: &Path, sqlite: SqliteOptions) {
    let store = Arc::new(Sqlite::open(folder, sqlite).unwrap());
    let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
    let gateway = runtime.gateway().unwrap();
    load::agents().into_iter().for_each(|it| drop(gateway.ask(it).unwrap()));
    for caller in [1, 3, 5] {
        for step in 0..8 {
            gateway.ask(command(CommandKey { round: 0, caller, step })).unwrap();
        }
    }
    runtime.wait_until_written().unwrap();
    runtime.stop();
}

/// Not a test of its own: makes a backup and dies meanwhile.
#[test]
fn copier() {
    let (Ok(from), Ok(to)) = (std::env::var("TRACKSIDE_COPY_FROM"), std::env::var("TRACKSIDE_COPY_TO"))
    else {
        return;
    };
    let mut left: u32 = std::env::var("TRACKSIDE_COPY_STEPS").unwrap().parse().unwrap();
    let store = Sqlite::open(Path::new(&from), sqlite()).unwrap();
    let mut step = |_, _| match left {
        0 => std::process::abort(),
        _ => left -= 1,
    };
    match std::env::var("TRACKSIDE_COPY_WHOLE") {
        Ok(_) => drop(back_up(&store, Path::new(&from), Path::new(&to), &mut step).unwrap()),
        Err(_) => drop(store.backup(Path::new(&to), &mut step).unwrap()),
    }
}

#[test]
fn a_backup_that_was_killed_is_removed_at_the_next_start() {
    let (folder, to) = (TestFolder::new("from"), TestFolder::new("to"));
    worked_in(folder.path(), SqliteOptions { journal_page: 512, state_page: 512, ..sqlite() });
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "copier"])
        .env("TRACKSIDE_COPY_FROM", folder.path())
        .env("TRACKSIDE_COPY_TO", to.path())
        .env("TRACKSIDE_COPY_STEPS", "1")
        .env("TRACKSIDE_COPY_WHOLE", "1")
        .output()
        .unwrap();
    assert!(!ended.status.success() && to.path().join("state.db.part").exists());
    assert_eq!(remove_unfinished(folder.path()), [to.path()]);
    assert!(!to.path().exists());
    // A finished one stays, also if the note about it stayed.
    let store = Sqlite::open(folder.path(), sqlite()).unwrap();
    back_up(&store, folder.path(), to.path(), &mut |_, _| {}).unwrap();
    std::fs::write(folder.path().join("backup-under-way"), to.path().to_str().unwrap()).unwrap();
    assert!(remove_unfinished(folder.path()).is_empty());
    BackupSet::open(to.path()).unwrap();
}

/// Restores to an entry: every row must equal that of a replay to it. An entry in the middle of a request is refused,
/// and the end of the request is restored.
fn restored_at(set: &BackupSet, seq: u64) -> StoredJournal {
    let to = TestFolder::new("restored");
    let end = match Sqlite::restore_journal(set, seq, to.path(), &mut |_, _| {}) {
        Ok(end) => end,
        Err(error) => {
            let why = error.to_string();
            assert!(why.contains("one request wrote the entries"), "{why}");
            let whole = why.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(whole > seq, "{why}");
            return restored_at(set, whole);
        }
    };
    assert_eq!(end.seq, seq);
    let store = Arc::new(Sqlite::open(to.path(), sqlite()).unwrap());
    Runtime::write_projections(store.clone(), &mut |_, _| {}).unwrap();
    let journal = StoredJournal::read(store.reader().unwrap().as_mut()).unwrap();
    assert_eq!(projections(store.reader().unwrap().as_mut(), &journal).unwrap(), seq);
    assert_eq!(journal.records.last().unwrap().hash, end.hash);
    journal
}

#[test]
fn a_restore_to_any_entry_equals_a_replay_to_it() {
    for seed in 1..=2 {
        let mut random = Random::new(seed);
        let (folder, to) = (TestFolder::new("from"), TestFolder::new("to"));
        let store = Arc::new(Sqlite::open(folder.path(), sqlite()).unwrap());
        let runtime = Runtime::start(store.clone(), &packs(), options(&*store)).unwrap();
        let gateway = runtime.gateway().unwrap();
        load::agents().into_iter().for_each(|it| drop(gateway.ask(it).unwrap()));
        let mut next = CommandKey { round: seed, caller: 1, step: 0 };
        let mut work = |steps: usize| {
            for _ in 0..steps {
                gateway.ask(command(next)).unwrap();
                next = next.next();
            }
            // Timers fire between them.
            gateway.advance_by(Span::seconds(1_800)).unwrap().wait().unwrap();
        };
        work(10 + random.below(20));
        // The complete copy has a part of its entries in the archive.
        let now = runtime.reads().unwrap().now();
        runtime.archive(Timestamp(now.0 - 1)).unwrap();
        work(5 + random.below(20));
        let base = back_up(&*store, folder.path(), to.path(), &mut |_, _| {}).unwrap().end;
        let mut set = BackupSet::open(to.path()).unwrap();
        assert!(set.add_increment(&*store, folder.path()).unwrap().is_none(), "nothing has happened since");
        for round in 0..3 {
            work(1 + random.below(15));
            if round == 1 {
                runtime.install(&[pack("build")]).unwrap();
                // Entries that are archived meanwhile are in the increment, too.
                runtime.archive(runtime.reads().unwrap().now()).unwrap();
            }
            set.add_increment(&*store, folder.path()).unwrap().unwrap();
        }
        let set = BackupSet::open(to.path()).unwrap();
        let end = set.end().seq;
        assert_eq!((set.base, set.increments.len(), end), (base, 3, runtime.seq()));
        let mut chosen: BTreeSet<u64> = (0..4).map(|_| 1 + random.below_u64(end)).collect();
        chosen.extend([1, base.seq, base.seq + 1, set.increments[0].last(), end]);
        for seq in chosen {
            let restored = restored_at(&set, seq);
            let mut reader = store.reader().unwrap();
            let last = restored.records.last().unwrap();
            let original = FullJournal::new(&*store, reader.as_mut()).record(last.seq).unwrap().unwrap();
            assert_eq!(last.hash, original.hash, "seed {seed}, entry {seq}");
        }
        // The restored project continues after that entry.
        let later = TestFolder::new("goes-on");
        Sqlite::restore_journal(&set, end, later.path(), &mut |_, _| {}).unwrap();
        let again = Arc::new(Sqlite::open(later.path(), sqlite()).unwrap());
        let went_on = Runtime::start(again.clone(), &[], options(&*again)).unwrap();
        went_on.gateway().unwrap().ask(command(CommandKey { round: 99, caller: 1, step: 0 })).unwrap();
        check_reads(&went_on, &*again).unwrap();
        went_on.stop();
        let beyond = Sqlite::restore_journal(&set, end + 1, TestFolder::new("no").path(), &mut |_, _| {});
        let why = beyond.unwrap_err().to_string();
        assert!(why.contains(&format!("has the entries 1 to {end}")), "{why}");
        // A missing increment is named, and everything before it can be restored.
        std::fs::remove_file(&set.increments[1].path).unwrap();
        let why = BackupSet::open(to.path()).unwrap_err().to_string();
        let (first, last) = (set.increments[1].first(), set.increments[1].last());
        assert!(why.contains(&format!("entries {first} to {last} are missing")), "{why}");
        runtime.stop();
    }
}

#[test]
fn a_backup_gets_no_increment_of_another_journal() {
    let (folder, to, other) = (TestFolder::new("from"), TestFolder::new("to"), TestFolder::new("other"));
    worked_in(folder.path(), sqlite());
    worked_in(other.path(), sqlite());
    let store = Sqlite::open(folder.path(), sqlite()).unwrap();
    back_up(&store, folder.path(), to.path(), &mut |_, _| {}).unwrap();
    let mut set = BackupSet::open(to.path()).unwrap();
    // A restored folder with new entries: another entry has the number of one in the backup.
    let runtime_of = |folder: &Path, caller: u32| {
        let store = Arc::new(Sqlite::open(folder, sqlite()).unwrap());
        let runtime = Runtime::start(store.clone(), &[], options(&*store)).unwrap();
        runtime
            .gateway()
            .unwrap()
            .ask(command(CommandKey { round: 9, caller: caller.into(), step: 0 }))
            .unwrap();
        runtime.stop();
        store
    };
    let back = TestFolder::new("back");
    let whole = (1..set.end().seq - 3).rev().find(|seq| {
        std::fs::remove_dir_all(back.path()).ok();
        Sqlite::restore_journal(&set, *seq, back.path(), &mut |_, _| {}).is_ok()
    });
    assert!(whole.is_some());
    let shorter = runtime_of(back.path(), 1);
    let why = set.add_increment(&*shorter, back.path()).unwrap_err().to_string();
    assert!(why.contains("as after a restore") && why.contains("Make a new backup"), "{why}");
    assert!(set.increments.is_empty());
}

#[test]
fn an_interrupted_backup_is_refused_and_a_finished_one_is_complete() {
    let folder = TestFolder::new("from");
    // Small pages, so that there are many steps.
    worked_in(folder.path(), SqliteOptions { journal_page: 512, state_page: 512, ..sqlite() });
    let (mut broken, mut steps) = (0, 0);
    loop {
        let (to, back) = (TestFolder::new("to"), TestFolder::new("back"));
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "copier"])
            .env("TRACKSIDE_COPY_FROM", folder.path())
            .env("TRACKSIDE_COPY_TO", to.path())
            .env("TRACKSIDE_COPY_STEPS", steps.to_string())
            .output()
            .unwrap();
        let restored = Sqlite::restore(to.path(), back.path());
        if ended.status.success() {
            restored.unwrap();
            let (store, copy) = (
                Sqlite::open(folder.path(), sqlite()).unwrap(),
                Sqlite::open(back.path(), sqlite()).unwrap(),
            );
            let read = |it: &Sqlite| StoredJournal::read(it.reader().unwrap().as_mut()).unwrap().records;
            assert_eq!(read(&store), read(&copy));
            // Named one after the other, the journal last: between the two it is not finished either.
            std::fs::rename(to.path().join("journal.db"), to.path().join("journal.db.part")).unwrap();
            let why = Sqlite::restore(to.path(), TestFolder::new("half").path()).unwrap_err().to_string();
            assert!(why.contains("never finished"), "{why}");
            break;
        }
        let why = restored.unwrap_err().to_string();
        assert!(why.contains("never finished") || why.contains("there is no such file"), "{why}");
        assert!(!back.path().join("journal.db").exists());
        broken += 1;
        steps += 1;
    }
    println!("{broken} backups were broken off");
    assert!(broken >= 3, "{broken}");
}

/// Dies where the journal is to be cut: before, or after.
struct CrashingWriter {
    inner: Box<dyn JournalWriter>,
    archive: std::path::PathBuf,
    after: bool,
}

impl JournalWriter for CrashingWriter {
    fn begin(&mut self) -> Result<u64, StoreError> {
        self.inner.begin()
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.inner.head()
    }

    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.inner.append(batch)
    }

    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        self.inner.drop_payloads(seqs)
    }

    fn cut(&mut self, upto: Chain, staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        // Nothing is left of an earlier cut.
        if upto.seq == 0 {
            return self.inner.cut(upto, staying);
        }
        // Only a finished file under its own name that reads from end to end is cut off the journal.
        let names: Vec<_> =
            std::fs::read_dir(&self.archive).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(names.iter().all(|it| it.to_str().unwrap().ends_with(".jsonl")), "{names:?}");
        let archived = Archive::open(&self.archive).unwrap().records(0, usize::MAX >> 1).unwrap();
        let mut chain = Chain::default();
        archived.iter().for_each(|it| chain.follow(it).unwrap());
        assert_eq!(chain, upto);
        if self.after {
            self.inner.cut(upto, staying)?;
        }
        panic!("killed");
    }
}

#[test]
fn an_interrupted_archiving_loses_nothing_and_is_resumed() {
    for (after, leftover) in [(false, false), (true, false), (false, true)] {
        let folder = TestFolder::new("archive");
        worked_in(folder.path(), sqlite());
        let archive = folder.path().join("archive");
        let store = Sqlite::open(folder.path(), sqlite()).unwrap();
        let all = store.reader().unwrap().records(0, usize::MAX >> 1).unwrap();
        let now = Timestamp(i64::MAX);
        let mut reader = store.reader().unwrap();
        let mut dying = CrashingWriter { inner: store.journal().unwrap(), archive: archive.clone(), after };
        let died = catch_unwind(AssertUnwindSafe(|| move_out(reader.as_mut(), &mut dying, &archive, now)));
        assert!(died.is_err(), "it must have come to the cut");
        drop(dying);
        let found = || {
            let mut found = Archive::open(&archive).unwrap().records(0, usize::MAX >> 1).unwrap();
            let last = found.last().map_or(0, |it| it.seq);
            found.extend(store.reader().unwrap().records(last, usize::MAX >> 1).unwrap());
            found
        };
        assert_eq!(found(), all, "each entry is in the journal, in a file, or in both");
        if leftover {
            // As after an earlier crash: partly written, under its temporary name.
            let file = Archive::open(&archive).unwrap().files()[0].path.clone();
            let bytes = std::fs::read(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            std::fs::write(file.with_extension("partial"), &bytes[..bytes.len() / 2]).unwrap();
            assert_eq!(found(), all, "an unfinished file does not count");
        }
        let mut journal = store.journal().unwrap();
        let moved = move_out(reader.as_mut(), journal.as_mut(), &archive, now).unwrap();
        assert_eq!(moved.is_some(), !after, "entries that were cut are not moved again");
        assert_eq!(found(), all);
        assert!(store.reader().unwrap().base().unwrap().seq > 20);
    }
}
