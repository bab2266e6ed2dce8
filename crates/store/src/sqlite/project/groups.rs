//! Writes groups: counts by state, and members.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_lifecycle::name::Name;

use super::{WriteTxn, json};
use crate::GroupChange;
use crate::sqlite::row_sum;

/// Adds an entity to a group. A damaged row is replaced.
const MEMBER: &str = "INSERT OR REPLACE INTO member (\"group\", entity, sum) \
                      VALUES (?1, ?2, row_sum('member', ?1, ?2))";

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
        let sql = "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                   WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let stored = statement
            .query_row((lifecycle, id, name), |row| {
                let verified = row_sum::verify("group", row, &[0, 1, 2, 3, 4, 5], 6);
                let kept = verified.and_then(|()| counts(row.get_ref(4)?.as_str()?));
                Ok((row.get::<_, i64>(0)?, kept))
            })
            .optional()?;
        let mut counts: BTreeMap<Name, u64> = match stored {
            Some((_, Ok(ref kept))) => kept.clone(),
            // Damaged counts are counted again, once the members are right.
            Some((row, Err(_))) => {
                self.miscounted.insert(row);
                BTreeMap::new()
            }
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
                let sql = "UPDATE \"group\" SET counts = ?2, moved_at = ?3, \
                           sum = row_sum('group', row, lifecycle, id, name, ?2, ?3) WHERE row = ?1";
                self.connection.prepare_cached(sql)?.execute((row, counts, moved_at))?;
                Ok(row)
            }
            None => {
                let sql = "INSERT INTO \"group\" (lifecycle, id, name, counts, moved_at, sum) \
                           VALUES (?1, ?2, ?3, ?4, ?5, 0)";
                self.connection.prepare_cached(sql)?.execute((lifecycle, id, name, counts, moved_at))?;
                let row = self.connection.last_insert_rowid();
                self.sum_group(row)?;
                Ok(row)
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
            true => MEMBER,
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
            for group in &wanted {
                self.connection.execute(MEMBER, (group, entity))?;
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
        self.sum_group(group)
    }

    /// Counts the groups again whose counts were damaged.
    pub(super) fn recount_damaged(&mut self) -> Result<()> {
        for group in std::mem::take(&mut self.miscounted) {
            self.recount(group)?;
        }
        Ok(())
    }

    fn sum_group(&self, group: i64) -> Result<()> {
        let sql = "UPDATE \"group\" SET sum = row_sum('group', row, lifecycle, id, name, counts, moved_at) \
                   WHERE row = ?1";
        self.connection.prepare_cached(sql)?.execute([group])?;
        Ok(())
    }
}

/// Counts as they are stored.
pub(in crate::sqlite) fn counts(text: &str) -> Result<BTreeMap<Name, u64>> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}
