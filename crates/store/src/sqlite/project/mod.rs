//! Writes projections to `state.db`.

mod census;
mod entities;
mod groups;
mod heal_rows;
mod insert_row;
mod rankings;
mod small_tables;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) use census::census;
pub(super) use entities::{ENTITY_CELLS, Traces, indexed, list, verify_entity};
pub(super) use groups::counts;
pub(super) use small_tables::StoredProject;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use trackside_lifecycle::time::Timestamp;

use super::Shared;
use super::checkpointer::{before_commit, empty, pass};
use super::connect::{ConnectionUse, connect, make};
use super::failure::{failed, int, limit, number};
use super::journal_table::JournalTable;
use super::meta_table;
use super::name_table::NameTable;
use super::options::SqliteOptions;
use super::{row_sum, schema};
use crate::archive::Archive;
use crate::record::Hash;
use crate::store::RowHealing;
use crate::{Projection, Projector, StoreError};

/// The list of tables and indexes as SQLite stores it, with the page on which each begins.
const LIST_OF_TABLES: &str = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid";

/// The property with the checksum of the list of tables.
const TABLES_SUM: &str = "tables";

/// All tables except the names, which readers cache.
const TABLES: &[&str] = &[
    "entity",
    "state_count",
    "timer",
    "effect",
    "field",
    "\"group\"",
    "member",
    "place",
    "\"order\"",
    "same",
    "key",
    "notice",
    "stay",
];

/// Approximate number of pages that one changed entity dirties.
const PAGES: u64 = 4;

/// The writing end of `state.db`.
#[derive(Debug)]
pub(in crate::sqlite) struct SqliteProjector {
    connection: Connection,
    /// A connection to the journal, to store the hash of the entry at the position.
    journal: Connection,
    names: NameTable,
    shared: Arc<Shared>,
}

/// The transaction in which a projection is written, with the names.
struct WriteTxn<'a> {
    connection: &'a Connection,
    names: &'a mut NameTable,
    /// Changes of the counts.
    counted: census::Counted,
    /// Groups whose stored counts were damaged.
    miscounted: BTreeSet<i64>,
}

impl SqliteProjector {
    pub fn open(shared: Arc<Shared>) -> Result<Self, StoreError> {
        if shared.projecting.swap(true, Ordering::AcqRel) {
            return Err(StoreError::io("write projections", "another writer is active"));
        }
        let both = connect(&shared.state, &shared.options, ConnectionUse::Project)
            .and_then(|state| Ok((state, connect(&shared.journal, &shared.options, ConnectionUse::Read)?)));
        match both {
            Ok((connection, journal)) => {
                Ok(Self { connection, journal, names: NameTable::default(), shared })
            }
            Err(error) => {
                shared.projecting.store(false, Ordering::Release);
                Err(error)
            }
        }
    }

    fn write(&mut self, projection: &Projection) -> Result<(), StoreError> {
        let path = &self.shared.state;
        let failed = failed(path, "write a projection");
        before_commit(&self.connection, path, &self.shared.logs.state)?;
        let hash = JournalTable { connection: &self.journal, path: &self.shared.journal }
            .hash_of(projection.position)?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let stored = position(&transaction).map_err(&failed)?;
        if projection.position <= stored {
            let why = format!(
                "they are already written up to entry {stored}, and {} is not after it",
                projection.position
            );
            return Err(StoreError::io("write projections", why));
        }
        let (counted, miscounted) = Default::default();
        let mut txn = WriteTxn { connection: &transaction, names: &mut self.names, counted, miscounted };
        txn.all(projection).map_err(&failed)?;
        set_position(&transaction, projection, hash).map_err(&failed)?;
        transaction.commit().map_err(failed)
    }
}

impl WriteTxn<'_> {
    fn all(&mut self, projection: &Projection) -> rusqlite::Result<()> {
        self.entities(&projection.entities, &projection.to_rebuild)?;
        // After the entities: members refer to their rows.
        self.groups(&projection.groups)?;
        self.regroup(&projection.regrouped)?;
        self.recount_damaged()?;
        // Before the places change, so that the counts are right from then on.
        self.reorder(&projection.to_rebuild, &projection.reranked)?;
        self.reranked(&projection.reranked)?;
        self.unique_values(projection)?;
        self.keys(&projection.keys)?;
        self.notices(&projection.notices)?;
        self.settled(&projection.settled)?;
        self.dwell_times(&projection.dwell_times)?;
        self.census()?;
        match &projection.project {
            Some(project) => self.project(project),
            None => Ok(()),
        }
    }
}

/// A value as JSON text.
fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(in crate::sqlite) fn position(connection: &Connection) -> rusqlite::Result<u64> {
    meta(connection, "position")?.map(number).ok_or_else(|| row_sum::mismatch("meta"))
}

/// A property of the file, if it is set.
pub(in crate::sqlite) fn meta<T: FromSql>(connection: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    let mut statement = connection.prepare_cached("SELECT key, value, sum FROM meta WHERE key = ?1")?;
    let found = statement.query_row([key], |row| {
        row_sum::verify_row("meta", row)?;
        row.get(1)
    });
    match found.optional()? {
        // A damaged row may be the one that is missing.
        None => meta_table::verify(connection).map(|()| None),
        found => Ok(found),
    }
}

