//! Removes damaged rows that the repairs of entities cannot reach, and writes lost idempotency keys again.

use rusqlite::{Connection, Result, params};

use super::small_tables::INTO_KEY;
use crate::sqlite::failure::int;
use crate::store::RowHealing;

/// Tables that are written again without their damaged rows, with all columns except the sum. What belongs to entities
/// was repaired before, and keys come with the healing.
const TABLES: &[(&str, &str)] = &[
    ("timer", "due, lifecycle, id, name"),
    ("effect", "id, effect, lifecycle, entity"),
    ("field", "lifecycle, field, value, id"),
    ("member", "\"group\", entity"),
    ("place", "lifecycle, ranking, id, within, meant_for, weights, since"),
    ("same", "lifecycle, value, id"),
    ("key", "key, actor, seq, at, fingerprint, entries, root"),
];

/// Tables with an index beside them.
const INDEXED: &[&str] = &["entity", "\"group\"", "key", "name"];

/// A damaged key is at the wrong place in its table, where no deletion by key finds it. So the table is emptied and
/// filled again.
pub(super) fn heal_rows(connection: &Connection, healing: &RowHealing) -> Result<()> {
    if healing.indexes {
        for table in INDEXED {
            let check = format!("PRAGMA integrity_check({table})");
            let found: String = connection.query_row(&check, [], |row| row.get(0))?;
            if found != "ok" {
                connection.execute_batch(&format!("REINDEX {table}"))?;
            }
        }
    }
    if healing.tables.contains("name") {
        connection.execute_batch("REINDEX name")?;
    }
    for (table, columns) in TABLES.iter().filter(|it| healing.tables.contains(it.0)) {
        connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.whole;
             CREATE TEMP TABLE whole AS SELECT {columns}, sum FROM \"{table}\" NOT INDEXED
                 WHERE sum = row_sum('{table}', {columns});
             DELETE FROM \"{table}\";
             INSERT OR IGNORE INTO \"{table}\" ({columns}, sum) SELECT {columns}, sum FROM temp.whole;
             DROP TABLE temp.whole;"
        ))?;
    }
    let mut statement = connection.prepare_cached(&format!("INSERT OR IGNORE {INTO_KEY}"))?;
    for (seq, at, it) in &healing.keys {
        let (key, by) = (it.key.as_str(), it.by.as_str());
        statement.execute(params![key, by, int(*seq), at.0, it.fingerprint, it.entries, it.root])?;
    }
    if !healing.tables.is_empty() {
        // They are counted again.
        connection.execute("DELETE FROM meta WHERE key = 'census'", [])?;
    }
    Ok(())
}
