//! Long-term storage: archived entities are moved to files, and everything still reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_engine::{View, apply};
use trackside_lifecycle::time::Span;
use trackside_runtime::{CommandAnswer, Failure, Options, PackSource, ProjectClock, Redaction, Runtime};
use trackside_store::archive::{Archive, ArchiveStep, EntityFile, archive_entity, move_out};
use trackside_store::backups::back_up;
use trackside_store::sqlite::{Sqlite, SqliteOptions};
use trackside_store::{
    Artifacts, BackupSet, JournalWriter, Projector, Reader, Record, Store, StoreError, audit,
};

use crate::ground::{accepted, fields, fire, key, start_of_time};

const BOOK: &str = "\
lifecycle: shelf.book
fields: { text: { type: string }, page: { type: string } }
create: { by: human, takes: [text, page], anew: true }
states: { OPEN: { initial: true }, STORED: { final: true, archive: true }, GONE: { final: true, erase: [] } }
transitions:
  write: { from: OPEN, to: OPEN, by: human, takes: [text, page] }
  store: { from: OPEN, to: STORED, by: human }
  burn:  { from: OPEN, to: GONE, by: human }
";

const PAGE: &[u8] = b"the page of the book";

/// A data folder with a pack whose state STORED is long-term storage.
struct Shelf {
    root: PathBuf,
}

impl Shelf {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("trackside-shelf-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&root).ok();
        std::fs::create_dir_all(root.join("pack/lifecycles")).unwrap();
        std::fs::write(root.join("pack/pack.yaml"), "pack: shelf\nversion: 1\n").unwrap();
        std::fs::write(root.join("pack/lifecycles/book.yaml"), BOOK).unwrap();
        Self { root }
    }

    /// With a stored book, B-1, and an open one, B-2. Entries of B-1 are not moved yet.
    fn filled(name: &str) -> (Self, Vec<Record>) {
        let shelf = Self::new(name);
        let page = Artifacts::id_of(PAGE);
        shelf.artifacts().put(&page, PAGE).unwrap();
        let store = shelf.store();
        let runtime = shelf.start(Arc::new(WithoutArchive(store.clone())));
        for id in ["B-1", "B-2"] {
            shelf.create(&runtime, id, json!({ "text": format!("first-text-of-{id}") }));
            write(&runtime, id, json!({ "text": format!("second-text-of-{id}"), "page": page }));
        }
        runtime.wait_until_written().unwrap();
        let mut all = store.reader().unwrap().records(0, 1_000).unwrap();
        accepted(&runtime, fire(hank(), "shelf.book/B-1", "store", json!({})));
        runtime.stop();
        all.extend(store.reader().unwrap().records(all.len() as u64, 1_000).unwrap());
        (shelf, all)
    }

    /// The same, with B-1 moved.
    fn stored(name: &str) -> (Self, Vec<Record>) {
        let (shelf, all) = Self::filled(name);
        let (store, runtime) = shelf.open();
        until_moved(&store, "B-1");
        runtime.stop();
        (shelf, all)
    }

    fn create(&self, runtime: &Runtime, id: &str, values: serde_json::Value) {
        let ask = Ask::Create { entity: key(&format!("shelf.book/{id}")), fields: fields(values) };
        accepted(runtime, Command::new(hank(), ask));
    }

    fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn archive(&self) -> Archive {
        Archive::of(&self.data()).unwrap()
    }

    fn artifacts(&self) -> Artifacts {
        Artifacts::of(&self.data())
    }

    fn file(&self) -> PathBuf {
        EntityFile::of(&self.data().join("archive"), &key("shelf.book/B-1")).path().to_owned()
    }

    fn store(&self) -> Arc<Sqlite> {
        Arc::new(Sqlite::open(&self.data(), SqliteOptions::default()).unwrap())
    }

    fn open(&self) -> (Arc<Sqlite>, Runtime) {
        let store = self.store();
        let runtime = self.start(store.clone());
        (store, runtime)
    }

    fn start(&self, store: Arc<dyn Store>) -> Runtime {
        let pack = PackSource::read(&self.root.join("pack")).unwrap();
        let clock = ProjectClock::manual(start_of_time());
        let options = Options { clock, sweep_every: None, ..Options::default() };
        Runtime::start(store, &[pack], options).unwrap()
    }

    fn reader(&self) -> Box<dyn Reader> {
        Sqlite::open_to_read(&self.data(), SqliteOptions::default()).unwrap()
    }

    fn audit(&self) -> audit::Audit {
        self.archive().verify(self.reader().as_mut(), &[], &mut |_, _| {}).unwrap()
    }

