//! Queries by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Type;
use rusqlite::{Error, OptionalExtension as _, Result, Row};
use serde::de::DeserializeOwned;
use trackside_engine::entity::Entity;
use trackside_engine::event::KeyRecord;
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::{RankPlace, RankingIndex, RankingKey};
use trackside_engine::view::Project;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::ReadTxn;
use crate::sqlite::failure::{number, of_entity};
use crate::sqlite::guarded_lookup::{GuardedLookup, LookupStep};
use crate::sqlite::project::{ENTITY_CELLS, StoredProject, counts, meta, verify_entity};
use crate::sqlite::row_sum;
use crate::store::{Counts, DwellTimes, Members};

impl ReadTxn<'_> {
    pub(super) fn project(&self) -> Result<Option<Project>> {
        let text: Option<String> = meta(self.connection, "project")?;
        Ok(text.map(|it| read::<StoredProject>(&it)).transpose()?.map(Project::from))
    }

    pub(super) fn entity(&mut self, key: &EntityKey) -> Result<Option<Arc<Entity>>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let sql = "SELECT lifecycle, id, body, body_sum FROM entity WHERE lifecycle = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row((lifecycle, key.id.as_str()), |row| body(row, 0).map(Arc::new));
        match found.optional().map_err(of_entity(key))? {
            None => self.is_surely_absent(lifecycle, key).map(|()| None),
            found => Ok(found),
        }
    }

    /// Fails if another index knows an entity that its own index does not.
    fn is_surely_absent(&mut self, lifecycle: i64, key: &EntityKey) -> Result<()> {
        let sql = "SELECT 1 FROM entity INDEXED BY entity_by_state WHERE lifecycle = ?1 AND id = ?2 \
                   AND state IN (SELECT state FROM state_count WHERE lifecycle = ?1)";
        let mut statement = self.connection.prepare_cached(sql)?;
        match statement.exists((lifecycle, key.id.as_str()))? {
            false => Ok(()),
            true => Err(row_sum::mismatch("entity")),
        }
    }

    pub(super) fn last_entry(&mut self, key: &EntityKey) -> Result<Option<u64>> {
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(None) };
        let sql = format!(
            "SELECT {ENTITY_CELLS}, lifecycle, id, body, body_sum FROM entity WHERE lifecycle = ?1 AND id = ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_row((lifecycle, key.id.as_str()), |row| match verify_entity(row, 0) {
            Ok(()) => row.get(5).map(number),
            // The body has a sum of its own.
            Err(_) => body(row, 14).map(|it| it.seq),
        });
        found.optional().map_err(of_entity(key))
    }

    /// The row of a group, and its counts.
    fn group(&mut self, key: &GroupKey) -> Result<Option<(i64, Counts)>> {
        let (of, name) = (&key.of, &key.name);
        let Some(lifecycle) = self.names.find(self.connection, &of.lifecycle)? else { return Ok(None) };
        let Some(name) = self.names.find(self.connection, name)? else { return Ok(None) };
        let lookup = GuardedLookup {
            table: "group",
            from: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                   WHERE (lifecycle, id, name) >= (?1, ?2, ?3) ORDER BY lifecycle, id, name LIMIT 1",
            before: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                     WHERE (lifecycle, id, name) < (?1, ?2, ?3) \
                     ORDER BY lifecycle DESC, id DESC, name DESC LIMIT 1",
            lenient: self.lenient,
        };
        let wanted = (lifecycle, of.id.as_str(), name);
        let mut found = None;
        lookup.run(self.connection, wanted, wanted, &mut |row| {
            if (row.get::<_, i64>(1)?, row.get_ref(2)?.as_str()?, row.get::<_, i64>(3)?) != wanted {
                return Ok(LookupStep::Past);
            }
            found = Some((row.get(0)?, group_counts(row)?));
            Ok(LookupStep::Found)
        })?;
        Ok(found)
    }

    pub(super) fn counts(&mut self, key: &GroupKey) -> Result<Counts> {
        Ok(self.group(key)?.map(|(_, counts)| counts).unwrap_or_default())
    }

    pub(super) fn groups(&mut self, of: &EntityKey) -> Result<Vec<(Name, Counts)>> {
        let mut groups = Vec::new();
        let Some(lifecycle) = self.names.find(self.connection, &of.lifecycle)? else { return Ok(groups) };
        let lookup = GuardedLookup {
            table: "group",
            from: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                   WHERE (lifecycle, id) >= (?1, ?2) ORDER BY lifecycle, id, name",
            before: "SELECT row, lifecycle, id, name, counts, moved_at, sum FROM \"group\" \
                     WHERE (lifecycle, id) < (?1, ?2) ORDER BY lifecycle DESC, id DESC, name DESC LIMIT 1",
            lenient: self.lenient,
        };
        let wanted = (lifecycle, of.id.as_str());
        lookup.run(self.connection, wanted, wanted, &mut |row| {
            if (row.get::<_, i64>(1)?, row.get_ref(2)?.as_str()?) != wanted {
                return Ok(LookupStep::Past);
            }
            groups.push((self.names.text(self.connection, row.get(3)?)?, group_counts(row)?));
            Ok(LookupStep::Next)
        })?;
        Ok(groups)
    }

    pub(super) fn members(&mut self, key: &GroupKey) -> Result<Members> {
        let Some((group, Counts { moved_at, by_state: counts })) = self.group(key)? else {
            return Ok(Members::default());
        };
        let sql = format!(
            "SELECT {ENTITY_CELLS}, member.\"group\", member.entity, member.sum FROM member \
             JOIN entity ON entity.row = member.entity WHERE member.\"group\" = ?1"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([group])?;
        let mut members = Members { moved_at, ..Members::default() };
        while let Some(row) = rows.next()? {
            let verified = row_sum::verify("member", row, &[14, 15], 16);
            if self.unless_skipped(verified)?.is_none() {
                continue;
            }
            let lifecycle = self.names.text(self.connection, row.get(0)?)?;
            let key = EntityKey { lifecycle, id: name(row, 1)? };
            verify_entity(row, 0).map_err(of_entity(&key))?;
            let state = self.names.text(self.connection, row.get(2)?)?;
            members.by_state.entry(state).or_default().insert(key);
        }
        // A member without a row would not be noticed otherwise.
        let found = members.by_state.iter().map(|(state, all)| (state, all.len() as u64));
        match self.lenient || found.eq(counts.iter().map(|(state, count)| (state, *count))) {
            true => Ok(members),
            false => Err(row_sum::mismatch("member")),
        }
    }

    pub(super) fn ranking(&mut self, key: &RankingKey) -> Result<RankingIndex> {
        let mut ranking = RankingIndex::default();
        let Some(lifecycle) = self.names.find(self.connection, &key.lifecycle)? else { return Ok(ranking) };
        let Some(name_number) = self.names.find(self.connection, &key.name)? else { return Ok(ranking) };
        let sql = "SELECT lifecycle, ranking, id, within, meant_for, weights, since, sum FROM place \
                   WHERE lifecycle = ?1 AND ranking = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle, name_number])?;
        let mut places = 0_u64;
        while let Some(row) = rows.next()? {
            let Some(place) = self.unless_skipped(place(row))? else { continue };
            ranking.put(&name(row, 2)?, Some(&place));
            places += 1;
        }
        let sql = "SELECT lifecycle, ranking, within, n, closed, sum FROM \"order\" \
                   WHERE lifecycle = ?1 AND ranking = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([lifecycle, name_number])?;
        while let Some(row) = rows.next()? {
            let verified = row_sum::verify("order", row, &[0, 1, 2, 3, 4], 5);
            if self.unless_skipped(verified)?.is_none() {
                continue;
            }
            let (within, n, closed) = (parsed(row, 2)?, row.get::<_, i64>(3)?, row.get::<_, bool>(4)?);
            if ranking.size(&within) as u64 != number(n) && !self.lenient {
                return Err(row_sum::mismatch("place"));
            }
            places = places.saturating_sub(number(n));
            if closed {
                ranking.set_open(&within, false);
            }
        }
        // A place whose order has no row.
        match places > 0 && !self.lenient {
            true => Err(row_sum::mismatch("order")),
            false => Ok(ranking),
        }
    }

    pub(super) fn unique_holder(&mut self, lifecycle: &Name, value: &Name) -> Result<Option<EntityKey>> {
        let Some(number) = self.names.find(self.connection, lifecycle)? else { return Ok(None) };
        let lookup = GuardedLookup {
            table: "same",
            from: "SELECT lifecycle, value, id, sum FROM same \
                   WHERE (lifecycle, value) >= (?1, ?2) ORDER BY lifecycle, value LIMIT 1",
            before: "SELECT lifecycle, value, id, sum FROM same \
                     WHERE (lifecycle, value) < (?1, ?2) ORDER BY lifecycle DESC, value DESC LIMIT 1",
            lenient: self.lenient,
        };
        let wanted = (number, value.as_str());
        let mut id = None;
        lookup.run(self.connection, wanted, wanted, &mut |row| {
            if (row.get::<_, i64>(0)?, row.get_ref(1)?.as_str()?) != wanted {
                return Ok(LookupStep::Past);
            }
            id = Some(name(row, 2)?);
            Ok(LookupStep::Found)
        })?;
        Ok(id.map(|id| EntityKey { lifecycle: lifecycle.clone(), id }))
    }

    pub(super) fn key(&mut self, actor: &Name, key: &Name) -> Result<Option<(u64, KeyRecord)>> {
        let lookup = GuardedLookup {
            table: "key",
            from: "SELECT key, actor, seq, at, fingerprint, entries, root, sum FROM key \
                   WHERE (key, actor) >= (?1, ?2) ORDER BY key, actor LIMIT 1",
            before: "SELECT key, actor, seq, at, fingerprint, entries, root, sum FROM key \
                     WHERE (key, actor) < (?1, ?2) ORDER BY key DESC, actor DESC LIMIT 1",
            lenient: false,
        };
        let wanted = (key.as_str(), actor.as_str());
        let mut found = None;
        lookup.run(self.connection, wanted, wanted, &mut |row| {
            if (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?) != wanted {
                return Ok(LookupStep::Past);
            }
            let record = KeyRecord {
                key: key.clone(),
                by: actor.clone(),
                fingerprint: row.get(4)?,
                entries: row.get(5)?,
                root: row.get(6)?,
                ignored: Vec::new(),
            };
            found = Some((number(row.get(2)?), record));
            Ok(LookupStep::Found)
        })?;
        Ok(found)
    }

    pub(super) fn states(&mut self, lifecycle: &Name) -> Result<BTreeMap<Name, u64>> {
        let mut states = BTreeMap::new();
        let Some(lifecycle) = self.names.find(self.connection, lifecycle)? else { return Ok(states) };
        let lookup = GuardedLookup {
            table: "state_count",
            from: "SELECT lifecycle, state, n, sum FROM state_count \
                   WHERE lifecycle >= ?1 ORDER BY lifecycle, state",
            before: "SELECT lifecycle, state, n, sum FROM state_count \
                     WHERE lifecycle < ?1 ORDER BY lifecycle DESC, state DESC LIMIT 1",
            lenient: false,
        };
        lookup.run(self.connection, [lifecycle], [lifecycle], &mut |row| {
            if row.get::<_, i64>(0)? != lifecycle {
                return Ok(LookupStep::Past);
            }
            let n = number(row.get(2)?);
            if n > 0 {
                states.insert(self.names.text(self.connection, row.get(1)?)?, n);
            }
            Ok(LookupStep::Next)
        })?;
        Ok(states)
    }

    pub(super) fn dwell_times(&mut self, lifecycle: &Name) -> Result<BTreeMap<Name, DwellTimes>> {
        let mut all: BTreeMap<Name, DwellTimes> = BTreeMap::new();
        let Some(lifecycle) = self.names.find(self.connection, lifecycle)? else { return Ok(all) };
        let lookup = GuardedLookup {
            table: "stay",
            from: "SELECT lifecycle, state, bucket, n, total_ms, sum FROM stay \
                   WHERE lifecycle >= ?1 ORDER BY lifecycle, state, bucket",
            before: "SELECT lifecycle, state, bucket, n, total_ms, sum FROM stay \
                     WHERE lifecycle < ?1 ORDER BY lifecycle DESC, state DESC, bucket DESC LIMIT 1",
            lenient: false,
        };
        lookup.run(self.connection, [lifecycle], [lifecycle], &mut |row| {
            if row.get::<_, i64>(0)? != lifecycle {
                return Ok(LookupStep::Past);
            }
            let dwell_times = all.entry(self.names.text(self.connection, row.get(1)?)?).or_default();
            let (n, total): (i64, i64) = (row.get(3)?, row.get(4)?);
            dwell_times.count += number(n);
            dwell_times.total_ms = dwell_times.total_ms.saturating_add(total);
            dwell_times.buckets.insert(row.get(2)?, number(n));
            Ok(LookupStep::Next)
        })?;
        Ok(all)
    }
}

