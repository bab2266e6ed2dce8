//! Journals that releases have written, for every later release to replay.
//!
//! `fixtures/1/PACK/journal.db` is a long scenario of a pack, written with schema 1 and format 1, `fixtures/2` the
//! same with format 2, and `entities.jsonl` what it came to. Neither is ever written again: a new schema or format gets a folder of its
//! own, by `cargo test -p trackside-store --test sqlite_fixture -- --ignored`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::Folder;
use trackside_engine::event::Entry;
use trackside_engine::trace::Trace;
use trackside_engine::view::View;
use trackside_engine::{Law, apply, scenario};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_store::{Batch, Chain, Reader, Sqlite, SqliteOptions, Store};

/// Where folders of the present schema and format go.
const PRESENT: &str = "2";

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

fn replayed(reader: &mut dyn Reader) -> View {
    let (mut view, mut chain) = (View::default(), Chain::default());
    for record in reader.records(0, usize::MAX).unwrap() {
        chain.follow(&record).unwrap();
        apply(&mut view, &record.entry().unwrap());
    }
    assert_eq!(chain, reader.head().unwrap().chain);
    view
}

#[test]
fn journals_of_every_release_are_replayed_to_what_they_came_to() {
    let mut folders = 0;
    for fixture in sorted(&root()).iter().flat_map(|it| sorted(it)) {
        let folder = Folder::new("fixture");
        std::fs::create_dir_all(folder.path()).unwrap();
        std::fs::copy(fixture.join("journal.db"), folder.path().join("journal.db")).unwrap();
        let store = Sqlite::open(folder.path(), SqliteOptions::default()).unwrap();
        let mut view = replayed(&mut *store.reader().unwrap());
        let expected = std::fs::read_to_string(fixture.join("entities.jsonl")).unwrap();
        // As this release writes what the earlier one wrote.
        let expected: Vec<trackside_engine::entity::Entity> =
            expected.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        assert!(!expected.is_empty());
        // What an earlier release did not know of is not in its list.
        let known = |mut it: trackside_engine::entity::Entity| {
            it.alerts.clear();
            it
        };
        let told: Vec<_> = view.entities().into_iter().cloned().map(known).collect();
        assert_eq!(told, expected.into_iter().map(known).collect::<Vec<_>>(), "{}", fixture.display());

        // It is gone on with.
        let mut journal = store.journal().unwrap();
        let mut chain = journal.head().unwrap().chain;
        let entry = common::entry(chain.seq + 1, "later");
        let records = vec![chain.seal(entry.clone(), 0).unwrap()];
        journal.append(&Batch { records, definitions: Vec::new() }).unwrap();
        apply(&mut view, &entry);
        assert_eq!(lines(&replayed(&mut *store.reader().unwrap())), lines(&view));
        folders += 1;
    }
    assert!(folders >= 10, "one of every pack in every form");
}

/// A long story that the scenarios of a pack tell, and what it comes to.
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
        let folder = Folder::new("writing");
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