    /// Whether a text is in a file of the data folder.
    fn has(&self, text: &str) -> bool {
        says(&self.data(), text)
    }

    /// Nothing is lost: every record, the artifact, and the chain.
    fn is_whole(&self, all: &[Record]) {
        let found = self.reader().records(0, 1_000).unwrap();
        assert_eq!(found.get(..all.len()), Some(all));
        let audit = self.audit();
        assert!(audit.problems.is_empty(), "{audit:?}");
        assert_eq!(self.artifacts().get(&Artifacts::id_of(PAGE)).unwrap().as_deref(), Some(PAGE));
        assert_eq!(self.artifacts().stats().unwrap().whole, 1);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).ok();
    }
}

/// A store that moves nothing to an archive.
struct WithoutArchive(Arc<Sqlite>);

impl Store for WithoutArchive {
    fn journal(&self) -> Result<Box<dyn JournalWriter>, StoreError> {
        self.0.journal()
    }

    fn projector(&self) -> Result<Box<dyn Projector>, StoreError> {
        self.0.projector()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }
}

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human).with_roles(["admin"])
}

fn write(runtime: &Runtime, id: &str, values: serde_json::Value) {
    accepted(runtime, fire(hank(), &format!("shelf.book/{id}"), "write", values));
}

fn redact(runtime: &Runtime) -> Result<CommandAnswer, Failure> {
    let redaction = Redaction {
        entity: key("shelf.book/B-1"),
        entries: Vec::new(),
        becomes: fields(json!({ "text": "redacted" })),
        reason: "a secret".to_owned(),
        once: None,
    };
    runtime.redact(hank(), redaction)
}

/// The numbers of a book's entries, and of those whose payload is in its file.
fn entries_of(reader: &mut dyn Reader, id: &str) -> (Vec<u64>, Vec<u64>) {
    let book = key(&format!("shelf.book/{id}"));
    let all = reader.records_as_written(0, 1_000).unwrap();
    let of: Vec<_> = all.iter().filter(|it| it.record.entity().as_ref() == Some(&book)).collect();
    let moved = of.iter().filter(|it| it.moved_to.is_some());
    (of.iter().map(|it| it.record.seq).collect(), moved.map(|it| it.record.seq).collect())
}

fn until(what: &str, is_done: &mut dyn FnMut() -> bool) {
    let done = (0..2_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        is_done()
    });
    assert!(done, "{what}");
}

fn until_moved(store: &Sqlite, id: &str) {
    let mut reader = store.reader().unwrap();
    let book = key(&format!("shelf.book/{id}"));
    until("it is not moved", &mut || {
        let last = reader.entity(&book).unwrap().unwrap().seq;
        reader.archived_upto(&book).unwrap() == Some(last)
    });
}

fn says(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).any(|it| match it.is_dir() {
        true => says(&it, text),
        false => std::fs::read(&it).is_ok_and(|it| it.windows(text.len()).any(|it| it == text.as_bytes())),
    })
}

#[test]
fn an_archived_entity_is_moved_to_its_file_and_everything_still_reads_it() {
    let (shelf, all) = Shelf::filled("reads");
    let page = Artifacts::id_of(PAGE);
    let live = shelf.data().join("artifacts").join(&page[..2]).join(&page);
    let (store, runtime) = shelf.open();
    until_moved(&store, "B-1");
    let mut reader = store.reader().unwrap();
    let (entries, moved) = entries_of(reader.as_mut(), "B-1");
    assert_eq!((entries.len(), moved.len()), (3, 2), "the entry without values has nothing to move");
    assert!(entries_of(reader.as_mut(), "B-2").1.is_empty(), "an open book stays");
    assert!(!live.exists(), "the artifact was moved");
    assert!(shelf.data().join("archive/artifacts").join(&page[..2]).join(&page).is_file());
    shelf.is_whole(&all);
    let reads = runtime.reads().unwrap();
    let book = key("shelf.book/B-1");
    let history = reads.history(&book, 0, 10, true).unwrap();
    let own: Vec<&Record> = all.iter().filter(|it| entries.contains(&it.seq)).collect();
    assert_eq!(history.records.iter().collect::<Vec<_>>(), own);
    let then = reads.entity_at(&book, entries[0]).unwrap();
    assert_eq!(then.entity.fields.value("text").as_str(), Some("first-text-of-B-1"));
    assert!(!then.redacted);
    let named = reads.archive_file(&book).unwrap().unwrap();
    assert_eq!(shelf.data().join(named), shelf.file());
    assert_eq!(reads.archive_file(&key("shelf.book/B-2")).unwrap(), None);
    let swept = runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
    assert_eq!((swept.mended, swept.unchecked), (0, 0));
    // A new life is stored again, into the same file.
    shelf.create(&runtime, "B-1", json!({ "text": "third-text" }));
    accepted(&runtime, fire(hank(), "shelf.book/B-1", "store", json!({})));
    runtime.wait_until_written().unwrap();
    until_moved(&store, "B-1");
    assert_eq!(entries_of(reader.as_mut(), "B-1").1.len(), 3);
    shelf.is_whole(&all);
    assert_eq!(EntityFile::all(&shelf.data().join("archive")).unwrap(), [shelf.file()]);
    runtime.stop();
    drop((store, reader, reads));
    // Projections are rebuilt from the files.
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        std::fs::remove_file(shelf.data().join(name)).ok();
    }
    let (_, runtime) = shelf.open();
    let rebuilt = runtime.entity(&book).unwrap().unwrap();
    assert_eq!(rebuilt.fields.value("text").as_str(), Some("third-text"));
    runtime.stop();
}