/// The body of an entity from four columns that begin at `first`: lifecycle, id, body and the sum of the body.
pub(super) fn body(row: &Row<'_>, first: usize) -> Result<Entity> {
    row_sum::verify("body", row, &[first, first + 1, first + 2], first + 3)?;
    parsed(row, first + 2)
}

/// The counts of a group, from all columns of its verified row.
fn group_counts(row: &Row<'_>) -> Result<Counts> {
    Ok(Counts { by_state: counts(row.get_ref(4)?.as_str()?)?, moved_at: Some(Timestamp(row.get(5)?)) })
}

/// A place in a ranking, from all its columns.
pub(super) fn place(row: &Row<'_>) -> Result<RankPlace> {
    row_sum::verify("place", row, &[0, 1, 2, 3, 4, 5, 6], 7)?;
    Ok(RankPlace {
        within: parsed(row, 3)?,
        meant_for: row.get::<_, Option<String>>(4)?.map(Name::from),
        weights: parsed(row, 5)?,
        since: Timestamp(row.get(6)?),
    })
}

/// Parses a JSON column.
pub(super) fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    read(row.get_ref(column)?.as_str()?)
}

/// Parses stored JSON.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}

pub(super) fn name(row: &Row<'_>, column: usize) -> Result<Name> {
    Ok(Name::new(row.get_ref(column)?.as_str()?))
}
