//! Files whose bits flip: rows of `state.db` while the project runs, bytes of both files between two runs.
//!
//! Damage of `state.db` must be noticed and repaired. Damage of the journal is taken back after a while, as by a person
//! who copies a backup.

use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use trackside_powercut::{Image, VirtualDisk};
use trackside_random::Random;
use trackside_store::store::{Listing, RowCursor};
use trackside_store::{Sqlite, SqliteOptions, Store, StoreError};

const FOLDER: &str = "project";
const JOURNAL: &str = "project/journal.db";
const STATE: &str = "project/state.db";
/// The last entries stay whole: a start that verifies them is refused at once.
const YOUNG: i64 = 20;

/// Tables, their keys, and the columns in which a bit flips while the project runs. A flip in a key would move the row
/// to its new place, which no disk does.
const ROWS: &[(&str, &[&str], &[&str])] = &[
    (
        "entity",
        &["row"],
        &[
            "version",
            "definition",
            "seq",
            "last",
            "entered_at",
            "updated_at",
            "timers",
            "effects",
            "indexed",
            "sum",
        ],
    ),
    ("entity", &["row"], &["body", "body_sum"]),
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
    ("meta", &["key"], &["value", "sum"]),
];

/// Tables and columns with texts: a bit flips in one of the places of the file that hold such a text, in the table or in
/// an index.
const TEXTS: &[(&str, &str)] = &[
    ("entity", "id"),
    ("entity", "body"),
    ("timer", "id"),
    ("effect", "entity"),
    ("field", "value"),
    ("\"group\"", "id"),
    ("place", "id"),
    ("\"order\"", "within"),
    ("same", "value"),
    ("key", "key"),
    ("notice", "entity"),
    ("name", "text"),
    ("meta", "value"),
];

/// A value of the journal as it was.
#[derive(Debug)]
struct Original {
    seq: i64,
    column: &'static str,
    value: Value,
}

/// A project in files that rot.
#[derive(Debug)]
pub(crate) struct RottingFiles {
    dice: Random,
    disk: VirtualDisk,
    originals: Vec<Original>,
    pub flips: usize,
}