#[test]
fn a_move_that_breaks_off_after_any_step_loses_nothing_and_is_completed() {
    let steps = [ArchiveStep::FileWritten, ArchiveStep::ArtifactsCopied, ArchiveStep::ArtifactsRemoved];
    for last in steps.into_iter().map(Some).chain([None]) {
        let (shelf, all) = Shelf::filled(&format!("steps-{last:?}"));
        let store = shelf.store();
        let mut reader = store.reader().unwrap();
        let entity = reader.entity(&key("shelf.book/B-1")).unwrap().unwrap();
        let broken = archive_entity(reader.as_mut(), &shelf.archive(), &entity, &mut |step| match Some(step)
            == last
        {
            true => Err(StoreError::io("the step", "the power is gone")),
            false => Ok(()),
        });
        assert_eq!(broken.is_err(), last.is_some(), "{last:?}");
        assert!(entries_of(reader.as_mut(), "B-1").1.is_empty(), "the journal still has the values");
        std::fs::write(shelf.file().with_extension("partial"), "{\"entity\":").unwrap();
        drop((store, reader));
        shelf.is_whole(&all);
        let (store, runtime) = shelf.open();
        until_moved(&store, "B-1");
        runtime.stop();
        drop(store);
        shelf.is_whole(&all);
        assert_eq!(entries_of(shelf.reader().as_mut(), "B-1").1.len(), 2);
        assert!(!shelf.file().with_extension("partial").exists());
    }
}

#[test]
fn a_missing_or_damaged_file_is_named_and_gives_no_wrong_answer() {
    let (shelf, all) = Shelf::stored("named");
    let (file, elsewhere) = (shelf.file(), shelf.root.join("elsewhere"));
    let text = std::fs::read_to_string(&file).unwrap();
    type Damage<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let damages: [Damage<'_>; 4] = [
        ("is missing", Box::new(|| std::fs::rename(&file, &elsewhere).unwrap())),
        (
            "payload does not match",
            Box::new(|| std::fs::write(&file, text.replace("first-text", "fiRst-text")).unwrap()),
        ),
        ("not at its position", Box::new(|| std::fs::write(&file, &text[..text.len() / 3]).unwrap())),
        ("not at its position", Box::new(|| std::fs::write(&file, text.replacen("{", "{ ", 1)).unwrap())),
    ];
    for (what, damage) in damages {
        damage();
        // It still starts, and shows the entity.
        let (store, runtime) = shelf.open();
        let (reads, book) = (runtime.reads().unwrap(), key("shelf.book/B-1"));
        assert_eq!(reads.entity(&book).unwrap().unwrap().state.as_str(), "STORED");
        let first = entries_of(store.reader().unwrap().as_mut(), "B-1").0[0];
        let errors = [
            reads.history(&book, 0, 10, true).map(drop).unwrap_err(),
            reads.entity_at(&book, first).map(drop).unwrap_err(),
            reads.journal(0, 100).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.code(), "archived", "{error}");
            let said = error.to_string();
            assert!(said.contains(what) && said.contains(file.to_str().unwrap()), "{said}");
            assert!(said.contains("Copy the file back"), "{said}");
        }
        let refused = redact(&runtime).unwrap_err();
        assert!(matches!(&refused, Failure::ArchiveFile(it) if it.contains(what)), "{refused}");
        let swept = runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
        assert_eq!((swept.mended, swept.unchecked), (0, 1), "{what}");
        write(&runtime, "B-2", json!({ "text": "others go on" }));
        runtime.stop();
        drop(store);
        let audit = shelf.audit();
        assert!(!audit.problems.is_empty() && audit.redacted == 0, "{audit:?}");
        let codes: Vec<&str> = audit.problems.iter().map(|it| it.what.code()).collect();
        assert!(codes.iter().all(|it| *it == "payload-unread"), "{codes:?}");
        std::fs::write(&file, &text).unwrap();
        shelf.is_whole(&all);
    }
    let page = Artifacts::id_of(PAGE);
    let path = shelf.data().join("archive/artifacts").join(&page[..2]).join(&page);
    for damage in ["is damaged", "is missing"] {
        match damage {
            "is missing" => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&path, b"another page").unwrap(),
        }
        let said = shelf.artifacts().get(&page).unwrap_err().to_string();
        assert!(said.contains(damage) && said.contains(path.to_str().unwrap()), "{said}");
        assert_eq!(shelf.artifacts().stats().unwrap().damaged, [page.as_str()]);
    }
    // Sent again, it is stored again.
    assert!(shelf.artifacts().put(&page, PAGE).unwrap());
    shelf.is_whole(&all);
}

