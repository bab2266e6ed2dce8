//! Every test of reading runs on every store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trackside_store::{Memory, Sqlite, SqliteOptions, Store};

/// Where the projects of a test are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stores {
    Memory,
    Sqlite,
}

/// A place that can be opened again, once whoever had it has stopped. A folder goes with its place.
#[derive(Debug)]
pub(crate) enum Place {
    Memory(Memory),
    Sqlite(PathBuf),
}

impl Stores {
    pub fn place(self) -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        match self {
            Self::Memory => Place::Memory(Memory::new()),
            Self::Sqlite => {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let name = format!("trackside-reading-{}-{number}", std::process::id());
                Place::Sqlite(std::env::temp_dir().join(name))
            }
        }
    }
}

impl Place {
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

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Sqlite(folder) = self {
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

/// Makes a test of each of these for each store. One that is not listed is dead code, and does not compile.
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
