//! The reader. Every query is a short transaction of its own, so that it does not block checkpoints; related queries
//! can share one.

mod list;
mod lookup;
mod memberships;
mod row_check;
mod stored_entities;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey, Within};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;

use super::Shared;
use super::connect::{ConnectionUse, connect, connect_to_still, has_log};
use super::failure::{failed, not_seen};
use super::journal_table::JournalTable;
use super::name_table::NameTable;
use super::options::SqliteOptions;
use super::project::position;
use super::schema;
use crate::archive::{EntityFile, folder_of};
use crate::rules::Installed;
use crate::store::{
    AtPosition, Census, Counts, DueAt, DwellTimes, Listing, MemberRow, Members, OpenEffectRow, OrderRow,
    ReadAt, RowCheck, RowCursor, StoredEntity,
};
use crate::{Chain, Definition, EntityRow, Head, Reader, Record, StoreError, WrittenRecord};

/// A reader of both files.
#[derive(Debug)]
pub(super) struct SqliteReader {
    journal: Connection,
    state: Connection,
    names: NameTable,
    journal_path: PathBuf,
    state_path: PathBuf,
    /// Whether queries share a transaction.
    held: bool,
    /// Whether damaged rows of groups and rankings are skipped.
    lenient: bool,
    /// Keeps the folder locked while the reader exists.
    _shared: Option<Arc<Shared>>,
}

/// The transaction in which a query runs, with the names.
struct ReadTxn<'a> {
    connection: &'a Connection,
    names: &'a mut NameTable,
    lenient: bool,
}

