//! Data folders written by earlier releases, opened and used by this one: every release starts on the
//! folders of all earlier ones and continues them.
//!
//! They are in `crates/store/tests/fixtures`, where the store replays them. `2/whole` and `3/whole` are folders that a
//! server wrote, by `cargo test -p trackside-runtime --test kept -- --ignored`: every kind of event, two
//! versions of a pack, dropped payloads and an archived beginning. `2/whole` has a `state.db` of schema 1.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

#[path = "../running/ground.rs"]
#[expect(dead_code, reason = "shared with other tests, which use the rest")]
mod ground;
mod story;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::entity::Entity;
use trackside_engine::event::{Entry, Event, EventKind};
use trackside_lifecycle::name::Name;
use trackside_runtime::{Options, PackSource, ProjectClock, Runtime};
use trackside_store::archive::Archive;
use trackside_store::projection_builder::OPEN_ALERT;
use trackside_store::rules::digest_of;
use trackside_store::store::Listing;
use trackside_store::{Batch, Chain, Definition, Reader, Sqlite, SqliteOptions, Store};

use ground::{accepted, key, pack};

const ALL: usize = usize::MAX >> 1;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut inside: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    inside.sort();
    inside
}

/// Every fixture folder.
fn kept_stores() -> Vec<PathBuf> {
    files(&fixtures()).iter().flat_map(|it| files(it)).collect()
}

/// A copy to work on, removed at the end of the test.
struct Copy(PathBuf);

impl Copy {
    fn of(fixture: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let to = std::env::temp_dir().join(format!("trackside-kept-{}-{count}", std::process::id()));
        std::fs::remove_dir_all(&to).ok();
        copy(fixture, &to);
        Self(to)
    }

    /// Its store, with the packs of this release if it has none.
    fn open(&self, fixture: &Path) -> (Arc<Sqlite>, Runtime) {
        let store = Arc::new(Sqlite::open(&self.0, SqliteOptions::default()).unwrap());
        let own = !store.reader().unwrap().definitions().unwrap().is_empty();
        let name = fixture.file_name().unwrap().to_str().unwrap();
        let packs: Vec<PackSource> = if own { Vec::new() } else { vec![pack(name)] };
        let clock = ProjectClock::manual(store.reader().unwrap().head().unwrap().at.unwrap());
        let options = Options { clock, sweep_every: None, ..Options::default() };
        let runtime = Runtime::start(store.clone(), &packs, options).unwrap();
        (store, runtime)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, to).unwrap();
        }
    }
}

/// All entries of a folder: those of the archive, then those of the journal.
fn entries(folder: &Path, reader: &mut dyn Reader) -> Vec<Entry> {
    let base = reader.base().unwrap();
    let past = Archive::of(folder).unwrap().archived_after(0, base).unwrap().map(Result::unwrap);
    let records: Vec<_> = past.chain(reader.records(base.seq, ALL).unwrap()).collect();
    records.iter().map(|it| it.entry().unwrap()).collect()
}

fn rows(reader: &mut dyn Reader) -> Vec<String> {
    let all = Listing { most: ALL, ..Listing::default() };
    let mut rows: Vec<String> =
        reader.list(&all).unwrap().value.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    rows.sort();
    rows
}

#[test]
fn every_kind_of_event_is_in_a_fixture_journal() {
    let mut kinds = BTreeSet::new();
    for fixture in kept_stores() {
        let folder = Copy::of(&fixture);
        let store = Sqlite::open(&folder.0, SqliteOptions::default()).unwrap();
        kinds.extend(entries(&folder.0, &mut *store.reader().unwrap()).iter().map(|it| it.event.kind()));
    }
    let missing: Vec<_> = EventKind::ALL.iter().filter(|it| !kinds.contains(*it)).collect();
    assert!(
        missing.is_empty(),
        "no journal that is kept has {missing:?}: add them to the story, and write it"
    );
}

