//! Counts of timers, leases, open effects and violations, updated with each write.

use rusqlite::{Connection, Result};
use serde::{Deserialize, Serialize};

use super::{WriteTxn, json, meta};
use crate::projection::Notice;
use crate::sqlite::failure::number;
use crate::sqlite::meta_table;
use crate::store::Census;
use trackside_engine::event::EventKind;

/// A change of the counts, or the stored counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sqlite) struct Counted {
    timers: i64,
    leases: i64,
    effects: i64,
    violations: i64,
}

impl Counted {
    /// Counts rows of a timer that were written, or deleted if `by` is negative.
    pub fn timer(&mut self, name: &str, by: i64) {
        self.timers += by;
        if name.starts_with("lease.") {
            self.leases += by;
        }
    }

    pub fn effect(&mut self, by: i64) {
        self.effects += by;
    }

    pub fn notice(&mut self, notice: &Notice) {
        if notice.kind == EventKind::ViolationFound.as_str() {
            self.violations += 1;
        } else if notice.kind == EventKind::ViolationCleared.as_str() {
            self.violations -= 1;
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            timers: self.timers + other.timers,
            leases: self.leases + other.leases,
            effects: self.effects + other.effects,
            violations: self.violations + other.violations,
        }
    }
}

impl From<Counted> for Census {
    fn from(Counted { timers, leases, effects, violations }: Counted) -> Self {
        let [timers, leases, effects, violations] = [timers, leases, effects, violations].map(number);
        Self { timers, leases, effects, violations }
    }
}

impl WriteTxn<'_> {
    /// Adds the changes to the stored counts.
    pub(super) fn census(&mut self) -> Result<()> {
        let by = std::mem::take(&mut self.counted);
        let now = match stored_counts(self.connection)? {
            Some(_) if by == Counted::default() => return Ok(()),
            Some(known) => known.plus(by),
            // Written by a release without counts. The tables already include these changes.
            None => by_rows(self.connection)?,
        };
        meta_table::set(self.connection, "census", json(&now)?)
    }
}

/// The numbers of stored rows.
pub(in crate::sqlite) fn census(connection: &Connection) -> Result<Census> {
    match stored_counts(connection)? {
        Some(known) => Ok(known.into()),
        None => by_rows(connection).map(Census::from),
    }
}

fn stored_counts(connection: &Connection) -> Result<Option<Counted>> {
    // Unreadable counts are recounted.
    let text: Option<String> = meta(connection, "census").unwrap_or_default();
    Ok(text.and_then(|it| serde_json::from_str(&it).ok()))
}

/// Counts all rows.
fn by_rows(connection: &Connection) -> Result<Counted> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let found = count("SELECT count(*) FROM notice WHERE kind = 'VIOLATION'")?;
    let cleared = count("SELECT count(*) FROM notice WHERE kind = 'VIOLATION_CLEARED'")?;
    Ok(Counted {
        timers: count("SELECT count(*) FROM timer")?,
        // From `lease.` up to the next character.
        leases: count("SELECT count(*) FROM timer WHERE name >= 'lease.' AND name < 'lease/'")?,
        effects: count("SELECT count(*) FROM effect")?,
        violations: found - cleared,
    })
}