#[test]
fn redacted_and_erased_values_are_removed_from_the_file() {
    let (shelf, _) = Shelf::stored("redacted");
    assert!(shelf.has("first-text-of-B-1") && shelf.has("second-text-of-B-1"));
    let (store, runtime) = shelf.open();
    let answer = redact(&runtime).unwrap();
    assert!(matches!(answer, CommandAnswer::Accepted(_)), "{answer:?}");
    // While it runs: closing the files would tidy them anyway.
    until("it is still in a file", &mut || {
        !shelf.has("first-text-of-B-1") && !shelf.has("second-text-of-B-1")
    });
    assert!(shelf.has("first-text-of-B-2"), "nothing else was asked for");
    // The redaction itself is stored as well, behind the lines that lost their values.
    until_moved(&store, "B-1");
    let history = runtime.reads().unwrap().history(&key("shelf.book/B-1"), 0, 10, true).unwrap();
    assert_eq!(history.records.iter().filter(|it| it.is_redacted()).count(), 2);
    runtime.stop();
    drop(store);
    let audit = shelf.audit();
    assert!(audit.problems.is_empty() && audit.redacted == 2, "{audit:?}");
}

#[test]
fn erased_values_are_removed_from_a_file_that_comes_back() {
    let (shelf, _) = Shelf::stored("comes-back");
    let (file, elsewhere) = (shelf.file(), shelf.root.join("elsewhere"));
    std::fs::rename(&file, &elsewhere).unwrap();
    let (store, runtime) = shelf.open();
    shelf.create(&runtime, "B-1", json!({ "text": "third-text" }));
    accepted(&runtime, fire(hank(), "shelf.book/B-1", "burn", json!({})));
    runtime.wait_until_written().unwrap();
    runtime.stop();
    drop(store);
    assert!(!shelf.archive().pending_drops().unwrap().is_empty());
    shelf.open().1.stop();
    assert!(!shelf.archive().pending_drops().unwrap().is_empty(), "not forgotten while the file is away");
    std::fs::rename(&elsewhere, &file).unwrap();
    assert!(shelf.has("first-text-of-B-1"));
    shelf.open().1.stop();
    assert!(!shelf.has("first-text-of-B-1") && !shelf.has("third-text"), "it is still in a file");
    assert!(shelf.archive().pending_drops().unwrap().is_empty(), "nothing is left to do");
    let audit = shelf.audit();
    assert!(audit.problems.is_empty(), "{audit:?}");
}

