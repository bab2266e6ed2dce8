//! Appends to `journal.db`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, TransactionBehavior, params};

use super::checkpointer::{before_commit, empty};
use super::connect::{ConnectionUse, connect};
use super::failure::{failed, int, number};
use super::journal_table::{JournalTable, archived_key, moved_text};
use super::{Shared, installed, meta_table};
use crate::archive::ArchivedSlice;
use crate::rules::Installed;
use crate::{Batch, Chain, Definition, Head, JournalWriter, Record, StoreError};

/// The property that counts the starts, from which the fences of effects grow.
pub(super) const BEGUN: &str = "begun";

/// Bytes of a row without its texts: numbers, two hashes, SQLite's headers.
const ROW: usize = 96;

/// The appending end of `journal.db`.
#[derive(Debug)]
pub(super) struct Appender {
    connection: Connection,
    /// The end of the journal at this process's last write or read; none after an error.
    known: Option<Chain>,
    shared: Arc<Shared>,
}

impl Appender {
    pub fn open(shared: Arc<Shared>) -> Result<Self, StoreError> {
        if shared.appending.swap(true, Ordering::AcqRel) {
            return Err(StoreError::io("append to the journal", "another writer is active"));
        }
        let there = shared.is_there();
        let connection =
            there.and_then(|()| connect(&shared.journal, &shared.options, ConnectionUse::Append));
        let opened = connection.and_then(|connection| {
            let known = JournalTable { connection: &connection, path: &shared.journal }.end()?;
            Ok((connection, known))
        });
        match opened {
            Ok((connection, known)) => {
                shared.note_end(known, true);
                Ok(Self { connection, known: Some(known), shared })
            }
            Err(error) => {
                shared.appending.store(false, Ordering::Release);
                Err(error)
            }
        }
    }

    fn write(&mut self, batch: &Batch, known: Chain) -> Result<Chain, StoreError> {
        let path = &self.shared.journal;
        let failed = failed(path, "append to the journal");
        self.shared.is_there()?;
        before_commit(&self.connection, path, &self.shared.logs.journal)?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let found = JournalTable { connection: &transaction, path }.end()?;
        if found != known {
            return Err(StoreError::NotOurs { found: found.seq, known: known.seq });
        }
        let mut end = known;
        if let Some(first) = batch.records.first()
            && { known }.follow(first).is_err()
        {
            return Err(StoreError::NotOurs { found: known.seq, known: first.seq.saturating_sub(1) });
        }
        for record in &batch.records {
            if record.seq != end.seq.saturating_add(1) {
                return Err(StoreError::Chain {
                    seq: record.seq,
                    what: format!("does not follow {}", end.seq),
                });
            }
            insert(&transaction, record).map_err(&failed)?;
            if let Some(installed) = Installed::of(end, record) {
                installed::keep(&transaction, &installed).map_err(&failed)?;
            }
            end = Chain { seq: record.seq, hash: record.hash };
        }
        for definition in &batch.definitions {
            define(&transaction, path, definition)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(end)
    }

    fn pages(&self, batch: &Batch) -> u64 {
        let bytes: usize = batch.records.iter().map(size).sum();
        // Every commit rewrites the last page.
        (bytes as u64) / u64::from(self.shared.options.journal_page.max(1)) + 2
    }
}

fn size(record: &Record) -> usize {
    ROW + record.header.len() + record.payload.as_ref().map_or(0, String::len)
}

/// Deletes a range except the retained entries.
fn delete_records(
    connection: &Connection,
    after: u64,
    upto: u64,
    staying: &BTreeSet<u64>,
) -> rusqlite::Result<()> {
    let staying = staying.range(after.saturating_add(1)..=upto.max(after.saturating_add(1)));
    let staying: Vec<String> = staying.map(u64::to_string).collect();
    let sql =
        "DELETE FROM journal WHERE seq > ?1 AND seq <= ?2 AND seq NOT IN (SELECT value FROM json_each(?3))";
    let list = format!("[{}]", staying.join(","));
    connection.prepare_cached(sql)?.execute((int(after), int(upto), list))?;
    Ok(())
}

fn insert(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let sql = "INSERT INTO journal (seq, prev, format, header, payload, digest, hash) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![
        int(record.seq),
        int(record.prev),
        record.format,
        record.header,
        record.payload,
        record.digest,
        record.hash,
    ])?;
    Ok(())
}

