//! Writes unique values, idempotency keys, notices, dwell times and the project.

use std::collections::BTreeMap;

use rusqlite::{Result, params};
use serde::{Deserialize, Serialize};
use trackside_engine::event::KeyRecord;
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::insert_row::Put;
use super::{WriteTxn, json};
use crate::dwell_times::bucket;
use crate::projection::{Notice, Projection};
use crate::sqlite::failure::int;
use crate::sqlite::meta_table;

pub(super) const INTO_KEY: &str = "INTO key (key, actor, seq, at, fingerprint, entries, root, sum) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, row_sum('key', ?1, ?2, ?3, ?4, ?5, ?6, ?7))";

/// [`Project`] as it is stored.
#[derive(Serialize, Deserialize)]
pub(in crate::sqlite) struct StoredProject {
    settings: BTreeMap<Name, BTreeMap<Name, Value>>,
    zone: String,
    people: Vec<Name>,
}

impl From<StoredProject> for Project {
    fn from(StoredProject { settings, zone, people }: StoredProject) -> Self {
        Self { settings, zone, people }
    }
}

impl WriteTxn<'_> {
    pub(super) fn unique_values(&mut self, projection: &Projection) -> Result<()> {
        for (lifecycle, value, id) in &projection.freed {
            let lifecycle = self.names.number(self.connection, lifecycle)?;
            let sql = "DELETE FROM same WHERE lifecycle = ?1 AND value = ?2 AND id = ?3";
            self.connection.prepare_cached(sql)?.execute((lifecycle, value.as_str(), id.as_str()))?;
        }
        for ((lifecycle, value), holder) in &projection.unique_values {
            let lifecycle = self.names.number(self.connection, lifecycle)?;
            match holder {
                Some(holder) => {
                    let sql = "INSERT OR REPLACE INTO same (lifecycle, value, id, sum) \
                               VALUES (?1, ?2, ?3, row_sum('same', ?1, ?2, ?3))";
                    let mut statement = self.connection.prepare_cached(sql)?;
                    statement.execute((lifecycle, value.as_str(), holder.id.as_str()))?;
                }
                None => {
                    let sql = "DELETE FROM same WHERE lifecycle = ?1 AND value = ?2";
                    self.connection.prepare_cached(sql)?.execute((lifecycle, value.as_str()))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn keys(&mut self, keys: &[(u64, Timestamp, KeyRecord)]) -> Result<()> {
        let mut put = Put::new(self.connection, INTO_KEY)?;
        for (seq, at, it) in keys {
            put.one(params![
                it.key.as_str(),
                it.by.as_str(),
                int(*seq),
                at.0,
                it.fingerprint,
                it.entries,
                it.root
            ])?;
        }
        Ok(())
    }

    pub(super) fn notices(&mut self, notices: &[Notice]) -> Result<()> {
        let into = "INTO notice (kind, seq, entity, sum) VALUES (?1, ?2, ?3, row_sum('notice', ?1, ?2, ?3))";
        let mut put = Put::new(self.connection, into)?;
        for it in notices {
            put.one(params![it.kind, int(it.seq), it.entity.to_string()])?;
            self.counted.notice(it);
        }
        Ok(())
    }

    pub(super) fn settled(&mut self, settled: &[(&'static str, u64)]) -> Result<()> {
        let mut statement =
            self.connection.prepare_cached("DELETE FROM notice WHERE kind = ?1 AND seq = ?2")?;
        for (kind, seq) in settled {
            statement.execute((kind, int(*seq)))?;
        }
        Ok(())
    }

    pub(super) fn dwell_times(&mut self, dwell_times: &[(Name, Name, i64)]) -> Result<()> {
        let mut by_bucket: BTreeMap<(&Name, &Name, u16), (i64, i64)> = BTreeMap::new();
        for (lifecycle, state, ms) in dwell_times {
            let (n, total) = by_bucket.entry((lifecycle, state, bucket(*ms))).or_default();
            *n += 1;
            *total = total.saturating_add(*ms);
        }
        // A sum that does not hold must not become one that does.
        let sql = "INSERT INTO stay (lifecycle, state, bucket, n, total_ms, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, row_sum('stay', ?1, ?2, ?3, ?4, ?5)) \
                   ON CONFLICT (lifecycle, state, bucket) \
                   DO UPDATE SET n = n + excluded.n, total_ms = total_ms + excluded.total_ms, \
                   sum = CASE WHEN sum = row_sum('stay', lifecycle, state, bucket, n, total_ms) \
                   THEN row_sum('stay', lifecycle, state, bucket, n + excluded.n, total_ms + excluded.total_ms) \
                   ELSE 0 END";
        for ((lifecycle, state, bucket), (n, total)) in by_bucket {
            let lifecycle = self.names.number(self.connection, lifecycle)?;
            let state = self.names.number(self.connection, state)?;
            self.connection.prepare_cached(sql)?.execute((lifecycle, state, bucket, n, total))?;
        }
        Ok(())
    }

    pub(super) fn project(&mut self, project: &Project) -> Result<()> {
        let Project { settings, zone, people } = project.clone();
        let text = json(&StoredProject { settings, zone, people })?;
        meta_table::set(self.connection, "project", text)
    }
}