#[test]
fn every_fixture_folder_starts_and_accepts_commands() {
    let admin = Actor::new("olga", ActorKind::Human).with_roles(["admin"]);
    for fixture in kept_stores() {
        let what = fixture.display();
        let folder = Copy::of(&fixture);
        let (store, runtime) = folder.open(&fixture);
        runtime.wait_until_written().unwrap();
        // A correction to its own state, which every pack allows.
        let all = Listing { most: ALL, ..Listing::default() };
        let found = store.reader().unwrap().list(&all).unwrap().value;
        assert!(!found.is_empty(), "{what}");
        for before in &found {
            let ask = Ask::Seed(Seed { state: Some(before.state.clone()), ..Seed::new(before.key.clone()) });
            accepted(&runtime, Command::new(admin.clone(), ask).with_reason("It is looked at again"));
            let after = runtime.entity(&before.key).unwrap().unwrap();
            assert!(after.version > before.version && after.state == before.state, "{what}: {after:?}");
        }
        runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
        runtime.stop();
        let lived = rows(&mut *store.reader().unwrap());
        drop(store);
        for forgotten in [false, true] {
            if forgotten {
                std::fs::remove_file(folder.0.join("state.db")).unwrap();
            }
            let (store, runtime) = folder.open(&fixture);
            runtime.wait_until_written().unwrap();
            assert_eq!(rows(&mut *store.reader().unwrap()), lived, "{what}, rebuilt: {forgotten}");
            runtime.stop();
        }
    }
}

#[test]
fn a_server_folder_opens_with_the_recorded_state() {
    let fixture = fixtures().join("2/whole");
    let folder = Copy::of(&fixture);
    let (store, runtime) = folder.open(&fixture);
    runtime.wait_until_written().unwrap();
    let mut reader = store.reader().unwrap();
    assert!(reader.base().unwrap().seq > 5, "its beginning is archived");
    assert_eq!(reader.definitions().unwrap().len(), 2, "both versions of its pack");
    let audit = Archive::of(&folder.0).unwrap().verify(&mut *reader, &[], &mut |_, _| {}).unwrap();
    assert!(audit.is_clean() && audit.redacted > 1, "{audit:?}");

    let text = std::fs::read_to_string(fixture.join("entities.jsonl")).unwrap();
    let expected: Vec<Entity> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let mut lines: Vec<String> = expected.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    lines.sort();
    assert_eq!(rows(&mut *reader), lines);
    for entity in &expected {
        assert_eq!(runtime.entity(&entity.key).unwrap().as_deref(), Some(entity));
    }
    // Schema 1 did not know which alerts are open.
    let mut open: Vec<u64> = expected.iter().flat_map(|it| &it.alerts).map(|it| it.seq).collect();
    open.sort_unstable();
    assert!(!open.is_empty());
    assert_eq!(reader.notices(&[OPEN_ALERT], 0, ALL).unwrap(), open);
    assert!(!reader.timers(None, ALL).unwrap().value.is_empty());

    // Both versions of the pack stay in force, each for its own entities.
    for (id, note) in [("kept.job/J-1", "one"), ("kept.job/J-6", "two")] {
        let command = ground::fire(story::ada(), id, "edit", serde_json::json!({ "note": note }));
        accepted(&runtime, command);
        assert_eq!(ground::entity(&runtime, id).fields.value("note").as_str(), Some(note));
    }
    assert_ne!(
        ground::entity(&runtime, "kept.job/J-1").definition,
        ground::entity(&runtime, "kept.job/J-6").definition
    );
    assert!(runtime.entity(&key("kept.job/J-3")).unwrap().unwrap().fields.value("note").is_null(), "erased");
    // A timer that ran then still fires.
    let struck = runtime.seq();
    let later = runtime.reads().unwrap().now().plus(trackside_lifecycle::time::Span::seconds(4 * 60 * 60));
    runtime.gateway().unwrap().advance(later).unwrap().wait().unwrap();
    assert!(runtime.seq() > struck, "nothing was due in four hours");
}

#[test]
fn a_fixture_folder_with_altered_rules_is_not_opened() {
    for version in [1, 2] {
        // The first version was installed by an archived entry, the second by one in the journal.
        let folder = Copy::of(&fixtures().join("2/whole"));
        drop(Sqlite::open(&folder.0, SqliteOptions::default()).unwrap());
        let file = rusqlite::Connection::open(folder.0.join("journal.db")).unwrap();
        let sql = "UPDATE definition SET files = replace(files, 'human', 'agent') WHERE version = ?1";
        assert_eq!(file.execute(sql, [version]).unwrap(), 1);
        drop(file);
        let refused = Sqlite::open(&folder.0, SqliteOptions::default()).map(drop).unwrap_err();
        let words = format!("the rules of kept {version} were changed: its text has the digest");
        assert!(refused.to_string().contains(&words), "{refused}");
    }
}

