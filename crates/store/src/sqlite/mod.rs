//! A project in a folder, in two SQLite files.
//!
//! `journal.db` is the truth: appended to, one durable commit per batch. `state.db` contains the projections; it can
//! be rebuilt. Every table is described in `docs/internals/store.md`.

mod append;
pub(crate) mod backup;
mod checkpointer;
mod connect;
mod failure;
mod guarded_lookup;
mod health;
mod installed;
mod journal_table;
mod lock;
mod meta_table;
mod name_table;
mod options;
mod point_in_time;
mod project;
mod read;
mod row_sum;
mod schema;
mod set_aside;
mod witness;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use append::Appender;
use checkpointer::{Checkpointer, Checkpoints, DatabaseFiles, WalSignals};
use connect::ConnectionUse;
pub use health::FileHealth;
use journal_table::JournalTable;
use lock::Lock;
pub use options::{Durability, LogSize, SqliteOptions};
use project::SqliteProjector;
use read::SqliteReader;
use witness::Witness;

use trackside_engine::key::EntityKey;

use crate::archive::{Archive, PayloadDrops, folder_of};
use crate::{Chain, DiskSpace, JournalWriter, Projector, Reader, Store, StoreError};

/// Records at the end of the journal that are checked when it is opened.
const LAST_FEW: u64 = 16;

/// Records read at a time.
const REPLAYED: usize = 1_000;

/// An open data folder. This process is its owner.
#[derive(Debug)]
pub struct Sqlite {
    // Dropped first: it works in the background.
    _keeper: Option<Checkpointer>,
    /// The checkpoints, if no thread runs them.
    passes: Option<Mutex<Checkpoints>>,
    shared: Arc<Shared>,
    aside: Option<PathBuf>,
}

/// Shared by all handles of the folder. The lock is released with the last of them.
#[derive(Debug)]
struct Shared {
    journal: PathBuf,
    state: PathBuf,
    /// The archive folder; none on a custom VFS.
    archive: Option<PathBuf>,
    options: SqliteOptions,
    logs: Arc<WalSignals>,
    appending: AtomicBool,
    projecting: AtomicBool,
    files: Option<DatabaseFiles>,
    /// The note of the journal's end; none on a custom VFS.
    witness: Option<Witness>,
    _lock: Option<Lock>,
}

impl Sqlite {
    /// Opens the folder as its only owner, and creates it if it is missing.
    ///
    /// On a full disk it can still be read, and written as soon as there is room.
    pub fn open(dir: &Path, mut options: SqliteOptions) -> Result<Self, StoreError> {
        let lock = match options.vfs {
            Some(_) => None,
            None => {
                make(dir)?;
                options.index_in_memory |= DiskSpace::of(dir).is_ok_and(|it| it.is_full());
                Some(Lock::take(dir, options.owner.as_deref())?)
            }
        };
        let mut shared = Shared {
            journal: dir.join("journal.db"),
            state: dir.join("state.db"),
            archive: options.vfs.is_none().then(|| folder_of(dir)),
            logs: Arc::new(WalSignals::new(&options)),
            appending: AtomicBool::new(false),
            projecting: AtomicBool::new(false),
            files: None,
            witness: options.vfs.is_none().then(|| Witness::of(&dir.join("journal.db"))),
            _lock: lock,
            options,
        };
        if let Some(witness) = &shared.witness {
            witness.check_log(&shared.journal)?;
        }
        let aside = shared.prepare()?;
        if shared.options.vfs.is_none() {
            sync_folder(dir);
            shared.files = Some(DatabaseFiles::open(&shared.journal, &shared.state)?);
        }
        let Shared { journal, state, files, logs, options, .. } = &shared;
        let passes = Checkpoints::open(journal, state, files.as_ref(), logs.clone(), options)?;
        let (keeper, passes) = match options.vfs {
            Some(_) => (None, Some(Mutex::new(passes))),
            None => (Some(Checkpointer::start(passes)?), None),
        };
        let opened = Self { _keeper: keeper, passes, shared: Arc::new(shared), aside };
        // Drops that fail now stay recorded.
        let _ = opened.drop_pending_payloads();
        Ok(opened)
    }

    /// Does the recorded drops for archive files that are back.
    fn drop_pending_payloads(&self) -> Result<u64, StoreError> {
        let archive = self.archive()?;
        if archive.pending_drops()?.is_empty() {
            return Ok(0);
        }
        archive.drop_pending_payloads(self.reader()?.base()?.seq)
    }

