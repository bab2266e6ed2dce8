//! Reads entity rows without trusting them: any cell may contain anything.

use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{OptionalExtension as _, Params, Result, Row};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::ReadTxn;
use crate::EntityRow;
use crate::sqlite::failure::{int, limit, number};
use crate::sqlite::project::{ENTITY_CELLS, Traces, list, verify_entity};
use crate::sqlite::row_sum;
use crate::store::{NOTHING_KEPT, StoredEntity};

/// The columns of an entity that are compared.
const CELLS: &str = "state, version, definition, seq, last, entered_at, updated_at, overdue_at, timers, effects, indexed, body";

/// The longest cell text in a message.
const MAX_CELL_TEXT: usize = 2_000;

impl ReadTxn<'_> {
    pub(super) fn stored_entities(
        &mut self,
        after: Option<&EntityKey>,
        most: usize,
    ) -> Result<Vec<StoredEntity>> {
        let mut kept = Vec::new();
        for (number, lifecycle) in self.kept_lifecycles()? {
            let after = match after {
                Some(after) if after.lifecycle > lifecycle => continue,
                Some(after) if after.lifecycle == lifecycle => after.id.as_str(),
                _ => "",
            };
            self.kept_of(number, &lifecycle, after, most, &mut kept)?;
            if kept.len() >= most {
                break;
            }
        }
        Ok(kept)
    }

    /// Lifecycles with rows, by name. The table of counts is not used, because it may be wrong.
    fn kept_lifecycles(&mut self) -> Result<Vec<(i64, Name)>> {
        let sql = "SELECT min(lifecycle) FROM entity WHERE lifecycle > ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (mut all, mut last) = (Vec::new(), i64::MIN);
        while let Some(next) = statement.query_row([last], |row| row.get::<_, Option<i64>>(0))? {
            row_sum::verify_progress("entity", &last, Some(&next))?;
            if let Ok(name) = self.names.text(self.connection, next) {
                all.push((next, name));
            }
            last = next;
        }
        all.sort_by(|a, b| a.1.cmp(&b.1));
        Ok(all)
    }

    fn kept_of(
        &mut self,
        lifecycle: i64,
        name: &Name,
        after: &str,
        most: usize,
        kept: &mut Vec<StoredEntity>,
    ) -> Result<()> {
        // Bytes, because a damaged id need not be text.
        let mut after = after.as_bytes().to_vec();
        loop {
            let wanted = most.saturating_sub(kept.len());
            let (mut rows_read, mut damaged) = (0, Vec::new());
            let begin = after.clone();
            let sql = format!(
                "SELECT {ENTITY_CELLS} FROM entity WHERE lifecycle = ?1 AND id > CAST(?2 AS TEXT) ORDER BY id LIMIT ?3"
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query((lifecycle, &after, limit(wanted)))?;
            while let Some(row) = rows.next()? {
                rows_read += 1;
                let (ValueRef::Text(id) | ValueRef::Blob(id)) = row.get_ref(1)? else { continue };
                after = id.to_vec();
                let Ok(id) = std::str::from_utf8(id) else { continue };
                let key = EntityKey { lifecycle: name.clone(), id: Name::new(id) };
                // A row that is not as it was written has no trusted entry and no known state.
                let (seq, state) = match verify_entity(row, 0) {
                    Ok(()) => (number(row.get(5)?), row.get(2)?),
                    Err(_) => {
                        damaged.push(kept.len());
                        (0, -1)
                    }
                };
                let state = self.names.text(self.connection, state).unwrap_or_else(|_| Name::new("?"));
                kept.push(StoredEntity { key, seq, state });
            }
            drop(rows);
            drop(statement);
            for at in damaged {
                if let Some(row) = kept.get_mut(at) {
                    row.seq = self.last_entry(&row.key).ok().flatten().unwrap_or(0);
                }
            }
            row_sum::verify_progress("entity", &begin, (rows_read > 0).then_some(&after))?;
            if rows_read < wanted || kept.len() >= most {
                return Ok(());
            }
        }
    }

    pub(super) fn is_stored(&mut self, key: &EntityKey) -> Result<bool> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(false) };
        let sql = "SELECT 1 FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row((lifecycle, key.id.as_str()), |_| Ok(())).optional()?.is_some())
    }

    /// The first difference between the stored rows of an entity and this row, in its own table and in the derived
    /// ones.
    pub(super) fn difference(&mut self, row: &EntityRow) -> Result<Option<String>> {
        let nothing = || Ok(Some(NOTHING_KEPT.to_owned()));
        let key = &row.entity.key;
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return nothing() };
        let Some(state) = self.names.find(self.connection, &row.entity.state)? else { return nothing() };
        let traces = Traces::of(row)?;
        let sql =
            format!("SELECT {CELLS}, {ENTITY_CELLS}, body_sum FROM entity WHERE lifecycle = ?1 AND id = ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let wanted = cells(state, row, &traces);
        let found = statement
            .query_row((lifecycle, key.id.as_str()), |found| differing(found, &wanted, &row.entity))
            .optional()?;
        match found {
            None => nothing(),
            Some(Some(told)) => Ok(Some(told)),
            Some(None) => self.without_trace(row, lifecycle, &traces),
        }
    }

    /// The first derived row that is missing.
    fn without_trace(&mut self, row: &EntityRow, lifecycle: i64, traces: &Traces) -> Result<Option<String>> {
        let key = &row.entity.key;
        let (own, id) = (key.lifecycle.as_str(), key.id.as_str());
        let sql = "SELECT due, lifecycle, id, name, sum FROM timer \
                   WHERE due = ?1 AND lifecycle = ?2 AND id = ?3 AND name = ?4";
        for (due, name) in list::<(i64, Name)>(&traces.timers)? {
            if !self.has_row("timer", sql, (due, own, id, name.as_str()))? {
                return Ok(Some(format!("its timer {name} has no row")));
            }
        }
        let sql = "SELECT id, effect, lifecycle, entity, sum FROM effect \
                   WHERE id = ?1 AND effect = ?2 AND lifecycle = ?3 AND entity = ?4";
        for (number, effect) in list::<(u64, Name)>(&traces.effects)? {
            if !self.has_row("effect", sql, (int(number), effect.as_str(), own, id))? {
                return Ok(Some(format!("its effect {effect} has no row")));
            }
        }
        let sql = "SELECT lifecycle, field, value, id, sum FROM field \
                   WHERE lifecycle = ?1 AND field = ?2 AND value = ?3 AND id = ?4";
        for (field, value) in list::<(Name, String)>(&traces.indexed)? {
            let number = self.names.find(self.connection, &field)?;
            if !self.has_row("field", sql, (lifecycle, number, value, id))? {
                return Ok(Some(format!("its field {field} is missing from the index")));
            }
        }
        if let Some(value) = &row.entity.same {
            let sql = "SELECT lifecycle, value, id, sum FROM same WHERE lifecycle = ?1 AND value = ?2";
            if !self.has_row("same", sql, (lifecycle, value.as_str()))? {
                return Ok(Some("its unique value has no row".to_owned()));
            }
        }
        Ok(None)
    }

    /// Whether a row is there and as it was written.
    fn has_row(&self, table: &str, sql: &str, key: impl Params) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(key)?;
        Ok(rows.next()?.is_some_and(|row| row_sum::verify_row(table, row).is_ok()))
    }
}

