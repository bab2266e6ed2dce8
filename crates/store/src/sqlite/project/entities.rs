//! Writes entities and the rows derived from them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Result, Row, params};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::hex;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::insert_row::Put;
use super::{WriteTxn, json};
use crate::EntityRow;
use crate::sqlite::failure::int;
use crate::sqlite::row_sum;

/// The stored row of an entity, without its body.
struct Stored {
    row: i64,
    state: i64,
    traces: Traces,
}

/// The rows that an entity has in other tables, as JSON; none if it has none.
#[derive(Default, PartialEq)]
pub(in crate::sqlite) struct Traces {
    /// Due time and name of each running timer.
    pub timers: Option<String>,
    /// Numbers and names of open effects.
    pub effects: Option<String>,
    /// Fields and values.
    pub indexed: Option<String>,
}

/// The summed columns of an entity and their sum. The body has a sum of its own.
pub(in crate::sqlite) const ENTITY_CELLS: &str = "entity.lifecycle, entity.id, entity.state, entity.version, \
    entity.definition, entity.seq, entity.last, entity.entered_at, entity.updated_at, entity.overdue_at, \
    entity.timers, entity.effects, entity.indexed, entity.sum";

/// Verifies the columns of [`ENTITY_CELLS`], which begin at `first`.
pub(in crate::sqlite) fn verify_entity(row: &Row<'_>, first: usize) -> Result<()> {
    let cells: [usize; 13] = std::array::from_fn(|it| first + it);
    row_sum::verify("entity", row, &cells, first + 13)
}

/// Longer values are indexed by their hash.
const LONGEST: usize = 200;

/// A value in the index: its JSON, or the hash of a long one.
pub(in crate::sqlite) fn indexed(value: &Value) -> Result<String> {
    let text = json(value)?;
    if text.len() <= LONGEST {
        return Ok(text);
    }
    Ok(format!("#{}", hex::encode(crate::record::digest(&text))))
}

impl Traces {
    pub fn of(row: &EntityRow) -> Result<Self> {
        let running = |(name, timer): &(Name, trackside_engine::entity::TimerState)| {
            timer.due.map(|due| (due.0, name.clone()))
        };
        let timers: Vec<(i64, Name)> = row.entity.timers.iter().filter_map(running).collect();
        let effects: Vec<(u64, Name)> =
            row.entity.effects.iter().map(|it| (it.id, it.effect.clone())).collect();
        let fields = row.indexed.iter().map(|(field, value)| Ok((field.clone(), indexed(value)?)));
        let fields: Vec<(Name, String)> = fields.collect::<Result<_>>()?;
        fn text<T: serde::Serialize>(all: &[T]) -> Result<Option<String>> {
            if all.is_empty() { Ok(None) } else { json(&all).map(Some) }
        }
        Ok(Self { timers: text(&timers)?, effects: text(&effects)?, indexed: text(&fields)? })
    }
}

pub(in crate::sqlite) fn list<T: serde::de::DeserializeOwned>(text: &Option<String>) -> Result<Vec<T>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}

