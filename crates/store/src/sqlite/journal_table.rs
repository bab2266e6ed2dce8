//! Reading `journal.db`.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::failure::{failed, int, limit, number};
use super::{meta_table, row_sum};
use crate::failpoints::{StoreFailpoint, is_enabled};
use crate::record::Hash;
use crate::rules::ChangedRules;
use crate::{Chain, Definition, Head, Record, StoreError, WrittenRecord};

const COLUMNS: &str = "seq, prev, format, header, payload, digest, hash";

/// A journal to be read, and the path that errors name.
#[derive(Clone, Copy, Debug)]
pub(super) struct JournalTable<'a> {
    pub connection: &'a Connection,
    pub path: &'a Path,
}

impl JournalTable<'_> {
    pub fn head(&self) -> Result<Head, StoreError> {
        let failed = failed(self.path, "read the end of the journal");
        // An invalid header is left to the audit.
        let last = "SELECT seq, hash, CASE WHEN json_valid(header) THEN json_extract(header, '$.at') END
             FROM journal ORDER BY seq DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(last).map_err(&failed)?;
        let row = statement.query_row([], |row| {
            Ok((Chain { seq: number(row.get(0)?), hash: hash(row, 1)? }, row.get::<_, Option<i64>>(2)?))
        });
        match row.optional().map_err(&failed)? {
            Some((chain, at)) => Ok(Head { chain, at: at.map(Timestamp) }),
            None => Ok(Head { chain: self.base()?, at: None }),
        }
    }

    /// Only the last entry and its hash; read before each commit.
    pub fn end(&self) -> Result<Chain, StoreError> {
        let failed = failed(self.path, "read the end of the journal");
        let last = "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(last).map_err(&failed)?;
        let row = statement.query_row([], |row| Ok(Chain { seq: number(row.get(0)?), hash: hash(row, 1)? }));
        match row.optional().map_err(&failed)? {
            Some(chain) => Ok(chain),
            None => self.base(),
        }
    }

    /// Where the journal begins. A property that is missing needs no check: the first entry would not follow.
    pub fn base(&self) -> Result<Chain, StoreError> {
        let failed = failed(self.path, "read where the journal begins");
        let sql = "SELECT key, value, sum FROM meta WHERE key IN ('base_hash', 'base_seq')";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let mut rows = statement.query([]).map_err(&failed)?;
        let mut base = Chain::default();
        let mut take = |row: &Row<'_>| {
            row_sum::verify_row("meta", row)?;
            match row.get_ref(0)?.as_str()? {
                "base_seq" => base.seq = number(row.get(1)?),
                _ => base.hash = hash(row, 1)?,
            }
            Ok(())
        };
        while let Some(row) = rows.next().map_err(&failed)? {
            take(row).map_err(&failed)?;
        }
        Ok(base)
    }

    /// Verifies the properties of the file.
    pub fn check_properties(&self) -> Result<(), StoreError> {
        meta_table::verify(self.connection).map_err(failed(self.path, "read the properties of the file"))
    }

    /// Records without payloads that are in archive files of entities.
    pub fn records(&self, after: u64, most: usize) -> Result<Vec<Record>, StoreError> {
        Ok(self.records_as_written(after, most)?.into_iter().map(|it| it.record).collect())
    }

    pub fn records_as_written(&self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        let failed = failed(self.path, "read the journal");
        // Retained entries before the base are not part of the journal any more.
        let sql = format!(
            "SELECT {COLUMNS} FROM journal \
             WHERE seq > max(?1, coalesce((SELECT value FROM meta WHERE key = 'base_seq'), 0)) ORDER BY seq LIMIT ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let mut rows = statement.query([int(after), limit(most)]).map_err(&failed)?;
        let mut records = Vec::with_capacity(most.min(1024));
        while let Some(row) = rows.next().map_err(&failed)? {
            records.push(record(row, self.path)?);
        }
        Ok(records)
    }

    /// A record, without a payload that is in the archive file of its entity.
    pub fn record(&self, seq: u64) -> Result<Option<Record>, StoreError> {
        Ok(self.record_as_written(seq)?.map(|it| it.record))
    }

    pub fn record_as_written(&self, seq: u64) -> Result<Option<WrittenRecord>, StoreError> {
        let failed = failed(self.path, "read the journal");
        let sql = format!("SELECT {COLUMNS} FROM journal WHERE seq = ?1");
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let mut rows = statement.query([int(seq)]).map_err(&failed)?;
        rows.next().map_err(&failed)?.map(|row| record(row, self.path)).transpose()
    }

    /// Records in order, each verified against the one before it.
    pub fn verified_records(&self, after: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        let records = self.records_as_written(after, most)?;
        if is_enabled(StoreFailpoint::EntryUnverified) {
            return Ok(records);
        }
        let base = self.base()?;
        let mut chain = match after <= base.seq {
            true => base,
            false => match self.hash_of(after)? {
                Some(hash) => Chain { seq: after, hash },
                None if records.is_empty() => return Ok(records),
                None => return Err(StoreError::Chain { seq: after, what: "is missing".to_owned() }),
            },
        };
        for written in &records {
            chain.follow(&written.record)?;
        }
        Ok(records)
    }

    /// A record, verified against the one before it. Of a retained one, only the payload can be verified.
    pub fn verified_record(&self, seq: u64) -> Result<Option<WrittenRecord>, StoreError> {
        let base = self.base()?;
        match self.record_as_written(seq)? {
            Some(written) => {
                self.verify(&written.record, base)?;
                Ok(Some(written))
            }
            None if seq > base.seq && seq <= self.end()?.seq => {
                Err(StoreError::Chain { seq, what: "is missing".to_owned() })
            }
            None => Ok(None),
        }
    }

    fn verify(&self, record: &Record, base: Chain) -> Result<(), StoreError> {
        if is_enabled(StoreFailpoint::EntryUnverified) {
            return Ok(());
        }
        let before = record.seq.saturating_sub(1);
        if record.seq <= base.seq {
            return record.verify_payload();
        }
        let hash = match before == base.seq {
            true => Some(base.hash),
            false => self.hash_of(before)?,
        };
        match hash {
            Some(hash) => Chain { seq: before, hash }.follow(record),
            None => Err(StoreError::Chain { seq: before, what: "is missing".to_owned() }),
        }
    }

    /// Retained entries of an entity before the base.
    pub fn stayed(&self, of: &EntityKey) -> Result<Vec<u64>, StoreError> {
        let failed = failed(self.path, "read the retained entries");
        let sql = format!("SELECT {COLUMNS} FROM journal WHERE seq <= ?1 ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let mut rows = statement.query([int(self.base()?.seq)]).map_err(&failed)?;
        let mut stayed = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let record = record(row, self.path)?.record;
            if record.entity().as_ref() == Some(of) {
                stayed.push(record.seq);
            }
        }
        Ok(stayed)
    }

    /// The hash of one record, if it is here.
    pub fn hash_of(&self, seq: u64) -> Result<Option<Hash>, StoreError> {
        let failed = failed(self.path, "read the journal");
        let mut statement =
            self.connection.prepare_cached("SELECT hash FROM journal WHERE seq = ?1").map_err(&failed)?;
        statement.query_row([int(seq)], |row| hash(row, 0)).optional().map_err(failed)
    }

    /// The last entry of an entity in its archive file.
    pub fn archived_upto(&self, key: &EntityKey) -> Result<Option<u64>, StoreError> {
        let failed = failed(self.path, "look for an archived entity");
        let upto = meta_table::get::<i64>(self.connection, &archived_key(key));
        Ok(upto.map_err(failed)?.map(number))
    }

    pub fn trail_as_written(&self, from: u64, most: usize) -> Result<Vec<WrittenRecord>, StoreError> {
        let base = self.base()?;
        let mut records = Vec::new();
        let mut next = from;
        while next != 0 && records.len() < most {
            // Older records are in the archive.
            let Some(written) = self.record_as_written(next)? else { break };
            self.verify(&written.record, base)?;
            let prev = written.record.prev;
            if prev >= next {
                let what = format!("was changed: it says that {prev} came before it");
                return Err(StoreError::Chain { seq: next, what });
            }
            next = prev;
            records.push(written);
        }
        Ok(records)
    }

    pub fn definitions(&self) -> Result<Vec<Definition>, StoreError> {
        let failed = failed(self.path, "read the definitions");
        let sql = "SELECT pack, version, digest, files FROM definition ORDER BY pack, version";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let mut rows = statement.query([]).map_err(&failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let (pack, version, digest): (String, u32, String) = row.try_into().map_err(&failed)?;
            let files: String = row.get(3).map_err(&failed)?;
            let pack = Name::from(pack);
            let files = serde_json::from_str(&files).map_err(|error| {
                let what = format!("its text cannot be read ({error})");
                let changed = vec![ChangedRules { seq: 0, pack: pack.clone(), version, what }];
                StoreError::Rules { path: self.path.to_path_buf(), changed }
            })?;
            all.push(Definition { pack, version, digest, files });
        }
        Ok(all)
    }
}

