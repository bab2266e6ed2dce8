//! Moving pages from the logs into the files, beside whoever writes.
//!
//! The keeper copies in PASSIVE passes, which block nobody, and syncs the file itself. A log can begin anew
//! only when nothing is left to copy, and under load something always is. So once a log has reached its limit
//! the keeper says `ripe`, and the writer copies the few pages that are left before its next commit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{PATIENCE, Use, connect};
use super::failure::failed;
use super::options::{LogSize, SqliteOptions};
use crate::StoreError;

/// What a writer and the keeper tell each other of one log.
#[derive(Debug)]
pub(super) struct Wal {
    size: LogSize,
    /// Pages written since the last pass, about.
    fresh: AtomicU64,
    /// Long enough to begin anew, and nearly all of it copied.
    ripe: AtomicBool,
}

impl Wal {
    fn of(size: LogSize) -> Self {
        Self { size, fresh: AtomicU64::new(0), ripe: AtomicBool::new(false) }
    }
}

/// Both logs, and how the keeper is woken.
#[derive(Debug)]
pub(super) struct Logs {
    pub journal: Wal,
    pub state: Wal,
    bell: Mutex<Bell>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct Bell {
    rung: bool,
    stop: bool,
}

impl Logs {
    pub fn new(options: &SqliteOptions) -> Self {
        let (journal, state) = (Wal::of(options.journal_log), Wal::of(options.state_log));
        Self { journal, state, bell: Mutex::default(), rung: Condvar::new() }
    }

    fn ring(&self, stop: bool) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.rung = true;
        bell.stop |= stop;
        self.rung.notify_one();
    }

    /// Waits until there is something to do; false: stop.
    fn wait(&self) -> bool {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        while !bell.rung {
            bell = self.rung.wait(bell).unwrap_or_else(PoisonError::into_inner);
        }
        bell.rung = false;
        !bell.stop
    }

    /// A writer has written this many pages, about.
    pub fn wrote(&self, wal: &Wal, pages: u64) {
        let fresh = wal.fresh.fetch_add(pages, Ordering::Relaxed) + pages;
        if fresh >= wal.size.step && fresh - pages < wal.size.step {
            self.ring(false);
        }
    }
}

/// Where a pass got to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Pages in the log.
    pub length: u64,
    /// Of these, copied.
    pub copied: u64,
}

/// Copies what can be copied without waiting for anybody.
pub(super) fn pass(connection: &Connection, path: &Path) -> Result<Pass, StoreError> {
    let mut statement = connection
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
        .map_err(failed(path, "prepare to move the log"))?;
    let (length, copied): (i64, i64) = statement
        .query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
        .map_err(failed(path, "move the log into the file"))?;
    Ok(Pass { length: super::failure::number(length), copied: super::failure::number(copied) })
}

/// How often, and with how much patience each time, a log is tried to be emptied.
const TRIES: u32 = 40;
const EACH: Duration = Duration::from_millis(100);

/// Empties a log, so that no byte of what was overwritten is left in it. Waits for those who read.
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
        // Not every wait is one of SQLite's own: while the keeper copies, it says busy at once.
        std::thread::sleep(Duration::from_millis(5));
    };
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match emptied {
        true => Ok(()),
        false => Err(StoreError::io(
            format!("empty the log of {}", path.display()),
            "somebody reads the file without end. Find out who, and ask again",
        )),
    }
}

/// What a writer does before a commit: nothing, most of the time.
pub(super) fn before_commit(connection: &Connection, path: &Path, wal: &Wal) -> Result<(), StoreError> {
    // A keeper that does not get to it, or that nobody moves, is no reason for a log without end.
    let alone = wal.fresh.load(Ordering::Relaxed) >= wal.size.limit;
    if alone {
        wal.fresh.store(0, Ordering::Relaxed);
    }
    if alone || wal.ripe.swap(false, Ordering::AcqRel) {
        pass(connection, path)?;
    }
    Ok(())
}

