//! Writes groups: counts by state, and members.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_lifecycle::name::Name;

use super::{WriteTxn, json};
use crate::GroupChange;

impl WriteTxn<'_> {
    pub(super) fn groups(&mut self, groups: &BTreeMap<GroupKey, GroupChange>) -> Result<()> {
        for (key, change) in groups {
            let row = self.group(key, change)?;
            for (member, joined) in &change.members {
                self.member(row, member, *joined)?;
            }
        }
        Ok(())
    }

    /// Updates the counts of a group and returns its row.
    fn group(&mut self, key: &GroupKey, change: &GroupChange) -> Result<i64> {
        let lifecycle = self.names.number(self.connection, &key.of.lifecycle)?;
        let name = self.names.number(self.connection, &key.name)?;
        let id = key.of.id.as_str();
        let sql = "SELECT row, counts FROM \"group\" WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let stored: Option<(i64, String)> =
            statement.query_row((lifecycle, id, name), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let mut counts: BTreeMap<Name, u64> = match &stored {
            Some((_, text)) => counts(text)?,
            None => BTreeMap::new(),
        };
        for (state, by) in &change.counts {
            let count = counts.remove(state).unwrap_or(0).saturating_add_signed(*by);
            if count > 0 {
                counts.insert(state.clone(), count);
            }
        }
        let (counts, moved_at) = (json(&counts)?, change.moved_at.0);
        match stored {
            Some((row, _)) => {
                let sql = "UPDATE \"group\" SET counts = ?2, moved_at = ?3 WHERE row = ?1";
                self.connection.prepare_cached(sql)?.execute((row, counts, moved_at))?;
                Ok(row)
            }
            None => {
                let sql = "INSERT INTO \"group\" (lifecycle, id, name, counts, moved_at) VALUES (?1, ?2, ?3, ?4, ?5)";
                self.connection.prepare_cached(sql)?.execute((lifecycle, id, name, counts, moved_at))?;
                Ok(self.connection.last_insert_rowid())
            }
        }
    }

    fn member(&mut self, group: i64, member: &EntityKey, joined: bool) -> Result<()> {
        let Some(entity) = self.row(member)? else {
            if !joined {
                return Ok(());
            }
            let what = format!("{member} is in a group but has no row");
            return Err(rusqlite::Error::ToSqlConversionFailure(what.into()));
        };
        let sql = match joined {
            true => "INSERT OR IGNORE INTO member (\"group\", entity) VALUES (?1, ?2)",
            false => "DELETE FROM member WHERE \"group\" = ?1 AND entity = ?2",
        };
        self.connection.prepare_cached(sql)?.execute((group, entity))?;
        Ok(())
    }
}

/// Groups of entities that are rebuilt.
impl WriteTxn<'_> {
    /// Makes each a member of exactly these groups, and recounts these groups and its own.
    pub(super) fn regroup(&mut self, all: &BTreeMap<EntityKey, Vec<GroupKey>>) -> Result<()> {
        for (key, groups) in all {
            let Some(entity) = self.row(key)? else { continue };
            let mut wanted = BTreeSet::new();
            for group in groups {
                wanted.extend(self.group_row(group)?);
            }
            let present: BTreeSet<i64> =
                self.numbers("SELECT \"group\" FROM member WHERE entity = ?1", [entity])?;
            for group in present.difference(&wanted) {
                let sql = "DELETE FROM member WHERE \"group\" = ?1 AND entity = ?2";
                self.connection.execute(sql, (group, entity))?;
            }
            for group in wanted.difference(&present) {
                let sql = "INSERT OR IGNORE INTO member (\"group\", entity) VALUES (?1, ?2)";
                self.connection.execute(sql, (group, entity))?;
            }
            let lifecycle = self.names.number(self.connection, &key.lifecycle)?;
            let own = "SELECT row FROM \"group\" WHERE lifecycle = ?1 AND id = ?2";
            let own: BTreeSet<i64> = self.numbers(own, (lifecycle, key.id.as_str()))?;
            for group in present.into_iter().chain(wanted).chain(own).collect::<BTreeSet<i64>>() {
                self.recount(group)?;
            }
        }
        Ok(())
    }

    fn group_row(&mut self, key: &GroupKey) -> Result<Option<i64>> {
        let lifecycle = self.names.number(self.connection, &key.of.lifecycle)?;
        let name = self.names.number(self.connection, &key.name)?;
        let sql = "SELECT row FROM \"group\" WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((lifecycle, key.of.id.as_str(), name), |row| row.get(0)).optional()
    }

    fn numbers(&self, sql: &str, with: impl rusqlite::Params) -> Result<BTreeSet<i64>> {
        self.connection.prepare_cached(sql)?.query_map(with, |row| row.get(0))?.collect()
    }

    /// Deletes members without an entity and counts the others.
    fn recount(&mut self, group: i64) -> Result<()> {
        let sql = "DELETE FROM member WHERE \"group\" = ?1 AND entity NOT IN (SELECT row FROM entity)";
        self.connection.execute(sql, [group])?;
        let sql = "SELECT entity.state, count(*) FROM member JOIN entity ON entity.row = member.entity \
                   WHERE member.\"group\" = ?1 GROUP BY entity.state";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found: Vec<(i64, i64)> =
            statement.query_map([group], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
        let mut counts = BTreeMap::new();
        for (state, n) in found {
            counts.insert(self.names.text(self.connection, state)?, n);
        }
        let sql = "UPDATE \"group\" SET counts = ?2 WHERE row = ?1";
        self.connection.prepare_cached(sql)?.execute((group, json(&counts)?))?;
        Ok(())
    }
}

/// Counts as they are stored.
pub(in crate::sqlite) fn counts(text: &str) -> Result<BTreeMap<Name, u64>> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}
