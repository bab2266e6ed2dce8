//! A bare loop that appends to SQLite: the same bytes, batches and durability, and nothing else.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Statement, params};

use super::{Batches, CommitShape, Control, time_batches};
use crate::BenchError;
use crate::load::Pace;

/// The settings of the database: those of the subject's journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteSettings {
    pub page_bytes: u32,
    pub cache_kib: u32,
    /// Pages of the write-ahead log after which it is written back.
    pub wal_pages: u32,
    pub checkpoint: Checkpoint,
}

impl SqliteSettings {
    /// The defaults of SQLite.
    pub const USUAL: Self =
        Self { page_bytes: 4_096, cache_kib: 2_048, wal_pages: 1_000, checkpoint: Checkpoint::Inside };
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The thread that writes the WAL back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// The commit that finds it long enough.
    Inside,
    /// Another thread with its own connection, at this interval.
    Beside { every: Duration },
}

/// The layout of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchLayout {
    /// A row for each entry.
    Entries,
    /// One row for the whole batch: the fastest form, but it cannot be queried.
    Batch,
}

/// The loop, with its database open.
#[derive(Debug)]
pub struct BareSqlite {
    connection: Connection,
    layout: BatchLayout,
    next: i64,
    batches: Batches,
    /// Stops when the loop is dropped.
    _checkpoints: Option<CheckpointThread>,
}

impl BareSqlite {
    /// Makes the database; the file must not be there.
    pub fn make(path: &Path, layout: BatchLayout, settings: SqliteSettings) -> Result<Self, BenchError> {
        let connection = set_up(path, settings)?;
        connection.execute_batch(match layout {
            BatchLayout::Entries => {
                "CREATE TABLE entry (seq INTEGER PRIMARY KEY, header BLOB NOT NULL, payload BLOB, digest BLOB NOT NULL, hash BLOB NOT NULL)"
            }
            BatchLayout::Batch => "CREATE TABLE batch (seq INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
        })?;
        let beside = match settings.checkpoint {
            Checkpoint::Inside => None,
            Checkpoint::Beside { every } => Some(CheckpointThread::start(path, every)?),
        };
        Ok(Self { connection, layout, next: 1, batches: Batches::default(), _checkpoints: beside })
    }

    pub(super) fn appender(&mut self) -> Result<BatchAppender<'_>, BenchError> {
        BatchAppender::of(&self.connection, self.layout, &mut self.next)
    }
}

/// Opens a database, or makes one, with these settings; every commit is durable.
fn set_up(path: &Path, settings: SqliteSettings) -> Result<Connection, BenchError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.pragma_update(None, "page_size", settings.page_bytes)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -i64::from(settings.cache_kib))?;
    let inside = settings.checkpoint == Checkpoint::Inside;
    connection.pragma_update(None, "wal_autocheckpoint", if inside { settings.wal_pages } else { 0 })?;
    Ok(connection)
}

impl Control for BareSqlite {
    fn run(&mut self, shape: &CommitShape, time: Duration) -> Result<Pace, BenchError> {
        let mut appender = BatchAppender::of(&self.connection, self.layout, &mut self.next)?;
        time_batches(&mut self.batches, shape, time, |entries, bytes| appender.append(shape, entries, bytes))
    }
}

/// Statements that append.
pub(super) struct BatchAppender<'a> {
    layout: BatchLayout,
    next: &'a mut i64,
    begin: Statement<'a>,
    insert: Statement<'a>,
    commit: Statement<'a>,
}

impl<'a> BatchAppender<'a> {
    fn of(connection: &'a Connection, layout: BatchLayout, next: &'a mut i64) -> Result<Self, BenchError> {
        let insert = match layout {
            BatchLayout::Entries => "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5)",
            BatchLayout::Batch => "INSERT INTO batch VALUES (?1, ?2)",
        };
        let (begin, commit) = (connection.prepare("BEGIN IMMEDIATE")?, connection.prepare("COMMIT")?);
        Ok(Self { layout, next, begin, insert: connection.prepare(insert)?, commit })
    }

    /// Appends this many entries with these bytes, durably.
    pub(super) fn append(
        &mut self,
        shape: &CommitShape,
        entries: usize,
        bytes: &[u8],
    ) -> Result<(), BenchError> {
        self.begin.execute([])?;
        match self.layout {
            BatchLayout::Entries => {
                for entry in bytes.chunks(shape.bytes().max(1)) {
                    let [header, payload, digest, hash] = parts(entry, shape);
                    self.insert.execute(params![*self.next, header, payload, digest, hash])?;
                    *self.next += 1;
                }
            }
            BatchLayout::Batch => {
                self.insert.execute(params![*self.next, bytes])?;
                *self.next += entries as i64;
            }
        }
        self.commit.execute([])?;
        Ok(())
    }
}

