//! `trackside import`.

use trackside_engine::journal::Journal;
use trackside_engine::key::EntityKey;
use trackside_engine::{View, apply};
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{CliProject, trackside};

#[test]
fn an_imported_journal_replays_to_the_same_state() {
    let ground = CliProject::with_scenario("import", "Lights go on");
    let text = std::fs::read_to_string(ground.path("journal.jsonl")).unwrap();
    let written = Journal::read(&text).unwrap().entries;
    let mut reader = Sqlite::open_to_read(&ground.data(), SqliteOptions::default()).unwrap();
    let read: Vec<_> = reader.records(0, 1_000).unwrap().iter().map(|it| it.entry().unwrap()).collect();
    assert_eq!(read[..written.len()], written[..]);
    let more: Vec<&str> = read[written.len()..].iter().map(|it| it.event.kind().as_str()).collect();
    assert_eq!(more, ["PACK_INSTALLED", "PROJECT_CHANGED"]);
    drop(reader);

    ground.ask(&["doctor", "--rebuild"]).says(0, &[]);
    let mut view = View::default();
    written.iter().for_each(|it| apply(&mut view, it));
    let mut reader = Sqlite::open_to_read(&ground.data(), SqliteOptions::default()).unwrap();
    for id in ["A", "B", "C"] {
        let key = EntityKey::new("small.light", id);
        assert_eq!(reader.entity(&key).unwrap().as_deref(), view.get(&key), "{id}");
    }
}

#[test]
fn a_journal_of_a_built_in_pack_needs_no_pack() {
    let ground = CliProject::new("import-builtin");
    let (pack, file) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/build"), ground.path("b.jsonl"));
    trackside(&["test", pack, "--journal", &file]).says(0, &[]);
    let first = if ground.root.join("b.jsonl").exists() { file } else { ground.path("b-1.jsonl") };
    let told = ground.ask(&["import", &first, "--json"]);
    told.says(0, &[]);
    assert_eq!(told.json()["packs"].as_array().unwrap().len(), 5, "{told:?}");
    ground.ask(&["audit", "verify"]).says(0, &["intact"]);
    let entries = || ground.number("journal.db", "SELECT max(seq) FROM journal");
    let before = entries();
    ground.ask(&["doctor", "--rebuild"]).says(0, &["0 behind"]);
    assert_eq!(entries(), before, "nothing had to be added to start it");
}

#[test]
fn a_refused_import_writes_nothing() {
    let ground = CliProject::with_scenario("import-refused", "Lights go on");
    let (journal, pack) = (ground.path("journal.jsonl"), ground.path("pack"));
    ground.ask(&["import", &journal, "--packs", &pack]).says(2, &["is not empty"]);

    let other = CliProject::new("import-refused-other");
    other.ask(&["import", &journal]).says(1, &["which none of the packs has: name its pack with --packs"]);
    other.ask(&["import", &other.path("pack/pack.yaml")]).says(1, &["this is no journal entry"]);
    other.ask(&["import", &other.path("nowhere.jsonl")]).says(2, &["nowhere.jsonl"]);
    let text = std::fs::read_to_string(&journal).unwrap();
    let gap: Vec<&str> = text.lines().enumerate().filter(|(n, _)| *n != 2).map(|(_, it)| it).collect();
    std::fs::write(other.path("gap.jsonl"), gap.join("\n")).unwrap();
    other
        .ask(&["import", &other.path("gap.jsonl"), "--packs", &pack])
        .says(1, &["entry 3 does not follow 1"]);
    assert!(!other.data().exists(), "nothing was made");
}
