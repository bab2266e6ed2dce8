//! Names that occur in many rows, stored as numbers.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};
use trackside_lifecycle::name::Name;

use super::row_sum;

/// A copy of the table, in both directions.
///
/// It is read by number and never through the index of the texts: a name that a damaged index hides would make every
/// entity of its lifecycle disappear.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    numbers: BTreeMap<Name, i64>,
    texts: BTreeMap<i64, Name>,
}

impl NameTable {
    /// The number of a name, if it has one.
    pub fn find(&mut self, connection: &Connection, name: &str) -> Result<Option<i64>> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(Some(*number));
        }
        self.read_new(connection)?;
        Ok(self.numbers.get(name).copied())
    }

    /// The number of a name, which it gets if it has none.
    pub fn number(&mut self, connection: &Connection, name: &Name) -> Result<i64> {
        if let Some(number) = self.find(connection, name)? {
            return Ok(number);
        }
        let number = self.last().saturating_add(1);
        let sql = "INSERT INTO name (id, text, sum) VALUES (?1, ?2, row_sum('name', ?1, ?2))";
        connection.prepare_cached(sql)?.execute((number, name.as_str()))?;
        self.remember(name.clone(), number);
        Ok(number)
    }

    /// The name that has a number.
    pub fn text(&mut self, connection: &Connection, number: i64) -> Result<Name> {
        if let Some(name) = self.texts.get(&number) {
            return Ok(name.clone());
        }
        self.read_new(connection)?;
        self.texts.get(&number).cloned().ok_or_else(|| row_sum::mismatch("name"))
    }

    /// Clears the copy, after a failed transaction that may have assigned numbers.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Reads the names that are not known yet. Names are numbered in order and never deleted.
    fn read_new(&mut self, connection: &Connection) -> Result<()> {
        let mut statement =
            connection.prepare_cached("SELECT id, text, sum FROM name WHERE id > ?1 ORDER BY id")?;
        let mut rows = statement.query([self.last()])?;
        while let Some(row) = rows.next()? {
            row_sum::verify("name", row, &[0, 1], 2)?;
            self.remember(Name::new(row.get_ref(1)?.as_str()?), row.get(0)?);
        }
        Ok(())
    }

    fn last(&self) -> i64 {
        self.texts.last_key_value().map_or(0, |(number, _)| *number)
    }

    fn remember(&mut self, name: Name, number: i64) {
        self.texts.insert(number, name.clone());
        self.numbers.insert(name, number);
    }
}
