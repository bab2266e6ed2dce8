//! Backups and archives interrupted anywhere: the result is complete or refused, and the journal loses nothing.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use trackside_crash::folder::TestFolder;
use trackside_crash::journal::StoredJournal;
use trackside_crash::load::{self, CommandKey, command};
use trackside_crash::packs::packs;
use trackside_crash::writer::{options, sqlite};
use trackside_lifecycle::time::Timestamp;
use trackside_runtime::Runtime;
use trackside_store::archive::{Archive, move_out};
use trackside_store::{Batch, Chain, Head, JournalWriter, Sqlite, SqliteOptions, Store, StoreError};

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
    store.backup(Path::new(&to), &mut step).unwrap();
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