    /// One checkpoint pass over both WALs, for a custom VFS, where no thread does it. Returns whether there was
    /// something to copy.
    pub fn keep(&self) -> bool {
        let passes = self.passes.as_ref().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        passes.is_some_and(|mut it| it.keep())
    }

    /// The new path of a `state.db` that was damaged when the folder was opened. Its content is rebuilt from the
    /// journal. Warn the operator: the disk may damage other files, too.
    pub fn set_aside(&self) -> Option<&Path> {
        self.aside.as_deref()
    }

    /// Why the folder cannot be opened, without opening it: every check of a start that needs no change.
    pub fn examine(dir: &Path) -> Result<(), StoreError> {
        let (path, state_path) = (dir.join("journal.db"), dir.join("state.db"));
        let witness = Witness::of(&path);
        if Lock::held_by(dir)?.is_none() {
            witness.check_log(&path)?;
        }
        let options = SqliteOptions::default();
        let open = |path: &Path| match connect::connect(path, &options, ConnectionUse::Read) {
            Err(StoreError::ReadOnly { .. } | StoreError::Closed { .. }) => connect::connect_to_still(path),
            usual => usual,
        };
        let journal = open(&path)?;
        schema::known(&journal, &path, schema::JOURNAL)?;
        let log = JournalTable { connection: &journal, path: &path };
        log.check_properties()?;
        let position =
            match open(&state_path).and_then(|state| project::checked_position(&state, &state_path)) {
                Ok(position) => position,
                // It is rebuilt.
                Err(_) => log.base()?.seq,
            };
        check_end(&log).map_err(|it| with_file(&path, it))?;
        project::check_reached(&state_path, &options, &log)?;
        witness.check_end(&log)?;
        check_replayed(&log, position).map_err(|it| with_file(&path, it))?;
        installed::examine(&log, Some(&folder_of(dir)))
    }

    /// The last entry of `journal.db` without its log.
    pub fn end_without_log(dir: &Path) -> Result<Chain, StoreError> {
        witness::end_without_log(&dir.join("journal.db"))
    }

    /// A read-only view of a folder, even while a server uses it. Needs no lock and changes nothing.
    pub fn open_to_read(dir: &Path, options: SqliteOptions) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(SqliteReader::open_unlocked(dir.join("journal.db"), dir.join("state.db"), &options)?))
    }
}

impl Store for Sqlite {
    fn journal(&self) -> Result<Box<dyn JournalWriter>, StoreError> {
        Ok(Box::new(Appender::open(self.shared.clone())?))
    }

