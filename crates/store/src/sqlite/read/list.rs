//! Queries that return pages in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Result, Row, params_from_iter};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::ReadTxn;
use super::lookup::{body, name};
use crate::sqlite::failure::{int, limit, number, of_entity};
use crate::sqlite::guarded_lookup::{GuardedLookup, LookupStep};
use crate::sqlite::project::{ENTITY_CELLS, census, indexed, list, verify_entity};
use crate::sqlite::row_sum;
use crate::store::{Census, DueAt, Listing, OpenEffectRow};

impl ReadTxn<'_> {
    pub(super) fn timers(&mut self, after: Option<&DueAt>, most: usize) -> Result<Vec<DueAt>> {
        let lookup = GuardedLookup {
            table: "timer",
            from: "SELECT due, lifecycle, id, name, sum FROM timer \
                   WHERE (due, lifecycle, id, name) > (?1, ?2, ?3, ?4) ORDER BY due, lifecycle, id, name LIMIT ?5",
            before: "SELECT due, lifecycle, id, name, sum FROM timer \
                     WHERE (due, lifecycle, id, name) <= (?1, ?2, ?3, ?4) \
                     ORDER BY due DESC, lifecycle DESC, id DESC, name DESC LIMIT 1",
            lenient: false,
        };
        let (due, lifecycle, id, timer) = match after {
            None => (i64::MIN, "", "", ""),
            Some(DueAt { due, entity, timer }) => {
                (due.0, entity.lifecycle.as_str(), entity.id.as_str(), timer.as_str())
            }
        };
        let mut timers = Vec::new();
        let from = (due, lifecycle, id, timer, limit(most));
        lookup.run(self.connection, from, (due, lifecycle, id, timer), &mut |row| {
            let entity = EntityKey { lifecycle: name(row, 1)?, id: name(row, 2)? };
            timers.push(DueAt { due: Timestamp(row.get(0)?), entity, timer: name(row, 3)? });
            Ok(LookupStep::Next)
        })?;
        Ok(timers)
    }

    pub(super) fn effects(&mut self, after: u64, most: usize) -> Result<Vec<OpenEffectRow>> {
        let lookup = GuardedLookup {
            table: "effect",
            from: "SELECT id, effect, lifecycle, entity, sum FROM effect WHERE id > ?1 ORDER BY id LIMIT ?2",
            before: "SELECT id, effect, lifecycle, entity, sum FROM effect WHERE id <= ?1 ORDER BY id DESC LIMIT 1",
            lenient: false,
        };
        let mut effects = Vec::new();
        lookup.run(self.connection, [int(after), limit(most)], [int(after)], &mut |row| {
            let entity = EntityKey { lifecycle: name(row, 2)?, id: name(row, 3)? };
            effects.push(OpenEffectRow { id: number(row.get(0)?), effect: name(row, 1)?, entity });
            Ok(LookupStep::Next)
        })?;
        row_sum::verify_progress("effect", &after, effects.last().map(|it| &it.id))?;
        Ok(effects)
    }

    pub(super) fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>> {
        let lookup = GuardedLookup {
            table: "notice",
            from: "SELECT kind, seq, entity, sum FROM notice \
                   WHERE (kind, seq) > (?1, ?2) ORDER BY kind, seq LIMIT ?3",
            before: "SELECT kind, seq, entity, sum FROM notice \
                     WHERE (kind, seq) <= (?1, ?2) ORDER BY kind DESC, seq DESC LIMIT 1",
            lenient: false,
        };
        let mut seqs = Vec::new();
        for kind in kinds {
            let from = (kind, int(after), limit(most));
            lookup.run(self.connection, from, (kind, int(after)), &mut |row| {
                if row.get_ref(0)?.as_str()? != *kind {
                    return Ok(LookupStep::Past);
                }
                seqs.push(number(row.get(1)?));
                Ok(LookupStep::Next)
            })?;
        }
        seqs.sort_unstable();
        seqs.dedup();
        seqs.truncate(most);
        Ok(seqs)
    }

    pub(super) fn list(&mut self, listing: &Listing) -> Result<Vec<Arc<Entity>>> {
        let lifecycles = match &listing.lifecycle {
            Some(lifecycle) => vec![lifecycle.clone()],
            None => self.lifecycles()?,
        };
        let mut all = Vec::new();
        for lifecycle in lifecycles {
            let after = match &listing.after {
                Some(after) if after.lifecycle > lifecycle => continue,
                Some(after) if after.lifecycle == lifecycle => Some(&after.id),
                _ => None,
            };
            self.list_of(&lifecycle, after, listing, &mut all)?;
            if all.len() >= listing.most {
                break;
            }
        }
        Ok(all)
    }

    /// Every lifecycle that has an entity, in the order of names.
    fn lifecycles(&mut self) -> Result<Vec<Name>> {
        let mut statement =
            self.connection.prepare_cached("SELECT lifecycle, state, n, sum FROM state_count")?;
        let mut rows = statement.query([])?;
        let mut all = BTreeSet::new();
        while let Some(row) = rows.next()? {
            row_sum::verify_row("state_count", row)?;
            all.insert(self.names.text(self.connection, row.get(0)?)?);
        }
        Ok(all.into_iter().collect())
    }

    pub(super) fn census(&mut self) -> Result<Census> {
        census(self.connection)
    }

    /// Entities of one lifecycle. Several states are queried one by one, each in order.
    fn list_of(
        &mut self,
        lifecycle: &Name,
        after: Option<&Name>,
        listing: &Listing,
        all: &mut Vec<Arc<Entity>>,
    ) -> Result<()> {
        let Some(number) = self.names.find(self.connection, lifecycle)? else { return Ok(()) };
        let mut states = Vec::new();
        for state in &listing.states {
            states.extend(self.names.find(self.connection, state)?.map(Some));
        }
        if listing.states.is_empty() {
            states.push(None);
        }
        let most = listing.most.saturating_sub(all.len());
        let mut found = BTreeMap::new();
        for state in states {
            self.page((lifecycle, number), state, after, listing, most, &mut found)?;
        }
        all.extend(found.into_values().take(most));
        Ok(())
    }

    /// The next page of one lifecycle, in one state or any. What an index leads to is compared with the entity.
    fn page(
        &mut self,
        (lifecycle, number): (&Name, i64),
        state: Option<i64>,
        after: Option<&Name>,
        listing: &Listing,
        most: usize,
        found: &mut BTreeMap<Name, Arc<Entity>>,
    ) -> Result<()> {
        let mut cells = vec![Cell::from(number)];
        let mut bind = |cell: Cell| {
            cells.push(cell);
            format!("?{}", cells.len())
        };
        let mut from = "entity";
        let mut wanted = vec!["entity.lifecycle = ?1".to_owned()];
        let mut id = "entity.id";
        let wanted_value = match &listing.indexed {
            Some((field, value)) => Some((field.clone(), indexed(value)?)),
            None => None,
        };
        if let Some((field, value)) = &wanted_value {
            let Some(field) = self.names.find(self.connection, field)? else { return Ok(()) };
            let start = after.map_or("", |it| it.as_str());
            field_rows_hold(self.connection, (number, field, value, start), most)?;
            let (field, value) = (bind(field.into()), bind(value.clone().into()));
            // Use the index first: it is ordered by id, too.
            from = "field CROSS JOIN entity ON entity.lifecycle = field.lifecycle AND entity.id = field.id";
            wanted.push(format!("field.lifecycle = ?1 AND field.field = {field} AND field.value = {value}"));
            id = "field.id";
        }
        if let Some(state) = state {
            wanted.push(format!("entity.state = {}", bind(state.into())));
        }
        if let Some(at) = listing.overdue_at {
            wanted.push(format!("entity.overdue_at <= {}", bind(at.0.into())));
        }
        if let Some(after) = after {
            wanted.push(format!("{id} > {}", bind(after.as_str().to_owned().into())));
        }
        let most = bind(limit(most).into());
        let wanted = wanted.join(" AND ");
        let sql = format!(
            "SELECT {ENTITY_CELLS}, entity.lifecycle, entity.id, entity.body, entity.body_sum \
             FROM {from} WHERE {wanted} ORDER BY {id} LIMIT {most}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(cells))?;
        while let Some(row) = rows.next()? {
            let key = EntityKey { lifecycle: lifecycle.clone(), id: name(row, 1)? };
            let entity = listed(row, wanted_value.as_ref()).map_err(of_entity(&key))?;
            found.insert(key.id, Arc::new(entity));
        }
        Ok(())
    }
}

