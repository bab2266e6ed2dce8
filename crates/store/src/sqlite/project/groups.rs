//! Groups: how many in which state, and who.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_lifecycle::name::Name;

use super::{Pen, json};
use crate::GroupChange;

impl Pen<'_> {
    pub(super) fn groups(&mut self, groups: &BTreeMap<GroupKey, GroupChange>) -> Result<()> {
        for (key, change) in groups {
            let row = self.group(key, change)?;
            for (member, joined) in &change.members {
                self.member(row, member, *joined)?;
            }
        }
        Ok(())
    }

    /// Counts along; the row of the group.
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
            let what = format!("{member} is in a group, but was never written");
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

/// Counts as they are stored.
pub(in crate::sqlite) fn counts(text: &str) -> Result<BTreeMap<Name, u64>> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}
