//! Checkpoints: moves pages from the WAL files into the database files while others write.
//!
//! The checkpointer copies in PASSIVE passes, which block no one, and syncs the file itself. A WAL can restart only
//! when nothing is left to copy, and under load something always is. So once a WAL has reached its limit, the
//! checkpointer says `needs_restart`, and the writer copies the few pages that are left before its next commit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{ConnectionUse, PATIENCE, connect};
use super::failure::failed;
use super::options::{LogSize, SqliteOptions};
use crate::StoreError;

/// The state of one WAL that the writer and the checkpointer share.
#[derive(Debug)]
pub(super) struct WalState {
    size: LogSize,
    /// Approximate number of pages written since the last pass.
    fresh: AtomicU64,
    /// The WAL has reached its limit and is almost completely copied.
    needs_restart: AtomicBool,
}

impl WalState {
    fn of(size: LogSize) -> Self {
        Self { size, fresh: AtomicU64::new(0), needs_restart: AtomicBool::new(false) }
    }
}

/// Both WALs, and the signal that wakes the checkpointer.
#[derive(Debug)]
pub(super) struct WalSignals {
    pub journal: WalState,
    pub state: WalState,
    bell: Mutex<WakeState>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct WakeState {
    rung: bool,
    stop: bool,
}

impl WalSignals {
    pub fn new(options: &SqliteOptions) -> Self {
        let (journal, state) = (WalState::of(options.journal_log), WalState::of(options.state_log));
        Self { journal, state, bell: Mutex::default(), rung: Condvar::new() }
    }

    fn ring(&self, stop: bool) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.rung = true;
        bell.stop |= stop;
        self.rung.notify_one();
    }

    /// Waits for work; false means stop.
    fn wait(&self) -> bool {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        while !bell.rung {
            bell = self.rung.wait(bell).unwrap_or_else(PoisonError::into_inner);
        }
        bell.rung = false;
        !bell.stop
    }

    /// Records that a writer wrote about this many pages.
    pub fn record_write(&self, wal: &WalState, pages: u64) {
        let fresh = wal.fresh.fetch_add(pages, Ordering::Relaxed) + pages;
        if fresh >= wal.size.step && fresh - pages < wal.size.step {
            self.ring(false);
        }
    }
}

/// The result of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckpointResult {
    /// Pages in the log.
    pub length: u64,
    /// The number of them that were copied.
    pub copied: u64,
}

/// Copies all pages that can be copied without waiting.
pub(super) fn pass(connection: &Connection, path: &Path) -> Result<CheckpointResult, StoreError> {
    let mut statement = connection
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
        .map_err(failed(path, "prepare to move the log"))?;
    let (length, copied): (i64, i64) = statement
        .query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
        .map_err(failed(path, "move the log into the file"))?;
    Ok(CheckpointResult { length: super::failure::number(length), copied: super::failure::number(copied) })
}

/// Attempts to truncate a WAL, and the timeout of each.
const TRIES: u32 = 40;
const EACH: Duration = Duration::from_millis(100);

/// Truncates a WAL, so that no overwritten bytes are left in it. Waits for readers.
pub(super) fn empty(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed(path, "empty the log");
    connection.busy_timeout(EACH).map_err(&failed)?;
    let mut tries = 0..TRIES;
    let emptied = loop {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = connection.query_row(sql, [], |row| row.get(0)).map_err(&failed)?;
        if !busy || tries.next().is_none() {
            break !busy;
        }
        // SQLite's busy timeout does not cover this: while the checkpointer copies, it returns busy at once.
        std::thread::sleep(Duration::from_millis(5));
    };
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match emptied {
        true => Ok(()),
        false => Err(StoreError::io(
            format!("empty the log of {}", path.display()),
            "another program keeps reading the file. Find it, and try again",
        )),
    }
}

/// Runs before each commit. Usually does nothing.
pub(super) fn before_commit(connection: &Connection, path: &Path, wal: &WalState) -> Result<(), StoreError> {
    // If the checkpointer does not keep up, the writer limits the WAL itself.
    let alone = wal.fresh.load(Ordering::Relaxed) >= wal.size.limit;
    if alone {
        wal.fresh.store(0, Ordering::Relaxed);
    }
    if alone || wal.needs_restart.swap(false, Ordering::AcqRel) {
        pass(connection, path)?;
    }
    Ok(())
}

