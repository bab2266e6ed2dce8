//! Inserts rows, replacing those with the same key.

use rusqlite::{CachedStatement, Connection, Result, ToSql};

/// Inserts rows into a table. `INSERT OR REPLACE` makes SQLite journal pages for rollback. Few rows replace another,
/// so it is used only if a plain insert finds one.
pub(super) struct Put<'a> {
    new: CachedStatement<'a>,
    instead: CachedStatement<'a>,
}

impl<'a> Put<'a> {
    /// `into` is the statement without its verb.
    pub fn new(connection: &'a Connection, into: &str) -> Result<Self> {
        Ok(Self {
            new: connection.prepare_cached(&format!("INSERT OR IGNORE {into}"))?,
            instead: connection.prepare_cached(&format!("INSERT OR REPLACE {into}"))?,
        })
    }

    /// Returns whether there was no row with this key.
    pub fn one(&mut self, row: &[&dyn ToSql]) -> Result<bool> {
        let is_new = self.new.execute(row)? > 0;
        if !is_new {
            self.instead.execute(row)?;
        }
        Ok(is_new)
    }
}
