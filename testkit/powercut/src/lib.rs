//! A disk under SQLite that can lose power, fill up and fail. For tests only.
//!
//! ```
//! use trackside_powercut::{VirtualDisk, Unsynced};
//!
//! let disk = VirtualDisk::new();
//! let db = disk.open("a.db")?;
//! db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")?;
//! let answered = disk.boundary();
//! db.execute("INSERT INTO t VALUES (2)", [])?;
//!
//! let after = VirtualDisk::from_image(disk.after_cut_at(answered, Unsynced::Lost));
//! let rows: i64 = after.open("a.db")?.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?;
//! assert_eq!(rows, 1);
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! A [`VirtualDisk`] holds files in memory and is known to SQLite as a VFS of its own ([`VirtualDisk::vfs`]). Every database opened
//! through that name runs on it: several connections, in several threads, with a rollback journal or a WAL.
//!
//! # Modelled
//!
//! Every creation, write, truncation, sync and deletion of a file is an [`Operation`] and has a number, counted over
//! all files from 1. *Boundary n* is the moment right after operation n; boundary 0 is the disk as it was given.
//! [`VirtualDisk::after_cut_at`] returns a possible image after a power cut there:
//!
//! - Writes before a sync of the same file survive. A sync of one file does not affect another.
//! - Unsynced writes are [`Unsynced::Lost`], [`Unsynced::Kept`] (as after the end of the process alone), or
//!   [`Unsynced::Torn`]: each file keeps an arbitrary part of its writes and truncations in any order, and
//!   of a write an arbitrary part of its sectors of 512 or 4096 bytes. Where lost writes extended a file,
//!   it may still be longer and contain zeros or noise there. One seed gives one answer; seeds differ in
//!   how much they keep.
//! - A sector is written whole or not at all, and bytes beside a write stay as they are. The VFS declares this
//!   (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`), as SQLite's own Unix VFS does.
//! - A file that was created is found under its name once it was synced. A deletion is found once the folder was
//!   synced: SQLite asks for that when it deletes (`PRAGMA synchronous = EXTRA`), and, as on Unix, the first sync of a
//!   new journal or WAL syncs its folder too. Before, each name is independently as it was or as it became.
//! - A disk that lies: after [`VirtualDisk::ignore_syncs`] a sync is answered and does nothing. This is the
//!   negative control of a test: the test must then find losses, or it proves nothing.
//! - [`DiskFault`]s that last until they are lifted, from an operation on or at one only.
//! - Locks, and the shared memory of a WAL, among the connections of this process. Shared memory is gone after a cut.
//!
//! # Not modelled
//!
//! - Other processes, memory-mapped reading (`PRAGMA mmap_size` changes nothing) and renaming, which SQLite does not do.
//! - Bits that rot: change an [`Image`] with [`Image::file_mut`] for that.
//! - Sectors torn inside, or a write that harms its neighbours.
//! - Time: an operation takes none. Run twice, a single thread makes the same operations, though SQLite salts a WAL by
//!   chance, so not the same bytes.
//! - Temporary files: they are neither numbered nor struck by faults, and nothing is left of them.
//!
//! Everything that was ever written stays in memory until the disk is dropped. Names of files are not looked into: `a.db`
//! and `./a.db` are two files, and folders need not be made.

mod cut;
mod disk;
mod fault;
mod image;
mod locks;
mod operation;
mod replay;
mod sharing;
mod sqlite;
mod state;

pub use cut::{Sector, Unsynced};
pub use disk::VirtualDisk;
pub use fault::DiskFault;
pub use image::Image;
pub use operation::{Operation, OperationKind};
