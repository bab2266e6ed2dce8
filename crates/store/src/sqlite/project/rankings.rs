//! Writes rankings: places, and which orders are closed.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension as _, Result};
use trackside_engine::key::EntityKey;
use trackside_engine::ranking::{RankPlace, Reranked};
use trackside_lifecycle::name::Name;

use super::{WriteTxn, json};

impl WriteTxn<'_> {
    pub(super) fn reranked(&mut self, changes: &[Reranked]) -> Result<()> {
        for change in changes {
            let key = change.ranking();
            let lifecycle = self.names.number(self.connection, &key.lifecycle)?;
            let ranking = self.names.number(self.connection, &key.name)?;
            match change {
                Reranked::Placed { entity, place, .. } => {
                    self.place(lifecycle, ranking, entity, place.as_ref())?;
                }
                Reranked::Opened { within, open, .. } => {
                    // An empty order has no row and is neither open nor closed.
                    let sql = "UPDATE \"order\" SET closed = ?4, \
                               sum = CASE WHEN sum = row_sum('order', lifecycle, ranking, within, n, closed) \
                               THEN row_sum('order', lifecycle, ranking, within, n, ?4) ELSE 0 END \
                               WHERE lifecycle = ?1 AND ranking = ?2 AND within = ?3";
                    let mut statement = self.connection.prepare_cached(sql)?;
                    statement.execute((lifecycle, ranking, json(within)?, !open))?;
                }
            }
        }
        Ok(())
    }

    fn place(
        &self,
        lifecycle: i64,
        ranking: i64,
        entity: &EntityKey,
        place: Option<&RankPlace>,
    ) -> Result<()> {
        let id = entity.id.as_str();
        let sql = "SELECT within FROM place WHERE lifecycle = ?1 AND ranking = ?2 AND id = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let before: Option<String> =
            statement.query_row((lifecycle, ranking, id), |row| row.get(0)).optional()?;
        let after = place.map(|it| json(&it.within)).transpose()?;
        if before != after {
            if let Some(before) = &before {
                self.leave(lifecycle, ranking, before)?;
            }
            if let Some(after) = &after {
                let sql = "INSERT INTO \"order\" (lifecycle, ranking, within, n, sum) \
                           VALUES (?1, ?2, ?3, 1, row_sum('order', ?1, ?2, ?3, 1, 0)) \
                           ON CONFLICT (lifecycle, ranking, within) DO UPDATE SET n = n + 1, \
                           sum = CASE WHEN sum = row_sum('order', lifecycle, ranking, within, n, closed) \
                           THEN row_sum('order', lifecycle, ranking, within, n + 1, closed) ELSE 0 END";
                self.connection.prepare_cached(sql)?.execute((lifecycle, ranking, after))?;
            }
        }
        match place {
            Some(place) => {
                let sql = "INSERT OR REPLACE INTO place (lifecycle, ranking, id, within, meant_for, weights, since, sum) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, row_sum('place', ?1, ?2, ?3, ?4, ?5, ?6, ?7))";
                self.connection.prepare_cached(sql)?.execute((
                    lifecycle,
                    ranking,
                    id,
                    after,
                    place.meant_for.as_ref().map(Name::as_str),
                    json(&place.weights)?,
                    place.since.0,
                ))?;
            }
            None => {
                let sql = "DELETE FROM place WHERE lifecycle = ?1 AND ranking = ?2 AND id = ?3";
                self.connection.prepare_cached(sql)?.execute((lifecycle, ranking, id))?;
            }
        }
        Ok(())
    }

    /// Decrements an order and deletes it when it is empty.
    fn leave(&self, lifecycle: i64, ranking: i64, within: &str) -> Result<()> {
        let sql = "UPDATE \"order\" SET n = n - 1, \
                   sum = CASE WHEN sum = row_sum('order', lifecycle, ranking, within, n, closed) \
                   THEN row_sum('order', lifecycle, ranking, within, n - 1, closed) ELSE 0 END WHERE lifecycle = ?1 AND ranking = ?2 AND within = ?3";
        self.connection.prepare_cached(sql)?.execute((lifecycle, ranking, within))?;
        let sql = "DELETE FROM \"order\" WHERE lifecycle = ?1 AND ranking = ?2 AND within = ?3 AND n <= 0";
        self.connection.prepare_cached(sql)?.execute((lifecycle, ranking, within))?;
        Ok(())
    }

    /// Recounts the orders of rebuilt entities and deletes empty ones.
    pub(super) fn reorder(&mut self, to_rebuild: &BTreeSet<EntityKey>, changes: &[Reranked]) -> Result<()> {
        if to_rebuild.is_empty() {
            return Ok(());
        }
        // Places that no entity can have may be removed with an entity of another lifecycle.
        let moved = changes.iter().map(|it| it.ranking().lifecycle);
        let lifecycles: BTreeSet<Name> =
            to_rebuild.iter().map(|it| it.lifecycle.clone()).chain(moved).collect();
        for name in lifecycles {
            let lifecycle = self.names.number(self.connection, &name)?;
            // Whether a damaged order is closed is not known: it stays damaged, until the repair of one of its entities
            // says so.
            let sql = "UPDATE \"order\" SET closed = 0, sum = 0 WHERE lifecycle = ?1 \
                       AND sum <> row_sum('order', lifecycle, ranking, within, n, closed)";
            self.connection.execute(sql, [lifecycle])?;
            let sql = "INSERT INTO \"order\" (lifecycle, ranking, within, n, sum) \
                       SELECT lifecycle, ranking, within, count(*), 0 FROM place WHERE lifecycle = ?1 GROUP BY ranking, within \
                       ON CONFLICT (lifecycle, ranking, within) DO UPDATE SET n = excluded.n, \
                       sum = CASE WHEN sum = row_sum('order', lifecycle, ranking, within, n, closed) \
                       THEN row_sum('order', lifecycle, ranking, within, excluded.n, closed) ELSE 0 END";
            self.connection.execute(sql, [lifecycle])?;
            let sql = "UPDATE \"order\" SET sum = row_sum('order', lifecycle, ranking, within, n, closed) \
                       WHERE lifecycle = ?1 AND sum = 0 \
                       AND (ranking, within) IN (SELECT ranking, within FROM place WHERE lifecycle = ?1 AND id = ?2)";
            for entity in to_rebuild.iter().filter(|it| it.lifecycle == name) {
                self.connection.execute(sql, (lifecycle, entity.id.as_str()))?;
            }
            let sql = "DELETE FROM \"order\" WHERE lifecycle = ?1 AND (ranking, within) NOT IN \
                       (SELECT ranking, within FROM place WHERE lifecycle = ?1)";
            self.connection.execute(sql, [lifecycle])?;
        }
        Ok(())
    }
}
