//! A project in a folder, in two SQLite files.
//!
//! `journal.db` is the truth: appended to, one durable commit per batch. `state.db` is what the journal comes
//! to, written behind it; it can be thrown away. Every table is described in `docs/internals/store.md`.

mod append;
mod aside;
mod backup;
mod connect;
mod failure;
mod health;
mod installed;
mod keeper;
mod lock;
mod log;
mod names;
mod options;
mod project;
mod read;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use append::Appender;
use connect::Use;
pub use health::FileHealth;
use keeper::{Files, Keeper, Logs, Passes};
use lock::Lock;
use log::Log;
pub use options::{Durability, LogSize, SqliteOptions};
use project::Writer;
use read::Looker;

use crate::archive::{Archive, Unwanted, folder_of};
use crate::{Chain, Journal, Projector, Reader, Store, StoreError};

/// Records at the end of the journal that are checked when it is opened.
const LAST_FEW: u64 = 16;

/// A folder that is ours.
#[derive(Debug)]
pub struct Sqlite {
    // Stopped first: it is the only one who works without being asked.
    _keeper: Option<Keeper>,
    /// What the keeper does, where there is none.
    passes: Option<Mutex<Passes>>,
    shared: Arc<Shared>,
    aside: Option<PathBuf>,
}

/// What everybody who works on the folder has in common. The lock goes when the last of them does.
#[derive(Debug)]
struct Shared {
    journal: PathBuf,
    state: PathBuf,
    /// Where old journal goes; none on a disk that is made up.
    archive: Option<PathBuf>,
    options: SqliteOptions,
    logs: Arc<Logs>,
    appending: AtomicBool,
    projecting: AtomicBool,
    files: Option<Files>,
    _lock: Option<Lock>,
}

impl Sqlite {
    /// Opens the folder, which is made if it is not there, as its only owner.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let lock = match options.vfs {
            Some(_) => None,
            None => {
                make(dir)?;
                Some(Lock::take(dir, options.owner.as_deref())?)
            }
        };
        let mut shared = Shared {
            journal: dir.join("journal.db"),
            state: dir.join("state.db"),
            archive: options.vfs.is_none().then(|| folder_of(dir)),
            logs: Arc::new(Logs::new(&options)),
            appending: AtomicBool::new(false),
            projecting: AtomicBool::new(false),
            files: None,
            _lock: lock,
            options,
        };
        let aside = shared.prepare()?;
        if shared.options.vfs.is_none() {
            sync_folder(dir);
            shared.files = Some(Files::open(&shared.journal, &shared.state)?);
        }
        let Shared { journal, state, files, logs, options, .. } = &shared;
        let passes = Passes::open(journal, state, files.as_ref(), logs.clone(), options)?;
        let (keeper, passes) = match options.vfs {
            Some(_) => (None, Some(Mutex::new(passes))),
            None => (Some(Keeper::start(passes)?), None),
        };
        let opened = Self { _keeper: keeper, passes, shared: Arc::new(shared), aside };
        // What cannot be dropped now stays noted.
        let _ = opened.drop_noted();
        Ok(opened)
    }

    /// Drops what should have been dropped from archive files that were not here.
    fn drop_noted(&self) -> Result<u64, StoreError> {
        let archive = self.archive()?;
        if archive.noted()?.is_empty() {
            return Ok(0);
        }
        archive.drop_noted(self.reader()?.base()?.seq)
    }

    /// One pass of the keeper over both logs, where there is no thread that does it: on a file layer of somebody else.
    /// Whether there was something to move.
    pub fn keep(&self) -> bool {
        let passes = self.passes.as_ref().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        passes.is_some_and(|mut it| it.keep())
    }

    /// Where a `state.db` lies now that was damaged when the folder was opened. All that it held is made anew from the
    /// journal; tell whoever runs this, since a disk that damages one file damages others.
    pub fn set_aside(&self) -> Option<&Path> {
        self.aside.as_deref()
    }

    /// Somebody who only looks at a folder, be it one that a server works on. Needs no lock and changes nothing.
    pub fn open_to_read(dir: &Path, options: SqliteOptions) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(Looker::beside(dir.join("journal.db"), dir.join("state.db"), &options)?))
    }
}