/// Both files, open beside SQLite to be synced. They must be closed after the last connection of this process:
/// closing any handle of a file drops the locks that SQLite has on it.
#[derive(Debug)]
pub(super) struct DatabaseFiles {
    journal: Arc<File>,
    state: Arc<File>,
}

impl DatabaseFiles {
    pub fn open(journal: &Path, state: &Path) -> Result<Self, StoreError> {
        let open = |path: &Path| match File::open(path) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) => Err(StoreError::io(format!("open {}", path.display()), error)),
        };
        Ok(Self { journal: open(journal)?, state: open(state)? })
    }

    /// Checks that this path still leads to the opened journal.
    #[cfg(unix)]
    pub fn is_there(&self, journal: &Path) -> Result<(), StoreError> {
        use std::os::unix::fs::MetadataExt as _;
        let place = |it: &std::fs::Metadata| (it.dev(), it.ino());
        let ours = self.journal.metadata().map(|it| place(&it));
        match (std::fs::metadata(journal), ours) {
            (Ok(found), Ok(ours)) if place(&found) == ours => Ok(()),
            (Err(error), _) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io(format!("look for {}", journal.display()), error))
            }
            _ => Err(StoreError::ReadOnly {
                path: journal.to_path_buf(),
                why: "the file was removed or replaced while it was open. Put it back together with its -wal file; \
                      if it is lost, restore a backup into another folder"
                    .to_owned(),
            }),
        }
    }

    #[cfg(not(unix))]
    pub fn is_there(&self, _: &Path) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Both WAL files and their connections. A thread or a test drives it.
pub(super) struct Checkpoints {
    journal: WalFile,
    state: WalFile,
    logs: Arc<WalSignals>,
}

impl std::fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Passes over {}", self.journal.path.display())
    }
}

impl Checkpoints {
    /// `files` are the open database files; none on a custom VFS.
    pub fn open(
        journal: &Path,
        state: &Path,
        files: Option<&DatabaseFiles>,
        logs: Arc<WalSignals>,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let journal = WalFile::open(journal, files.map(|it| it.journal.clone()), options)?;
        let state = WalFile::open(state, files.map(|it| it.state.clone()), options)?;
        Ok(Self { journal, state, logs })
    }

    /// Checkpoints each WAL that has enough new pages. Returns whether one had.
    pub fn keep(&mut self) -> bool {
        let journal = self.journal.keep(&self.logs.journal);
        let state = self.state.keep(&self.logs.state);
        journal || state
    }
}

/// The thread that runs checkpoints.
#[derive(Debug)]
pub(super) struct Checkpointer {
    logs: Arc<WalSignals>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(mut passes: Checkpoints) -> Result<Self, StoreError> {
        let logs = passes.logs.clone();
        let work = move || {
            while passes.logs.wait() {
                passes.keep();
            }
        };
        let thread = std::thread::Builder::new().name("checkpointer".to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::io("start the thread that keeps the logs", error))?;
        Ok(Self { logs, thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.logs.ring(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One file and its log.
struct WalFile {
    path: PathBuf,
    connection: Connection,
    /// Synced here, because SQLite would sync while a writer waits.
    file: Option<Arc<File>>,
}

impl WalFile {
    fn open(path: &Path, file: Option<Arc<File>>, options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = connect(path, options, ConnectionUse::Keep)?;
        Ok(Self { path: path.to_path_buf(), connection, file })
    }

    /// Returns whether there were enough new pages. An error loses nothing: the WAL keeps everything.
    fn keep(&mut self, wal: &WalState) -> bool {
        if wal.fresh.load(Ordering::Relaxed) < wal.size.step {
            return false;
        }
        wal.fresh.store(0, Ordering::Relaxed);
        let Some(first) = self.copy() else {
            // The writer will get the same error and report it.
            wal.needs_restart.store(true, Ordering::Release);
            return true;
        };
        if first.length < wal.size.limit {
            return true;
        }
        // Copy once more, so that little is left for the writer.
        if self.copy().is_some_and(|it| it.length.saturating_sub(it.copied) <= wal.size.step) {
            wal.needs_restart.store(true, Ordering::Release);
        }
        true
    }

    fn copy(&self) -> Option<CheckpointResult> {
        let pass = pass(&self.connection, &self.path).ok()?;
        if let Some(file) = &self.file {
            file.sync_data().ok()?;
        }
        Some(pass)
    }
}
