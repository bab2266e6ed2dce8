//! Rows that take the place of those with the same key.

use rusqlite::{CachedStatement, Connection, Result, ToSql};

/// Puts rows into a table. For a row that may take another's place SQLite notes the way back, page by page. Few do, so
/// that is asked for only when one is in the way.
pub(super) struct Put<'a> {
    new: CachedStatement<'a>,
    instead: CachedStatement<'a>,
}

impl<'a> Put<'a> {
    /// `into` is all of the statement but its verb.
    pub fn new(connection: &'a Connection, into: &str) -> Result<Self> {
        Ok(Self {
            new: connection.prepare_cached(&format!("INSERT OR IGNORE {into}"))?,
            instead: connection.prepare_cached(&format!("INSERT OR REPLACE {into}"))?,
        })
    }

    pub fn one(&mut self, row: &[&dyn ToSql]) -> Result<()> {
        if self.new.execute(row)? == 0 {
            self.instead.execute(row)?;
        }
        Ok(())
    }
}