/// Both files, open beside SQLite to be synced. They must be closed after the last connection of this process:
/// closing any handle of a file drops the locks that SQLite has on it.
#[derive(Debug)]
pub(super) struct Files {
    journal: Arc<File>,
    state: Arc<File>,
}

impl Files {
    pub fn open(journal: &Path, state: &Path) -> Result<Self, StoreError> {
        let open = |path: &Path| match File::open(path) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) => Err(StoreError::io(format!("open {}", path.display()), error)),
        };
        Ok(Self { journal: open(journal)?, state: open(state)? })
    }

    /// Whether this path still leads to the journal that was opened.
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
                why: "the file was removed or replaced while it was open. Put it back under its name, with the \
                      -wal file beside it; if it is gone for good, restore a backup into another folder"
                    .to_owned(),
            }),
        }
    }

    #[cfg(not(unix))]
    pub fn is_there(&self, _: &Path) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Both logs with what it takes to keep them. Who moves it is for others to say: a thread, or a test step by step.
pub(super) struct Passes {
    journal: Kept,
    state: Kept,
    logs: Arc<Logs>,
}

impl std::fmt::Debug for Passes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Passes over {}", self.journal.path.display())
    }
}

impl Passes {
    /// `files` are those of the journal and the state; none on a file layer of somebody else.
    pub fn open(
        journal: &Path,
        state: &Path,
        files: Option<&Files>,
        logs: Arc<Logs>,
        options: &SqliteOptions,
    ) -> Result<Self, StoreError> {
        let journal = Kept::open(journal, files.map(|it| it.journal.clone()), options)?;
        let state = Kept::open(state, files.map(|it| it.state.clone()), options)?;
        Ok(Self { journal, state, logs })
    }

    /// Looks at both logs, and moves what there is enough of. Whether there was.
    pub fn keep(&mut self) -> bool {
        let journal = self.journal.keep(&self.logs.journal);
        let state = self.state.keep(&self.logs.state);
        journal || state
    }
}

/// The thread that does it.
#[derive(Debug)]
pub(super) struct Keeper {
    logs: Arc<Logs>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub fn start(mut passes: Passes) -> Result<Self, StoreError> {
        let logs = passes.logs.clone();
        let work = move || {
            while passes.logs.wait() {
                passes.keep();
            }
        };
        let thread = std::thread::Builder::new().name("store-keeper".to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::io("start the thread that keeps the logs", error))?;
        Ok(Self { logs, thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.logs.ring(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One file and its log.
struct Kept {
    path: PathBuf,
    connection: Connection,
    /// To sync what was copied before SQLite does, which happens while a writer waits.
    file: Option<Arc<File>>,
}

impl Kept {
    fn open(path: &Path, file: Option<Arc<File>>, options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = connect(path, options, Use::Keep)?;
        Ok(Self { path: path.to_path_buf(), connection, file })
    }

    /// An error here is no loss: the log keeps everything. Whether there was enough to be moved.
    fn keep(&mut self, wal: &Wal) -> bool {
        if wal.fresh.load(Ordering::Relaxed) < wal.size.step {
            return false;
        }
        wal.fresh.store(0, Ordering::Relaxed);
        let Some(first) = self.copy() else {
            // The writer will meet the same error, and tell it.
            wal.ripe.store(true, Ordering::Release);
            return true;
        };
        if first.length < wal.size.limit {
            return true;
        }
        // Once more, so that little is left for the writer.
        if self.copy().is_some_and(|it| it.length.saturating_sub(it.copied) <= wal.size.step) {
            wal.ripe.store(true, Ordering::Release);
        }
        true
    }

    fn copy(&self) -> Option<Pass> {
        let pass = pass(&self.connection, &self.path).ok()?;
        if let Some(file) = &self.file {
            file.sync_data().ok()?;
        }
        Some(pass)
    }
}
