//! A file that one connection has opened.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rusqlite::ffi;

use crate::disk::DiskShared;
use crate::locks::Level;
use crate::sharing::SharedMemory;
use crate::state::{OpenedFile, SqliteResult};

/// The state behind a `sqlite3_file` of ours. Closes when dropped.
#[derive(Debug)]
pub struct Handle {
    shared: Arc<DiskShared>,
    opened: OpenedFile,
    /// Whether the WAL stays when the last connection closes.
    pub persists_wal: AtomicBool,
}

impl Handle {
    pub fn new(shared: Arc<DiskShared>, opened: OpenedFile) -> Self {
        Self { shared, opened, persists_wal: AtomicBool::new(false) }
    }

    /// Fills the buffer, with zeros past the end of the file.
    pub fn read(&self, buffer: &mut [u8], offset: i64) -> SqliteResult<()> {
        let mut state = self.shared.state();
        let found = state.read(self.opened.inode, index(offset)?, buffer.len())?;
        let (filled, rest) = buffer.split_at_mut(found.len());
        filled.copy_from_slice(found);
        rest.fill(0);
        if rest.is_empty() { Ok(()) } else { Err(ffi::SQLITE_IOERR_SHORT_READ) }
    }

    pub fn write(&self, bytes: &[u8], offset: i64) -> SqliteResult<()> {
        self.may_write()?;
        self.shared.state().write(self.opened.inode, index(offset)?, bytes)
    }

    pub fn truncate(&self, size: i64) -> SqliteResult<()> {
        self.may_write()?;
        self.shared.state().truncate(self.opened.inode, index(size)?)
    }

    pub fn sync(&self) -> SqliteResult<()> {
        self.shared.state().sync(self.opened.inode)
    }

    pub fn size(&self) -> SqliteResult<i64> {
        let size = self.shared.state().file(self.opened.inode)?.size();
        i64::try_from(size).map_err(|_| ffi::SQLITE_IOERR_FSTAT)
    }

    pub fn lock(&self, level: c_int) -> SqliteResult<()> {
        let level = level_of(level)?;
        let granted = self.shared.state().file(self.opened.inode)?.locks.lock(self.opened.who, level);
        if granted { Ok(()) } else { Err(ffi::SQLITE_BUSY) }
    }

    pub fn unlock(&self, level: c_int) -> SqliteResult<()> {
        let level = level_of(level)?;
        self.shared.state().file(self.opened.inode)?.locks.unlock(self.opened.who, level);
        Ok(())
    }

    pub fn reserved(&self) -> SqliteResult<bool> {
        Ok(self.shared.state().file(self.opened.inode)?.locks.reserved())
    }

    /// The address of a region of the shared memory, or null, and the result code.
    pub fn map(&self, index: c_int, size: c_int, make: bool) -> SqliteResult<(*mut u64, c_int)> {
        let (index, size) = (unsigned(index)?, unsigned(size)?);
        let mut state = self.shared.state();
        let sharing = state.file(self.opened.inode)?.sharing.get_or_insert_default();
        sharing.join(self.opened.who);
        sharing.set_up |= !self.opened.read_only;
        if !sharing.set_up {
            // SQLite then reads the WAL into memory of its own.
            return Err(ffi::SQLITE_READONLY_CANTINIT);
        }
        let region = sharing.region(index, size, make && !self.opened.read_only).unwrap_or(ptr::null_mut());
        let said = if self.opened.read_only { ffi::SQLITE_READONLY } else { ffi::SQLITE_OK };
        Ok((region, said))
    }

    pub fn lock_map(&self, first: c_int, count: c_int, flags: c_int) -> SqliteResult<()> {
        let (first, count) = (unsigned(first)?, unsigned(count)?);
        let slots = first..first.saturating_add(count);
        let who = self.opened.who;
        let mut state = self.shared.state();
        let sharing: &mut SharedMemory =
            state.file(self.opened.inode)?.sharing.as_mut().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        let granted = if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            sharing.unlock(who, slots);
            true
        } else if flags & ffi::SQLITE_SHM_EXCLUSIVE != 0 {
            sharing.lock_exclusive(who, slots)
        } else {
            sharing.lock_shared(who, first)
        };
        if granted { Ok(()) } else { Err(ffi::SQLITE_BUSY) }
    }

    pub fn barrier(&self) {
        fence(Ordering::SeqCst);
        drop(self.shared.state());
    }

    pub fn unmap(&self) -> SqliteResult<()> {
        self.shared.state().file(self.opened.inode)?.stop_sharing(self.opened.who);
        Ok(())
    }

    fn may_write(&self) -> SqliteResult<()> {
        if self.opened.read_only { Err(ffi::SQLITE_READONLY) } else { Ok(()) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.state().close(self.opened);
    }
}

fn index(offset: i64) -> SqliteResult<usize> {
    usize::try_from(offset).map_err(|_| ffi::SQLITE_IOERR_SEEK)
}

fn unsigned(number: c_int) -> SqliteResult<usize> {
    usize::try_from(number).map_err(|_| ffi::SQLITE_IOERR_SHMMAP)
}

fn level_of(number: c_int) -> SqliteResult<Level> {
    match number {
        ffi::SQLITE_LOCK_NONE => Ok(Level::None),
        ffi::SQLITE_LOCK_SHARED => Ok(Level::Shared),
        ffi::SQLITE_LOCK_RESERVED => Ok(Level::Reserved),
        ffi::SQLITE_LOCK_PENDING => Ok(Level::Pending),
        ffi::SQLITE_LOCK_EXCLUSIVE => Ok(Level::Exclusive),
        _ => Err(ffi::SQLITE_IOERR_LOCK),
    }
}
