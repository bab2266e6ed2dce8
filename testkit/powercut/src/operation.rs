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
    pub act: OperationKind,
}

#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OperationKind {
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
            OperationKind::Create => write!(f, "create {file}"),
            OperationKind::Write { offset, bytes } => {
                write!(f, "write {} bytes at {offset} of {file}", bytes.len())
            }
            OperationKind::Truncate { size } => write!(f, "truncate {file} to {size} bytes"),
            OperationKind::Sync { ignored: true, .. } => write!(f, "sync {file}, ignored"),
            OperationKind::Sync { folder: true, .. } => write!(f, "sync {file} and its folder"),
            OperationKind::Sync { .. } => write!(f, "sync {file}"),
            OperationKind::SyncFailed { .. } => write!(f, "sync {file}, failed"),
            OperationKind::Delete { folder: true } => write!(f, "delete {file} and sync its folder"),
            OperationKind::Delete { folder: false } => write!(f, "delete {file}"),
            OperationKind::Failed { tried } => write!(f, "{tried} {file}, failed"),
        }
    }
}

/// The folder a name is in.
pub(crate) fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
