//! A flipped bit in every column of every table of `state.db`, and of every column of the journal: nothing wrong is shown
//! or decided, and is repaired while the project runs, where that is possible.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::json;
use trackside_engine::Decision;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::GroupKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::{Failure, Options, PackSource, Runtime};
use trackside_store::{Sqlite, SqliteOptions};

use crate::ground::{accepted, fields, fire, key, keyed, manual};

const BOX: &str = "\
lifecycle: depot.box
create: { by: human }
states: { OPEN: { initial: true }, FULL: { final: true, outcome: success } }
transitions:
  fill: { from: OPEN, to: FULL, by: human, when: items.BUSY == 2 }
";

/// Its entities have every kind of row.
const ITEM: &str = "\
lifecycle: depot.item
indexes: [tag]
fields: { n: { type: integer, default: 0 }, tag: { type: string }, box: { type: string } }
refs: { inside: { to: depot.box, by: box, inverse: items } }
create: { by: human, takes: [tag, box], same: tag, again: bump }
states:
  NEW: { initial: true, deadline: { after: 1h, then: late } }
  BUSY: {}
  DONE: { final: true, outcome: success }
transitions:
  bump: { from: NEW, to: NEW, by: human, set: { n: n + 1 } }
  take: { from: NEW, to: BUSY, by: human, effects: [depot.print] }
  late: { from: NEW, to: DONE, by: engine }
  end: { from: BUSY, to: DONE, by: human }
rankings: { queue: { in: [NEW], by: [tag], claims: take } }
effects: { depot.print: {} }
";

/// Tables of `state.db`, their keys, and their other columns. A bit in a key would move its row, which no disk does:
/// the simulation flips those in the file.
const ROWS: &[(&str, &[&str], &[&str])] = &[
    ("meta", &["key"], &["value", "sum"]),
    ("name", &["id"], &["text", "sum"]),
    (
        "entity",
        &["row"],
        &["version", "definition", "seq", "last", "entered_at", "timers", "effects", "indexed", "sum"],
    ),
    ("entity", &["row"], &["body", "body_sum", "updated_at"]),
    ("state_count", &["lifecycle", "state"], &["n", "sum"]),
    ("timer", &["due", "lifecycle", "id", "name"], &["sum"]),
    ("effect", &["id"], &["effect", "lifecycle", "entity", "sum"]),
    ("field", &["lifecycle", "field", "value", "id"], &["sum"]),
    ("\"group\"", &["row"], &["counts", "moved_at", "sum"]),
    ("member", &["\"group\"", "entity"], &["sum"]),
    ("place", &["lifecycle", "ranking", "id"], &["within", "meant_for", "weights", "since", "sum"]),
    ("\"order\"", &["lifecycle", "ranking", "within"], &["n", "closed", "sum"]),
    ("same", &["lifecycle", "value"], &["id", "sum"]),
    ("key", &["key", "actor"], &["at", "fingerprint", "entries", "root", "sum"]),
    ("notice", &["kind", "seq"], &["entity", "sum"]),
    ("stay", &["lifecycle", "state", "bucket"], &["n", "total_ms", "sum"]),
];

/// Tables that are only right again after the next start.
const AT_A_START: &[&str] = &["meta", "name", "notice", "stay"];

fn hank() -> Actor {
    Actor::new("hank", ActorKind::Human)
}

/// A project folder.
pub(super) struct Depot(pub PathBuf);

impl Drop for Depot {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

impl Depot {
    /// With a box and items, closed.
    pub fn filled(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trackside-depot-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        let depot = Self(folder);
        let runtime = depot.start();
        // One after the other, so that the places of rows in the files are the same in each run.
        runtime.wait_until_written().unwrap();
        let done = |command| {
            accepted(&runtime, command);
            runtime.wait_until_written().unwrap();
        };
        let create = |entity: &str, values| {
            Command::new(hank(), Ask::Create { entity: key(entity), fields: fields(values) })
        };
        done(create("depot.box/B", json!({})));
        for (n, id) in ["I-1", "I-2", "I-3", "I-4"].into_iter().enumerate() {
            let values = json!({ "tag": format!("t-{n}"), "box": "B" });
            done(keyed(create(&format!("depot.item/{id}"), values), &format!("key-{id}")));
        }
        for id in ["I-1", "I-2"] {
            let take = fire(hank(), &format!("depot.item/{id}"), "take", json!({}));
            done(keyed(take, &format!("take-{id}")));
        }
        let correct =
            Ask::Correct { entity: key("depot.item/I-3"), to: None, fields: fields(json!({ "n": 5 })) };
        let admin = Actor::new("olga", ActorKind::Human).with_roles(["admin"]);
        done(Command::new(admin, correct).with_reason("It was wrong"));
        runtime.stop();
        depot
    }

