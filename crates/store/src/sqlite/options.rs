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
    /// After so many new pages in a log, they are moved into the file.
    pub log_step: u64,
    /// A log that has reached so many pages is begun anew, in place.
    pub log_limit: u64,
    /// Memory for pages of `state.db`, in KiB, for whoever writes it and for each reader.
    pub cache_kib: u32,
    /// The file layer under SQLite, by the name under which it was registered. Then nothing else touches
    /// files: there is no `lock`, and logs are moved by whoever writes, on its own thread.
    pub vfs: Option<String>,
    pub durability: Durability,
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
            log_step: 512,
            log_limit: 4096,
            cache_kib: 16 * 1024,
            vfs: None,
            durability: Durability::Full,
        }
    }
}

impl SqliteOptions {
    /// Commits that a power cut takes back: to show that tests of durability would notice.
    #[must_use]
    pub fn for_tests_without_durability(mut self) -> Self {
        self.durability = Durability::OffForTests;
        self
    }
}
