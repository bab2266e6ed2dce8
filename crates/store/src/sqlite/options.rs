//! Settings of a store. Use the defaults; other values are for benchmarks and tests.

/// Settings of a [`super::Sqlite`].
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The owner's name in the lock file; none for the process id.
    pub owner: Option<String>,
    /// Page size of `journal.db` when it is created, in bytes.
    pub journal_page: u32,
    /// Page size of `state.db` when it is created, in bytes.
    pub state_page: u32,
    /// Size of the WAL of `journal.db`.
    pub journal_log: LogSize,
    /// Size of the WAL of `state.db`. Its pages are rewritten often, so a longer WAL copies fewer pages.
    pub state_log: LogSize,
    /// Page cache for `state.db` in KiB, for the writer and for each reader.
    pub cache_kib: u32,
    /// The VFS under SQLite, by its registered name. With one, nothing else touches files: there is no `lock`, and no
    /// thread runs checkpoints; [`super::Sqlite::keep`] does what it would do.
    pub vfs: Option<String>,
    pub durability: Durability,
    /// Keeps the index of the WAL in memory instead of in a file, so that a folder opens on a full disk. Other processes
    /// cannot read the folder meanwhile. [`super::Sqlite::open`] sets it when the disk is full.
    pub index_in_memory: bool,
}

/// The size of a WAL, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Pages are copied into the file after this many new ones.
    pub step: u64,
    /// A WAL with this many pages is restarted.
    pub limit: u64,
}

/// The event that a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Until the bytes are on the disk.
    Full,
    /// Waits for nothing: a power cut can undo commits.
    OffForTests,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            owner: None,
            journal_page: 4096,
            state_page: 4096,
            journal_log: LogSize { step: 512, limit: 4096 },
            state_log: LogSize { step: 2048, limit: 8192 },
            cache_kib: 16 * 1024,
            vfs: None,
            durability: Durability::Full,
            index_in_memory: false,
        }
    }
}

impl SqliteOptions {
    /// Sets the sizes of both WALs.
    #[must_use]
    pub fn with_logs(self, step: u64, limit: u64) -> Self {
        let size = LogSize { step, limit };
        Self { journal_log: size, state_log: size, ..self }
    }

    /// Commits that a power cut can undo: shows that the durability tests would notice.
    #[must_use]
    pub fn for_tests_without_durability(mut self) -> Self {
        self.durability = Durability::OffForTests;
        self
    }
}
