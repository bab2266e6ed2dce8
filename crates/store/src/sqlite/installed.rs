//! The entries that installed packs. They stay in `journal.db` when the journal is archived.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::failure::{failed, int, number};
use super::journal_table::{JournalTable, hash};
use super::meta_table;
use crate::archive::Archive;
use crate::rules::{self, ChangedRules, Installed};
use crate::{Chain, Record, StoreError};

pub(super) fn keep(connection: &Connection, installed: &Installed) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO installed (seq, prev, format, header, digest, hash, before) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let Installed { before, record } = installed;
    connection.prepare_cached(sql)?.execute(params![
        int(record.seq),
        int(record.prev),
        record.format,
        record.header,
        record.digest,
        record.hash,
        before.hash,
    ])?;
    count(connection)
}

/// Stores their number, so that removed ones are noticed.
fn count(connection: &Connection) -> rusqlite::Result<()> {
    let there: i64 = connection.query_row("SELECT count(*) FROM installed", [], |row| row.get(0))?;
    meta_table::set(connection, "installed", there)
}

/// Restores removed entries from the journal and the archive.
pub(super) fn find_lost(log: &JournalTable<'_>, archive: Option<&Path>) -> Result<(), StoreError> {
    let known = noted_count(log)?;
    let Some(found) = lost(log, archive)? else {
        // Earlier releases did not store the number.
        return match known < log.installed()?.len() as u64 {
            true => count(log.connection).map_err(failed(log.path, "count the entries that installed packs")),
            false => Ok(()),
        };
    };
    let failed = failed(log.path, "store the entries that installed packs");
    let transaction = log.connection.unchecked_transaction().map_err(&failed)?;
    for it in &found {
        keep(&transaction, it).map_err(&failed)?;
    }
    // The stored number still includes the missing ones.
    if noted_count(log)? < known {
        meta_table::set(&transaction, "installed", int(known)).map_err(&failed)?;
    }
    transaction.commit().map_err(failed)
}

/// The removed entries that are in the journal or the archive. None if no entry was removed.
fn lost(log: &JournalTable<'_>, archive: Option<&Path>) -> Result<Option<Vec<Installed>>, StoreError> {
    let kept = log.installed()?;
    if rules::are_all_kept(&log.definitions()?, &kept) && noted_count(log)? <= kept.len() as u64 {
        return Ok(None);
    }
    let base = log.base()?;
    let mut found = rules::installations_after(base, &mut |after, most| log.records(after, most))?;
    if let Some(folder) = archive.filter(|_| base.seq > 0) {
        // Entries in missing archive files stay missing and are reported.
        found.extend(archived(folder, base).unwrap_or_default());
    }
    found.retain(|it| !kept.iter().any(|kept| kept.record.seq == it.record.seq));
    Ok(Some(found))
}

/// Checks the rules as a start does after it has restored removed entries. Changes nothing.
pub(super) fn examine(log: &JournalTable<'_>, archive: Option<&Path>) -> Result<(), StoreError> {
    let found = lost(log, archive)?.unwrap_or_default();
    log.check_rules_with(&found)?;
    none_is_missing(log, found.len() as u64)
}

/// The noted number of installations.
fn noted_count(log: &JournalTable<'_>) -> Result<u64, StoreError> {
    let failed = failed(log.path, "count the entries that installed packs");
    let noted: Option<i64> = meta_table::get(log.connection, "installed").map_err(failed)?;
    Ok(noted.map_or(0, number))
}

/// Returns an error if entries and their texts are both missing.
pub(super) fn none_is_lost(log: &JournalTable<'_>) -> Result<(), StoreError> {
    none_is_missing(log, 0)
}

/// As `none_is_lost`, with some entries found again.
fn none_is_missing(log: &JournalTable<'_>, found: u64) -> Result<(), StoreError> {
    let noted = noted_count(log)?;
    let missing = noted.saturating_sub(log.installed()?.len() as u64 + found);
    if missing == 0 {
        return Ok(());
    }
    let changed = vec![ChangedRules::unknown(noted, missing)];
    Err(StoreError::Rules { path: log.path.to_path_buf(), changed })
}

/// The installations in the archive.
fn archived(folder: &Path, base: Chain) -> Result<Vec<Installed>, StoreError> {
    let mut found = Vec::new();
    let mut before = Chain::default();
    for record in Archive::open(folder)?.archived_after(0, base)? {
        let record = record?;
        found.extend(Installed::of(before, &record));
        before = Chain { seq: record.seq, hash: record.hash };
    }
    Ok(found)
}

/// Reads, once, those that an earlier release archived without storing them.
pub(super) fn recall(log: &JournalTable<'_>, archive: Option<&Path>) -> Result<(), StoreError> {
    let failed = failed(log.path, "store the entries that installed packs");
    let wanted: Option<i64> = meta_table::get(log.connection, "recall").map_err(&failed)?;
    let Some(upto) = wanted else { return Ok(()) };
    let base = log.base()?;
    let Some(folder) = archive else {
        let folder = Path::new("archive").to_owned();
        return Err(StoreError::NotArchived { folder, first: 1, last: number(upto) });
    };
    let found = archived(folder, base)?;
    let transaction = log.connection.unchecked_transaction().map_err(&failed)?;
    for it in &found {
        keep(&transaction, it).map_err(&failed)?;
    }
    transaction.execute("DELETE FROM meta WHERE key = 'recall'", []).map_err(&failed)?;
    transaction.commit().map_err(failed)
}

impl JournalTable<'_> {
    pub fn installed(&self) -> Result<Vec<Installed>, StoreError> {
        let failed = failed(self.path, "read which packs were installed");
        let sql = "SELECT seq, prev, format, header, digest, hash, before FROM installed ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let mut rows = statement.query([]).map_err(&failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            all.push(read(row).map_err(&failed)?);
        }
        Ok(all)
    }

    /// Returns an error if a stored text differs from the installed one.
    pub fn check_rules(&self) -> Result<(), StoreError> {
        self.check_rules_with(&[])
    }

    /// Checks the rules, including installations that were found while reading the journal.
    pub fn check_rules_with(&self, met: &[Installed]) -> Result<(), StoreError> {
        let base = self.base()?.seq;
        let kept = rules::merge_installations(self.installed()?, met);
        let changed = rules::compare(&self.definitions()?, &kept, base, &mut |seq| self.record(seq))?;
        match changed.is_empty() {
            true => Ok(()),
            false => Err(StoreError::Rules { path: self.path.to_path_buf(), changed }),
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Installed> {
    let seq = number(row.get(0)?);
    let record = Record {
        seq,
        prev: number(row.get(1)?),
        format: row.get(2)?,
        header: row.get(3)?,
        payload: None,
        digest: match row.get_ref(4)? {
            ValueRef::Null => None,
            _ => Some(row.get(4)?),
        },
        hash: hash(row, 5)?,
    };
    Ok(Installed { before: Chain { seq: seq.saturating_sub(1), hash: hash(row, 6)? }, record })
}
