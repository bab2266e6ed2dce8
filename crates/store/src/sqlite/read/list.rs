//! Queries that return pages in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Value as Cell;
use rusqlite::{Result, Row, params_from_iter};
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::ReadTxn;
use super::lookup::{body, name};
use crate::sqlite::failure::{int, limit, number, of_entity};
use crate::sqlite::project::{ENTITY_CELLS, census, indexed, list, verify_entity};
use crate::sqlite::row_sum;
use crate::store::{Census, DueAt, Listing, OpenEffectRow};

impl ReadTxn<'_> {
    pub(super) fn timers(&mut self, after: Option<&DueAt>, most: usize) -> Result<Vec<DueAt>> {
        let from = "SELECT due, lifecycle, id, name FROM timer";
        let order = "ORDER BY due, lifecycle, id, name LIMIT";
        let beyond = format!("{from} WHERE (due, lifecycle, id, name) > (?1, ?2, ?3, ?4) {order} ?5");
        let mut statement = match after {
            Some(_) => self.connection.prepare_cached(&beyond)?,
            None => self.connection.prepare_cached(&format!("{from} {order} ?1"))?,
        };
        let mut rows = match after {
            Some(it) => {
                let EntityKey { lifecycle, id } = &it.entity;
                statement.query((
                    it.due.0,
                    lifecycle.as_str(),
                    id.as_str(),
                    it.timer.as_str(),
                    limit(most),
                ))?
            }
            None => statement.query([limit(most)])?,
        };
        let mut timers = Vec::new();
        while let Some(row) = rows.next()? {
            let entity = EntityKey { lifecycle: name(row, 1)?, id: name(row, 2)? };
            timers.push(DueAt { due: Timestamp(row.get(0)?), entity, timer: name(row, 3)? });
        }
        Ok(timers)
    }

    pub(super) fn effects(&mut self, after: u64, most: usize) -> Result<Vec<OpenEffectRow>> {
        let sql = "SELECT id, effect, lifecycle, entity FROM effect WHERE id > ?1 ORDER BY id LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([int(after), limit(most)], |row| {
            let entity = EntityKey { lifecycle: name(row, 2)?, id: name(row, 3)? };
            Ok(OpenEffectRow { id: number(row.get(0)?), effect: name(row, 1)?, entity })
        })?;
        rows.collect()
    }

    pub(super) fn notices(&mut self, kinds: &[&str], after: u64, most: usize) -> Result<Vec<u64>> {
        let sql =
            "SELECT kind, seq, entity, sum FROM notice WHERE kind = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut seqs = Vec::new();
        for kind in kinds {
            let rows = statement.query_map((kind, int(after), limit(most)), |row| {
                row_sum::verify("notice", row, &[0, 1, 2], 3)?;
                row.get(1).map(number)
            })?;
            seqs.extend(rows.collect::<Result<Vec<u64>>>()?);
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
        let sql = "SELECT text FROM name WHERE id IN (SELECT lifecycle FROM state_count) ORDER BY text";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([], |row| name(row, 0))?.collect()
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