fn set_position(
    connection: &Connection,
    projection: &Projection,
    hash: Option<Hash>,
) -> rusqlite::Result<()> {
    meta_table::set(connection, "position", int(projection.position))?;
    meta_table::set(connection, "at", projection.at.0)?;
    meta_table::set(connection, "hash", hash)
}

impl Projector for SqliteProjector {
    fn position(&mut self) -> Result<u64, StoreError> {
        position(&self.connection).map_err(failed(&self.shared.state, "read the position"))
    }

    fn project(&mut self, projection: &Projection) -> Result<(), StoreError> {
        let written = self.write(projection);
        if written.is_err() {
            self.names.forget();
        }
        let touched = projection.entities.len() + projection.groups.len() + projection.reranked.len();
        let pages = (touched as u64).saturating_mul(PAGES) + 8;
        self.shared.logs.record_write(&self.shared.logs.state, pages);
        written
    }

    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError> {
        let failed = failed(&self.shared.state, "delete idempotency keys");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let deleted = delete_old_keys(&transaction, before, most).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(deleted)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        clear(&mut self.connection, &self.shared.state)
    }

    fn tidy(&mut self) -> Result<bool, StoreError> {
        let pass = pass(&self.connection, &self.shared.state)?;
        Ok(pass.copied >= pass.length)
    }

    fn heal_rows(&mut self, healing: &RowHealing) -> Result<(), StoreError> {
        let failed = failed(&self.shared.state, "remove damaged rows");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        heal_rows::heal_rows(&transaction, healing).map_err(&failed)?;
        let (counted, miscounted) = Default::default();
        let mut txn = WriteTxn { connection: &transaction, names: &mut self.names, counted, miscounted };
        txn.delete_ghosts(&healing.entities).map_err(&failed)?;
        if healing.tables.contains("group") {
            txn.heal_groups(&healing.groups).map_err(&failed)?;
        }
        transaction.commit().map_err(failed)
    }

    fn scrub(&mut self) -> Result<(), StoreError> {
        empty(&self.connection, &self.shared.state)
    }
}

impl Drop for SqliteProjector {
    fn drop(&mut self) {
        self.shared.projecting.store(false, Ordering::Release);
    }
}

/// Deletes the oldest keys, up to the first that is kept. The time of a damaged key is not known: it stays.
fn delete_old_keys(connection: &Connection, before: Timestamp, most: usize) -> rusqlite::Result<usize> {
    let sql = "SELECT key, actor, seq, at, fingerprint, entries, root, sum FROM key ORDER BY seq LIMIT ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([limit(most)])?;
    let mut old: Vec<(String, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        if row_sum::verify_row("key", row).is_err() {
            continue;
        }
        if row.get::<_, i64>(3)? >= before.0 {
            break;
        }
        old.push((row.get(0)?, row.get(1)?));
    }
    drop(rows);
    let mut statement = connection.prepare_cached("DELETE FROM key WHERE key = ?1 AND actor = ?2")?;
    for (key, actor) in &old {
        statement.execute([key, actor])?;
    }
    Ok(old.len())
}

fn clear(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed(path, "throw projections away");
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    for table in TABLES {
        transaction.execute(&format!("DELETE FROM {table}"), []).map_err(&failed)?;
    }
    transaction
        .execute_batch("DELETE FROM meta WHERE key IN ('at', 'hash', 'project', 'census');")
        .map_err(&failed)?;
    meta_table::set(&transaction, "position", 0).map_err(&failed)?;
    transaction.commit().map_err(failed)
}

/// Prepares `state.db`; clears it if it belongs to another journal or release.
pub(in crate::sqlite) fn prepare(
    path: &Path,
    options: &SqliteOptions,
    log: &JournalTable<'_>,
    archive: Option<&Path>,
) -> Result<(), StoreError> {
    let mut state = make(path, options, ConnectionUse::Project)?;
    let found = schema::version(&state, path)?;
    let known = schema::newest(schema::STATE);
    if found != 0 {
        reaches(&state, path, log, found == known)?;
    }
    if found != 0 && found != known {
        may_begin_anew(path, log, archive, "has the schema of another release")?;
        drop_all(&state, path)?;
    }
    schema::migrate(&mut state, path, schema::STATE)?;
    if found != known {
        row_sum::sum_all(&state, LIST_OF_TABLES)
            .and_then(|sum| meta_table::set(&state, TABLES_SUM, sum))
            .map_err(failed(path, "record the list of tables"))?;
    }
    check_tables(&state, path)?;
    if !belongs(&state, path, log)? {
        may_begin_anew(path, log, archive, "belongs to another journal")?;
        clear(&mut state, path)?;
    }
    // Every row needs them: if one is damaged, all rows are rebuilt.
    NameTable::default().find(&state, "").map_err(failed(path, "read the names"))?;
    let position = position(&state).map_err(failed(path, "read the position"))?;
    if position < log.base()?.seq {
        may_begin_anew(path, log, archive, "is missing or incomplete")?;
    }
    Ok(())
}

