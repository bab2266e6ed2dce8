//! Queries by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Type;
use rusqlite::{Error, OptionalExtension as _, Result, Row};
use serde::de::DeserializeOwned;
use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::ReadTxn;
use crate::sqlite::failure::number;
use crate::sqlite::project::{StoredProject, counts};
use crate::store::{Counts, DwellTimes, Members};

impl ReadTxn<'_> {
    pub(super) fn project(&self) -> Result<Option<Project>> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = 'project'")?;
        let stored = statement.query_row([], |row| parsed::<StoredProject>(row, 0)).optional()?;
        Ok(stored.map(Project::from))
    }

    pub(super) fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let sql = "SELECT body FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement
            .query_row((lifecycle, key.id.as_str()), |row| parsed(row, 0))
            .optional()
            .map(|it| it.map(Arc::new))
    }

    pub(super) fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let sql = "SELECT seq FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((lifecycle, key.id.as_str()), |row| row.get(0).map(number)).optional()
    }

    /// The row of a group, and its counts.
    fn group(&mut self, key: &GroupKey) -> Result<Option<(i64, Counts)>> {
        let (of, name) = (&key.of, &key.name);
        let Some(lifecycle) = self.names.find(self.connection, &of.lifecycle)? else { return Ok(None) };
        let Some(name) = self.names.find(self.connection, name)? else { return Ok(None) };
        let sql =
            "SELECT row, counts, moved_at FROM \"group\" WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let group = statement.query_row((lifecycle, of.id.as_str(), name), |row| {
            let moved_at = Some(Timestamp(row.get(2)?));
            Ok((row.get(0)?, Counts { by_state: counts(row.get_ref(1)?.as_str()?)?, moved_at }))
        });
        group.optional()
    }

    pub(super) fn counts(&mut self, key: &GroupKey) -> Result<Counts> {
        Ok(self.group(key)?.map(|(_, counts)| counts).unwrap_or_default())
    }

    pub(super) fn groups(&mut self, of: &EntityKey) -> Result<Vec<(Name, Counts)>> {
        let mut groups = Vec::new();
        let Some(lifecycle) = self.names.find(self.connection, &of.lifecycle)? else { return Ok(groups) };
        let sql = "SELECT name, counts, moved_at FROM \"group\" WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((lifecycle, of.id.as_str()))?;
        while let Some(row) = rows.next()? {
            let name = self.names.text(self.connection, row.get(0)?)?;
            let moved_at = Some(Timestamp(row.get(2)?));
            groups.push((name, Counts { by_state: counts(row.get_ref(1)?.as_str()?)?, moved_at }));
        }
        Ok(groups)
    }

    pub(super) fn members(&mut self, key: &GroupKey) -> Result<Members> {
        let Some((group, Counts { moved_at, .. })) = self.group(key)? else { return Ok(Members::default()) };
        let sql = "SELECT entity.lifecycle, entity.id, entity.state FROM member \
                   JOIN entity ON entity.row = member.entity WHERE member.\"group\" = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([group])?;
        let mut members = Members { moved_at, ..Members::default() };
        while let Some(row) = rows.next()? {
            let lifecycle = self.names.text(self.connection, row.get(0)?)?;
            let state = self.names.text(self.connection, row.get(2)?)?;
            let key = EntityKey { lifecycle, id: name(row, 1)? };
            members.by_state.entry(state).or_default().insert(key);
        }
        Ok(members)
    }

    pub(super) fn ranking(&mut self, key: &RankingKey) -> Result<RankingIndex> {
        let mut ranking = RankingIndex::default();
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(ranking) };
        let Some(number) = self.names.find(self.connection, &key.name)? else { return Ok(ranking) };
        let sql = "SELECT id, within, meant_for, weights, since FROM place \
                   WHERE lifecycle = ?1 AND ranking = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle, number])?;
        while let Some(row) = rows.next()? {
            let place = RankPlace {
                within: parsed(row, 1)?,
                meant_for: row.get::<_, Option<String>>(2)?.map(Name::from),
                weights: parsed(row, 3)?,
                since: Timestamp(row.get(4)?),
            };
            ranking.put(&name(row, 0)?, Some(&place));
        }
        let sql = "SELECT within FROM \"order\" WHERE lifecycle = ?1 AND ranking = ?2 AND closed";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle, number])?;
        while let Some(row) = rows.next()? {
            ranking.set_open(&parsed(row, 0)?, false);
        }
        Ok(ranking)
    }

    pub(super) fn unique_holder(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>> {
        let Some(number) = self.names.find(self.connection, lifecycle)? else { return Ok(None) };
        let sql = "SELECT id FROM same WHERE lifecycle = ?1 AND value = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let id = statement.query_row((number, value.as_str()), |row| name(row, 0)).optional()?;
        Ok(id.map(|id| EntityKey { lifecycle: lifecycle.clone(), id }))
    }

    pub(super) fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>> {
        let sql = "SELECT seq, fingerprint, entries, root FROM key WHERE key = ?1 AND actor = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row([key.as_str(), actor.as_str()], |row| {
            let record = KeyRecord {
                key: key.clone(),
                by: actor.clone(),
                fingerprint: row.get(1)?,
                entries: row.get(2)?,
                root: row.get(3)?,
                ignored: Vec::new(),
            };
            Ok((number(row.get(0)?), record))
        });
        found.optional()
    }

    pub(super) fn states(&mut self, lifecycle: &Name) -> Result<BTreeMap<Name, u64>> {
        let mut states = BTreeMap::new();
        let Some(lifecycle) = self.names.find(self.connection, lifecycle)? else { return Ok(states) };
        let sql = "SELECT state, n FROM state_count WHERE lifecycle = ?1 AND n > 0";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle])?;
        while let Some(row) = rows.next()? {
            states.insert(self.names.text(self.connection, row.get(0)?)?, number(row.get(1)?));
        }
        Ok(states)
    }

    pub(super) fn dwell_times(&mut self, lifecycle: &Name) -> Result<BTreeMap<Name, DwellTimes>> {
        let mut all: BTreeMap<Name, DwellTimes> = BTreeMap::new();
        let Some(lifecycle) = self.names.find(self.connection, lifecycle)? else { return Ok(all) };
        let sql = "SELECT state, bucket, n, total_ms FROM stay WHERE lifecycle = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle])?;
        while let Some(row) = rows.next()? {
            let dwell_times = all.entry(self.names.text(self.connection, row.get(0)?)?).or_default();
            let (n, total): (i64, i64) = (row.get(2)?, row.get(3)?);
            dwell_times.count += number(n);
            dwell_times.total_ms = dwell_times.total_ms.saturating_add(total);
            dwell_times.buckets.insert(row.get(1)?, number(n));
        }
        Ok(all)
    }
}

/// Parses a JSON column.
pub(super) fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    read(row.get_ref(column)?.as_str()?)
}

/// Parses stored JSON.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}

pub(super) fn name(row: &Row<'_>, column: usize) -> Result<Name> {
    Ok(Name::new(row.get_ref(column)?.as_str()?))
}
