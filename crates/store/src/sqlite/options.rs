//! How a folder is kept. The defaults are right; the rest is for measuring and for tests.

/// Settings of a [`super::Sqlite`].
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Who opens it, as another process will be told; none: the number of this process.
    pub owner: Option<String>,
    /// Bytes of a page of `journal.db`, when it is made.
    pub journal_page: u32,
    /// Bytes of a page of `state.db`, when it is made.
    pub state_page: u32,
    /// How long the log of `journal.db` becomes.
    pub journal_log: LogSize,
    /// How long that of `state.db` does: its pages are written again and again, so a longer one moves fewer.
    pub state_log: LogSize,
    /// Memory for pages of `state.db`, in KiB, for whoever writes it and for each reader.
    pub cache_kib: u32,
    /// The file layer under SQLite, by the name under which it was registered. Then nothing else touches
    /// files: there is no `lock`, and no thread keeps the logs; [`super::Sqlite::keep`] does what it would do.
    pub vfs: Option<String>,
    pub durability: Durability,
}

/// How long a log becomes, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// After so many new ones, they are moved into the file.
    pub step: u64,
    /// A log that has reached so many is begun anew, in place.
    pub limit: u64,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Until the bytes are on the disk.
    Full,
    /// For nothing: a power cut takes commits back.
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
        }
    }
}

impl SqliteOptions {
    /// The same with both logs of this length.
    #[must_use]
    pub fn with_logs(self, step: u64, limit: u64) -> Self {
        let size = LogSize { step, limit };
        Self { journal_log: size, state_log: size, ..self }
    }

    /// Commits that a power cut takes back: to show that tests of durability would notice.
    #[must_use]
    pub fn for_tests_without_durability(mut self) -> Self {
        self.durability = Durability::OffForTests;
        self
    }
}
