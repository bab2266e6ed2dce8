//! Erased and redacted values are gone from every file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_lifecycle::time::Span;
use trackside_runtime::{CommandAnswer, Options, PackSource, ProjectClock, Redaction, Runtime};
use trackside_store::Store;
use trackside_store::archive::{Archive, move_out};
use trackside_store::sqlite::{Sqlite, SqliteOptions};

use crate::ground::{accepted, entity, fields, fire, key, manual, start_of_time, started};

const SECRET: &str = "open-sesame-4711";

#[test]
fn a_redacted_value_is_in_no_file_of_the_folder() {
    let folder = std::env::temp_dir().join(format!("trackside-erasing-{}", std::process::id()));
    let store = Sqlite::open(&folder, SqliteOptions::default()).unwrap();
    let runtime = started(Arc::new(store), manual());
    let hank = Actor::new("hank", ActorKind::Human).with_roles(["admin"]);
    let ask = Ask::Create { entity: key("mission.task/T-1"), fields: fields(json!({ "title": SECRET })) };
    let created = accepted(&runtime, Command::new(hank.clone(), ask)).entries[0].seq;
    runtime.wait_until_written().unwrap();
    assert!(holds(&folder), "it was there");
    let redaction = Redaction {
        entity: key("mission.task/T-1"),
        entries: vec![created],
        becomes: fields(json!({ "title": "redacted" })),
        reason: "A secret".to_owned(),
        once: None,
    };
    let answer = runtime.redact(hank, redaction).unwrap();
    assert!(matches!(answer, CommandAnswer::Accepted(_)), "{answer:?}");
    assert_eq!(entity(&runtime, "mission.task/T-1").fields.value("title").as_str(), Some("redacted"));
    // While it runs: closing the files would tidy them anyway.
    let gone = (0..400).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        !holds(&folder)
    });
    assert!(gone, "it is still in a file");
    runtime.stop();
    std::fs::remove_dir_all(&folder).ok();
}

/// An erasable lifecycle.
const SHEET: &str = "\
lifecycle: paper.sheet
fields: { text: { type: string } }
create: { by: human, takes: [text] }
states: { KEPT: { initial: true }, BURNT: { final: true, erase: [] } }
transitions: { burn: { from: KEPT, to: BURNT, by: human } }
";

/// A folder with sheets whose first entries are archived.
struct ArchivedSheets {
    root: PathBuf,
}

impl ArchivedSheets {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("trackside-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&root).ok();
        std::fs::create_dir_all(root.join("pack/lifecycles")).unwrap();
        std::fs::write(root.join("pack/pack.yaml"), "pack: paper\nversion: 1\n").unwrap();
        std::fs::write(root.join("pack/lifecycles/sheet.yaml"), SHEET).unwrap();
        let archived = Self { root };
        let (store, runtime) = archived.open();
        for id in ["S-1", "S-2", "S-3"] {
            let ask = Ask::Create {
                entity: key(&format!("paper.sheet/{id}")),
                fields: fields(json!({ "text": format!("{SECRET}-{id}") })),
            };
            accepted(&runtime, Command::new(hank(), ask));
        }
        runtime.stop();
        let later = start_of_time().plus(Span::seconds(60));
        let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
        let moved = move_out(reader.as_mut(), journal.as_mut(), &archived.archive(), later).unwrap();
        assert!(moved.unwrap().last() >= 3, "the first two are archived");
        archived
    }

    fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn archive(&self) -> PathBuf {
        self.data().join("archive")
    }

    fn open(&self) -> (Arc<Sqlite>, Runtime) {
        let store = Arc::new(Sqlite::open(&self.data(), SqliteOptions::default()).unwrap());
        let pack = PackSource::read(&self.root.join("pack")).unwrap();
        let clock = ProjectClock::manual(start_of_time());
        let options = Options { clock, sweep_every: None, ..Options::default() };
        let runtime = Runtime::start(store.clone(), &[pack], options).unwrap();
        (store, runtime)
    }

    fn burn(&self, id: &str) {
        let (_, runtime) = self.open();
        accepted(&runtime, fire(hank(), &format!("paper.sheet/{id}"), "burn", json!({})));
        runtime.stop();
    }

    fn has(&self, id: &str) -> bool {
        let text = format!("{SECRET}-{id}");
        [self.data(), self.archive()].iter().any(|it| says(it, &text))
    }

    fn verify(&self) {
        let mut reader = Sqlite::open_to_read(&self.data(), SqliteOptions::default()).unwrap();
        let archive = Archive::open(&self.archive()).unwrap();
        let audit = archive.verify(reader.as_mut(), &[], &mut |_, _| {}).unwrap();
        assert!(audit.problems.is_empty(), "{audit:?}");
    }
}

impl Drop for ArchivedSheets {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.root).ok();
    }
}

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human).with_roles(["admin"])
}

#[test]
fn erased_values_are_removed_from_archive_files() {
    let archived = ArchivedSheets::new("erased-archive");
    // A crashed archiving leaves its bytes as well.
    let file = Archive::open(&archived.archive()).unwrap().files()[0].path.clone();
    std::fs::copy(&file, file.with_file_name("journal-000000000001-000000000002.partial")).unwrap();
    assert!(archived.has("S-1") && archived.has("S-2"));
    archived.burn("S-1");
    assert!(!archived.has("S-1"), "it is still in a file");
    assert!(archived.has("S-2"), "nothing else was asked for");
    archived.verify();
}

#[test]
fn erased_values_are_removed_from_an_archive_that_comes_back() {
    let archived = ArchivedSheets::new("erased-later");
    let file = Archive::open(&archived.archive()).unwrap().files()[0].path.clone();
    let elsewhere = archived.root.join("elsewhere.jsonl");
    std::fs::rename(&file, &elsewhere).unwrap();
    archived.burn("S-1");
    // Once more: it is not forgotten while the file is still away.
    archived.burn("S-2");
    std::fs::rename(&elsewhere, &file).unwrap();
    assert!(archived.has("S-1") && archived.has("S-2"));
    archived.open().1.stop();
    assert!(!archived.has("S-1") && !archived.has("S-2"), "it is still in a file");
    assert!(
        Archive::open(&archived.archive()).unwrap().pending_drops().unwrap().is_empty(),
        "nothing is left to do"
    );
    archived.verify();
}

fn holds(folder: &Path) -> bool {
    says(folder, SECRET)
}

fn says(folder: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let found = |bytes: Vec<u8>| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    files.filter(|it| it.is_file()).any(|it| std::fs::read(it).is_ok_and(found))
}
