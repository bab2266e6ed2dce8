//! Checksums of the rows of `state.db`, so that a flipped bit is never taken for a value.
//!
//! Each sum covers the name of its table and the cells of its row, keys included. It is written with the row by an SQL
//! function and verified whenever the row is read.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Error, Result, Row};
use sha2::{Digest as _, Sha256};

use crate::failpoints::{StoreFailpoint, is_enabled};

/// The sum of some cells: the first eight bytes of a SHA-256.
fn sum<'a>(cells: impl Iterator<Item = ValueRef<'a>>) -> i64 {
    let mut hash = Sha256::new();
    for cell in cells {
        match cell {
            ValueRef::Null => hash.update([0]),
            ValueRef::Integer(it) => {
                hash.update([1]);
                hash.update(it.to_le_bytes());
            }
            ValueRef::Real(it) => {
                hash.update([2]);
                hash.update(it.to_le_bytes());
            }
            ValueRef::Text(it) | ValueRef::Blob(it) => {
                hash.update([3]);
                hash.update((it.len() as u64).to_le_bytes());
                hash.update(it);
            }
        }
    }
    let digest = hash.finalize();
    i64::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
}

/// Adds the SQL function `row_sum` to a connection that writes.
pub(super) fn add_to(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("row_sum", -1, flags, |cells| {
        Ok(sum((0..cells.len()).map(|it| cells.get_raw(it))))
    })
}

/// The sum of all rows of a query, in its order.
pub(super) fn sum_all(connection: &Connection, sql: &str) -> Result<i64> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let (mut rows, mut sums) = (statement.query([])?, Vec::new());
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|it| row.get_ref(it)).collect::<Result<Vec<_>>>()?;
        sums.push(sum(cells.into_iter()));
    }
    Ok(sum(sums.into_iter().map(ValueRef::Integer)))
}

/// Verifies a row that was read: `cells` are its columns that are summed, and `sum_at` is the column of the sum.
pub(super) fn verify(table: &str, row: &Row<'_>, cells: &[usize], sum_at: usize) -> Result<()> {
    let mut values = Vec::with_capacity(cells.len() + 1);
    values.push(ValueRef::Text(table.as_bytes()));
    for cell in cells {
        values.push(row.get_ref(*cell)?);
    }
    check(table, values, row.get_ref(sum_at)?)
}

/// Verifies a row of which every column was read in the order of its table: the sum is the last column.
pub(super) fn verify_row(table: &str, row: &Row<'_>) -> Result<()> {
    let sum_at = row.as_ref().column_count().saturating_sub(1);
    let mut values = Vec::with_capacity(sum_at + 1);
    values.push(ValueRef::Text(table.as_bytes()));
    for cell in 0..sum_at {
        values.push(row.get_ref(cell)?);
    }
    check(table, values, row.get_ref(sum_at)?)
}

/// Verifies cells that were read in another order.
pub(super) fn check(table: &str, cells: Vec<ValueRef<'_>>, kept: ValueRef<'_>) -> Result<()> {
    match kept == ValueRef::Integer(sum(cells.into_iter())) || is_enabled(StoreFailpoint::SumIgnored) {
        true => Ok(()),
        false => Err(mismatch(table)),
    }
}

/// Verifies that a page of rows ends after the key that it was asked to begin after. In a damaged table a search can lead
/// backwards, and reading page by page would never end.
pub(super) fn verify_progress<T: PartialOrd>(table: &str, after: &T, last: Option<&T>) -> Result<(), Error> {
    match last {
        Some(last) if last <= after => {
            let why = format!("the rows of the table {table} are out of order");
            Err(Error::FromSqlConversionFailure(0, Type::Integer, why.into()))
        }
        _ => Ok(()),
    }
}

/// The error for a row that is not the one that was written.
pub(super) fn mismatch(table: &str) -> Error {
    let why = format!("a row of the table {table} does not match its checksum");
    Error::FromSqlConversionFailure(0, Type::Integer, why.into())
}