/// The bytes of an entry, in its four parts.
fn parts<'a>(entry: &'a [u8], shape: &CommitShape) -> [&'a [u8]; 4] {
    let (header, rest) = entry.split_at_checked(shape.header).unwrap_or((entry, &[]));
    let (payload, rest) = rest.split_at_checked(shape.payload).unwrap_or((rest, &[]));
    let (digest, hash) = rest.split_at_checked(shape.digest).unwrap_or((rest, &[]));
    [header, payload, digest, hash]
}

/// The thread that writes the log back.
#[derive(Debug)]
struct CheckpointThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    fn start(path: &Path, every: Duration) -> Result<Self, BenchError> {
        let connection = Connection::open(path)?;
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // Busy is no harm: the next turn is soon.
                let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            }
        });
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const SHAPE: CommitShape =
        CommitShape { entries: 2.5, per_command: 1.25, header: 100, payload: 300, digest: 32, hash: 32 };

    fn settings(checkpoint: Checkpoint) -> SqliteSettings {
        SqliteSettings { page_bytes: 8_192, checkpoint, ..SqliteSettings::default() }
    }

    #[test]
    fn appended_rows_have_the_right_sizes() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let path = scratch.path().join("rows.db");
        let mut bare = BareSqlite::make(&path, BatchLayout::Entries, settings(Checkpoint::Inside)).unwrap();
        let mut pace = bare.run(&SHAPE, Duration::from_millis(20)).unwrap();
        pace.merge(&bare.run(&SHAPE, Duration::from_millis(20)).unwrap());
        drop(bare);
        let after = Connection::open(&path).unwrap();
        let query = "SELECT count(*), max(seq), min(length(header)), max(length(payload)), sum(length(digest) + length(hash)) FROM entry";
        let told = after.query_row(query, [], |it| {
            Ok((
                it.get::<_, i64>(0)?,
                it.get::<_, i64>(1)?,
                it.get::<_, i64>(2)?,
                it.get::<_, i64>(3)?,
                it.get::<_, i64>(4)?,
            ))
        });
        let (rows, last, header, payload, rest) = told.unwrap();
        assert!(rows > 0);
        assert_eq!((last, header, payload, rest), (rows, 100, 300, rows * 64));
        assert!((pace.commands * 1.25 - rows as f64).abs() < 1e-6, "{} commands, {rows} rows", pace.commands);
        assert!((rows as f64 / pace.latency.count() as f64 - 2.5).abs() <= 0.5);
        let page: i64 = after.query_row("PRAGMA page_size", [], |it| it.get(0)).unwrap();
        assert_eq!(page, 8_192);
    }

    #[test]
    fn one_row_a_batch_holds_all_of_its_bytes() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let path = scratch.path().join("batches.db");
        let every = Duration::from_millis(5);
        let mut bare =
            BareSqlite::make(&path, BatchLayout::Batch, settings(Checkpoint::Beside { every })).unwrap();
        let pace = bare.run(&SHAPE, Duration::from_millis(30)).unwrap();
        drop(bare);
        let after = Connection::open(&path).unwrap();
        let (rows, bytes): (i64, i64) = after
            .query_row("SELECT count(*), sum(length(entries)) FROM batch", [], |it| {
                Ok((it.get(0)?, it.get(1)?))
            })
            .unwrap();
        assert_eq!(rows as u64, pace.latency.count());
        assert!(
            (bytes as f64 - pace.commands * 1.25 * 464.0).abs() < 1.0,
            "{bytes} bytes, {} commands",
            pace.commands
        );
    }

    #[test]
    fn commits_are_durable_as_those_of_the_journal_are() {
        let scratch = Scratch::make(&std::env::temp_dir(), false).unwrap();
        let bare =
            BareSqlite::make(&scratch.path().join("x.db"), BatchLayout::Entries, SqliteSettings::default())
                .unwrap();
        let asked = |pragma: &str| bare.connection.query_row(&format!("PRAGMA {pragma}"), [], |it| it.get(0));
        let durable: i64 = asked("synchronous").unwrap();
        assert_eq!(durable, 2, "FULL");
        let mode: rusqlite::Result<String> =
            bare.connection.query_row("PRAGMA journal_mode", [], |it| it.get(0));
        assert_eq!(mode.unwrap(), "wal");
    }
}