    fn projector(&self) -> Result<Box<dyn Projector>, StoreError> {
        Ok(Box::new(SqliteProjector::open(self.shared.clone())?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let Shared { journal, state, options, .. } = &*self.shared;
        Ok(Box::new(SqliteReader::open(journal.clone(), state.clone(), options, self.shared.clone())?))
    }

    fn archive(&self) -> Result<Archive, StoreError> {
        match &self.shared.archive {
            Some(folder) => Archive::open(folder),
            None => Ok(Archive::default()),
        }
    }

    fn backup(
        &self,
        to: &Path,
        beside: &mut dyn FnMut(&Path) -> Result<(), StoreError>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Chain, StoreError> {
        self.backup_with(to, beside, progress)
    }

    fn request_rebuild(&self, why: &str) {
        if self.shared.options.vfs.is_none() {
            set_aside::request_rebuild(&self.shared.state, why);
        }
    }

    fn drop_archived(&self, drops: &PayloadDrops) -> Result<u64, StoreError> {
        match &self.shared.archive {
            Some(folder) => {
                let (archive, mut reader) = (Archive::open(folder)?, self.reader()?);
                let dropped = archive.drop_listed_payloads(drops, reader.base()?.seq)?;
                let mut is_archived = |key: &EntityKey| Ok(reader.archived_upto(key)?.is_some());
                Ok(dropped + archive.drop_in_entity_files(drops, &mut is_archived)?)
            }
            None => Ok(0),
        }
    }
}

impl Shared {
    /// Checks that the journal is still the file of its name. SQLite would continue in a deleted file.
    fn is_there(&self) -> Result<(), StoreError> {
        match &self.files {
            Some(files) => files.is_there(&self.journal),
            None => Ok(()),
        }
    }

    /// Notes the end of the journal, and whether it is being written.
    fn note_end(&self, end: Chain, running: bool) {
        if let Some(witness) = &self.witness {
            witness.note(end, running);
        }
    }

    /// Migrates both files and checks the end of the journal. A damaged `state.db` is set aside; returns its new
    /// path.
    fn prepare(&self) -> Result<Option<PathBuf>, StoreError> {
        let mut journal = connect::make(&self.journal, &self.options, ConnectionUse::Append)?;
        schema::migrate(&mut journal, &self.journal, schema::JOURNAL)?;
        let log = JournalTable { connection: &journal, path: &self.journal };
        log.check_properties()?;
        check_end(&log).map_err(|error| with_file(&self.journal, error))?;
        if let Some(witness) = &self.witness
            && let Err(error) = project::check_reached(&self.state, &self.options, &log)
                .and_then(|()| witness.check_end(&log))
        {
            if log.end()?.seq > 0 {
                connect::leave_log(&journal, &self.journal)?;
            }
            return Err(error);
        }
        let archive = self.archive.as_deref();
        let end = log.end()?.seq;
        installed::recall(&log, archive)?;
        installed::find_lost(&log, archive)?;
        log.check_rules()?;
        installed::none_is_lost(&log)?;
        let requested = self.options.vfs.is_none() && set_aside::is_rebuild_requested(&self.state);
        if requested && self.state.exists() && project::may_begin_anew(&self.state, &log, archive, "").is_ok()
        {
            let aside = set_aside::set_aside(&self.state)?;
            project::prepare(&self.state, &self.options, &log, archive)?;
            set_aside::rebuild_begun(&self.state);
            return Ok(Some(aside));
        }
        match project::prepare(&self.state, &self.options, &log, archive) {
            Err(error) if is_of(&error, &self.journal) && end > 0 => {
                // Keep the rest of its WAL for inspection and repair.
                connect::leave_log(&journal, &self.journal)?;
                Err(error)
            }
            Err(error) if is_of(&error, &self.state) && self.options.vfs.is_none() => {
                project::may_begin_anew(&self.state, &log, archive, "is damaged")?;
                let aside = set_aside::set_aside(&self.state)?;
                project::prepare(&self.state, &self.options, &log, archive)?;
                Ok(Some(aside))
            }
            prepared => prepared.map(|()| None),
        }
    }
}

/// Whether the error reports this file as damaged.
fn is_of(error: &StoreError, file: &Path) -> bool {
    matches!(error, StoreError::Damaged { path, .. } if path == file)
}

/// Verifies the chain of the last few records.
fn check_end(log: &JournalTable<'_>) -> Result<(), StoreError> {
    let end = log.end()?;
    let base = log.base()?;
    let from = end.seq.saturating_sub(LAST_FEW).max(base.seq);
    let mut chain = match log.hash_of(from)? {
        Some(hash) => Chain { seq: from, hash },
        None => base,
    };
    for record in log.records(chain.seq, LAST_FEW as usize)? {
        chain.follow(&record)?;
        record.entry()?;
    }
    Ok(())
}

/// Checks the entries that the start replays, as the start does.
fn check_replayed(log: &JournalTable<'_>, position: u64) -> Result<(), StoreError> {
    let base = log.base()?;
    let mut chain = match log.hash_of(position)? {
        Some(hash) if position > base.seq => Chain { seq: position, hash },
        _ => base,
    };
    loop {
        let records = log.records(chain.seq, REPLAYED)?;
        if records.is_empty() {
            return Ok(());
        }
        for record in records {
            chain.follow(&record)?;
            record.entry()?;
        }
    }
}

/// Adds the file and what to do to an error about an entry.
fn with_file(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Chain { .. } | StoreError::Unreadable { .. } => StoreError::Damaged {
            path: path.to_path_buf(),
            what: failure::journal_damaged(&error.to_string()),
        },
        other => other,
    }
}

/// Creates the folder durably. Other users cannot read it.
fn make(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly {
                path: dir.to_path_buf(),
                why: format!("{error}. Choose another folder with --data"),
            }
        }
        _ => StoreError::io(format!("make the folder {}", dir.display()), error),
    };
    let parent = dir.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(parent) = parent {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(dir).map_err(failed)?;
    if let Some(parent) = parent {
        sync_folder(parent);
    }
    Ok(())
}

/// Syncs a folder. Systems that cannot do this do not need it.
fn sync_folder(dir: &Path) {
    if let Ok(dir) = std::fs::File::open(dir) {
        let _ = dir.sync_all();
    }
}
