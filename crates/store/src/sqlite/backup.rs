//! Backup of a folder in use, and restore.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::append::BEGUN;
use super::connect::{ConnectionUse, connect, connect_to_still};
use super::failure::{failed, int, number};
use super::journal_table::JournalTable;
use super::{Sqlite, SqliteOptions, meta_table, project, schema, sync_folder};
use crate::rules::Installed;
use crate::{Chain, StoreError};

/// Pages copied between two progress reports.
const STEP: i32 = 256;

/// Records read per query.
const PIECE: usize = 1_000;

impl Sqlite {
    /// Copies journal and state to `to`, which must be empty or absent, while they are in use. `progress` gets the pages
    /// done and in total. The copy is verified. Returns the end of its journal.
    ///
    /// It blocks no one. Meanwhile the WAL files cannot restart, so they grow.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Chain, StoreError> {
        self.backup_with(to, &mut |_| Ok(()), progress)
    }

    /// As [`Self::backup`]; `beside` copies the rest of the folder before the copy gets its name.
    pub(super) fn backup_with(
        &self,
        to: &Path,
        beside: &mut dyn FnMut(&Path) -> Result<(), StoreError>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Chain, StoreError> {
        let shared = &self.shared;
        // Fail before writing anything if the copy would not verify.
        let journal = connect(&shared.journal, &shared.options, ConnectionUse::Read)?;
        JournalTable { connection: &journal, path: &shared.journal }.check_rules()?;
        drop(journal);
        let existed = to.exists();
        make_empty(to)?;
        let copied = self.copy_to(to, beside, progress);
        if copied.is_err() {
            // Not to be mistaken for a backup, and its space is needed.
            remove_copy(to, existed);
        }
        copied
    }

    fn copy_to(
        &self,
        to: &Path,
        beside: &mut dyn FnMut(&Path) -> Result<(), StoreError>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Chain, StoreError> {
        let shared = &self.shared;
        // The state first: the journal must never be behind it.
        let state = Copy::begin(&shared.state, &shared.options)?;
        let pages = pages(&connect(&shared.journal, &shared.options, ConnectionUse::Read)?, &shared.journal)?;
        let of = state.pages + pages;
        let copied = state.run(&part(to, "state.db"), &mut |done| progress(done, of))?;
        let journal = Copy::begin(&shared.journal, &shared.options)?;
        let of = copied + journal.pages;
        journal.run(&part(to, "journal.db"), &mut |done| progress(copied + done, of))?;
        // After the journal, so that nothing that its entries name is missing.
        beside(to)?;
        name_parts(to, "write the backup")?;
        check(to)
    }

    /// Whether a folder that is not in use has the tables of an earlier release.
    pub fn is_outdated(dir: &Path) -> Result<bool, StoreError> {
        for (name, steps) in [("journal.db", schema::JOURNAL), ("state.db", schema::STATE)] {
            let path = dir.join(name);
            // Projections can be rebuilt.
            if !path.exists() && name == "state.db" {
                return Ok(!is_unfinished(dir));
            }
            let found = schema::version(&connect_to_still(&path)?, &path)?;
            if found > 0 && found < schema::newest(steps) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Verifies a backup and copies it into the folder `to`, which must be empty or absent. Returns the end of its
    /// journal.
    pub fn restore(from: &Path, to: &Path) -> Result<Chain, StoreError> {
        let end = check(from)?;
        make_empty(to)?;
        for name in ["state.db", "journal.db"] {
            let part = part(to, name);
            let copied = std::fs::copy(from.join(name), &part).and_then(|_| File::open(&part)?.sync_all());
            copied.map_err(|error| unusable(&part, "restore", error))?;
        }
        name_parts(to, "restore")?;
        if check(to)? != end {
            return Err(damaged(to, "the copy differs from the backup. Restore again into another folder"));
        }
        skip_sessions(from, to)?;
        Ok(end)
    }
}

/// Sessions that a restored folder skips: more than were begun since the backup, so that fences of effects handed out
/// after the backup are not handed out again.
const SKIPPED: u64 = 1_000;

/// Makes the sessions of a restored journal begin after those of the original.
pub(crate) fn skip_sessions(from: &Path, to: &Path) -> Result<(), StoreError> {
    let path = from.join("journal.db");
    let begun: Option<i64> = meta_table::get(&connect_to_still(&path)?, BEGUN)
        .map_err(failed(&path, "read the number of sessions"))?;
    let path = to.join("journal.db");
    let journal = connect(&path, &SqliteOptions::default(), ConnectionUse::Append)?;
    let failed = failed(&path, "record the number of sessions");
    let known: Option<i64> = meta_table::get(&journal, BEGUN).map_err(&failed)?;
    let next = begun.map_or(0, number).saturating_add(SKIPPED).max(known.map_or(0, number));
    meta_table::set(&journal, BEGUN, int(next)).map_err(failed)
}

/// Removes an unfinished copy. The folder was empty when the copy began; it goes too unless it existed.
pub(crate) fn remove_copy(dir: &Path, existed: bool) {
    for name in ["journal.db", "state.db"] {
        for end in ["", ".part", ".part-journal", ".part-wal", "-wal", "-shm"] {
            std::fs::remove_file(dir.join(format!("{name}{end}"))).ok();
        }
    }
    for name in ["archive", "artifacts"] {
        std::fs::remove_dir_all(dir.join(name)).ok();
    }
    std::fs::remove_file(dir.join("clock")).ok();
    if !existed {
        std::fs::remove_dir(dir).ok();
    }
}

/// Whether a folder has the files of a copy that was never finished.
pub(crate) fn is_unfinished(dir: &Path) -> bool {
    !dir.join("journal.db").exists() && ["journal.db", "state.db"].iter().any(|it| part(dir, it).exists())
}

/// The name of a file that is not finished.
fn part(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.part"))
}

/// Renames both finished files. The journal comes last: a folder without it is not a project.
fn name_parts(dir: &Path, doing: &str) -> Result<(), StoreError> {
    for name in ["state.db", "journal.db"] {
        let part = part(dir, name);
        std::fs::rename(&part, dir.join(name)).map_err(|error| unusable(&part, doing, error))?;
        sync_folder(dir);
    }
    Ok(())
}

/// A snapshot of one file.
struct Copy {
    path: PathBuf,
    /// In a read transaction, which holds the snapshot.
    connection: Connection,
    pages: u64,
}

impl Copy {
    fn begin(path: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = connect(path, options, ConnectionUse::Read)?;
        let failed = failed(path, "read it for a backup");
        connection.execute_batch("BEGIN; SELECT 1 FROM meta;").map_err(failed)?;
        let pages = pages(&connection, path)?;
        Ok(Self { path: path.to_path_buf(), connection, pages })
    }

    /// Copies, and returns the number of pages.
    fn run(self, to: &Path, progress: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
        let failed = failed(to, "write the backup");
        let mut target = Connection::open(to).map_err(&failed)?;
        // Synced once at the end.
        target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").map_err(&failed)?;
        {
            let backup = Backup::new(&self.connection, &mut target).map_err(&failed)?;
            loop {
                let step = backup.step(STEP).map_err(&failed)?;
                let at = backup.progress();
                progress(u64::try_from(at.pagecount - at.remaining).unwrap_or(0));
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    _ => {
                        let why = format!("another program has locked {}", self.path.display());
                        return Err(StoreError::io("write the backup", why));
                    }
                }
            }
        }
        target.close().map_err(|(_, error)| failed(error))?;
        let synced = File::open(to).and_then(|it| it.sync_all());
        synced.map_err(|error| unusable(to, "write the backup", error))?;
        Ok(self.pages)
    }
}

fn pages(connection: &Connection, path: &Path) -> Result<u64, StoreError> {
    let count = connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0));
    count.map(number).map_err(failed(path, "count pages"))
}

