//! Journals written by earlier releases, which every later release must replay.
//!
//! `fixtures/1/PACK/journal.db` is a long scenario of a pack, written with schema 1 and format 1,
//! `fixtures/2` the same with format 2, `fixtures/3` with schema 4 and format 3, and `entities.jsonl` the resulting entities. Neither is ever
//! written again: a new schema or format gets a folder of its own, by `cargo test -p trackside-store --test
//! sqlite_fixture -- --ignored`. `fixtures/2/whole` and `fixtures/3/whole` are folders of a server, with every kind of event;
//! `crates/runtime/tests/kept` writes it, and starts on all of them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::StoreFolder;
use trackside_engine::entity::{Entity, OpenAlert};
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_engine::trace::Trace;
use trackside_engine::view::View;
use trackside_engine::{Law, apply};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_store::archive::Archive;
use trackside_store::{Batch, Chain, Reader, Record, Sqlite, SqliteOptions, Store};
use trackside_study::scenario;

/// The folder for data of the present schema and format.
const PRESENT: &str = "3";

/// Files in a repository are small.
const LONGEST: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut inside: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    inside.sort();
    inside
}

fn lines(view: &View) -> String {
    view.entities().iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect()
}

/// A folder and all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for path in sorted(from) {
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(path, to).unwrap();
        }
    }
}

/// The whole chain: the archive, then the journal.
fn chain_of(folder: &Path, reader: &mut dyn Reader) -> Vec<Record> {
    let base = reader.base().unwrap();
    let mut records: Vec<Record> =
        Archive::of(folder).unwrap().archived_after(0, base).unwrap().collect::<Result<_, _>>().unwrap();
    records.extend(reader.records(base.seq, usize::MAX).unwrap());
    let mut chain = Chain::default();
    records.iter().for_each(|it| chain.follow(it).unwrap());
    assert_eq!(chain, reader.head().unwrap().chain);
    records
}

fn replay(records: &[Record]) -> View {
    let mut view = View::default();
    records.iter().for_each(|it| apply(&mut view, &it.entry().unwrap()));
    view
}

/// Open alerts, recounted.
fn open_alerts(records: &[Record]) -> BTreeMap<EntityKey, Vec<OpenAlert>> {
    let mut open: BTreeMap<EntityKey, Vec<OpenAlert>> = BTreeMap::new();
    for entry in records.iter().map(|it| it.entry().unwrap()) {
        let of_it = open.entry(entry.entity.clone()).or_default();
        match entry.event {
            Event::AlertRaised { rule, cause, .. } => {
                of_it.push(OpenAlert { seq: entry.seq, acknowledged: None, rule, cause });
            }
            Event::AlertResolved { alert } => of_it.retain(|it| it.seq != alert),
            _ => {}
        }
    }
    open
}

#[test]
fn journals_of_every_release_replay_to_the_recorded_state() {
    let (mut folders, mut alerts) = (0, 0);
    for fixture in sorted(&root()).iter().flat_map(|it| sorted(it)) {
        let folder = StoreFolder::new("fixture");
        copy(&fixture, folder.path());
        let store = Sqlite::open(folder.path(), SqliteOptions::default()).unwrap();
        let found = chain_of(folder.path(), &mut *store.reader().unwrap());
        let mut view = replay(&found);
        let expected = std::fs::read_to_string(fixture.join("entities.jsonl")).unwrap();
        // The entries of the earlier release, as this release writes them.
        let mut expected: Vec<Entity> =
            expected.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        assert!(!expected.is_empty());
        // Releases without open alerts did not list them.
        let mut open = open_alerts(&found);
        for it in expected.iter_mut().filter(|it| it.alerts.is_empty()) {
            it.alerts = open.remove(&it.key).unwrap_or_default();
        }
        expected.sort_by(|a, b| a.key.cmp(&b.key));
        let told: Vec<_> = view.entities().into_iter().cloned().collect();
        assert_eq!(told, expected, "{}", fixture.display());
        alerts += told.iter().map(|it| it.alerts.len()).sum::<usize>();

        // It can be continued.
        let mut journal = store.journal().unwrap();
        let mut chain = journal.head().unwrap().chain;
        let entry = common::entry(chain.seq + 1, "later");
        let records = vec![chain.seal(entry.clone(), 0).unwrap()];
        journal.append(&Batch { records, definitions: Vec::new() }).unwrap();
        apply(&mut view, &entry);
        let found = chain_of(folder.path(), &mut *store.reader().unwrap());
        assert_eq!(lines(&replay(&found)), lines(&view));
        folders += 1;
    }
    assert!(
        folders >= 11 && alerts > 3,
        "{folders} folders: one of every pack in every form; {alerts} alerts"
    );
}

/// The longest scenario of a pack, and the resulting view.
fn longest(pack: &Path) -> (Vec<Entry>, View) {
    let mut sources = Sources::default();
    let mut add =
        |path: &Path| sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap());
    let name = add(&pack.join("pack.yaml"));
    let lifecycles = sorted(&pack.join("lifecycles")).iter().map(|it| add(it)).collect();
    let files: Vec<_> = sorted(&pack.join("scenarios")).iter().map(|it| add(it)).collect();
    let Ok((pack, _)) = compile(&sources, &PackFiles { pack: name, lifecycles }) else { panic!("no pack") };
    let law = Arc::new(Law::new([pack]));
    let mut best = Vec::new();
    for file in files {
        let mut problems = Problems::default();
        let mut scenarios = scenario::read_file(&sources, file, &mut problems).unwrap();
        scenarios.matrix = None;
        let mut watch = |played: &scenario::Played<'_>| {
            if (best.len()..LONGEST).contains(&played.world.journal.len()) {
                best.clone_from(&played.world.journal);
            }
        };
        scenario::run_watched(&law, &scenarios, &Arc::new(Trace::default()), &mut problems, &mut watch);
    }
    let mut view = View::default();
    best.iter().for_each(|it| apply(&mut view, it));
    (best, view)
}

#[test]
#[ignore = "writes the fixtures of the present schema"]
fn write_the_present_ones() {
    for pack in sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs")) {
        let Some(name) = pack.file_name().filter(|_| pack.is_dir()) else { continue };
        let (entries, view) = longest(&pack);
        let to = root().join(PRESENT).join(name);
        assert!(!to.exists(), "{} is there: a released one is never written again", to.display());
        let folder = StoreFolder::new("writing");
        let options = SqliteOptions { journal_page: 512, ..SqliteOptions::default() };
        let store = Sqlite::open(folder.path(), options).unwrap();
        let mut chain = Chain::default();
        let mut last = BTreeMap::new();
        let records = entries.into_iter().map(|it| {
            let prev = last.insert(it.entity.clone(), it.seq).unwrap_or(0);
            chain.seal(it, prev).unwrap()
        });
        let records = records.collect();
        store.journal().unwrap().append(&Batch { records, definitions: Vec::new() }).unwrap();
        drop(store);
        std::fs::create_dir_all(&to).unwrap();
        std::fs::copy(folder.path().join("journal.db"), to.join("journal.db")).unwrap();
        std::fs::write(to.join("entities.jsonl"), lines(&view)).unwrap();
    }
}
