//! Verifies the rows of all tables beside the entities, some at a time.

use rusqlite::types::{ToSql, Value, ValueRef};
use rusqlite::{Error, Result, Row, params_from_iter};

use super::ReadTxn;
use crate::sqlite::failure::limit;
use crate::sqlite::guarded_lookup::{GuardedLookup, LookupStep};
use crate::store::{RowCheck, RowCursor, RowKey};

/// A table, its columns with the sum last, and how many of them are its key.
const TABLES: &[(&str, &[&str], usize)] = &[
    ("name", &["id", "text", "sum"], 1),
    ("state_count", &["lifecycle", "state", "n", "sum"], 2),
    ("timer", &["due", "lifecycle", "id", "name", "sum"], 4),
    ("effect", &["id", "effect", "lifecycle", "entity", "sum"], 1),
    ("field", &["lifecycle", "field", "value", "id", "sum"], 4),
    ("group", &["row", "lifecycle", "id", "name", "counts", "moved_at", "sum"], 1),
    ("member", &["\"group\"", "entity", "sum"], 2),
    ("place", &["lifecycle", "ranking", "id", "within", "meant_for", "weights", "since", "sum"], 3),
    ("order", &["lifecycle", "ranking", "within", "n", "closed", "sum"], 3),
    ("same", &["lifecycle", "value", "id", "sum"], 2),
    ("key", &["key", "actor", "seq", "at", "fingerprint", "entries", "root", "sum"], 2),
    ("notice", &["kind", "seq", "entity", "sum"], 2),
    ("stay", &["lifecycle", "state", "bucket", "n", "total_ms", "sum"], 3),
];

impl ReadTxn<'_> {
    pub(super) fn check_rows(&mut self, from: RowCursor, most: usize) -> Result<RowCheck> {
        let RowCursor { table, after } = from;
        let Some((name, columns, keys)) = TABLES.get(table) else { return Ok(RowCheck::default()) };
        let next_table = Some(RowCursor { table: table + 1, after: Vec::new() });
        // No query reads the index of its texts, so nothing else notices that it is damaged.
        if *name == "name" && after.is_empty() {
            let sql = "PRAGMA integrity_check(name)";
            let found: String = self.connection.query_row(sql, [], |it| it.get(0))?;
            if found != "ok" {
                return Ok(RowCheck { read: 1, damaged: Some(name), next: next_table });
            }
        }
        let key = columns.get(..*keys).unwrap_or_default();
        let begin = after.clone();
        let after: Vec<Value> = after.into_iter().map(Value::from).collect();
        let select = format!("SELECT {} FROM \"{name}\"", columns.join(", "));
        let tuple = key.join(", ");
        let marks = (1..=*keys).map(|it| format!("?{it}")).collect::<Vec<_>>().join(", ");
        let order = |way: &str| key.iter().map(|it| format!("{it}{way}")).collect::<Vec<_>>().join(", ");
        let (wanted, before, most_mark) = match after.is_empty() {
            true => (String::new(), " WHERE 0".to_owned(), 1),
            false => {
                let wanted = format!(" WHERE ({tuple}) > ({marks})");
                (wanted, format!(" WHERE ({tuple}) <= ({marks})"), keys + 1)
            }
        };
        let lookup = GuardedLookup {
            table: name,
            from: &format!("{select}{wanted} ORDER BY {} LIMIT ?{most_mark}", order("")),
            before: &format!("{select}{before} ORDER BY {} LIMIT 1", order(" DESC")),
            lenient: false,
        };
        let (mut read, mut last) = (0, Vec::new());
        let from: Vec<Box<dyn ToSql>> = after
            .iter()
            .cloned()
            .map(|it| Box::new(it) as Box<dyn ToSql>)
            .chain(std::iter::once(Box::new(limit(most)) as Box<dyn ToSql>))
            .collect();
        let checked =
            lookup.run(self.connection, params_from_iter(from), params_from_iter(&after), &mut |row| {
                read += 1;
                last = key_of(row, *keys)?;
                Ok(LookupStep::Next)
            });
        match checked {
            // One damaged row is enough to know.
            Err(Error::FromSqlConversionFailure(..)) => {
                Ok(RowCheck { read: read + 1, damaged: Some(name), next: next_table })
            }
            Err(error) => Err(error),
            Ok(()) if read > 0 && last <= begin => {
                Ok(RowCheck { read: read + 1, damaged: Some(name), next: next_table })
            }
            Ok(()) if read == most => {
                Ok(RowCheck { read, damaged: None, next: Some(RowCursor { table, after: last }) })
            }
            Ok(()) => Ok(RowCheck { read: read + 1, damaged: None, next: next_table }),
        }
    }
}

fn key_of(row: &Row<'_>, columns: usize) -> Result<Vec<RowKey>> {
    let cell = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Integer(it) => RowKey::Number(it),
            other => RowKey::Text(other.as_str()?.to_owned()),
        })
    };
    (0..columns).map(cell).collect()
}

impl From<RowKey> for Value {
    fn from(it: RowKey) -> Self {
        match it {
            RowKey::Number(it) => Self::Integer(it),
            RowKey::Text(it) => Self::Text(it),
        }
    }
}