impl Store for Sqlite {
    fn journal(&self) -> Result<Box<dyn Journal>, StoreError> {
        Ok(Box::new(Appender::open(self.shared.clone())?))
    }

    fn projector(&self) -> Result<Box<dyn Projector>, StoreError> {
        Ok(Box::new(Writer::open(self.shared.clone())?))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let Shared { journal, state, options, .. } = &*self.shared;
        Ok(Box::new(Looker::open(journal.clone(), state.clone(), options, self.shared.clone())?))
    }

    fn archive(&self) -> Result<Archive, StoreError> {
        match &self.shared.archive {
            Some(folder) => Archive::open(folder),
            None => Ok(Archive::default()),
        }
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Chain, StoreError> {
        Self::backup(self, to, progress)
    }

    fn drop_archived(&self, unwanted: &Unwanted) -> Result<u64, StoreError> {
        match &self.shared.archive {
            Some(folder) => Archive::open(folder)?.drop_unwanted(unwanted, self.reader()?.base()?.seq),
            None => Ok(0),
        }
    }
}

impl Shared {
    /// Whether the journal is still the file of its name. SQLite would go on in one that nobody can find any more.
    fn is_there(&self) -> Result<(), StoreError> {
        match &self.files {
            Some(files) => files.is_there(&self.journal),
            None => Ok(()),
        }
    }

    /// Both files with the tables of this release, and a look at how the journal ends. Projections that are damaged
    /// are set aside; answered is where.
    fn prepare(&self) -> Result<Option<PathBuf>, StoreError> {
        let mut journal = connect::make(&self.journal, &self.options, Use::Append)?;
        schema::migrate(&mut journal, &self.journal, schema::JOURNAL)?;
        let log = Log { connection: &journal, path: &self.journal };
        check_end(&log).map_err(|error| named(&self.journal, error))?;
        let archive = self.archive.as_deref();
        let end = log.end()?.seq;
        installed::recall(&log, archive)?;
        installed::find_lost(&log, archive)?;
        log.rules_hold()?;
        installed::none_is_lost(&log)?;
        match project::prepare(&self.state, &self.options, &log, archive) {
            Err(error) if is_of(&error, &self.journal) && end > 0 => {
                // What is left of its log stays as it was found, to be looked at and to be put right.
                connect::leave_log(&journal, &self.journal)?;
                Err(error)
            }
            Err(error) if is_of(&error, &self.state) && self.options.vfs.is_none() => {
                project::may_begin_anew(&self.state, &log, archive, "makes no sense")?;
                let aside = aside::set_aside(&self.state)?;
                project::prepare(&self.state, &self.options, &log, archive)?;
                Ok(Some(aside))
            }
            prepared => prepared.map(|()| None),
        }
    }
}

/// Whether a file is damaged, and this is it.
fn is_of(error: &StoreError, file: &Path) -> bool {
    matches!(error, StoreError::Damaged { path, .. } if path == file)
}

/// Whether the last few records follow from each other.
fn check_end(log: &Log<'_>) -> Result<(), StoreError> {
    let end = log.end()?;
    let base = log.base()?;
    let from = end.seq.saturating_sub(LAST_FEW).max(base.seq);
    let mut chain = match log.hash_of(from)? {
        Some(hash) => Chain { seq: from, hash },
        None => base,
    };
    for record in log.records(chain.seq, LAST_FEW as usize)? {
        chain.follow(&record)?;
    }
    Ok(())
}

/// An entry that is not what was written, with the file it is in and what to do.
fn named(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Chain { .. } | StoreError::Unreadable { .. } => StoreError::Damaged {
            path: path.to_path_buf(),
            what: failure::journal_damaged(&error.to_string()),
        },
        other => other,
    }
}

/// Makes the folder, so that it survives a power cut. Nobody else on the machine reads what is in it.
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

/// Makes sure that what was made in a folder stays there. Systems that cannot do it do not need it.
fn sync_folder(dir: &Path) {
    if let Ok(dir) = std::fs::File::open(dir) {
        let _ = dir.sync_all();
    }
}
