//! Lookups that notice a row which damage hides.
//!
//! A search passes a row whose key is damaged, as if the row were absent. But the search ends beside that row: it had to
//! compare with it to get there. So the rows on both sides of the result of a search are verified, too.

use rusqlite::{Connection, Params, Result, Row};

use super::row_sum;
use crate::failpoints::{StoreFailpoint, is_enabled};

/// What a lookup does after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupStep {
    /// It wants the next row.
    Next,
    /// It has all that it wants, and no row can be hidden.
    Found,
    /// The row is behind the wanted ones.
    Past,
}

/// The statements of a lookup. Both read every column of the table, the sum last.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardedLookup<'a> {
    pub table: &'a str,
    /// Rows from the first wanted one on, without an upper bound.
    pub from: &'a str,
    /// The row before the first wanted one.
    pub before: &'a str,
    /// Whether damaged rows are skipped.
    pub lenient: bool,
}

impl GuardedLookup<'_> {
    /// Visits rows until `visit` has what it wants. Every row is verified before it is visited.
    pub fn run(
        &self,
        connection: &Connection,
        from: impl Params,
        before: impl Params,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<LookupStep>,
    ) -> Result<()> {
        let mut statement = connection.prepare_cached(self.from)?;
        let mut rows = statement.query(from)?;
        while let Some(row) = rows.next()? {
            match row_sum::verify_row(self.table, row) {
                Err(_) if self.lenient => continue,
                verified => verified?,
            }
            match visit(row)? {
                LookupStep::Next => {}
                LookupStep::Found => return Ok(()),
                LookupStep::Past => break,
            }
        }
        if self.lenient || is_enabled(StoreFailpoint::NeighbourUnchecked) {
            return Ok(());
        }
        let mut statement = connection.prepare_cached(self.before)?;
        let mut rows = statement.query(before)?;
        match rows.next()? {
            Some(row) => row_sum::verify_row(self.table, row),
            None => Ok(()),
        }
    }
}