/// Checks the list of tables. With a flipped bit in it, SQLite would take another page for the first one of a table.
pub(in crate::sqlite) fn check_tables(state: &Connection, path: &Path) -> Result<(), StoreError> {
    let matches = || Ok(meta(state, TABLES_SUM)? == Some(row_sum::sum_all(state, LIST_OF_TABLES)?));
    match matches().map_err(failed(path, "read the list of tables"))? {
        true => Ok(()),
        false => Err(failed(path, "read the list of tables")(row_sum::mismatch("sqlite_schema"))),
    }
}

/// Checks that the journal reaches the position of the projections. They are written after the journal is synced, so
/// a shorter journal has lost acknowledged entries.
///
/// Files of earlier schemas have no checksums.
fn reaches(
    state: &Connection,
    path: &Path,
    log: &JournalTable<'_>,
    has_sums: bool,
) -> Result<(), StoreError> {
    let read = || match has_sums {
        true => Ok((position(state)?, meta::<Option<Hash>>(state, "hash")?.flatten())),
        false => {
            let sql =
                "SELECT value, (SELECT value FROM meta WHERE key = 'hash') FROM meta WHERE key = 'position'";
            state.query_row(sql, [], |row| Ok((number(row.get(0)?), row.get(1)?)))
        }
    };
    let (known, hash): (u64, Option<Hash>) = read().map_err(failed(path, "read the position"))?;
    // Without a hash, their entries were never in a journal.
    if hash.is_none() {
        return Ok(());
    }
    match crate::audit::missing(known, log.end()?.seq) {
        None => Ok(()),
        Some(what) => Err(StoreError::Damaged { path: log.path.to_path_buf(), what }),
    }
}

/// Checks that the journal reaches the position of the projections, if there are any. Changes nothing.
pub(in crate::sqlite) fn check_reached(
    path: &Path,
    options: &SqliteOptions,
    log: &JournalTable<'_>,
) -> Result<(), StoreError> {
    // A file that cannot be read is no proof of anything.
    let Ok(state) = connect(path, options, ConnectionUse::Read) else { return Ok(()) };
    let found = schema::version(&state, path).unwrap_or(0);
    match found {
        0 => Ok(()),
        _ => match reaches(&state, path, log, found == schema::newest(schema::STATE)) {
            Err(error @ StoreError::Damaged { .. }) if !error.is_state_damage() => Err(error),
            _ => Ok(()),
        },
    }
}

/// The position of the projections, if they have the schema of this release.
pub(in crate::sqlite) fn checked_position(state: &Connection, path: &Path) -> Result<u64, StoreError> {
    schema::known(state, path, schema::STATE)?;
    position(state).map_err(failed(path, "read the position"))
}

/// The stored hash of the last projected entry.
fn kept_hash(state: &Connection, path: &Path) -> Result<Option<Hash>, StoreError> {
    let kept = meta::<Option<Hash>>(state, "hash");
    Ok(kept.map_err(failed(path, "read the position"))?.flatten())
}

/// Whether the projections belong to this journal.
pub(in crate::sqlite) fn belongs(
    state: &Connection,
    path: &Path,
    log: &JournalTable<'_>,
) -> Result<bool, StoreError> {
    let position = position(state).map_err(failed(path, "read the position"))?;
    let Some(kept) = kept_hash(state, path)? else { return Ok(true) };
    match log.hash_of(position)? {
        Some(found) => Ok(kept == found),
        // Archived since, or this journal never reached it.
        None => Ok(position <= log.base()?.seq),
    }
}

/// Checks that the projections can be rebuilt: archive and journal must be complete from the first entry.
pub(in crate::sqlite) fn may_begin_anew(
    path: &Path,
    log: &JournalTable<'_>,
    archive: Option<&Path>,
    what: &str,
) -> Result<(), StoreError> {
    let base = log.base()?;
    let held = match archive {
        _ if base.seq == 0 => Ok(()),
        Some(folder) => Archive::open(folder).and_then(|it| it.check_complete(base)),
        None => {
            Err(StoreError::NotArchived { folder: Path::new("archive").to_owned(), first: 1, last: base.seq })
        }
    };
    held.map_err(|why| StoreError::Damaged {
        path: path.to_path_buf(),
        what: format!("it {what} and cannot be rebuilt yet: {why}"),
    })
}

/// Drops every table and view of a file.
fn drop_all(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed(path, "drop the old tables");
    let all: Vec<(String, String)> = connection
        .prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table') ORDER BY type DESC")
        .and_then(|mut it| it.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .map_err(&failed)?;
    let mut sql = "BEGIN IMMEDIATE;".to_owned();
    for (kind, name) in all {
        sql.push_str(&format!("DROP {kind} IF EXISTS \"{}\";", name.replace('"', "\"\"")));
    }
    sql.push_str("COMMIT;");
    connection.execute_batch(&sql).map_err(failed)
}
