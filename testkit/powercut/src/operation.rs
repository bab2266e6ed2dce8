//! The operations on a disk, in order.

use std::fmt;
use std::sync::Arc;

/// An attempted or completed operation on a file.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The name the file was opened by.
    pub file: Arc<str>,
    /// Distinguishes files that had the same name one after another.
    pub(crate) inode: u64,
    pub act: Act,
}

#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Act {
    Create,
    Write {
        offset: u64,
        bytes: Arc<[u8]>,
    },
    Truncate {
        size: u64,
    },
    /// `folder`: the folder was synced too. `ignored`: the disk lied.
    Sync {
        folder: bool,
        ignored: bool,
    },
    /// A sync that failed. `forgets`: no later sync writes this data.
    SyncFailed {
        forgets: bool,
    },
    /// `folder`: the folder was synced right after, so the deletion is found after a cut.
    Delete {
        folder: bool,
    },
    /// Tried, and a fault did not let it happen.
    Failed {
        tried: &'static str,
    },
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        match &self.act {
            Act::Create => write!(f, "create {file}"),
            Act::Write { offset, bytes } => write!(f, "write {} bytes at {offset} of {file}", bytes.len()),
            Act::Truncate { size } => write!(f, "truncate {file} to {size} bytes"),
            Act::Sync { ignored: true, .. } => write!(f, "sync {file}, ignored"),
            Act::Sync { folder: true, .. } => write!(f, "sync {file} and its folder"),
            Act::Sync { .. } => write!(f, "sync {file}"),
            Act::SyncFailed { .. } => write!(f, "sync {file}, failed"),
            Act::Delete { folder: true } => write!(f, "delete {file} and sync its folder"),
            Act::Delete { folder: false } => write!(f, "delete {file}"),
            Act::Failed { tried } => write!(f, "{tried} {file}, failed"),
        }
    }
}

/// The folder a name is in.
pub(crate) fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