impl ReadTxn<'_> {
    /// A value that could be read; none if it is damaged and damaged rows are skipped.
    fn unless_skipped<T>(&self, value: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
        match value {
            Ok(value) => Ok(Some(value)),
            Err(rusqlite::Error::FromSqlConversionFailure(..)) if self.lenient => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl SqliteReader {
    pub fn open(
        journal_path: PathBuf,
        state_path: PathBuf,
        options: &SqliteOptions,
        shared: Arc<Shared>,
    ) -> Result<Self, StoreError> {
        let journal = connect(&journal_path, options, ConnectionUse::Read)?;
        let state = connect(&state_path, options, ConnectionUse::Read)?;
        super::project::check_tables(&state, &state_path)?;
        Ok(Self {
            journal,
            state,
            names: NameTable::default(),
            journal_path,
            state_path,
            held: false,
            lenient: false,
            _shared: Some(shared),
        })
    }

    /// Opens without the lock. In a read-only folder, files are read directly if they were closed.
    pub fn open_unlocked(
        journal_path: PathBuf,
        state_path: PathBuf,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let open = |path: &Path, steps: &[&str]| -> Result<Connection, StoreError> {
            if options.vfs.is_none()
                && let Err(error) = std::fs::metadata(path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(StoreError::Closed { path: path.to_path_buf(), why: not_seen(&error) });
            }
            if options.vfs.is_none() && !path.is_file() {
                let why = match path == state_path && journal_path.is_file() {
                    true => "there is no such file. Rebuild it with: trackside doctor --rebuild",
                    false => "there is no such file. Pass the data folder of a project with --data",
                };
                return Err(StoreError::io(format!("read {}", path.display()), why));
            }
            let usual = connect(path, options, ConnectionUse::Read).and_then(|it| {
                schema::known(&it, path, steps)?;
                Ok(it)
            });
            match usual {
                Err(StoreError::ReadOnly { .. } | StoreError::Closed { .. }) if !has_log(path) => {
                    let connection = connect_to_still(path)?;
                    schema::known(&connection, path, steps)?;
                    Ok(connection)
                }
                usual => usual,
            }
        };
        let journal = open(&journal_path, schema::JOURNAL)?;
        let state = open(&state_path, schema::STATE)?;
        super::project::check_tables(&state, &state_path)?;
        Ok(Self {
            journal,
            state,
            names: NameTable::default(),
            journal_path,
            state_path,
            held: false,
            lenient: false,
            _shared: None,
        })
    }

    fn log(&self) -> JournalTable<'_> {
        JournalTable { connection: &self.journal, path: &self.journal_path }
    }

    /// Begins the shared transaction if there should be one and it has not begun.
    fn begin(&self) -> rusqlite::Result<()> {
        if self.held && self.state.is_autocommit() {
            self.state.prepare_cached("BEGIN")?.execute([])?;
        }
        Ok(())
    }

    /// Runs a query of one statement.
    fn ask<T>(
        &mut self,
        doing: &str,
        question: impl FnOnce(&mut ReadTxn<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = failed(&self.state_path, doing);
        self.begin().map_err(&failed)?;
        let (names, lenient) = (&mut self.names, self.lenient);
        let mut txn = ReadTxn { connection: &self.state, names, lenient };
        question(&mut txn).map_err(failed)
    }

    /// Runs a query and returns the position it saw.
    fn ask_at<T>(
        &mut self,
        doing: &str,
        question: impl FnOnce(&mut ReadTxn<'_>) -> rusqlite::Result<T>,
    ) -> ReadAt<T> {
        let failed = failed(&self.state_path, doing);
        self.begin().map_err(&failed)?;
        if self.held {
            let (names, lenient) = (&mut self.names, self.lenient);
            let mut txn = ReadTxn { connection: &self.state, names, lenient };
            let position = position(txn.connection).map_err(&failed)?;
            return Ok(AtPosition { position, value: question(&mut txn).map_err(failed)? });
        }
        let transaction = self.state.transaction().map_err(&failed)?;
        let position = position(&transaction).map_err(&failed)?;
        let (names, lenient) = (&mut self.names, self.lenient);
        let mut txn = ReadTxn { connection: &transaction, names, lenient };
        let value = question(&mut txn).map_err(&failed)?;
        Ok(AtPosition { position, value })
    }
}

/// Reads the payload of a record from the archive file of its entity, if it is there.
pub(super) fn with_payload(written: WrittenRecord, archive: &Path) -> Result<Record, StoreError> {
    let WrittenRecord { record, moved_to } = written;
    let Some(at) = moved_to else { return Ok(record) };
    let unreadable = || StoreError::Unreadable { seq: record.seq, what: "it names no entity".to_owned() };
    let entity = record.entity().ok_or_else(unreadable)?;
    let payload = EntityFile::of(archive, &entity).payload(at, &record)?;
    Ok(Record { payload, ..record })
}

impl Reader for SqliteReader {
    fn head(&mut self) -> Result<Head, StoreError> {
        self.log().head()
    }

    fn records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.log().verified_records(after, most)?;
        found.into_iter().map(|it| self.with_payload(it)).collect()
    }

    fn record(&mut self, seq: u64) -> Result<Option<Record>, StoreError> {
        let found = self.log().verified_record(seq)?;
        found.map(|it| self.with_payload(it)).transpose()
    }

    fn unverified_records(&mut self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.log().records_as_written(after, most)?;
        found.into_iter().map(|it| self.with_payload(it)).collect()
    }

    fn trail(&mut self, from: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.log().trail_as_written(from, most)?;
        found.into_iter().map(|it| self.with_payload(it)).collect()
    }

    fn records_as_written(&mut self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        self.log().verified_records(after, most)
    }

    fn unverified_as_written(&mut self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        self.log().records_as_written(after, most)
    }

    fn record_as_written(&mut self, seq: u64) -> Result<Option<WrittenRecord>, StoreError> {
        self.log().verified_record(seq)
    }

    fn trail_as_written(&mut self, from: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        self.log().trail_as_written(from, most)
    }

    fn with_payload(&mut self, written: WrittenRecord) -> Result<Record, StoreError> {
        with_payload(written, &folder_of(self.journal_path.parent().unwrap_or(Path::new("."))))
    }

    fn archived_upto(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        self.log().archived_upto(key)
    }

    fn base(&mut self) -> Result<Chain, StoreError> {
        self.log().base()
    }

    fn definitions(&mut self) -> Result<Vec<Definition>, StoreError> {
        self.log().definitions()
    }

    fn stayed(&mut self, of: &EntityKey) -> Result<Vec<u64>, StoreError> {
        self.log().stayed(of)
    }

    fn installed(&mut self) -> Result<Vec<Installed>, StoreError> {
        self.log().installed()
    }

    fn begin_snapshot(&mut self) {
        self.held = true;
    }

    fn end_snapshot(&mut self) {
        self.held = false;
        if !self.state.is_autocommit() {
            // A read transaction: nothing can be lost, and SQLite ends it in any case.
            let _ = self.state.prepare_cached("COMMIT").and_then(|mut it| it.execute([]));
        }
    }

    fn skip_damaged(&mut self, skip: bool) {
        self.lenient = skip;
    }

    fn position(&mut self) -> Result<u64, StoreError> {
        self.ask("read the position", |txn| position(txn.connection))
    }

    fn project(&mut self) -> Result<Option<Project>, StoreError> {
        self.ask("read the project", |txn| txn.project())
    }

    fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>, StoreError> {
        self.ask("read an entity", |txn| txn.entity(key))
    }

    fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        self.ask("read an entity", |txn| txn.last_entry(key))
    }

    fn counts(&mut self, group: &GroupKey) -> ReadAt<Counts> {
        self.ask_at("count a group", |txn| txn.counts(group))
    }

    fn groups(&mut self, of: &EntityKey) -> ReadAt<Vec<(Name, Counts)>> {
        self.ask_at("count the groups of an entity", |txn| txn.groups(of))
    }

    fn members(&mut self, group: &GroupKey) -> ReadAt<Members> {
        self.ask_at("read a group", |txn| txn.members(group))
    }

    fn ranking(&mut self, key: &RankingKey) -> ReadAt<RankingIndex> {
        self.ask_at("read a ranking", |txn| txn.ranking(key))
    }

    fn unique_holder(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>, StoreError> {
        self.ask("look for an entity", |txn| txn.unique_holder(lifecycle, value))
    }

    fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>, StoreError> {
        self.ask("look for an idempotency key", |txn| txn.key(actor, key))
    }

    fn timers(&mut self, after: Option<&DueAt>, most: usize) -> ReadAt<Vec<DueAt>> {
        self.ask_at("read timers", |txn| txn.timers(after, most))
    }

    fn list(&mut self, listing: &Listing) -> ReadAt<Vec<Arc<Entity>>> {
        self.ask_at("list entities", |txn| txn.list(listing))
    }

    fn states(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, u64>> {
        self.ask_at("count states", |txn| txn.states(lifecycle))
    }

    fn dwell_times(&mut self, lifecycle: &Name) -> ReadAt<BTreeMap<Name, DwellTimes>> {
        self.ask_at("read how long states lasted", |txn| txn.dwell_times(lifecycle))
    }

    fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>, StoreError> {
        self.ask("look for entries", |txn| txn.notices(kinds, after, most))
    }

    fn effects(&mut self, after: u64, most: usize) -> ReadAt<Vec<OpenEffectRow>> {
        self.ask_at("read open effects", |txn| txn.effects(after, most))
    }

    fn stored_entities(&mut self, after: Option<&EntityKey>, most: usize) -> ReadAt<Vec<StoredEntity>> {
        self.ask_at("list stored entities", |txn| txn.stored_entities(after, most))
    }

    fn is_stored(&mut self, key: &EntityKey) -> Result<bool, StoreError> {
        self.ask("look for an entity", |txn| txn.is_stored(key))
    }

    fn difference(&mut self, row: &EntityRow) -> Result<Option<String>, StoreError> {
        self.ask("compare the stored rows of an entity", |txn| txn.difference(row))
    }

    fn check_rows(&mut self, from: RowCursor, most: usize) -> Result<RowCheck, StoreError> {
        self.ask("verify the rows", |txn| txn.check_rows(from, most))
    }

    fn groups_after(&mut self, after: u64, most: usize) -> ReadAt<Vec<(u64, GroupKey)>> {
        self.ask_at("list groups", |txn| txn.groups_after(after, most))
    }

    fn members_after(&mut self, group: &GroupKey, after: u64, most: usize) -> ReadAt<Vec<MemberRow>> {
        self.ask_at("list members of a group", |txn| txn.members_after(group, after, most))
    }

    fn is_member(&mut self, group: &GroupKey, of: &EntityKey) -> Result<bool, StoreError> {
        self.ask("look for a member of a group", |txn| txn.is_member(group, of))
    }

    fn place(&mut self, ranking: &RankingKey, id: &Name) -> ReadAt<Option<RankPlace>> {
        self.ask_at("look for a place", |txn| txn.place(ranking, id))
    }

    fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> ReadAt<Vec<(RankingKey, Name)>> {
        self.ask_at("list places", |txn| txn.places_after(after, most))
    }

    fn order(&mut self, ranking: &RankingKey, within: &Within) -> ReadAt<Option<OrderRow>> {
        self.ask_at("look for an order", |txn| txn.order(ranking, within))
    }

    fn orders_after(&mut self, after: Option<&(RankingKey, Within)>, most: usize) -> ReadAt<Vec<OrderRow>> {
        self.ask_at("list orders", |txn| txn.orders_after(after, most))
    }

    fn census(&mut self) -> ReadAt<Census> {
        self.ask_at("count timers and effects", |txn| txn.census())
    }
}