    pub fn copy(&self, name: &str) -> Self {
        let copy = Self(self.0.with_extension(name));
        std::fs::remove_dir_all(&copy.0).ok();
        std::fs::create_dir(&copy.0).unwrap();
        for file in ["journal.db", "state.db", "journal.end"] {
            std::fs::copy(self.0.join(file), copy.0.join(file)).unwrap();
        }
        copy
    }

    pub fn start(&self) -> Runtime {
        self.try_start().unwrap()
    }

    pub fn try_start(&self) -> Result<Runtime, String> {
        let files = [
            ("pack.yaml", "pack: depot\nversion: 1\n"),
            ("lifecycles/box.yaml", BOX),
            ("lifecycles/item.yaml", ITEM),
        ];
        let pack =
            PackSource { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec() };
        let store = Sqlite::open(&self.0, SqliteOptions::default()).map_err(|it| it.to_string())?;
        let options = Options { sweep_every: None, ..manual() };
        Runtime::start(Arc::new(store), &[pack], options).map_err(|it| it.to_string())
    }

    pub fn file(&self, name: &str) -> Connection {
        Connection::open(self.0.join(name)).unwrap()
    }

    /// Flips a bit in these columns, in every row. Returns in how many.
    fn flip(&self, table: &str, keys: &[&str], columns: &[&str]) -> usize {
        let file = self.file("state.db");
        let only = if table == "meta" { "WHERE key IN ('project', 'census')" } else { "" };
        let mut flipped = 0;
        for column in columns {
            let sql = format!("SELECT {}, {column} FROM {table} {only}", keys.join(", "));
            let mut statement = file.prepare(&sql).unwrap();
            let cells = |row: &rusqlite::Row<'_>| (0..=keys.len()).map(|it| row.get(it)).collect();
            let rows: Vec<Vec<Cell>> = statement.query_map([], cells).unwrap().map(Result::unwrap).collect();
            let wanted: Vec<String> =
                keys.iter().zip(2..).map(|(key, number)| format!("{key} IS ?{number}")).collect();
            let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {}", wanted.join(" AND "));
            for mut row in rows {
                let new = match row.pop().unwrap() {
                    Cell::Null => continue,
                    Cell::Integer(it) => Cell::Integer(it ^ 4),
                    Cell::Text(it) => Cell::Text(with_flipped_bit(&it)),
                    other => panic!("{table}.{column}: {other:?}"),
                };
                flipped += file.execute(&sql, params_from_iter(std::iter::once(new).chain(row))).unwrap();
            }
        }
        flipped
    }
}

/// A text with another digit, if it has one: of `n`, or the last one. The rest of its entity can still be read.
fn with_flipped_bit(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let is_digit = |it: &u8| it.is_ascii_digit();
    let of_n = text.find("\"n\"").and_then(|at| Some(at + bytes[at..].iter().position(is_digit)?));
    let at = of_n.or_else(|| bytes.iter().rposition(is_digit)).unwrap_or(bytes.len() / 2);
    bytes[at] ^= 1;
    String::from_utf8(bytes).unwrap()
}

/// The answers to callers, one line per question. None where they are refused for the damage.
pub(super) fn told(runtime: &Runtime) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut line = |question: String, answer: Result<String, String>| {
        if let Err(why) = &answer {
            assert!(why.contains("state.db"), "{question}: the refusal names the damage, {why}");
        }
        all.push((question, answer.ok()));
    };
    let reads = runtime.reads().unwrap();
    let items = ["I-1", "I-2", "I-3", "I-4"].map(|it| key(&format!("depot.item/{it}")));
    for item in items.iter().chain([&key("depot.box/B")]) {
        let seen = reads.entity(item).map(|it| {
            let entity = it.unwrap();
            format!("{} {:?}", entity.state, entity.fields.get("n"))
        });
        line(format!("read {item}"), seen.map_err(|it| it.to_string()));
    }
    let decided = |command: Command| match runtime.gateway().unwrap().dry_run(command).unwrap().wait() {
        Ok(Decision::Accepted(it)) => Ok(it
            .entries
            .iter()
            .map(|it| format!("{} {} {:?};", it.entity, it.version, it.event.kind()))
            .collect()),
        Ok(Decision::Refused(it)) => Ok(format!("refused: {}", it.code)),
        Ok(Decision::Replayed { first, .. }) => Ok(format!("replayed: {first}")),
        Err(Failure::Unavailable(why)) => Err(why),
        Err(other) => panic!("{other:?}"),
    };
    for id in ["I-3", "I-4"] {
        line(format!("bump {id}"), decided(fire(hank(), &format!("depot.item/{id}"), "bump", json!({}))));
    }
    for id in ["I-1", "I-2", "I-3", "I-4"] {
        let create = Ask::Create {
            entity: key(&format!("depot.item/{id}")),
            fields: fields(json!({ "tag": format!("t-{}", id.as_bytes()[2] - b'1'), "box": "B" })),
        };
        line(
            format!("{id} again under its key"),
            decided(keyed(Command::new(hank(), create), &format!("key-{id}"))),
        );
    }
    for tag in ["t-2", "t-3", "t-9"] {
        let create =
            Ask::Create { entity: key("depot.item/I-9"), fields: fields(json!({ "tag": tag, "box": "B" })) };
        line(format!("another {tag}"), decided(Command::new(hank(), create)));
    }
    line("fill".to_owned(), decided(fire(hank(), "depot.box/B", "fill", json!({}))));
    let claim =
        Claim { lifecycle: Name::new("depot.item"), event: None, only: None, fields: Fields::default() };
    line("claim".to_owned(), decided(Command::new(hank(), Ask::Claim(claim))));
    let mut reader = runtime.store().reader().unwrap();
    let mut stored = |question: &str, answer: Result<String, trackside_store::StoreError>| {
        line(question.to_owned(), answer.map_err(|it| it.to_string()));
    };
    let item = Name::new("depot.item");
    stored("states", reader.states(&item).map(|it| format!("{:?}", it.value)));
    stored("dwell times", reader.dwell_times(&item).map(|it| format!("{:?}", it.value)));
    stored("timers", reader.timers(None, 100).map(|it| format!("{:?}", it.value)));
    stored("census", reader.census().map(|it| format!("{:?}", it.value)));
    stored("effects", reader.effects(0, 100).map(|it| format!("{:?}", it.value)));
    stored("notices", reader.notices(&["CORRECTED", "OPEN_ALERT"], 0, 100).map(|it| format!("{it:?}")));
    let group = GroupKey { of: key("depot.box/B"), name: Name::new("items") };
    stored("members", reader.members(&group).map(|it| format!("{:?}", it.value)));
    for tag in ["t-1", "t-2"] {
        let listing = trackside_store::store::Listing {
            lifecycle: Some(item.clone()),
            indexed: Some((Name::new("tag"), trackside_lifecycle::value::Value::text(tag))),
            most: 100,
            ..Default::default()
        };
        stored(
            &format!("list {tag}"),
            reader
                .list(&listing)
                .map(|it| format!("{:?}", it.value.iter().map(|it| &it.key).collect::<Vec<_>>())),
        );
    }
    all
}

