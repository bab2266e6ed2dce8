//! Tampered groups and rankings: the sweep finds and rebuilds them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use serde_json::json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command};
use trackside_runtime::{Options, PackSource, Runtime, SweepReport};
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{accepted, fields, fire, key, manual};

const BOX: &str = "\
lifecycle: kin.box
create: { by: human }
states: { OPEN: { initial: true }, SHUT: {} }
transitions: { shut: { from: OPEN, to: SHUT, by: human } }
";

const THING: &str = "\
lifecycle: kin.thing
fields: { box: { type: string }, watts: { type: integer } }
refs: { inside: { to: kin.box, by: box, inverse: things } }
create: { by: human, takes: [box, watts] }
rankings: { next: { in: [NEW], by: [watts], within: inside, open: inside.state == \"OPEN\", claims: take } }
states: { NEW: { initial: true }, DONE: { final: true, outcome: success } }
transitions: { take: { from: NEW, to: DONE, by: human || agent } }
";

fn pack() -> PackSource {
    let pack = "pack: kin\nversion: 1\nabout: Boxes, and what is in them.\n";
    let files = [("pack.yaml", pack), ("lifecycles/box.yaml", BOX), ("lifecycles/thing.yaml", THING)];
    PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() }
}

/// A project in a folder, removed at the end of the test.
struct Project {
    folder: PathBuf,
    runtime: Option<Runtime>,
}

impl Project {
    /// Two boxes, one of them shut, with four things, one of which is done.
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("trackside-together-{}-{count}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        let mut project = Self { folder, runtime: None };
        project.start();
        let (hank, runtime) = (Actor::new("hank", ActorKind::Human), project.runtime());
        let create = |id: &str, with| {
            accepted(
                runtime,
                Command::new(hank.clone(), Ask::Create { entity: key(id), fields: fields(with) }),
            );
        };
        create("kin.box/B-1", json!({}));
        create("kin.box/B-2", json!({}));
        for (id, of, watts) in [("T-1", "B-1", 10), ("T-2", "B-1", 20), ("T-3", "B-2", 5), ("T-4", "B-1", 1)]
        {
            create(&format!("kin.thing/{id}"), json!({ "box": of, "watts": watts }));
        }
        accepted(runtime, fire(hank.clone(), "kin.thing/T-4", "take", json!({})));
        accepted(runtime, fire(hank, "kin.box/B-2", "shut", json!({})));
        project
    }

    fn start(&mut self) {
        let store = Arc::new(Sqlite::open(&self.folder, SqliteOptions::default()).unwrap());
        let options = Options { sweep_every: None, ..manual() };
        self.runtime = Some(Runtime::start(store, &[pack()], options).unwrap());
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    fn stop(&mut self) {
        self.runtime.take().unwrap().stop();
    }

    fn sweep(&self) -> SweepReport {
        self.runtime().wait_until_written().unwrap();
        let report = self.runtime().gateway().unwrap().sweep().unwrap().wait().unwrap();
        self.runtime().wait_until_written().unwrap();
        report
    }

    fn file(&self) -> Connection {
        Connection::open(self.folder.join("state.db")).unwrap()
    }

    /// Stored groups, members, places and orders.
    fn rows(&self) -> Vec<String> {
        self.runtime().wait_until_written().unwrap();
        let file = self.file();
        let mut rows = Vec::new();
        for sql in [
            "SELECT 'group ' || id || ' ' || counts FROM \"group\"",
            "SELECT 'member ' || \"group\".id || ' ' || coalesce(entity.id, '?') FROM member \
             JOIN \"group\" ON \"group\".row = member.\"group\" LEFT JOIN entity ON entity.row = member.entity",
            "SELECT 'place ' || id || ' ' || within || ' ' || weights || ' ' || since FROM place",
            "SELECT 'order ' || within || ' ' || n || ' ' || closed FROM \"order\"",
        ] {
            let mut statement = file.prepare(sql).unwrap();
            let found = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            rows.extend(found.map(Result::unwrap));
        }
        rows.sort();
        rows
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        drop(self.runtime.take());
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// Changes made with `sqlite3`, each with a name.
const TAMPERED: &[(&str, &str)] = &[
    ("a wrong count", "UPDATE \"group\" SET counts = '{\"NEW\":7}' WHERE id = 'B-1'"),
    ("a count that is gone", "UPDATE \"group\" SET counts = '{}' WHERE id = 'B-1'"),
    ("a missing member", "DELETE FROM member WHERE entity = (SELECT row FROM entity WHERE id = 'T-1')"),
    (
        "a missing member that is not counted either",
        "DELETE FROM member WHERE entity = (SELECT row FROM entity WHERE id = 'T-1');
         UPDATE \"group\" SET counts = '{\"DONE\":1,\"NEW\":1}' WHERE id = 'B-1'",
    ),
    (
        "a foreign member",
        "INSERT INTO member SELECT \"group\".row, entity.row, 0 FROM \"group\", entity WHERE \"group\".id = 'B-1' AND entity.id = 'T-3'",
    ),
    (
        "a foreign member that is counted",
        "INSERT INTO member SELECT \"group\".row, entity.row, 0 FROM \"group\", entity WHERE \"group\".id = 'B-1' AND entity.id = 'T-3';
         UPDATE \"group\" SET counts = '{\"DONE\":1,\"NEW\":3}' WHERE id = 'B-1'",
    ),
    ("a wrong place", "UPDATE place SET weights = (SELECT weights FROM place WHERE id = 'T-2') WHERE id = 'T-1'"),
    ("a place in another order", "UPDATE place SET within = '[\"B-2\"]' WHERE id = 'T-1'"),
    ("a missing place", "DELETE FROM place WHERE id = 'T-1'"),
    (
        "a place of one that has none",
        "INSERT INTO place SELECT lifecycle, ranking, 'T-4', within, meant_for, weights, since, sum FROM place WHERE id = 'T-1'",
    ),
    (
        "a place of nobody",
        "INSERT INTO place SELECT lifecycle, ranking, 'GHOST', within, meant_for, weights, since, sum FROM place WHERE id = 'T-1'",
    ),
    ("an order that is closed and should not be", "UPDATE \"order\" SET closed = 1"),
    ("an order that is open and should not be", "UPDATE \"order\" SET closed = 0"),
    ("an order with a wrong number in it", "UPDATE \"order\" SET n = 9"),
    ("an order that is gone", "DELETE FROM \"order\" WHERE within = '[\"B-2\"]'"),
    (
        "an order in which nobody stands",
        "INSERT INTO \"order\" SELECT lifecycle, ranking, '[\"B-9\"]', 1, 0, 0 FROM \"order\" LIMIT 1",
    ),
];

fn is_clean(report: SweepReport) -> bool {
    let SweepReport { found, repaired, mended, unchecked, .. } = report;
    (found, repaired, mended, unchecked) == (0, 0, 0, 0)
}

#[test]
fn an_untouched_store_has_no_findings() {
    let mut project = Project::new();
    let report = project.sweep();
    assert!(is_clean(report), "{report:?}");
    project.stop();
    project.start();
    let report = project.sweep();
    assert!(is_clean(report), "{report:?}");
}

/// Runs every case, and reports all failures.
fn each(case: impl Fn(&str) -> Result<(), String>) {
    let wrong: Vec<String> = TAMPERED
        .iter()
        .filter_map(|(what, sql)| case(sql).err().map(|why| format!("{what}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn must(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Checks that the rows are restored and that the next sweep finds nothing.
fn is_right(project: &Project, before: &[String]) -> Result<(), String> {
    let after = project.rows();
    must(after == before, || format!("{after:#?}"))?;
    let again = project.sweep();
    must(is_clean(again), || format!("again {again:?}"))
}

#[test]
fn rows_changed_while_running_are_rebuilt_and_reported() {
    each(|sql| {
        let project = Project::new();
        let before = project.rows();
        project.file().execute_batch(sql).unwrap();
        must(project.rows() != before, || "nothing was changed".to_owned())?;
        let report = project.sweep();
        must(report.mended > 0, || format!("{report:?}"))?;
        is_right(&project, &before)?;
        let told = "SELECT count(*) FROM entries WHERE event = 'VIOLATION'";
        let journal = Connection::open(project.folder.join("journal.db")).unwrap();
        let told: i64 = journal.query_row(told, [], |row| row.get(0)).unwrap();
        must(told == report.mended as i64, || format!("{told} journalled, {report:?}"))
    });
}

#[test]
fn rows_changed_while_stopped_are_rebuilt_by_the_first_sweep() {
    each(|sql| {
        let mut project = Project::new();
        let before = project.rows();
        project.stop();
        project.file().execute_batch(sql).unwrap();
        project.start();
        let report = project.sweep();
        must(report.mended + report.repaired > 0, || format!("{report:?}"))?;
        is_right(&project, &before)?;
        // The cache is right from then on: the next decision counts correctly.
        let hank = Actor::new("hank", ActorKind::Human);
        let create = Ask::Create { entity: key("kin.thing/T-5"), fields: fields(json!({ "box": "B-1" })) };
        accepted(project.runtime(), Command::new(hank, create));
        let after = project.rows();
        must(after.iter().any(|it| it == "group B-1 {\"DONE\":1,\"NEW\":3}"), || format!("{after:#?}"))?;
        let again = project.sweep();
        must(is_clean(again), || format!("at last {again:?}"))
    });
}
