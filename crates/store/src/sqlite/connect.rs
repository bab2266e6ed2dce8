//! Opens connections with the settings for their use.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::failure::{failed, read_only};
use super::options::{Durability, SqliteOptions};
use super::row_sum;
use crate::StoreError;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// Appending to `journal.db`.
    Append,
    /// Writing `state.db`.
    Project,
    /// Moving pages from a log into its file.
    Keep,
    Read,
}

/// The time to wait for another program that uses the file.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The VFS of SQLite that keeps the index of the WAL in memory, for one process alone.
const INDEX_IN_MEMORY: Option<&str> = if cfg!(unix) { Some("unix-excl") } else { None };

/// Statements that a connection keeps ready.
const STATEMENTS: usize = 64;

/// Opens an existing file. A file that was deleted while in use must not be recreated empty.
pub(super) fn connect(
    path: &Path,
    options: &SqliteOptions,
    purpose: ConnectionUse,
) -> Result<Connection, StoreError> {
    let flags = match purpose {
        ConnectionUse::Append | ConnectionUse::Project | ConnectionUse::Keep => {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        }
        ConnectionUse::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    open(path, options, purpose, flags)
}

/// Opens the file, and creates it if it is missing. Used when the folder is opened.
pub(super) fn make(
    path: &Path,
    options: &SqliteOptions,
    purpose: ConnectionUse,
) -> Result<Connection, StoreError> {
    #[cfg(unix)]
    if options.vfs.is_none() {
        use std::os::unix::fs::OpenOptionsExt as _;
        // SQLite would make a file that others can read. Files beside it get its mode.
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    open(path, options, purpose, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

fn open(
    path: &Path,
    options: &SqliteOptions,
    purpose: ConnectionUse,
    flags: OpenFlags,
) -> Result<Connection, StoreError> {
    let failed = failed(path, "open it");
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let in_memory = if options.index_in_memory { INDEX_IN_MEMORY } else { None };
    let connection = match options.vfs.as_deref().or(in_memory) {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => Connection::open_with_flags(path, flags),
    }
    .map_err(&failed)?;
    // SQLite opens a read-only file without an error and fails later.
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE)
        && connection.is_readonly(rusqlite::MAIN_DB).map_err(&failed)?
    {
        return Err(read_only(path));
    }
    settle(&connection, options, purpose).map_err(&failed)?;
    Ok(connection)
}

fn settle(connection: &Connection, options: &SqliteOptions, purpose: ConnectionUse) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let page = match purpose {
        ConnectionUse::Append => Some(options.journal_page),
        ConnectionUse::Project => Some(options.state_page),
        ConnectionUse::Keep | ConnectionUse::Read => None,
    };
    if let Some(page) = page {
        // Takes effect only where the file is empty.
        connection.pragma_update(None, "page_size", page)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        // Overwrite deleted data.
        connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(()))?;
    }
    if matches!(purpose, ConnectionUse::Append | ConnectionUse::Project) {
        row_sum::add_to(connection)?;
    }
    let synchronous = match (options.durability, purpose) {
        (Durability::OffForTests, _) => "off",
        // Projections can be rebuilt, but they are synced by their own thread: otherwise the next commit of the
        // journal would wait for the operating system to write them.
        (Durability::Full, ConnectionUse::Append | ConnectionUse::Keep | ConnectionUse::Project) => "full",
        (Durability::Full, ConnectionUse::Read) => "normal",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if matches!(purpose, ConnectionUse::Project | ConnectionUse::Read) {
        connection.pragma_update(None, "cache_size", -i64::from(options.cache_kib))?;
    }
    Ok(())
}

/// Makes this connection close without a checkpoint.
pub(super) fn leave_log(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let dwell_times = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    dwell_times.map(drop).map_err(failed(path, "keep the log"))
}

/// Opens a file that is not in use, without creating files beside it.
pub(super) fn connect_to_still(path: &Path) -> Result<Connection, StoreError> {
    if !path.is_file() {
        return Err(StoreError::io(format!("open {}", path.display()), "there is no such file"));
    }
    if has_log(path) {
        return Err(StoreError::io(
            format!("read {}", path.display()),
            "it was not closed: its last entries are still in the -wal file beside it. Stop the server that uses the folder, or open the folder with trackside once",
        ));
    }
    connect_ignoring_log(path)
}

/// Opens a file as it is without its log, and without creating files beside it.
pub(super) fn connect_ignoring_log(path: &Path) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(immutable_uri(path), flags).map_err(failed(path, "open it"))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Whether the WAL beside a file contains anything.
pub(super) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|it| it.len() > 0)
}

/// The URI of a file that does not change.
fn immutable_uri(path: &Path) -> String {
    let path = path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?immutable=1")
}
