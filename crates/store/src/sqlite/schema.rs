//! The schemas of both files, and their migrations.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::failure::failed;
use crate::StoreError;

/// From nothing to version 1, from 1 to 2 and so on, of `journal.db`. Never changed once released.
pub(super) const JOURNAL: &[&str] = &[
    include_str!("journal.sql"),
    include_str!("installed.sql"),
    "-- The view names every kind of event.",
    // Payloads have salts. A release that does not know them does not open the file.
    concat!(include_str!("entries_view.sql"), include_str!("meta_sum.sql")),
];

/// The schema of `state.db`.
pub(super) const STATE: &[&str] = &[
    include_str!("state.sql"),
    "-- Entities know their open alerts, and these are found: the tables are the same, what is in them is not.",
    "-- Rows have checksums.",
    "-- Rows of every table have checksums, and keys are looked up with their neighbours.",
];

pub(super) fn newest(steps: &[&str]) -> u32 {
    u32::try_from(steps.len()).unwrap_or(u32::MAX)
}

/// The schema version of a file; 0 if it is empty.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let failed = failed(path, "read the schema version");
    let there = "SELECT 1 FROM sqlite_schema WHERE name = 'meta'";
    if connection.query_row(there, [], |_| Ok(())).optional().map_err(&failed)?.is_none() {
        return Ok(0);
    }
    let version = connection.query_row("SELECT value FROM meta WHERE key = 'schema'", [], |row| row.get(0));
    version.optional().map_err(failed)?.ok_or_else(|| StoreError::Damaged {
        path: path.to_path_buf(),
        what: "it has no schema version".to_owned(),
    })
}

/// Checks that a file has the schema of this release.
pub(super) fn known(connection: &Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let (found, known) = (version(connection, path)?, newest(steps));
    match found.cmp(&known) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(StoreError::TooNew { path: path.to_path_buf(), found, known }),
        std::cmp::Ordering::Less => Err(StoreError::io(
            format!("read {}", path.display()),
            match found {
                0 => "it is empty".to_owned(),
                _ => format!(
                    "it has schema {found}. Open the folder once with this release to upgrade it to {known}"
                ),
            },
        )),
    }
}

/// Migrates the tables to this release, in one transaction.
pub(super) fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let found = version(connection, path)?;
    let known = newest(steps);
    if found > known {
        return Err(StoreError::TooNew { path: path.to_path_buf(), found, known });
    }
    if found == known {
        return Ok(());
    }
    let failed = failed(path, "make the tables");
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    for step in steps.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step).map_err(&failed)?;
    }
    transaction
        .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', ?1)", [known])
        .map_err(&failed)?;
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use trackside_engine::event::EventKind;

    use super::*;
    use crate::sqlite::row_sum;

    #[test]
    fn the_view_of_a_migrated_journal_names_every_event_kind() {
        let mut journal = Connection::open_in_memory().unwrap();
        row_sum::add_to(&journal).unwrap();
        migrate(&mut journal, Path::new("journal.db"), &JOURNAL[..3]).unwrap();
        journal
            .execute_batch("CREATE VIEW entries AS SELECT seq, 'of an earlier release' AS event FROM journal")
            .unwrap();
        for (kind, seq) in EventKind::ALL.iter().zip(1..) {
            let header = format!(r#"{{"event":{{"{}":{{}}}}}}"#, kind.stored_key());
            let insert = "INSERT INTO journal (seq, prev, format, header, hash) VALUES (?1, 0, 1, ?2, x'')";
            journal.execute(insert, (seq, header)).unwrap();
        }
        let named = |journal: &Connection| -> Vec<String> {
            let mut events = journal.prepare("SELECT event FROM entries ORDER BY seq").unwrap();
            events.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        migrate(&mut journal, Path::new("journal.db"), JOURNAL).unwrap();
        let kinds: Vec<&str> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
        assert_eq!(named(&journal), kinds);
    }

    #[test]
    fn a_journal_of_every_earlier_schema_is_opened_and_continued() {
        use crate::conformance::sample::{Press, entry};
        use crate::{Sqlite, SqliteOptions, Store as _};
        let folder = std::env::temp_dir().join(format!("trackside-schemas-{}", std::process::id()));
        for schema in 1..=JOURNAL.len() {
            std::fs::remove_dir_all(&folder).ok();
            std::fs::create_dir(&folder).unwrap();
            let path = folder.join("journal.db");
            let mut journal = Connection::open(&path).unwrap();
            row_sum::add_to(&journal).unwrap();
            migrate(&mut journal, &path, &JOURNAL[..schema]).unwrap();
            let mut press = Press::default();
            let batch = press.batch(&(1..=3).map(|seq| entry(seq, "t.thing/A")).collect::<Vec<_>>());
            for it in &batch.records {
                let insert = "INSERT INTO journal (seq, prev, format, header, payload, digest, hash) \
                              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
                let cells =
                    (it.seq as i64, it.prev as i64, it.format, &it.header, &it.payload, it.digest, it.hash);
                journal.execute(insert, cells).unwrap();
            }
            if schema < JOURNAL.len() {
                journal.execute("INSERT INTO meta (key, value) VALUES ('begun', 7)", []).unwrap();
            }
            drop(journal);
            let store = Sqlite::open(&folder, SqliteOptions::default()).unwrap();
            assert_eq!(store.reader().unwrap().records(0, 9).unwrap(), batch.records, "schema {schema}");
            let mut writer = store.journal().unwrap();
            assert_eq!(writer.begin().unwrap(), if schema < JOURNAL.len() { 8 } else { 1 });
            writer.append(&press.batch(&[entry(4, "t.thing/A")])).unwrap();
            drop((writer, store));
            assert_eq!(version(&Connection::open(&path).unwrap(), &path).unwrap(), newest(JOURNAL));
            Sqlite::examine(&folder).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
