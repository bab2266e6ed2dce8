//! The properties of a file in its table `meta`, each with a checksum.
//!
//! Only `schema` has none: it is written before the checksum can be.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Result, ToSql};

use super::guarded_lookup::{GuardedLookup, LookupStep};
use super::row_sum;

/// A property, if it is set. The rows beside its place are verified, too: one of them may be the row, with another key.
pub(super) fn get<T: FromSql>(connection: &Connection, key: &str) -> Result<Option<T>> {
    let lookup = GuardedLookup {
        table: "meta",
        from: "SELECT key, value, sum FROM meta WHERE key >= ?1 AND key <> 'schema' ORDER BY key",
        before: "SELECT key, value, sum FROM meta WHERE key < ?1 AND key <> 'schema' ORDER BY key DESC LIMIT 1",
        lenient: false,
    };
    let mut found = None;
    lookup.run(connection, [key], [key], &mut |row| {
        if row.get_ref(0)?.as_str()? != key {
            return Ok(LookupStep::Past);
        }
        found = Some(row.get(1)?);
        Ok(LookupStep::Found)
    })?;
    Ok(found)
}

/// Sets a property.
pub(super) fn set(connection: &Connection, key: &str, value: impl ToSql) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value, sum) VALUES (?1, ?2, row_sum('meta', ?1, ?2))";
    connection.prepare_cached(sql)?.execute((key, value))?;
    Ok(())
}

/// Verifies all properties.
pub(super) fn verify(connection: &Connection) -> Result<()> {
    let mut statement =
        connection.prepare_cached("SELECT key, value, sum FROM meta WHERE key <> 'schema'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        row_sum::verify_row("meta", row)?;
    }
    Ok(())
}
