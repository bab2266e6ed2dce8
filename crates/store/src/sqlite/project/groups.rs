//! Writes groups: counts by state, and members.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{WriteTxn, json};
use crate::GroupChange;
use crate::sqlite::guarded_lookup::{GuardedLookup, LookupStep};

/// The row of a group.
enum StoredGroup {
    Known {
        row: i64,
        counts: BTreeMap<Name, u64>,
        moved_at: Option<Timestamp>,
    },
    Absent,
    /// It, or one beside it, does not match its checksum.
    Damaged(Option<i64>),
}

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
        let stored = self.stored_group((lifecycle, id, name))?;
        let known = match &stored {
            StoredGroup::Known { counts, moved_at, .. } => {
                Some((counts.clone(), change.moved_at.or(*moved_at)))
            }
            // A rebuilt entity is in a group that lost its row.
            StoredGroup::Absent => change.moved_at.map(|it| (BTreeMap::new(), Some(it))),
            StoredGroup::Damaged(_) => None,
        };
        let is_known = known.is_some();
        let (mut counts, moved_at) = known.unwrap_or((BTreeMap::new(), change.moved_at));
        for (state, by) in &change.counts {
            let count = counts.remove(state).unwrap_or(0).saturating_add_signed(*by);
            if count > 0 {
                counts.insert(state.clone(), count);
            }
        }
        let (counts, at) = (json(&counts)?, moved_at.map_or(0, |it| it.0));
        let row = match stored {
            StoredGroup::Known { row, .. } | StoredGroup::Damaged(Some(row)) => {
                let sql = "UPDATE \"group\" SET counts = ?2, moved_at = ?3, sum = 0 WHERE row = ?1";
                self.connection.prepare_cached(sql)?.execute((row, counts, at))?;
                row
            }
            StoredGroup::Absent | StoredGroup::Damaged(None) => {
                let sql = "INSERT INTO \"group\" (lifecycle, id, name, counts, moved_at, sum) \
                           VALUES (?1, ?2, ?3, ?4, ?5, 0)";
                self.connection.prepare_cached(sql)?.execute((lifecycle, id, name, counts, at))?;
                self.connection.last_insert_rowid()
            }
        };
        match (is_known, moved_at) {
            (true, _) => self.sum_group(row)?,
            // Counted again, once the members are right.
            (false, Some(_)) => drop(self.miscounted.insert(row)),
            // It stays damaged until it is known when a member moved last.
            (false, None) => {}
        }
        Ok(row)
    }

    fn stored_group(&self, wanted: (i64, &str, i64)) -> Result<StoredGroup> {
        let lookup = GuardedLookup {
            table: "group",
            from: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                   WHERE (lifecycle, id, name) >= (?1, ?2, ?3) ORDER BY lifecycle, id, name LIMIT 1",
            before: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                     WHERE (lifecycle, id, name) < (?1, ?2, ?3) \
                     ORDER BY lifecycle DESC, id DESC, name DESC LIMIT 1",
            lenient: false,
        };
        let mut found = StoredGroup::Absent;
        let looked = lookup.run(self.connection, wanted, wanted, &mut |row| {
            if (row.get::<_, i64>(1)?, row.get_ref(2)?.as_str()?, row.get::<_, i64>(3)?) != wanted {
                return Ok(LookupStep::Past);
            }
            let counts = counts(row.get_ref(4)?.as_str()?)?;
            found = StoredGroup::Known { row: row.get(0)?, counts, moved_at: Some(Timestamp(row.get(5)?)) };
            Ok(LookupStep::Found)
        });
        match looked {
            Ok(()) => Ok(found),
            Err(error @ rusqlite::Error::SqliteFailure(..)) => Err(error),
            Err(_) => {
                let sql = "SELECT row FROM \"group\" WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
                let mut statement = self.connection.prepare_cached(sql)?;
                Ok(StoredGroup::Damaged(statement.query_row(wanted, |row| row.get(0)).optional()?))
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
        // The time of the last move is not counted: a damaged row stays damaged.
        let sql = "UPDATE \"group\" SET counts = ?2, \
                   sum = CASE WHEN sum = row_sum('group', row, lifecycle, id, name, counts, moved_at) \
                   THEN row_sum('group', row, lifecycle, id, name, ?2, moved_at) ELSE 0 END WHERE row = ?1";
        self.connection.prepare_cached(sql)?.execute((group, json(&counts)?))?;
        Ok(())
    }

    /// Counts the groups again whose counts were damaged.
    pub(super) fn recount_damaged(&mut self) -> Result<()> {
        for group in std::mem::take(&mut self.miscounted) {
            self.sum_group(group)?;
            self.recount(group)?;
        }
        Ok(())
    }

    /// Makes damaged groups right whose last move is known, and deletes the other damaged ones.
    pub(super) fn heal_groups(&mut self, groups: &[(GroupKey, Timestamp)]) -> Result<()> {
        for (key, moved_at) in groups {
            let Some(row) = self.group_row(key)? else { continue };
            let sql = "UPDATE \"group\" SET moved_at = ?2, counts = '{}', \
                       sum = row_sum('group', row, lifecycle, id, name, '{}', ?2) \
                       WHERE row = ?1 AND sum <> row_sum('group', row, lifecycle, id, name, counts, moved_at)";
            if self.connection.execute(sql, (row, moved_at.0))? > 0 {
                self.recount(row)?;
            }
        }
        self.connection.execute_batch(
            "DELETE FROM \"group\" WHERE sum <> row_sum('group', row, lifecycle, id, name, counts, moved_at);
             DELETE FROM member WHERE \"group\" NOT IN (SELECT row FROM \"group\");",
        )
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