/// Verifies the rows of the index from a place on that have one value, up to `most`.
fn field_rows_hold(
    connection: &Connection,
    (lifecycle, field, value, after): (i64, i64, &str, &str),
    most: usize,
) -> Result<()> {
    let lookup = GuardedLookup {
        table: "field",
        from: "SELECT lifecycle, field, value, id, sum FROM field \
               WHERE (lifecycle, field, value, id) > (?1, ?2, ?3, ?4) ORDER BY lifecycle, field, value, id LIMIT ?5",
        before: "SELECT lifecycle, field, value, id, sum FROM field \
                 WHERE (lifecycle, field, value, id) <= (?1, ?2, ?3, ?4) \
                 ORDER BY lifecycle DESC, field DESC, value DESC, id DESC LIMIT 1",
        lenient: false,
    };
    let wanted = (lifecycle, field, value);
    let from = (lifecycle, field, value, after, limit(most));
    lookup.run(connection, from, (lifecycle, field, value, after), &mut |row| match (
        row.get::<_, i64>(0)?,
        row.get::<_, i64>(1)?,
        row.get_ref(2)?.as_str()?,
    ) == wanted
    {
        true => Ok(LookupStep::Next),
        false => Ok(LookupStep::Past),
    })
}

/// A listed entity, if its row is the one that was written and has the value by which it was found.
fn listed(row: &Row<'_>, value: Option<&(Name, String)>) -> Result<Entity> {
    verify_entity(row, 0)?;
    if let Some(value) = value
        && !list::<(Name, String)>(&row.get(12)?)?.contains(value)
    {
        return Err(row_sum::mismatch("field"));
    }
    body(row, 14)
}
