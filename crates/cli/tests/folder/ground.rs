//! Shared fixtures: a small pack, folders filled with its journals, and short command functions.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::program::{CliOutput, binary, run_at_terminal, run_command};
use rusqlite::Connection;
use rusqlite::types::Value;

pub(crate) const LIGHT: &str = "\
lifecycle: small.light
fields: { note: { type: string }, watts: { type: integer, default: 40 } }
create: { by: human, takes: [note, watts] }
states: { OFF: { initial: true }, ON: { require: { note: Say where it hangs } } }
transitions:
  switch_on:  { from: OFF, to: ON, by: human }
  switch_off: { from: ON, to: OFF, by: human }
invariants:
  modest: { holds: watts <= 100, says: '{watts} watts are too many' }
";

const SCENARIOS: &str = "\
pack: small
actors: { hank: { human: [] } }
scenarios:
  - scenario: Lights go on
    steps:
      - { as: hank, create: small.light/A, with: { note: the secret place, watts: 60 } }
      - { as: hank, create: small.light/B, with: { note: hall } }
      - { as: hank, fire: switch_on, of: small.light/A, then: { state: ON } }
      - { as: hank, create: small.light/C }
      - { as: hank, fire: switch_on, of: small.light/B, then: { state: ON } }
      - { as: hank, fire: switch_off, of: small.light/A, then: { state: \"OFF\" } }
  - scenario: One is too bright
    given:
      - small.light/BIG: { watts: 200, note: attic }
    steps:
      - { as: hank, create: small.light/A }
";

/// Commands that act as the owner on a folder without a server.
const OF_THE_OWNER: [&str; 4] = ["archive", "import", "migrate", "redact"];

pub(crate) fn trackside(args: &[&str]) -> CliOutput {
    match OF_THE_OWNER.iter().any(|it| args.first() == Some(it)) {
        true => run_at_terminal(&binary(args)),
        false => run_command(binary(args)),
    }
}

/// A place for one test.
#[derive(Debug)]
pub(crate) struct CliProject {
    pub root: PathBuf,
}

impl CliProject {
    pub fn new(name: &str) -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("folder").join(name);
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        let ground = Self { root };
        ground.pack("pack", 1, LIGHT);
        ground
    }

    /// A folder with a project in `data`, made of a scenario.
    pub fn with_scenario(name: &str, scenario: &str) -> Self {
        let ground = Self::new(name);
        ground.journal(scenario);
        ground.ask(&["import", &ground.path("journal.jsonl"), "--packs", &ground.path("pack")]).says(0, &[]);
        ground
    }

    pub fn path(&self, name: &str) -> String {
        self.root.join(name).to_str().unwrap().to_owned()
    }

    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Runs a command on the project in `data`.
    pub fn ask(&self, args: &[&str]) -> CliOutput {
        let data = self.path("data");
        let mut args = args.to_vec();
        args.extend(["--data", &data]);
        trackside(&args)
    }

    pub fn pack(&self, name: &str, version: u32, lifecycle: &str) {
        let folder = self.root.join(name);
        std::fs::create_dir_all(folder.join("lifecycles")).unwrap();
        std::fs::create_dir_all(folder.join("scenarios")).unwrap();
        std::fs::write(folder.join("pack.yaml"), format!("pack: small\nversion: {version}\n")).unwrap();
        std::fs::write(folder.join("lifecycles/light.yaml"), lifecycle).unwrap();
        std::fs::write(folder.join("scenarios/light.yaml"), SCENARIOS).unwrap();
    }

    /// Writes the journal of a scenario to `journal.jsonl`.
    pub fn journal(&self, scenario: &str) {
        let (pack, file) = (self.path("pack"), self.path("journal.jsonl"));
        trackside(&["test", &pack, "--only", scenario, "--journal", &file]).says(0, &["1 passed"]);
    }

    /// Tampers with a file.
    pub fn tamper(&self, file: &str, sql: &str) {
        Connection::open(self.data().join(file)).unwrap().execute_batch(sql).unwrap();
    }

    /// Runs SQL on a file, as `sqlite3` would.
    pub fn number(&self, file: &str, sql: &str) -> i64 {
        Connection::open(self.data().join(file)).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Every row of a file, except those about its origin.
    pub fn rows(&self, file: &str) -> Vec<String> {
        let connection = Connection::open(self.data().join(file)).unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'meta' ORDER BY name";
        let mut statement = connection.prepare(tables).unwrap();
        let names: Vec<String> =
            statement.query_map([], |it| it.get(0)).unwrap().map(Result::unwrap).collect();
        let mut rows = Vec::new();
        for name in names {
            let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
            let columns = statement.column_count();
            let mut found = statement.query([]).unwrap();
            let mut here = Vec::new();
            while let Some(row) = found.next().unwrap() {
                let values: Vec<String> =
                    (0..columns).map(|it| format!("{:?}", row.get::<_, Value>(it).unwrap())).collect();
                here.push(format!("{name} {}", values.join(" ")));
            }
            here.sort();
            rows.extend(here);
        }
        rows
    }

    /// Has the folder, as another process would, until it is dropped.
    pub fn lock_file(&self) -> File {
        let path = self.data().join("lock");
        std::fs::write(&path, "a server (process 1)\n").unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        file.lock().unwrap();
        file
    }
}

/// Whether these bytes are in a file of a folder.
pub(crate) fn holds(folder: &Path, bytes: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|it| {
        let path = it.unwrap().path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => std::fs::read(&path).unwrap().windows(bytes.len()).any(|some| some == bytes.as_bytes()),
        }
    })
}
