//! The functions SQLite calls on an open file.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::{ptr, slice};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};

use super::handle::Handle;
use crate::state::SqliteResult;

/// The memory that SQLite allocates when it opens a file: its own part, and ours behind it.
#[repr(C)]
#[derive(Debug)]
pub struct OpenFile {
    known: sqlite3_file,
    handle: *mut Handle,
}

impl OpenFile {
    /// Marks the room as not open, so that SQLite will not close it.
    ///
    /// # Safety
    /// `file` is room for an `OpenFile`.
    pub unsafe fn clear(file: *mut sqlite3_file) {
        let empty = Self { known: sqlite3_file { pMethods: ptr::null() }, handle: ptr::null_mut() };
        // SAFETY: the caller has room for it.
        unsafe { file.cast::<Self>().write(empty) }
    }

    /// # Safety
    /// `file` is room for an `OpenFile`.
    pub unsafe fn fill(file: *mut sqlite3_file, handle: Handle) {
        let known = sqlite3_file { pMethods: &raw const METHODS };
        let open = Self { known, handle: Box::into_raw(Box::new(handle)) };
        // SAFETY: the caller has room for it.
        unsafe { file.cast::<Self>().write(open) }
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(map),
    xShmLock: Some(lock_map),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: None,
    xUnfetch: None,
};

/// # Safety
/// `file` was filled by [`OpenFile::fill`] and is not closed.
unsafe fn handle<'a>(file: *mut sqlite3_file) -> &'a Handle {
    // SAFETY: the handle lives until the file is closed, and is only ever shared.
    unsafe { &*(*file.cast::<OpenFile>()).handle }
}

pub fn code(answer: SqliteResult<()>) -> c_int {
    answer.err().unwrap_or(ffi::SQLITE_OK)
}

/// Gives a value to SQLite.
///
/// # Safety
/// `place` may be written.
unsafe fn give<T>(place: *mut T, answer: SqliteResult<T>) -> c_int {
    match answer {
        Ok(value) => {
            // SAFETY: the caller says so.
            unsafe { place.write(value) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: an open file has a handle made of a box, and it is closed once.
    unsafe { drop(Box::from_raw((*file.cast::<OpenFile>()).handle)) };
    // SAFETY: the room is SQLite's still.
    unsafe { OpenFile::clear(file) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let Ok(amount) = usize::try_from(amount) else { return ffi::SQLITE_IOERR_READ };
    // SAFETY: SQLite gives room for as much as it asks for. It need not be initialised, so that is done first.
    let buffer = unsafe {
        buffer.cast::<u8>().write_bytes(0, amount);
        slice::from_raw_parts_mut(buffer.cast::<u8>(), amount)
    };
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.read(buffer, offset))
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let Ok(amount) = usize::try_from(amount) else { return ffi::SQLITE_IOERR_WRITE };
    // SAFETY: SQLite gives as much as it says.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), amount) };
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.write(bytes, offset))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.truncate(size))
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: the file is open, and there is a place for the answer.
    unsafe { give(size, handle(file).size()) }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.lock(level))
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.unlock(level))
}

unsafe extern "C" fn check_reserved(file: *mut sqlite3_file, reserved: *mut c_int) -> c_int {
    // SAFETY: the file is open, and there is a place for the answer.
    unsafe { give(reserved, handle(file).reserved().map(c_int::from)) }
}

unsafe extern "C" fn control(file: *mut sqlite3_file, what: c_int, argument: *mut c_void) -> c_int {
    if what != ffi::SQLITE_FCNTL_PERSIST_WAL {
        return ffi::SQLITE_NOTFOUND;
    }
    // SAFETY: the file is open, and the argument of this one is a number, to be set or, if negative, to be asked for.
    let (handle, number) = unsafe { (handle(file), &mut *argument.cast::<c_int>()) };
    if *number < 0 {
        *number = c_int::from(handle.persists_wal.load(Ordering::SeqCst));
    } else {
        handle.persists_wal.store(*number != 0, Ordering::SeqCst);
    }
    ffi::SQLITE_OK
}

/// The value of SQLite's Unix VFS.
unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn characteristics(_file: *mut sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn map(
    file: *mut sqlite3_file,
    index: c_int,
    size: c_int,
    make: c_int,
    place: *mut *mut c_void,
) -> c_int {
    // SAFETY: the file is open.
    let (region, said) = match unsafe { handle(file) }.map(index, size, make != 0) {
        Ok((region, said)) => (region, said),
        Err(code) => (ptr::null_mut(), code),
    };
    // SAFETY: there is a place for the answer.
    unsafe { place.write(region.cast()) };
    said
}

unsafe extern "C" fn lock_map(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.lock_map(first, count, flags))
}

unsafe extern "C" fn barrier(file: *mut sqlite3_file) {
    // SAFETY: the file is open.
    unsafe { handle(file) }.barrier();
}

unsafe extern "C" fn unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: the file is open.
    code(unsafe { handle(file) }.unmap())
}
