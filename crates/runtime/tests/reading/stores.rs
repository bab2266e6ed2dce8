//! Every test of reading runs on every store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_lifecycle::time::Timestamp;
use trackside_store::archive::{folder_of, move_out};
use trackside_store::{MemoryStore, Sqlite, SqliteOptions, Store};

/// The store of a test's projects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stores {
    Memory,
    Sqlite,
}

/// A place that can be opened again after its runtime has stopped. Its folder is deleted with it.
#[derive(Debug)]
pub(crate) enum StoreSite {
    Memory(MemoryStore),
    Sqlite(PathBuf),
}

impl Stores {
    pub fn place(self) -> StoreSite {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        match self {
            Self::Memory => StoreSite::Memory(MemoryStore::new()),
            Self::Sqlite => {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let name = format!("trackside-reading-{}-{number}", std::process::id());
                StoreSite::Sqlite(std::env::temp_dir().join(name))
            }
        }
    }
}

impl StoreSite {
    pub fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(memory) => Arc::new(memory.reopen()),
            Self::Sqlite(folder) => {
                let options = SqliteOptions::default().for_tests_without_durability();
                Arc::new(Sqlite::open(folder, options).unwrap())
            }
        }
    }
}

impl StoreSite {
    /// Archives the older entries of this place while no runtime has it open. A store in memory has no
    /// archive of its own: its file is in an unrelated folder.
    pub fn archive(&self, before: Timestamp) -> ArchiveFolder {
        let folder = match self {
            Self::Memory(_) => {
                static NUMBER: AtomicU32 = AtomicU32::new(0);
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                std::env::temp_dir().join(format!("trackside-elsewhere-{}-{number}", std::process::id()))
            }
            Self::Sqlite(folder) => folder_of(folder),
        };
        let store = self.open();
        let (mut reader, mut journal) = (store.reader().unwrap(), store.journal().unwrap());
        move_out(reader.as_mut(), journal.as_mut(), &folder, before).unwrap().unwrap();
        ArchiveFolder(folder)
    }
}

/// The folder of archive files, deleted on drop.
#[derive(Debug)]
pub(crate) struct ArchiveFolder(PathBuf);

impl ArchiveFolder {
    /// Moves them out of the archive folder.
    pub fn put_away(&self) {
        std::fs::rename(&self.0, self.0.with_extension("away")).unwrap();
    }

    pub fn put_back(&self) {
        std::fs::rename(self.0.with_extension("away"), &self.0).unwrap();
    }
}

impl Drop for ArchiveFolder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

impl Drop for StoreSite {
    fn drop(&mut self) {
        if let Self::Sqlite(folder) = self {
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

/// Makes a test of each function for each store. A function that is not listed is dead code, which does not
/// compile.
macro_rules! on_every_store {
    ($($name:ident)*) => {
        mod on_memory {
            $(#[test] fn $name() { super::$name(crate::stores::Stores::Memory); })*
        }
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(crate::stores::Stores::Sqlite); })*
        }
    };
}
pub(crate) use on_every_store;