#[test]
fn copies_and_archived_ranges_contain_a_moved_entity() {
    let (shelf, all) = Shelf::stored("copies");
    let store = shelf.store();
    let copy = Shelf { root: shelf.root.with_extension("copy") };
    std::fs::remove_dir_all(&copy.root).ok();
    store.backup(&copy.data(), &mut |_, _| {}).unwrap();
    assert_eq!(shelf.archive().copy(&copy.data()).unwrap(), 1);
    assert_eq!(shelf.artifacts().copy(&copy.data()).unwrap().whole, 1);
    assert_eq!((copy.archive().count().unwrap(), copy.file().is_file()), (1, true));
    copy.is_whole(&all);
    let back = Shelf { root: shelf.root.with_extension("back") };
    std::fs::remove_dir_all(&back.root).ok();
    std::fs::create_dir_all(&back.root).unwrap();
    Sqlite::restore(&copy.data(), &back.data()).unwrap();
    copy.archive().copy(&back.data()).unwrap();
    copy.artifacts().copy(&back.data()).unwrap();
    back.is_whole(&all);
    // A range of the journal is complete without the file of the entity, and is redacted like it.
    let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
    let later = start_of_time().plus(Span::seconds(60));
    let folder = shelf.data().join("archive");
    let moved = move_out(reader.as_mut(), journal.as_mut(), &folder, later).unwrap().unwrap();
    assert!(journal.head().unwrap().chain.seq > moved.last());
    drop((reader, journal, store));
    let archived = shelf.archive().records(0, 1_000).unwrap();
    assert_eq!(archived.as_slice(), &all[..archived.len()]);
    assert!(shelf.audit().problems.is_empty());
    let (_, runtime) = shelf.open();
    redact(&runtime).unwrap();
    runtime.wait_until_written().unwrap();
    runtime.stop();
    assert!(!shelf.has("first-text-of-B-1"), "it is in no file");
    assert!(shelf.audit().problems.is_empty());
}

#[test]
fn files_of_archived_entities_that_are_missing_or_damaged_are_listed() {
    let (shelf, _) = Shelf::stored("listed");
    let listed = || {
        let found = shelf.archive().unusable_entity_files(shelf.reader().as_mut()).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(listed(), Vec::<String>::new());
    let content = std::fs::read_to_string(shelf.file()).unwrap();
    std::fs::write(shelf.file(), content.replace("second-text", "other-text.")).unwrap();
    assert!(listed().len() == 1 && listed()[0].contains("does not match its digest"), "{:?}", listed());
    std::fs::remove_file(shelf.file()).unwrap();
    assert!(listed().len() == 1 && listed()[0].contains("is missing"), "{:?}", listed());
    std::fs::write(shelf.file(), content).unwrap();
    assert_eq!(listed(), Vec::<String>::new());
}

#[test]
fn a_restore_to_any_entry_has_the_payloads_of_archived_entities() {
    let shelf = Shelf::new("restore");
    let (store, runtime) = shelf.open();
    let mut random = trackside_random::Random::new(7);
    let backup = shelf.root.join("backup");
    let mut set = None;
    for round in 0..4 {
        for id in ["A", "B", "C"].map(|it| format!("{it}-{round}")) {
            shelf.create(&runtime, &id, json!({ "text": format!("first-text-of-{id}") }));
            write(&runtime, &id, json!({ "text": format!("second-text-of-{id}") }));
        }
        // Of each round, one is stored in the next.
        for id in (0..round).map(|it| format!("{}-{it}", ["A", "B", "C"][round - it - 1])) {
            accepted(&runtime, fire(hank(), &format!("shelf.book/{id}"), "store", json!({})));
            runtime.wait_until_written().unwrap();
            until_moved(&store, &id);
        }
        // The complete copy has some in files, and each increment has more.
        match (round, &mut set) {
            (0, _) => {}
            (1, none) => {
                back_up(&*store, &shelf.data(), &backup, &mut |_, _| {}).unwrap();
                *none = Some(BackupSet::open(&backup).unwrap());
            }
            (_, set) => drop(set.as_mut().unwrap().add_increment(&*store, &shelf.data()).unwrap().unwrap()),
        }
    }
    runtime.stop();
    let (all, set) = (store.reader().unwrap().records(0, 1_000).unwrap(), set.unwrap());
    let mut tried: Vec<u64> = (0..6).map(|_| 1 + random.below_u64(set.end().seq)).collect();
    tried.extend([set.base.seq, set.end().seq]);
    let mut restored = 0;
    for seq in tried {
        let to = Shelf { root: shelf.root.join(format!("to-{seq}")) };
        match Sqlite::restore_journal(&set, seq, &to.data(), &mut |_, _| {}) {
            Ok(_) => restored += 1,
            Err(error) => {
                assert!(error.to_string().contains("one request wrote the entries"), "{error}");
                continue;
            }
        }
        let wanted = &all[..seq as usize];
        assert_eq!(to.reader().records(0, 1_000).unwrap(), wanted, "restored to {seq}");
        let again = to.store();
        Runtime::write_projections(again.clone(), &mut |_, _| {}).unwrap();
        let mut view = View::default();
        wanted.iter().for_each(|it| apply(&mut view, &it.entry().unwrap()));
        let mut reader = again.reader().unwrap();
        for entity in view.entities() {
            assert_eq!(reader.entity(&entity.key).unwrap().as_deref(), Some(entity), "restored to {seq}");
        }
    }
    assert!(restored > 4, "{restored}");
}