/// Verifies a folder that is not in use: the chain of the journal, and that `state.db` belongs to it.
pub(crate) fn check(dir: &Path) -> Result<Chain, StoreError> {
    let path = dir.join("journal.db");
    if !path.exists() && part(dir, "journal.db").exists() {
        return Err(damaged(dir, "the backup was never finished. Make another one in an empty folder"));
    }
    let journal = connect_to_still(&path)?;
    schema::known(&journal, &path, schema::JOURNAL)?;
    let log = JournalTable { connection: &journal, path: &path };
    log.check_properties()?;
    let mut chain = log.base()?;
    let mut installed = Vec::new();
    loop {
        let some = log.records(chain.seq, PIECE)?;
        if some.is_empty() {
            break;
        }
        for record in &some {
            installed.extend(Installed::of(chain, record));
            chain.follow(record)?;
        }
    }
    log.check_rules_with(&installed)?;
    let path = dir.join("state.db");
    let state = connect_to_still(&path)?;
    schema::known(&state, &path, schema::STATE)?;
    match project::belongs(&state, &path, &log)? {
        true => Ok(chain),
        false => Err(damaged(&path, "it belongs to another journal")),
    }
}

/// Creates a folder; an existing one must be empty.
fn make_empty(dir: &Path) -> Result<(), StoreError> {
    super::make(dir)?;
    let mut inside = std::fs::read_dir(dir).map_err(|error| unusable(dir, "look into it", error))?;
    match inside.next() {
        None => Ok(()),
        Some(_) => Err(StoreError::io(
            format!("copy to {}", dir.display()),
            "the folder is not empty. Choose an empty or new folder",
        )),
    }
}

fn unusable(path: &Path, doing: &str, error: std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { path: path.to_path_buf() },
        _ => StoreError::io(format!("{doing} {}", path.display()), error),
    }
}

fn damaged(path: &Path, what: &str) -> StoreError {
    StoreError::Damaged { path: path.to_path_buf(), what: what.to_owned() }
}