impl RottingFiles {
    pub fn new(seed: u64) -> Self {
        Self { dice: Random::new(seed), disk: VirtualDisk::new(), originals: Vec::new(), flips: 0 }
    }

    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let options = SqliteOptions { vfs: Some(self.disk.vfs().to_owned()), ..SqliteOptions::default() };
        Ok(Arc::new(Sqlite::open(Path::new(FOLDER), options)?))
    }

    /// Flips a bit of a row of `state.db`. Returns where.
    pub fn flip_row(&mut self) -> Option<String> {
        let (table, keys, columns) = *self.dice.pick(ROWS)?;
        let column = *self.dice.pick(columns)?;
        let file = self.disk.open(STATE).ok()?;
        let wanted = format!("{}, {column}", keys.join(", "));
        let only = if table == "meta" { " WHERE key <> 'schema'" } else { "" };
        let rows: i64 =
            file.query_row(&format!("SELECT count(*) FROM {table}{only}"), [], |it| it.get(0)).ok()?;
        if rows == 0 {
            return None;
        }
        let nth = self.dice.below(rows as usize);
        let sql = format!("SELECT {wanted} FROM {table}{only} LIMIT 1 OFFSET {nth}");
        let cells: Vec<Value> =
            file.query_row(&sql, [], |row| (0..=keys.len()).map(|it| row.get(it)).collect()).ok()?;
        let (old, key) = cells.split_last()?;
        let new = self.flipped(old)?;
        let tuple: Vec<String> = (0..keys.len()).map(|it| format!("{} IS ?{}", keys[it], it + 2)).collect();
        let value = if matches!(old, Value::Text(_)) { "CAST(?1 AS TEXT)" } else { "?1" };
        let sql = format!("UPDATE {table} SET {column} = {value} WHERE {}", tuple.join(" AND "));
        let all = std::iter::once(new).chain(key.iter().cloned());
        file.execute(&sql, params_from_iter(all)).ok()?;
        self.flips += 1;
        Some(format!("a bit of {table}.{column} flips, of {key:?}"))
    }

    /// Flips a bit of an older entry. Returns where.
    pub fn flip_entry(&mut self) -> Option<String> {
        let file = self.disk.open(JOURNAL).ok()?;
        let last: i64 = file.query_row("SELECT max(seq) FROM journal", [], |it| it.get(0)).ok()?;
        let seq = 1 + self.dice.below((last - YOUNG).max(1) as usize) as i64;
        let column = *self.dice.pick(&["header", "payload", "payload", "digest", "hash", "prev"])?;
        let sql = format!("SELECT {column} FROM journal WHERE seq = ?1");
        let value: Value = file.query_row(&sql, [seq], |it| it.get(0)).ok()?;
        let new = self.flipped(&value)?;
        let cast = if matches!(value, Value::Text(_)) { "CAST(?1 AS TEXT)" } else { "?1" };
        file.execute(&format!("UPDATE journal SET {column} = {cast} WHERE seq = ?2"), (new, seq)).ok()?;
        self.originals.push(Original { seq, column, value });
        self.flips += 1;
        Some(format!("a bit of the {column} of entry {seq} flips"))
    }

    /// Whether entries of the journal are damaged.
    pub fn has_damaged_entries(&self) -> bool {
        !self.originals.is_empty()
    }

    /// The entries of the journal that are damaged.
    pub fn damaged_entries(&self) -> impl Iterator<Item = u64> {
        self.originals.iter().map(|it| it.seq as u64)
    }

    /// The journal is as it was. Payloads that were dropped since stay dropped.
    pub fn restore_entries(&mut self) {
        if self.originals.is_empty() {
            return;
        }
        let file = self.disk.open(JOURNAL).unwrap();
        for Original { seq, column, value } in self.originals.drain(..).rev() {
            let sql = format!("UPDATE journal SET {column} = ?1 WHERE seq = ?2 AND {column} IS NOT NULL");
            file.execute(&sql, (value, seq)).unwrap();
        }
    }

    /// The disk as the next process finds it, with nothing in memory. Bits flip in `state.db` meanwhile.
    pub fn next_process(&mut self, flips: usize) -> Vec<String> {
        self.disk = VirtualDisk::from_image(self.disk.image());
        if flips == 0 {
            return Vec::new();
        }
        let mut told = Vec::new();
        for _ in 0..flips {
            // Everything is in the file itself then.
            let Some(text) = self.some_text() else { continue };
            let mut image = self.disk.image();
            told.extend(self.flip_text(&mut image, &text));
            self.disk = VirtualDisk::from_image(image);
        }
        told
    }

    /// The content of a random cell.
    fn some_text(&mut self) -> Option<Vec<u8>> {
        let file = self.disk.open(STATE).ok()?;
        file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok()?;
        let (table, column) = *self.dice.pick(TEXTS)?;
        let sql = format!("SELECT CAST({column} AS BLOB) FROM {table}");
        let mut statement = file.prepare(&sql).ok()?;
        let texts: Vec<Vec<u8>> =
            statement.query_map([], |row| row.get(0)).ok()?.filter_map(Result::ok).collect();
        self.dice.pick(&texts).cloned()
    }

    fn flip_text(&mut self, image: &mut Image, text: &[u8]) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let bytes = image.file_mut(STATE);
        let places: Vec<usize> =
            bytes.windows(text.len()).enumerate().filter(|(_, it)| *it == text).map(|(at, _)| at).collect();
        let at = self.dice.pick(&places)? + self.dice.below(text.len());
        bytes[at] ^= 1 << self.dice.below(8);
        self.flips += 1;
        let text = String::from_utf8_lossy(text).chars().take(60).collect::<String>();
        Some(format!("a bit of {text:?} flips in state.db, at {at}"))
    }

    /// Deletes the projections: the next start makes them anew.
    pub fn remove_projections(&mut self) {
        let mut image = self.disk.image();
        for file in ["", "-wal", "-shm"] {
            image.remove(&format!("{STATE}{file}"));
        }
        self.disk = VirtualDisk::from_image(image);
    }

    /// The first damage in `state.db`, if there is any.
    pub fn first_damage(&self, store: &dyn Store) -> Option<String> {
        let mut reader = store.reader().unwrap();
        let mut from = Some(RowCursor::default());
        while let Some(at) = from {
            let checked = match reader.check_rows(at, 10_000) {
                Ok(checked) => checked,
                Err(error) => return Some(error.to_string()),
            };
            if let Some(table) = checked.damaged {
                return Some(format!("a row of {table}"));
            }
            from = checked.next;
        }
        if let Err(error) = reader.list(&Listing { most: usize::MAX, ..Listing::default() }) {
            return Some(error.to_string());
        }
        let file: Connection = self.disk.open(STATE).unwrap();
        let found: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        (found != "ok").then_some(found)
    }

    fn flipped(&mut self, value: &Value) -> Option<Value> {
        let mut flip = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if !bytes.is_empty() {
                let at = self.dice.below(bytes.len());
                bytes[at] ^= 1 << self.dice.below(8);
            }
            Value::Blob(bytes)
        };
        match value {
            Value::Null | Value::Real(_) => None,
            Value::Integer(it) => Some(Value::Integer(it ^ (1 << self.dice.below(63)))),
            Value::Text(it) if !it.is_empty() => Some(flip(it.as_bytes())),
            Value::Blob(it) if !it.is_empty() => Some(flip(it)),
            Value::Text(_) | Value::Blob(_) => None,
        }
    }
}