/// The expected cells, in the order of [`CELLS`], without the last.
fn cells(state: i64, row: &EntityRow, traces: &Traces) -> Vec<Cell> {
    let Entity { version, definition, seq, state_entered_at, updated_at, .. } = &*row.entity;
    let text = |it: &Option<String>| it.clone().map_or(Cell::Null, Cell::Text);
    vec![
        Cell::Integer(state),
        Cell::Integer(int(*version)),
        Cell::Integer(i64::from(*definition)),
        Cell::Integer(int(*seq)),
        Cell::Integer(i64::from(row.last)),
        Cell::Integer(state_entered_at.0),
        Cell::Integer(updated_at.0),
        row.overdue_at.map_or(Cell::Null, |it| Cell::Integer(it.0)),
        text(&traces.timers),
        text(&traces.effects),
        text(&traces.indexed),
    ]
}

/// The first cell that differs, with its name.
fn differing(found: &Row<'_>, wanted: &[Cell], entity: &Entity) -> Result<Option<String>> {
    for ((number, wanted), name) in wanted.iter().enumerate().zip(CELLS.split(", ")) {
        let cell = cell(found.get_ref(number)?);
        if cell != *wanted {
            return Ok(Some(format!("{name}: {}", cell_text(&cell))));
        }
    }
    let body = cell(found.get_ref(wanted.len())?);
    // Another release may have written the same JSON differently.
    let same = matches!(&body, Cell::Text(text) if serde_json::from_str::<Entity>(text).is_ok_and(|it| it == *entity));
    if !same {
        return Ok(Some(cell_text(&body)));
    }
    let first = wanted.len() + 1;
    let sums = verify_entity(found, first)
        .and_then(|()| row_sum::verify("body", found, &[first, first + 1, wanted.len()], first + 14));
    Ok(sums.err().map(|error| error.to_string()))
}

/// Any cell, also text that is not UTF-8.
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Text(it) => match std::str::from_utf8(it) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => Cell::Blob(it.to_vec()),
        },
        other => Cell::try_from(other).unwrap_or(Cell::Null),
    }
}

/// A cell as text, truncated.
fn cell_text(cell: &Cell) -> String {
    let text = match cell {
        Cell::Null => "null".to_owned(),
        Cell::Integer(it) => it.to_string(),
        Cell::Real(it) => it.to_string(),
        Cell::Text(it) => it.clone(),
        Cell::Blob(it) => String::from_utf8_lossy(it).into_owned(),
    };
    text.chars().take(MAX_CELL_TEXT).collect()
}