/// The key of an archived entity in `meta`. Its value is the entity's last entry in its archive file.
pub(super) fn archived_key(key: &EntityKey) -> String {
    format!("archived:{key}")
}

/// How `payload` refers to the archive file of the entity. It is JSON, for the view; no payload has this key.
const MOVED: &str = "{\"archive\":";

/// The text that replaces a payload whose line starts at this offset.
pub(super) fn moved_text(at: u64) -> String {
    format!("{MOVED}{at}}}")
}

fn moved_to(payload: &str) -> Option<u64> {
    payload.strip_prefix(MOVED)?.strip_suffix('}')?.parse().ok()
}

fn record(row: &Row<'_>, path: &Path) -> Result<WrittenRecord, StoreError> {
    let seq = number(row.get(0).map_err(failed(path, "read the journal"))?);
    let unreadable = |it: rusqlite::Error| StoreError::Unreadable { seq, what: it.to_string() };
    let read = || {
        let payload: Option<String> = row.get(4)?;
        let moved_to = payload.as_deref().and_then(moved_to);
        let record = Record {
            seq,
            prev: number(row.get(1)?),
            format: row.get(2)?,
            header: row.get(3)?,
            payload: payload.filter(|_| moved_to.is_none()),
            digest: match row.get_ref(5)? {
                ValueRef::Null => None,
                _ => Some(row.get(5)?),
            },
            hash: hash(row, 6)?,
        };
        Ok(WrittenRecord { record, moved_to })
    };
    read().map_err(unreadable)
}

pub(super) fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    row.get(column)
}
