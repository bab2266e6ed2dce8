//! Runs the conformance tests for the stores of this crate.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::StorePlace;
use crate::{MemoryStore, Sqlite, SqliteOptions, Store};

struct InMemory(MemoryStore);

impl StorePlace for InMemory {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.reopen())
    }
}

/// A folder that is removed at the end of the test.
struct InFolder(PathBuf);

impl InFolder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trackside-conforms-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl StorePlace for InFolder {
    fn open(&self) -> Arc<dyn Store> {
        // Power cuts are tested elsewhere; here there are hundreds of folders.
        let options = SqliteOptions::default().for_tests_without_durability();
        Arc::new(Sqlite::open(&self.0, options).unwrap())
    }
}

impl Drop for InFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

mod memory {
    use super::{InMemory, MemoryStore, StorePlace};

    crate::conformance!(|| Box::new(InMemory(MemoryStore::new())) as Box<dyn StorePlace>);
}

mod sqlite {
    use super::{InFolder, StorePlace};

    crate::conformance!(|| Box::new(InFolder::new()) as Box<dyn StorePlace>);
}
