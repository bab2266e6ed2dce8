//! Names that occur in many rows, stored as numbers.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Result};
use trackside_lifecycle::name::Name;

/// A cache of the table, in both directions.
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
        let mut statement = connection.prepare_cached("SELECT id FROM name WHERE text = ?1")?;
        let found = statement.query_row([name], |row| row.get(0)).optional()?;
        if let Some(number) = found {
            self.remember(Name::new(name), number);
        }
        Ok(found)
    }

    /// The number of a name, which it gets if it has none.
    pub fn number(&mut self, connection: &Connection, name: &Name) -> Result<i64> {
        if let Some(number) = self.find(connection, name)? {
            return Ok(number);
        }
        connection.prepare_cached("INSERT INTO name (text) VALUES (?1)")?.execute([name.as_str()])?;
        let number = connection.last_insert_rowid();
        self.remember(name.clone(), number);
        Ok(number)
    }

    /// The name that has a number.
    pub fn text(&mut self, connection: &Connection, number: i64) -> Result<Name> {
        if let Some(name) = self.texts.get(&number) {
            return Ok(name.clone());
        }
        let mut statement = connection.prepare_cached("SELECT text FROM name WHERE id = ?1")?;
        let name = Name::from(statement.query_row([number], |row| row.get::<_, String>(0))?);
        self.remember(name.clone(), number);
        Ok(name)
    }

    /// Clears the cache, after a failed transaction that may have assigned numbers.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn remember(&mut self, name: Name, number: i64) {
        self.texts.insert(number, name.clone());
        self.numbers.insert(name, number);
    }
}
