//! Groups, members, places and orders row by row, for the sweep.

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingKey, Within};
use trackside_lifecycle::name::Name;

use super::ReadTxn;
use super::lookup::{name, parsed, place};
use crate::sqlite::failure::{int, limit, number};
use crate::sqlite::row_sum;
use crate::store::{MemberRow, OrderRow};

impl ReadTxn<'_> {
    pub(super) fn groups_after(&mut self, after: u64, most: usize) -> Result<Vec<(u64, GroupKey)>> {
        let sql = "SELECT row, lifecycle, id, name FROM \"group\" WHERE row > ?1 ORDER BY row LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([int(after), limit(most)])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let of =
                EntityKey { lifecycle: self.names.text(self.connection, row.get(1)?)?, id: name(row, 2)? };
            let group = GroupKey { of, name: self.names.text(self.connection, row.get(3)?)? };
            all.push((number(row.get(0)?), group));
        }
        row_sum::verify_progress("group", &after, all.last().map(|it| &it.0))?;
        Ok(all)
    }

    fn group_row(&mut self, key: &GroupKey) -> Result<Option<i64>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.of.lifecycle)? else { return Ok(None) };
        let Some(name) = self.names.find(self.connection, &key.name)? else { return Ok(None) };
        let sql = "SELECT row FROM \"group\" WHERE lifecycle = ?1 AND id = ?2 AND name = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((lifecycle, key.of.id.as_str(), name), |row| row.get(0)).optional()
    }

    pub(super) fn members_after(
        &mut self,
        key: &GroupKey,
        after: u64,
        most: usize,
    ) -> Result<Vec<MemberRow>> {
        let Some(group) = self.group_row(key)? else { return Ok(Vec::new()) };
        let sql = "SELECT member.entity, entity.lifecycle, entity.id, entity.state FROM member \
                   JOIN entity ON entity.row = member.entity \
                   WHERE member.\"group\" = ?1 AND member.entity > ?2 ORDER BY member.entity LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((group, int(after), limit(most)))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let lifecycle = self.names.text(self.connection, row.get(1)?)?;
            all.push(MemberRow {
                row: number(row.get(0)?),
                key: EntityKey { lifecycle, id: name(row, 2)? },
                state: self.names.text(self.connection, row.get(3)?)?,
            });
        }
        row_sum::verify_progress("member", &after, all.last().map(|it| &it.row))?;
        Ok(all)
    }

    pub(super) fn is_member(&mut self, key: &GroupKey, of: &EntityKey) -> Result<bool> {
        let Some(group) = self.group_row(key)? else { return Ok(false) };
        let Some(lifecycle) = self.names.find(self.connection, &of.lifecycle)? else { return Ok(false) };
        let sql = "SELECT member.\"group\", member.entity, member.sum FROM member \
                   JOIN entity ON entity.row = member.entity \
                   WHERE entity.lifecycle = ?1 AND entity.id = ?2 AND member.\"group\" = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row((lifecycle, of.id.as_str(), group), |row| {
            Ok(row_sum::verify("member", row, &[0, 1], 2).is_ok())
        });
        Ok(found.optional()?.unwrap_or(false))
    }

    /// The numbers of a ranking's names; none if it never had a place.
    fn ranking_numbers(&mut self, key: &RankingKey) -> Result<Option<(i64, i64)>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let ranking = self.names.find(self.connection, &key.name)?;
        Ok(ranking.map(|it| (lifecycle, it)))
    }

    fn ranking_key(&mut self, lifecycle: i64, ranking: i64) -> Result<RankingKey> {
        Ok(RankingKey {
            lifecycle: self.names.text(self.connection, lifecycle)?,
            name: self.names.text(self.connection, ranking)?,
        })
    }

    pub(super) fn place(&mut self, key: &RankingKey, id: &Name) -> Result<Option<RankPlace>> {
        let Some((lifecycle, ranking)) = self.ranking_numbers(key)? else { return Ok(None) };
        let sql = "SELECT lifecycle, ranking, id, within, meant_for, weights, since, sum FROM place \
                   WHERE lifecycle = ?1 AND ranking = ?2 AND id = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((lifecycle, ranking, id.as_str()), place).optional()
    }

    pub(super) fn places_after(
        &mut self,
        after: Option<&(RankingKey, Name)>,
        most: usize,
    ) -> Result<Vec<(RankingKey, Name)>> {
        let (lifecycle, ranking, id) = match after {
            None => (0, 0, ""),
            Some((key, id)) => {
                let (lifecycle, ranking) = self.ranking_numbers(key)?.unwrap_or_default();
                (lifecycle, ranking, id.as_str())
            }
        };
        let sql = "SELECT lifecycle, ranking, id FROM place \
                   WHERE (lifecycle, ranking, id) > (?1, ?2, ?3) ORDER BY lifecycle, ranking, id LIMIT ?4";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((lifecycle, ranking, id, limit(most)))?;
        let (mut all, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let (lifecycle, ranking, id) = (row.get(0)?, row.get(1)?, name(row, 2)?);
            last = Some((lifecycle, ranking, id.to_string()));
            all.push((self.ranking_key(lifecycle, ranking)?, id));
        }
        row_sum::verify_progress("place", &(lifecycle, ranking, id.to_owned()), last.as_ref())?;
        Ok(all)
    }

    pub(super) fn orders_after(
        &mut self,
        after: Option<&(RankingKey, Within)>,
        most: usize,
    ) -> Result<Vec<OrderRow>> {
        let (lifecycle, ranking, within) = match after {
            None => (0, 0, String::new()),
            Some((key, within)) => {
                let (lifecycle, ranking) = self.ranking_numbers(key)?.unwrap_or_default();
                (lifecycle, ranking, json(within)?)
            }
        };
        let sql = "SELECT lifecycle, ranking, within, n, closed, sum FROM \"order\" \
                   WHERE (lifecycle, ranking, within) > (?1, ?2, ?3) ORDER BY lifecycle, ranking, within LIMIT ?4";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((lifecycle, ranking, &within, limit(most)))?;
        let (mut all, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let (lifecycle, ranking) = (row.get(0)?, row.get(1)?);
            last = Some((lifecycle, ranking, row.get_ref(2)?.as_str()?.to_owned()));
            all.push(OrderRow {
                ranking: self.ranking_key(lifecycle, ranking)?,
                within: parsed(row, 2)?,
                // A damaged row differs from any count.
                n: match row_sum::verify("order", row, &[0, 1, 2, 3, 4], 5) {
                    Ok(()) => number(row.get(3)?),
                    Err(_) => u64::MAX,
                },
                closed: row.get(4).unwrap_or_default(),
            });
        }
        row_sum::verify_progress("order", &(lifecycle, ranking, within), last.as_ref())?;
        Ok(all)
    }

    pub(super) fn order(&mut self, key: &RankingKey, within: &Within) -> Result<Option<OrderRow>> {
        let Some((lifecycle, ranking)) = self.ranking_numbers(key)? else { return Ok(None) };
        let sql = "SELECT lifecycle, ranking, within, n, closed, sum FROM \"order\" \
                   WHERE lifecycle = ?1 AND ranking = ?2 AND within = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let order = statement.query_row((lifecycle, ranking, json(within)?), |row| {
            row_sum::verify("order", row, &[0, 1, 2, 3, 4], 5)?;
            let (n, closed) = (number(row.get(3)?), row.get(4)?);
            Ok(OrderRow { ranking: key.clone(), within: within.clone(), n, closed })
        });
        order.optional()
    }
}

/// The stored form of the order of a place.
fn json(within: &Within) -> Result<String> {
    serde_json::to_string(within).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
