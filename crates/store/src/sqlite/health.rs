//! Checks the files of a folder without locking it.

use std::path::{Path, PathBuf};

use super::connect::{ConnectionUse, connect, connect_to_still, has_log};
use super::failure::failed;
use super::lock::Lock;
use super::{Sqlite, SqliteOptions, schema};
use crate::StoreError;

/// Most problems that SQLite is asked to name.
const NAMED: u32 = 20;

/// One of the two files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHealth {
    pub path: PathBuf,
    pub bytes: u64,
    /// The size of the WAL beside it.
    pub log_bytes: u64,
    /// The version of its tables, and the one that this release writes.
    pub schema: u32,
    pub known: u32,
    /// Errors that SQLite finds in its pages.
    pub problems: Vec<String>,
}

impl Sqlite {
    /// The owner of the folder, if any.
    pub fn owner(dir: &Path) -> Result<Option<String>, StoreError> {
        Lock::held_by(dir)
    }

    /// Checks both files, the journal first. Needs no lock and changes nothing.
    pub fn health(dir: &Path) -> Result<[FileHealth; 2], StoreError> {
        Ok([inspect(dir.join("journal.db"), schema::JOURNAL)?, inspect(dir.join("state.db"), schema::STATE)?])
    }
}

fn inspect(path: PathBuf, steps: &[&str]) -> Result<FileHealth, StoreError> {
    let size = |it: &Path| std::fs::metadata(it).map_or(0, |it| it.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let connection = match connect(&path, &SqliteOptions::default(), ConnectionUse::Read) {
        Err(StoreError::ReadOnly { .. } | StoreError::Closed { .. }) if path.is_file() && !has_log(&path) => {
            connect_to_still(&path)?
        }
        usual => usual?,
    };
    let (schema, known) = (schema::version(&connection, &path)?, schema::newest(steps));
    let asked = connection.prepare(&format!("PRAGMA quick_check({NAMED})")).and_then(|mut it| {
        it.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<String>>>()
    });
    let mut problems = asked.map_err(failed(&path, "check it"))?;
    problems.retain(|it| it != "ok");
    let (bytes, log_bytes) = (size(&path), size(Path::new(&log)));
    Ok(FileHealth { path, bytes, log_bytes, schema, known, problems })
}
