//! Copies of a folder, made while it is worked on, and put back.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::connect::{Use, connect, connect_to_still};
use super::failure::failed;
use super::log::Log;
use super::{Sqlite, SqliteOptions, project, schema, sync_folder};
use crate::rules::Installed;
use crate::{Chain, StoreError};

/// Pages copied at a time, between two words about the progress.
const STEP: i32 = 256;

/// Records checked at a time.
const PIECE: usize = 1_000;

impl Sqlite {
    /// Copies the folder to `to`, which must be empty or not there, while others go on. `progress` is told how
    /// many pages are done, and of how many. The copy is checked; answered is where its journal ends.
    ///
    /// Nobody waits for it. While it lasts the logs are not begun anew, so they grow by what is written.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Chain, StoreError> {
        let shared = &self.shared;
        // What would not hold when the copy is checked is told before anything is written.
        let journal = connect(&shared.journal, &shared.options, Use::Read)?;
        Log { connection: &journal, path: &shared.journal }.rules_hold()?;
        drop(journal);
        make_empty(to)?;
        // The state first: the journal must never be behind it.
        let state = Copy::begin(&shared.state, &shared.options)?;
        let pages = pages(&connect(&shared.journal, &shared.options, Use::Read)?, &shared.journal)?;
        let of = state.pages + pages;
        let copied = state.run(&part(to, "state.db"), &mut |done| progress(done, of))?;
        let journal = Copy::begin(&shared.journal, &shared.options)?;
        let of = copied + journal.pages;
        journal.run(&part(to, "journal.db"), &mut |done| progress(copied + done, of))?;
        name_parts(to, "write the backup")?;
        let checked = check(to);
        if checked.is_err() {
            // Nobody is to take it for a backup, and the next one finds the place free.
            for name in ["journal.db", "state.db"] {
                std::fs::remove_file(to.join(name)).ok();
            }
        }
        checked
    }

    /// Puts a backup into the folder `to`, which must be empty or not there, after it was checked. Answered is
    /// where its journal ends.
    pub fn restore(from: &Path, to: &Path) -> Result<Chain, StoreError> {
        let end = check(from)?;
        make_empty(to)?;
        for name in ["state.db", "journal.db"] {
            let part = part(to, name);
            let copied = std::fs::copy(from.join(name), &part).and_then(|_| File::open(&part)?.sync_all());
            copied.map_err(|error| unusable(&part, "restore", error))?;
        }
        name_parts(to, "restore")?;
        match check(to)? == end {
            true => Ok(end),
            false => Err(damaged(to, "the copy is not what was copied; restore again, to another folder")),
        }
    }
}

/// The name of a file that is not finished.
fn part(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.part"))
}

/// Both files are on the disk: they get their names. The journal last: without it the folder is none of ours.
fn name_parts(dir: &Path, doing: &str) -> Result<(), StoreError> {
    for name in ["state.db", "journal.db"] {
        let part = part(dir, name);
        std::fs::rename(&part, dir.join(name)).map_err(|error| unusable(&part, doing, error))?;
        sync_folder(dir);
    }
    Ok(())
}

/// One file as it is at one moment.
struct Copy {
    path: PathBuf,
    /// Within a transaction, so that it stays as it is.
    connection: Connection,
    pages: u64,
}

impl Copy {
    fn begin(path: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = connect(path, options, Use::Read)?;
        let failed = failed(path, "read it for a backup");
        connection.execute_batch("BEGIN; SELECT 1 FROM meta;").map_err(failed)?;
        let pages = pages(&connection, path)?;
        Ok(Self { path: path.to_path_buf(), connection, pages })
    }

    /// How many pages were copied.
    fn run(self, to: &Path, progress: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
        let failed = failed(to, "write the backup");
        let mut target = Connection::open(to).map_err(&failed)?;
        // Synced as a whole when it is done.
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
                        let why = format!("{} cannot be read: somebody has locked it", self.path.display());
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
    count.map(super::failure::number).map_err(failed(path, "count pages"))
}

/// Whether a folder that nobody works on is whole: the chain of the journal, and a state that is its own.
fn check(dir: &Path) -> Result<Chain, StoreError> {
    let path = dir.join("journal.db");
    if !path.exists() && part(dir, "journal.db").exists() {
        return Err(damaged(dir, "it was never finished. Make another one, in a folder that is empty"));
    }
    let journal = connect_to_still(&path)?;
    schema::known(&journal, &path, schema::JOURNAL)?;
    let log = Log { connection: &journal, path: &path };
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
    log.rules_hold_with(&installed)?;
    let path = dir.join("state.db");
    let state = connect_to_still(&path)?;
    schema::known(&state, &path, schema::STATE)?;
    match project::belongs(&state, &path, &log)? {
        true => Ok(chain),
        false => Err(damaged(&path, "it belongs to another journal")),
    }
}

/// Makes a folder; one that is there must be empty.
fn make_empty(dir: &Path) -> Result<(), StoreError> {
    super::make(dir)?;
    let mut inside = std::fs::read_dir(dir).map_err(|error| unusable(dir, "look into it", error))?;
    match inside.next() {
        None => Ok(()),
        Some(_) => Err(StoreError::io(
            format!("copy to {}", dir.display()),
            "there is something in it already. Choose a folder that is empty or not there",
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