/// Sweeps until nothing is refused any more, at most for a while.
pub(super) fn healed(runtime: &Runtime) -> Vec<(String, Option<String>)> {
    for _ in 0..100 {
        runtime.wait_until_written().unwrap();
        runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
        runtime.wait_until_written().unwrap();
        let now = told(runtime);
        if now.iter().all(|it| it.1.is_some()) {
            return now;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    told(runtime)
}

/// The versions of entities may be higher than in the control: a repair is a correction.
pub(super) fn shape(told: &[(String, Option<String>)]) -> Vec<(String, Option<String>)> {
    let digits = |it: &String| {
        it.split_whitespace().filter(|it| it.parse::<u64>().is_err()).collect::<Vec<_>>().join(" ")
    };
    told.iter()
        .filter(|(question, _)| question != "notices")
        .map(|(question, it)| (question.clone(), it.as_ref().map(digits)))
        .collect()
}

fn damaged_table(
    base: &Depot,
    wanted: &[(String, Option<String>)],
    (table, keys, columns): (&str, &[&str], &[&str]),
) {
    let copy = base.copy(&format!("{}-{}", table.trim_matches('"'), columns[0]));
    let flipped = copy.flip(table, keys, columns);
    assert!(flipped > 0, "{table}: no row has a value");
    let runtime = copy.start();
    runtime.wait_until_written().unwrap();
    let at_first = shape(&told(&runtime));
    for ((question, said), (_, right)) in at_first.iter().zip(&shape(wanted)) {
        assert!(said.is_none() || said == right, "{table} {columns:?}: {question}: {said:?}, not {right:?}");
    }
    let runtime = match AT_A_START.contains(&table) {
        false => runtime,
        true => {
            healed(&runtime);
            runtime.stop();
            copy.start()
        }
    };
    assert_eq!(shape(&healed(&runtime)), shape(wanted), "{table} {columns:?}, healed");
    assert_eq!(runtime.problem(), None, "{table} {columns:?}");
    // The timers are there, too.
    runtime.gateway().unwrap().advance_by(Span::seconds(7_200)).unwrap().wait().unwrap();
    let state =
        |id: &str| runtime.entity(&key(&format!("depot.item/{id}"))).unwrap().unwrap().state.to_string();
    assert_eq!(
        ["I-1", "I-2", "I-3", "I-4"].map(state),
        ["BUSY", "BUSY", "DONE", "DONE"],
        "{table} {columns:?}"
    );
    runtime.stop();
}

#[test]
fn a_flipped_bit_in_any_column_of_state_db_is_refused_and_repaired() {
    let base = Depot::filled("rows");
    let control = base.copy("control");
    let runtime = control.start();
    let wanted = told(&runtime);
    assert!(wanted.iter().all(|it| it.1.is_some()), "{wanted:?}");
    runtime.stop();
    // Every table is there.
    let file = base.file("state.db");
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
    let tables: Vec<String> =
        file.prepare(sql).unwrap().query_map([], |it| it.get(0)).unwrap().map(Result::unwrap).collect();
    for table in &tables {
        assert!(ROWS.iter().any(|it| it.0.trim_matches('"') == table), "{table} is not damaged by this test");
    }
    drop(file);
    std::thread::scope(|scope| {
        for some in ROWS.chunks(ROWS.len().div_ceil(4)) {
            let (base, wanted) = (&base, &wanted);
            scope.spawn(move || some.iter().for_each(|it| damaged_table(base, wanted, *it)));
        }
    });
}

#[test]
fn a_flipped_bit_in_any_column_of_the_journal_is_refused_and_changes_nothing() {
    let base = Depot::filled("entries");
    for column in ["prev", "header", "payload", "digest", "hash"] {
        let copy = base.copy(column);
        let runtime = copy.start();
        let (wanted, seq) = (told(&runtime), runtime.seq());
        runtime.stop();
        let file = copy.file("journal.db");
        let flip = match column {
            "prev" => "prev + 1",
            "header" => "replace(header, 'I-1', 'I-7')",
            "payload" => "replace(payload, 't-0', 't-8')",
            _ => "CAST(x'00' || substr(CAST(hex AS BLOB), 2) AS BLOB)",
        };
        let flip = flip.replace("CAST(hex AS BLOB)", column);
        // The entry that created I-1.
        let of = "(SELECT min(seq) FROM journal WHERE header LIKE '%I-1%')";
        assert_eq!(
            file.execute(&format!("UPDATE journal SET {column} = {flip} WHERE seq = {of}"), []).unwrap(),
            1
        );
        drop(file);
        let store = Sqlite::open(Path::new(&copy.0), SqliteOptions::default());
        let Ok(store) = store else { continue };
        drop(store);
        let runtime = copy.start();
        let reads = runtime.reads().unwrap();
        assert!(reads.journal(0, 100).is_err(), "{column}");
        let swept = runtime.gateway().unwrap().sweep().unwrap().wait().unwrap();
        assert_eq!((swept.mended, swept.forged > 0), (0, true), "{column}: {swept:?}");
        assert_eq!((told(&runtime), runtime.seq()), (wanted, seq), "{column}");
        runtime.stop();
    }
}
