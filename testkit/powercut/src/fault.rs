//! Faults of a disk while it has power.

use std::ops::RangeInclusive;

/// A way for a disk to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// No write succeeds, not over existing bytes either: `SQLITE_FULL`. So do file systems that copy on write.
    Full,
    /// Files can grow by this many bytes together. The write that needs more is done in part:
    /// `SQLITE_FULL`.
    FullAfter { bytes: u64 },
    /// Syncs fail, `SQLITE_IOERR_FSYNC`. `forgets`: a later sync does not write this data either, unless it is
    /// written again. Linux behaves so: a successful retry proves nothing.
    SyncFails { forgets: bool },
    /// Writes and truncations fail, `SQLITE_IOERR_WRITE` and `SQLITE_IOERR_TRUNCATE`.
    WriteFails,
    /// Reads fail, `SQLITE_IOERR_READ`.
    ReadFails,
    /// Files open for reading only, `SQLITE_READONLY`, and none is made, `SQLITE_CANTOPEN`. Writing to a file that is open
    /// already fails as if the disk had been mounted again: `SQLITE_IOERR_WRITE`.
    ReadOnly,
    /// No file can be opened: `SQLITE_CANTOPEN`.
    Denied,
}

/// A fault and the operations it affects, by number.
#[derive(Clone, Debug)]
pub(crate) struct ArmedFault {
    pub fault: DiskFault,
    pub strikes: RangeInclusive<u64>,
}