impl WriteTxn<'_> {
    pub(super) fn entities(&mut self, rows: &[EntityRow], to_rebuild: &BTreeSet<EntityKey>) -> Result<()> {
        let mut moved = BTreeMap::new();
        let mut recount = !to_rebuild.is_empty();
        for row in rows {
            let key = &row.entity.key;
            let lifecycle = self.names.number(self.connection, &key.lifecycle)?;
            let state = self.names.number(self.connection, &row.entity.state)?;
            if to_rebuild.contains(key) {
                self.remake(lifecycle, state, row)?;
                continue;
            }
            let stored = match self.stored_row(lifecycle, &key.id) {
                Ok(stored) => stored,
                Err(error @ rusqlite::Error::SqliteFailure(..)) => return Err(error),
                // A damaged row is no guide to the rows in other tables.
                Err(_) => {
                    self.remake(lifecycle, state, row)?;
                    recount = true;
                    continue;
                }
            };
            let traces = Traces::of(row)?;
            self.put(lifecycle, state, row, stored.as_ref().map(|it| it.row), &traces)?;
            let nothing = Traces::default();
            let before = stored.as_ref().map_or(&nothing, |it| &it.traces);
            self.trace(key, lifecycle, before, &traces)?;
            if let Some(stored) = &stored {
                *moved.entry((lifecycle, stored.state)).or_insert(0_i64) -= 1;
            }
            *moved.entry((lifecycle, state)).or_insert(0) += 1;
        }
        let sql = "INSERT INTO state_count (lifecycle, state, n, sum) \
                   VALUES (?1, ?2, ?3, row_sum('state_count', ?1, ?2, ?3)) \
                   ON CONFLICT (lifecycle, state) DO UPDATE SET n = n + excluded.n, \
                   sum = CASE WHEN sum = row_sum('state_count', lifecycle, state, n) \
                   THEN row_sum('state_count', lifecycle, state, n + excluded.n) ELSE 0 END";
        let mut statement = self.connection.prepare_cached(sql)?;
        for ((lifecycle, state), by) in moved.into_iter().filter(|(_, by)| *by != 0) {
            statement.execute((lifecycle, state, by))?;
        }
        let damaged = "SELECT 1 FROM state_count WHERE sum <> row_sum('state_count', lifecycle, state, n)";
        if recount || self.connection.prepare_cached(damaged)?.exists([])? {
            self.recount_states()?;
        }
        Ok(())
    }

    fn recount_states(&self) -> Result<()> {
        self.connection.execute_batch(
            "DELETE FROM state_count;
             INSERT INTO state_count (lifecycle, state, n, sum)
                 SELECT lifecycle, state, n, row_sum('state_count', lifecycle, state, n)
                 FROM (SELECT lifecycle, state, count(*) AS n FROM entity GROUP BY lifecycle, state);
             DELETE FROM meta WHERE key = 'census';",
        )
    }

    /// Deletes damaged rows of entities that do not exist.
    pub(super) fn delete_ghosts(&mut self, keys: &[EntityKey]) -> Result<()> {
        let sql = "DELETE FROM entity WHERE lifecycle = ?1 AND id = ?2 AND (body_sum <> row_sum('body', lifecycle, id, body) \
                   OR sum <> row_sum('entity', lifecycle, id, state, version, definition, seq, last, entered_at, \
                   updated_at, overdue_at, timers, effects, indexed))";
        for key in keys {
            let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { continue };
            self.connection.execute(sql, (lifecycle, key.id.as_str()))?;
        }
        if !keys.is_empty() {
            self.connection
                .execute_batch("DELETE FROM member WHERE entity NOT IN (SELECT row FROM entity);")?;
            self.recount_states()?;
        }
        Ok(())
    }

    /// Rewrites all rows of an entity without relying on the stored ones.
    fn remake(&mut self, lifecycle: i64, state: i64, row: &EntityRow) -> Result<()> {
        let key = &row.entity.key;
        let (own, id) = (key.lifecycle.as_str(), key.id.as_str());
        self.connection.execute("DELETE FROM timer WHERE lifecycle = ?1 AND id = ?2", (own, id))?;
        self.connection.execute("DELETE FROM effect WHERE lifecycle = ?1 AND entity = ?2", (own, id))?;
        self.connection.execute("DELETE FROM field WHERE lifecycle = ?1 AND id = ?2", (lifecycle, id))?;
        if let Some(value) = &row.entity.same {
            let sql = "INSERT INTO same (lifecycle, value, id, sum) VALUES (?1, ?2, ?3, row_sum('same', ?1, ?2, ?3)) \
                       ON CONFLICT (lifecycle, value) DO UPDATE SET id = excluded.id, sum = excluded.sum \
                       WHERE sum <> row_sum('same', lifecycle, value, id)";
            self.connection.execute(sql, (lifecycle, value.as_str(), id))?;
        }
        let (stored, traces) = (self.row(key)?, Traces::of(row)?);
        self.put(lifecycle, state, row, stored, &traces)?;
        self.trace(key, lifecycle, &Traces::default(), &traces)
    }

    /// The row of an entity, if it has one.
    pub(super) fn row(&mut self, key: &EntityKey) -> Result<Option<i64>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let sql = "SELECT row FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut find = || statement.query_row((lifecycle, key.id.as_str()), |row| row.get(0)).optional();
        if let Some(row) = find()? {
            return Ok(Some(row));
        }
        // A damaged index must not lead to a second row.
        let sql = "SELECT 1 FROM entity INDEXED BY entity_by_state WHERE lifecycle = ?1 AND id = ?2 \
                   AND state IN (SELECT state FROM state_count WHERE lifecycle = ?1)";
        match self.connection.prepare_cached(sql)?.exists((lifecycle, key.id.as_str()))? {
            true => {
                self.connection.execute_batch("REINDEX entity")?;
                find()
            }
            false => Ok(None),
        }
    }

    fn stored_row(&self, lifecycle: i64, id: &str) -> Result<Option<Stored>> {
        let sql = format!("SELECT {ENTITY_CELLS}, row FROM entity WHERE lifecycle = ?1 AND id = ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let stored = statement.query_row((lifecycle, id), |row| {
            verify_entity(row, 0)?;
            let traces = Traces { timers: row.get(10)?, effects: row.get(11)?, indexed: row.get(12)? };
            Ok(Stored { row: row.get(14)?, state: row.get(2)?, traces })
        });
        stored.optional()
    }

    fn put(
        &self,
        lifecycle: i64,
        state: i64,
        row: &EntityRow,
        stored: Option<i64>,
        traces: &Traces,
    ) -> Result<()> {
        let Entity { key, version, definition, seq, state_entered_at, updated_at, .. } = &*row.entity;
        let Traces { timers, effects, indexed } = traces;
        let (body, overdue_at) = (json(&*row.entity)?, row.overdue_at.map(|it: Timestamp| it.0));
        let (version, seq) = (int(*version), int(*seq));
        // A new row has no number yet: SQLite chooses it where `row` is null.
        let sql = match stored {
            Some(_) => {
                "UPDATE entity SET state = ?4, version = ?5, definition = ?6, seq = ?7, last = ?8, \
                 entered_at = ?9, updated_at = ?10, overdue_at = ?11, timers = ?12, effects = ?13, \
                 indexed = ?14, body = ?15, \
                 sum = row_sum('entity', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14), \
                 body_sum = row_sum('body', ?2, ?3, ?15) WHERE row = ?1"
            }
            None => {
                "INSERT INTO entity (row, lifecycle, id, state, version, definition, seq, last, entered_at, \
                 updated_at, overdue_at, timers, effects, indexed, body, sum, body_sum) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
                 row_sum('entity', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14), \
                 row_sum('body', ?2, ?3, ?15))"
            }
        };
        self.connection.prepare_cached(sql)?.execute(params![
            stored,
            lifecycle,
            key.id.as_str(),
            state,
            version,
            definition,
            seq,
            row.last,
            state_entered_at.0,
            updated_at.0,
            overdue_at,
            timers,
            effects,
            indexed,
            body,
        ])?;
        Ok(())
    }

    /// Updates the rows in other tables.
    fn trace(&mut self, key: &EntityKey, lifecycle: i64, before: &Traces, after: &Traces) -> Result<()> {
        let (own, id) = (key.lifecycle.as_str(), key.id.as_str());
        let (gone, new): ChangedRules<(i64, Name)> = changed(&before.timers, &after.timers)?;
        let sql = "DELETE FROM timer WHERE due = ?1 AND lifecycle = ?2 AND id = ?3 AND name = ?4";
        for (due, name) in gone {
            let rows = self.connection.prepare_cached(sql)?.execute((due, own, id, name.as_str()))?;
            self.counted.timer(&name, -(rows as i64));
        }
        let into = "INTO timer (due, lifecycle, id, name, sum) \
                    VALUES (?1, ?2, ?3, ?4, row_sum('timer', ?1, ?2, ?3, ?4))";
        let mut put = Put::new(self.connection, into)?;
        for (due, name) in new {
            let is_new = put.one(params![due, own, id, name.as_str()])?;
            self.counted.timer(&name, i64::from(is_new));
        }
        let (gone, new): ChangedRules<(u64, Name)> = changed(&before.effects, &after.effects)?;
        for (number, _) in gone {
            let sql = "DELETE FROM effect WHERE id = ?1";
            let rows = self.connection.prepare_cached(sql)?.execute([int(number)])?;
            self.counted.effect(-(rows as i64));
        }
        let into = "INTO effect (id, effect, lifecycle, entity, sum) \
                    VALUES (?1, ?2, ?3, ?4, row_sum('effect', ?1, ?2, ?3, ?4))";
        let mut put = Put::new(self.connection, into)?;
        for (number, effect) in new {
            let is_new = put.one(params![int(number), effect.as_str(), own, id])?;
            self.counted.effect(i64::from(is_new));
        }
        let (gone, new): ChangedRules<(Name, String)> = changed(&before.indexed, &after.indexed)?;
        let sql = "DELETE FROM field WHERE lifecycle = ?1 AND field = ?2 AND value = ?3 AND id = ?4";
        for (field, value) in gone {
            let field = self.names.number(self.connection, &field)?;
            self.connection.prepare_cached(sql)?.execute((lifecycle, field, value, id))?;
        }
        let into = "INTO field (lifecycle, field, value, id, sum) \
                    VALUES (?1, ?2, ?3, ?4, row_sum('field', ?1, ?2, ?3, ?4))";
        let mut put = Put::new(self.connection, into)?;
        for (field, value) in new {
            let field = self.names.number(self.connection, &field)?;
            put.one(params![lifecycle, field, value, id])?;
        }
        Ok(())
    }
}

/// The items that were removed from a list, and the new ones.
type ChangedRules<T> = (Vec<T>, Vec<T>);

fn changed<T>(before: &Option<String>, after: &Option<String>) -> Result<ChangedRules<T>>
where
    T: PartialEq + serde::de::DeserializeOwned,
{
    if before == after {
        return Ok((Vec::new(), Vec::new()));
    }
    let (old, mut new): ChangedRules<T> = (list(before)?, list(after)?);
    let (kept, gone): ChangedRules<T> = old.into_iter().partition(|it| new.contains(it));
    new.retain(|it| !kept.contains(it));
    Ok((gone, new))
}
