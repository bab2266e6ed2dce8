//! What is kept of entities, looked at without trust: any cell may hold anything.

use rusqlite::types::Value as Cell;
use rusqlite::{OptionalExtension as _, Result, Row};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use super::Eyes;
use crate::EntityRow;
use crate::sqlite::failure::{int, limit, number};
use crate::sqlite::project::{Traces, list};
use crate::store::{Kept, NOTHING_KEPT};

/// The cells of an entity that its row says something in.
const CELLS: &str = "state, version, definition, seq, last, entered_at, updated_at, overdue_at, timers, effects, indexed, body";

/// The longest text of a cell that is told.
const TOLD: usize = 2_000;

impl Eyes<'_> {
    pub(super) fn kept(&mut self, after: Option<&EntityKey>, most: usize) -> Result<Vec<Kept>> {
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

    /// Lifecycles of which there are rows, by name. What counts them is not asked: it may be wrong.
    fn kept_lifecycles(&mut self) -> Result<Vec<(i64, Name)>> {
        let sql = "SELECT min(lifecycle) FROM entity WHERE lifecycle > ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (mut all, mut last) = (Vec::new(), i64::MIN);
        while let Some(next) = statement.query_row([last], |row| row.get::<_, Option<i64>>(0))? {
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
        kept: &mut Vec<Kept>,
    ) -> Result<()> {
        let sql = "SELECT id, seq, state FROM entity WHERE lifecycle = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((lifecycle, after, limit(most.saturating_sub(kept.len()))))?;
        while let Some(row) = rows.next()? {
            let Cell::Text(id) = row.get(0)? else { continue };
            let whole = |it: Cell| if let Cell::Integer(it) = it { it } else { -1 };
            let state = self.names.text(self.connection, whole(row.get(2)?));
            kept.push(Kept {
                key: EntityKey { lifecycle: name.clone(), id: Name::from(id) },
                seq: number(whole(row.get(1)?)),
                state: state.unwrap_or_else(|_| Name::new("?")),
            });
        }
        Ok(())
    }

    pub(super) fn is_kept(&mut self, key: &EntityKey) -> Result<bool> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(false) };
        let sql = "SELECT 1 FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row((lifecycle, key.id.as_str()), |_| Ok(())).optional()?.is_some())
    }

    /// What is kept and is not what this row makes, in its own table and in those that follow from it.
    pub(super) fn difference(&mut self, row: &EntityRow) -> Result<Option<String>> {
        let nothing = || Ok(Some(NOTHING_KEPT.to_owned()));
        let key = &row.entity.key;
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return nothing() };
        let Some(state) = self.names.find(self.connection, &row.entity.state)? else { return nothing() };
        let traces = Traces::of(row)?;
        let sql = format!("SELECT {CELLS} FROM entity WHERE lifecycle = ?1 AND id = ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let wanted = cells(state, row, &traces);
        let found = statement
            .query_row((lifecycle, key.id.as_str()), |found| differing(found, &wanted, &row.entity))
            .optional()?;
        match found {
            None => nothing(),
            Some(Some(told)) => Ok(Some(told)),
            Some(None) => self.without_trace(key, lifecycle, &traces),
        }
    }

    /// What should follow from an entity in other tables, and does not.
    fn without_trace(&mut self, key: &EntityKey, lifecycle: i64, traces: &Traces) -> Result<Option<String>> {
        let (own, id) = (key.lifecycle.as_str(), key.id.as_str());
        let sql = "SELECT 1 FROM timer WHERE due = ?1 AND lifecycle = ?2 AND id = ?3 AND name = ?4";
        for (due, name) in list::<(i64, Name)>(&traces.timers)? {
            let mut statement = self.connection.prepare_cached(sql)?;
            if !statement.exists((due, own, id, name.as_str()))? {
                return Ok(Some(format!("its timer {name} was not kept")));
            }
        }
        let sql = "SELECT 1 FROM effect WHERE id = ?1 AND effect = ?2 AND lifecycle = ?3 AND entity = ?4";
        for (number, effect) in list::<(u64, Name)>(&traces.effects)? {
            let mut statement = self.connection.prepare_cached(sql)?;
            if !statement.exists((int(number), effect.as_str(), own, id))? {
                return Ok(Some(format!("its effect {effect} was not kept")));
            }
        }
        let sql = "SELECT 1 FROM field WHERE lifecycle = ?1 AND field = ?2 AND value = ?3 AND id = ?4";
        for (field, value) in list::<(Name, String)>(&traces.indexed)? {
            let number = self.names.find(self.connection, &field)?;
            let mut statement = self.connection.prepare_cached(sql)?;
            if !statement.exists((lifecycle, number, value, id))? {
                return Ok(Some(format!("its field {field} was not kept in the index")));
            }
        }
        Ok(None)
    }
}

/// The cells that a row has, in the order of [`CELLS`] but for the last.
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

/// The first cell of a row that is not as it should be, with its name.
fn differing(found: &Row<'_>, wanted: &[Cell], entity: &Entity) -> Result<Option<String>> {
    for ((number, wanted), name) in wanted.iter().enumerate().zip(CELLS.split(", ")) {
        let cell: Cell = found.get(number)?;
        if cell != *wanted {
            return Ok(Some(format!("{name}: {}", told(&cell))));
        }
    }
    let body: Cell = found.get(wanted.len())?;
    // Another release may have written the same in other words.
    let same = matches!(&body, Cell::Text(text) if serde_json::from_str::<Entity>(text).is_ok_and(|it| it == *entity));
    Ok((!same).then(|| told(&body)))
}

/// A cell for people, as far as it is not too long.
fn told(cell: &Cell) -> String {
    let text = match cell {
        Cell::Null => "null".to_owned(),
        Cell::Integer(it) => it.to_string(),
        Cell::Real(it) => it.to_string(),
        Cell::Text(it) => it.clone(),
        Cell::Blob(it) => String::from_utf8_lossy(it).into_owned(),
    };
    text.chars().take(TOLD).collect()
}
