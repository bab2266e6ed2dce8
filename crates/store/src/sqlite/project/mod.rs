//! The one who writes `state.db`.

mod census;
mod entities;
mod groups;
mod places;
mod put;
mod rest;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) use census::census;
pub(super) use entities::{Traces, indexed, list};
pub(super) use groups::counts;
pub(super) use rest::StoredProject;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use trackside_lifecycle::time::Timestamp;

use super::Shared;
use super::connect::{Use, connect, make};
use super::failure::{failed, int, limit, number};
use super::keeper::{before_commit, empty, pass};
use super::log::Log;
use super::names::Names;
use super::options::SqliteOptions;
use super::schema;
use crate::archive::Archive;
use crate::record::Hash;
use crate::{Projection, Projector, StoreError};

/// All tables but the names, which readers remember.
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

/// Pages that one touched entity dirties, about.
const PAGES: u64 = 4;

/// The writing end of `state.db`.
#[derive(Debug)]
pub(in crate::sqlite) struct Writer {
    connection: Connection,
    /// Of the journal, to note which entry a position is.
    journal: Connection,
    names: Names,
    shared: Arc<Shared>,
}

/// What the parts of a projection are written with: the transaction and the names.
struct Pen<'a> {
    connection: &'a Connection,
    names: &'a mut Names,
    /// What comes and goes with what is written.
    counted: census::Counted,
}

impl Writer {
    pub fn open(shared: Arc<Shared>) -> Result<Self, StoreError> {
        if shared.projecting.swap(true, Ordering::AcqRel) {
            return Err(StoreError::io("write projections", "somebody writes them already"));
        }
        let both = connect(&shared.state, &shared.options, Use::Project)
            .and_then(|state| Ok((state, connect(&shared.journal, &shared.options, Use::Read)?)));
        match both {
            Ok((connection, journal)) => Ok(Self { connection, journal, names: Names::default(), shared }),
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
        let hash =
            Log { connection: &self.journal, path: &self.shared.journal }.hash_of(projection.position)?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let stored = position(&transaction).map_err(&failed)?;
        if projection.position <= stored {
            let why =
                format!("they are written up to {stored} already, and {} is not beyond", projection.position);
            return Err(StoreError::io("write projections", why));
        }
        let mut pen = Pen { connection: &transaction, names: &mut self.names, counted: Default::default() };
        pen.all(projection).map_err(&failed)?;
        set_position(&transaction, projection, hash).map_err(&failed)?;
        transaction.commit().map_err(failed)
    }
}

impl Pen<'_> {
    fn all(&mut self, projection: &Projection) -> rusqlite::Result<()> {
        self.entities(&projection.entities, &projection.remade)?;
        // After the entities: members are rows of theirs.
        self.groups(&projection.groups)?;
        self.regroup(&projection.regrouped)?;
        // Before those who stand in them move: what counts them is right from then on.
        self.reorder(&projection.remade, &projection.reranked)?;
        self.reranked(&projection.reranked)?;
        self.sames(projection)?;
        self.keys(&projection.keys)?;
        self.notices(&projection.notices)?;
        self.settled(&projection.settled)?;
        self.stays(&projection.stays)?;
        self.census()?;
        match &projection.project {
            Some(project) => self.project(project),
            None => Ok(()),
        }
    }
}

/// Something of ours as text. What we write has no form that JSON lacks.
fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(in crate::sqlite) fn position(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'position'")?;
    statement.query_row([], |row| row.get(0)).map(number)
}

fn set_position(
    connection: &Connection,
    projection: &Projection,
    hash: Option<Hash>,
) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?;
    statement.execute(("position", int(projection.position)))?;
    statement.execute(("at", projection.at.0))?;
    statement.execute(("hash", hash))?;
    Ok(())
}

impl Projector for Writer {
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
        self.shared.logs.wrote(&self.shared.logs.state, pages);
        written
    }

    fn expire_keys(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError> {
        let failed = failed(&self.shared.state, "forget idempotency keys");
        // The oldest first, up to the first that stays: no more are looked at.
        let sql = "SELECT seq, at FROM key ORDER BY seq LIMIT ?1";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let mut rows = statement.query([limit(most)]).map_err(&failed)?;
        let mut last = None;
        while let Some(row) = rows.next().map_err(&failed)? {
            let (seq, at): (i64, i64) = row.try_into().map_err(&failed)?;
            if at >= before.0 {
                break;
            }
            last = Some(seq);
        }
        drop(rows);
        let Some(last) = last else { return Ok(0) };
        let mut statement =
            self.connection.prepare_cached("DELETE FROM key WHERE seq <= ?1").map_err(&failed)?;
        statement.execute([last]).map_err(failed)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        clear(&mut self.connection, &self.shared.state)
    }

    fn tidy(&mut self) -> Result<bool, StoreError> {
        let pass = pass(&self.connection, &self.shared.state)?;
        Ok(pass.copied >= pass.length)
    }

    fn scrub(&mut self) -> Result<(), StoreError> {
        empty(&self.connection, &self.shared.state)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.projecting.store(false, Ordering::Release);
    }
}