fn define(connection: &Connection, path: &Path, definition: &Definition) -> Result<(), StoreError> {
    let files = serde_json::to_string(&definition.files)
        .map_err(|error| StoreError::io(format!("store the files of {}", definition.pack), error))?;
    let sql = "INSERT OR REPLACE INTO definition (pack, version, digest, files) VALUES (?1, ?2, ?3, ?4)";
    let pack = definition.pack.as_str();
    connection
        .execute(sql, params![pack, definition.version, definition.digest, files])
        .map_err(failed(path, "store a definition"))?;
    Ok(())
}

impl JournalWriter for Appender {
    fn head(&mut self) -> Result<Head, StoreError> {
        let head = JournalTable { connection: &self.connection, path: &self.shared.journal }.head()?;
        self.known = Some(head.chain);
        Ok(head)
    }

    fn begin(&mut self) -> Result<u64, StoreError> {
        let failed = failed(&self.shared.journal, "record the start of a session");
        let begun: Option<i64> = meta_table::get(&self.connection, BEGUN).map_err(&failed)?;
        let next = begun.map_or(0, number).saturating_add(1);
        meta_table::set(&self.connection, BEGUN, int(next)).map_err(failed)?;
        Ok(next)
    }

    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if batch.records.is_empty() && batch.definitions.is_empty() {
            return Ok(());
        }
        let Some(known) = self.known.take() else {
            let why = "the previous commit failed; read the head first";
            return Err(StoreError::io("append to the journal", why));
        };
        let end = self.write(batch, known)?;
        self.shared.note_end(end, true);
        self.known = Some(end);
        let pages = self.pages(batch);
        self.shared.logs.record_write(&self.shared.logs.journal, pages);
        Ok(())
    }

    fn drop_payloads(&mut self, seqs: &[u64]) -> Result<u64, StoreError> {
        let failed = failed(&self.shared.journal, "drop payloads");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let mut dropped = 0;
        {
            let sql = "UPDATE journal SET payload = NULL WHERE seq = ?1 AND payload IS NOT NULL";
            let mut statement = transaction.prepare_cached(sql).map_err(&failed)?;
            for seq in seqs {
                dropped += statement.execute([int(*seq)]).map_err(&failed)? as u64;
            }
        }
        transaction.commit().map_err(&failed)?;
        empty(&self.connection, &self.shared.journal)?;
        Ok(dropped)
    }

    fn cut(&mut self, upto: Chain, staying: &BTreeSet<u64>) -> Result<u64, StoreError> {
        let path = &self.shared.journal;
        let failed = failed(path, "cut the journal");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let log = JournalTable { connection: &transaction, path };
        let base = log.base()?;
        if upto == base {
            delete_records(&transaction, 0, base.seq, staying).map_err(&failed)?;
            transaction.commit().map_err(failed)?;
            return Ok(0);
        }
        let known = upto.seq > base.seq && log.hash_of(upto.seq)? == Some(upto.hash);
        if !known || upto.seq >= log.end()?.seq {
            let what = "is not an entry at which the journal can be cut".to_owned();
            return Err(StoreError::Chain { seq: upto.seq, what });
        }
        delete_records(&transaction, base.seq, upto.seq, staying).map_err(&failed)?;
        meta_table::set(&transaction, "base_seq", int(upto.seq)).map_err(&failed)?;
        meta_table::set(&transaction, "base_hash", upto.hash).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(upto.seq - base.seq)
    }

    fn move_payloads(&mut self, slice: &ArchivedSlice) -> Result<u64, StoreError> {
        let moved = self.move_in_one(slice)?;
        // At most a page for each row.
        self.shared.logs.record_write(&self.shared.logs.journal, moved + 1);
        Ok(moved)
    }
}

impl Appender {
    fn move_in_one(&mut self, slice: &ArchivedSlice) -> Result<u64, StoreError> {
        let failed = failed(&self.shared.journal, "move payloads");
        self.shared.is_there()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let mut moved = 0;
        {
            let sql = "UPDATE journal SET payload = ?2 WHERE seq = ?1 AND payload IS NOT NULL";
            let mut statement = transaction.prepare_cached(sql).map_err(&failed)?;
            for (seq, at) in &slice.payloads {
                moved += statement.execute(params![int(*seq), moved_text(*at)]).map_err(&failed)? as u64;
            }
        }
        let (key, upto) = (archived_key(&slice.entity), int(slice.upto));
        meta_table::set(&transaction, &key, upto).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(moved)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // After an error it is not known which one it is.
        let log = JournalTable { connection: &self.connection, path: &self.shared.journal };
        if let Some(end) = self.known.or_else(|| log.end().ok()) {
            self.shared.note_end(end, false);
        }
        self.shared.appending.store(false, Ordering::Release);
    }
}