/// The journal of an earlier release that installed this text, without asking the compiler of this one.
fn with_stored_pack(folder: &Path, lifecycle: &str) -> (Arc<Sqlite>, PackSource) {
    let files = vec![
        ("lifecycles/lamp.yaml".to_owned(), lifecycle.to_owned()),
        ("pack.yaml".to_owned(), "pack: small\nversion: 1\n".to_owned()),
    ];
    let store = Arc::new(Sqlite::open(folder, SqliteOptions::default()).unwrap());
    let fixture = Copy::of(&fixtures().join("2/whole"));
    let like = {
        let store = Sqlite::open(&fixture.0, SqliteOptions::default()).unwrap();
        entries(&fixture.0, &mut *store.reader().unwrap()).remove(0)
    };
    let digest = digest_of(&files);
    let event = Event::PackInstalled { pack: Name::new("small"), version: 1, digest: digest.as_str().into() };
    let mut chain = Chain::default();
    let record = chain.seal(Entry { seq: 1, event, ..like }, 0).unwrap();
    let definition = Definition { pack: Name::new("small"), version: 1, digest, files: files.clone() };
    let batch = Batch { records: vec![record], definitions: vec![definition] };
    store.journal().unwrap().append(&batch).unwrap();
    (store, PackSource { files })
}

const LAMP: &str = "\
lifecycle: small.lamp
create: { by: human }
states: { in.use: { initial: true }, out: { final: true } }
transitions: { smash: { from: in.use, to: out, by: human } }
";

#[test]
fn a_stored_pack_that_a_stricter_rule_refuses_keeps_running_and_is_reported() {
    let folder = Copy(std::env::temp_dir().join(format!("trackside-stricter-{}", std::process::id())));
    std::fs::remove_dir_all(&folder.0).ok();
    let (store, source) = with_stored_pack(&folder.0, LAMP);
    assert!(source.compile().is_err(), "as a new pack it is refused");
    // It starts, also if it is given again.
    let runtime = Runtime::start(store, std::slice::from_ref(&source), Options::default()).unwrap();
    let warnings = runtime.warnings();
    assert!(
        warnings.iter().any(|it| it.contains("small 1 keeps running") && it.contains("cannot contain a dot")),
        "{warnings:?}"
    );
    let olga = Actor::new("olga", ActorKind::Human);
    let lamp = key("small.lamp/L");
    accepted(
        &runtime,
        Command::new(olga.clone(), Ask::Create { entity: lamp.clone(), fields: Default::default() }),
    );
    accepted(&runtime, Command::fire(olga, lamp.clone(), "smash", Default::default()));
    assert_eq!(runtime.entity(&lamp).unwrap().unwrap().state, Name::new("out"));
    // The same text again changes nothing. A new version must be correct.
    assert!(runtime.install(std::slice::from_ref(&source)).unwrap().is_empty());
    let next = |(path, text): &(String, String)| (path.clone(), text.replace("version: 1", "version: 2"));
    let next = PackSource { files: source.files.iter().map(next).collect() };
    let refused = runtime.install(&[next]).unwrap_err().to_string();
    assert!(refused.contains("cannot contain a dot"), "{refused}");
    let corrected = |(path, text): &(String, String)| {
        (path.clone(), text.replace("in.use", "in_use").replace("version: 1", "version: 2"))
    };
    let corrected = PackSource { files: source.files.iter().map(corrected).collect() };
    runtime.install(&[corrected]).unwrap();
    runtime.stop();
}

#[test]
fn a_stored_pack_that_cannot_run_is_refused_with_the_next_step() {
    let folder = Copy(std::env::temp_dir().join(format!("trackside-unrunnable-{}", std::process::id())));
    std::fs::remove_dir_all(&folder.0).ok();
    let (store, _) = with_stored_pack(&folder.0, &LAMP.replace("from: in.use", "from: nowhere"));
    let refused = Runtime::start(store, &[], Options::default()).unwrap_err().to_string();
    for word in ["small version 1", "this release cannot run it", "Nothing was changed", "nowhere"] {
        assert!(refused.contains(word), "{refused}");
    }
}