fn clear(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed(path, "throw projections away");
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    for table in TABLES {
        transaction.execute(&format!("DELETE FROM {table}"), []).map_err(&failed)?;
    }
    transaction
        .execute_batch(
            "DELETE FROM meta WHERE key IN ('at', 'hash', 'project', 'census');
             UPDATE meta SET value = 0 WHERE key = 'position';",
        )
        .map_err(&failed)?;
    transaction.commit().map_err(failed)
}

/// The tables of `state.db`, empty where they are not those of this journal and this release.
pub(in crate::sqlite) fn prepare(
    path: &Path,
    options: &SqliteOptions,
    log: &Log<'_>,
    archive: Option<&Path>,
) -> Result<(), StoreError> {
    let mut state = make(path, options, Use::Project)?;
    let found = schema::version(&state, path)?;
    let known = schema::newest(schema::STATE);
    if found != 0 {
        reaches(&state, path, log)?;
    }
    if found != 0 && found != known {
        may_begin_anew(path, log, archive, "has the tables of another release")?;
        drop_all(&state, path)?;
    }
    schema::migrate(&mut state, path, schema::STATE)?;
    if !belongs(&state, path, log)? {
        may_begin_anew(path, log, archive, "belongs to another journal")?;
        clear(&mut state, path)?;
    }
    let position = position(&state).map_err(failed(path, "read the position"))?;
    if position < log.base()?.seq {
        may_begin_anew(path, log, archive, "was not there, or was not finished")?;
    }
    Ok(())
}

/// Whether the journal goes as far as what was made from it. Projections are written after the journal is synced, so one that
/// ends before them has lost what was answered: nothing may hide that.
fn reaches(state: &Connection, path: &Path, log: &Log<'_>) -> Result<(), StoreError> {
    let known = position(state).map_err(failed(path, "read the position"))?;
    // Without a hash they were made of entries that no journal ever had.
    let Some(_) = kept_hash(state, path)? else { return Ok(()) };
    match crate::audit::missing(known, log.end()?.seq) {
        None => Ok(()),
        Some(what) => Err(StoreError::Damaged { path: log.path.to_path_buf(), what }),
    }
}

/// The hash of the last entry that is in.
fn kept_hash(state: &Connection, path: &Path) -> Result<Option<Hash>, StoreError> {
    let sql = "SELECT value FROM meta WHERE key = 'hash'";
    let kept = state.query_row(sql, [], |row| row.get::<_, Option<Hash>>(0)).optional();
    Ok(kept.map_err(failed(path, "read the position"))?.flatten())
}

/// Whether what is stored is what this journal says.
pub(in crate::sqlite) fn belongs(state: &Connection, path: &Path, log: &Log<'_>) -> Result<bool, StoreError> {
    let position = position(state).map_err(failed(path, "read the position"))?;
    let Some(kept) = kept_hash(state, path)? else { return Ok(true) };
    match log.hash_of(position)? {
        Some(found) => Ok(kept == found),
        // Archived since; or this journal never got there.
        None => Ok(position <= log.base()?.seq),
    }
}

/// Projections are made anew from archive and journal, which must then be here from the beginning.
pub(in crate::sqlite) fn may_begin_anew(
    path: &Path,
    log: &Log<'_>,
    archive: Option<&Path>,
    what: &str,
) -> Result<(), StoreError> {
    let base = log.base()?;
    let held = match archive {
        _ if base.seq == 0 => Ok(()),
        Some(folder) => Archive::open(folder).and_then(|it| it.must_hold(base)),
        None => {
            Err(StoreError::NotArchived { folder: Path::new("archive").to_owned(), first: 1, last: base.seq })
        }
    };
    held.map_err(|why| StoreError::Damaged {
        path: path.to_path_buf(),
        what: format!("it {what}, and cannot be made anew yet: {why}"),
    })
}

/// Every table and view of a file.
fn drop_all(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed(path, "throw old tables away");
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
