//! The functions SQLite calls on the disk as a whole.

use std::collections::hash_map::RandomState;
use std::ffi::{CStr, CString, c_char, c_int};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{ptr, thread};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_vfs};

use super::file::{OpenFile, code};
use super::handle::Handle;
use crate::disk::DiskShared;
use crate::state::{FileOptions, SqliteResult};

/// The longest name, with its ending zero.
const NAME: c_int = 1024;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A VFS that SQLite knows until this is dropped.
///
/// A registration (a few hundred bytes) is never freed: a connection may still be open and use it.
#[derive(Debug)]
pub struct Vfs {
    name: String,
    registered: *mut sqlite3_vfs,
}

// SAFETY: the pointer is only used to take the VFS off SQLite's list, which has a lock of its own.
unsafe impl Send for Vfs {}
// SAFETY: as above.
unsafe impl Sync for Vfs {}

impl Vfs {
    pub fn register(shared: &Arc<DiskShared>) -> Self {
        let name = format!("powercut-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str()).unwrap_or_default().into_raw();
        let disk: Box<Weak<DiskShared>> = Box::new(Arc::downgrade(shared));
        let vfs = sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<OpenFile>() as c_int,
            mxPathname: NAME,
            pNext: ptr::null_mut(),
            zName: c_name,
            pAppData: Box::into_raw(disk).cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_name),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(days),
            xGetLastError: Some(last_error),
            xCurrentTimeInt64: Some(milliseconds),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        };
        let registered = Box::into_raw(Box::new(vfs));
        // SAFETY: the VFS is never freed, and its functions keep the promises of the interface.
        let answer = unsafe { ffi::sqlite3_vfs_register(registered, 0) };
        // It fails only if SQLite cannot start at all.
        debug_assert_eq!(answer, ffi::SQLITE_OK);
        Self { name, registered }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Vfs {
    fn drop(&mut self) {
        // SAFETY: it was registered, and stays in memory for the connections that are open.
        unsafe { ffi::sqlite3_vfs_unregister(self.registered) };
    }
}

/// The disk behind a VFS, if it is there still: in use, or with a file open.
///
/// # Safety
/// `vfs` was registered by [`Vfs::register`].
unsafe fn disk(vfs: *mut sqlite3_vfs) -> SqliteResult<Arc<DiskShared>> {
    // SAFETY: a registration is never freed.
    let disk = unsafe { &*(*vfs).pAppData.cast::<Weak<DiskShared>>() };
    disk.upgrade().ok_or(ffi::SQLITE_CANTOPEN)
}

/// # Safety
/// `name` is null or a string that stays while the answer is used.
unsafe fn text<'a>(name: *const c_char) -> SqliteResult<Option<&'a str>> {
    if name.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map(Some).map_err(|_| ffi::SQLITE_CANTOPEN)
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    granted: *mut c_int,
) -> c_int {
    const TEMPORARY: c_int = ffi::SQLITE_OPEN_DELETEONCLOSE
        | ffi::SQLITE_OPEN_TEMP_DB
        | ffi::SQLITE_OPEN_TRANSIENT_DB
        | ffi::SQLITE_OPEN_TEMP_JOURNAL
        | ffi::SQLITE_OPEN_SUBJOURNAL;
    const JOURNAL: c_int =
        ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    let has = |wanted: c_int| flags & wanted != 0;
    let how = FileOptions {
        create: has(ffi::SQLITE_OPEN_CREATE),
        exclusive: has(ffi::SQLITE_OPEN_EXCLUSIVE),
        read_only: has(ffi::SQLITE_OPEN_READONLY),
        temporary: name.is_null() || has(TEMPORARY),
        journal: has(JOURNAL),
    };
    // SAFETY: SQLite gives room of the size that was registered.
    unsafe { OpenFile::clear(file) };
    // SAFETY: the VFS is ours, and the name stays during the call.
    let (disk, name) = match unsafe { (disk(vfs), text(name)) } {
        (Ok(disk), Ok(name)) => (disk, name),
        (Err(code), _) | (_, Err(code)) => return code,
    };
    // Temporary files have no names, so none is left behind.
    let opened = disk.state().open(name.filter(|_| !how.temporary), how);
    let opened = match opened {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    if !granted.is_null() {
        let writes = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        let said = if opened.read_only { flags & !writes | ffi::SQLITE_OPEN_READONLY } else { flags };
        // SAFETY: it is not null, so there is a place for the answer.
        unsafe { granted.write(said) };
    }
    // SAFETY: as above.
    unsafe { OpenFile::fill(file, Handle::new(disk, opened)) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: the VFS is ours, and the name stays during the call.
    match unsafe { (disk(vfs), text(name)) } {
        (Ok(disk), Ok(Some(name))) => code(disk.state().delete(name, sync_folder != 0)),
        _ => ffi::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: the VFS is ours, and the name stays during the call.
    let (Ok(disk), Ok(Some(name))) = (unsafe { (disk(vfs), text(name)) }) else {
        return ffi::SQLITE_IOERR_ACCESS;
    };
    let state = disk.state();
    let yes = if flags == ffi::SQLITE_ACCESS_EXISTS { state.exists(name) } else { state.writable(name) };
    // SAFETY: there is a place for the answer.
    unsafe { answer.write(c_int::from(yes)) };
    ffi::SQLITE_OK
}

/// Names are used unchanged.
unsafe extern "C" fn full_name(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    full: *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives a string.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if usize::try_from(room).is_ok_and(|room| bytes.len() <= room) {
        // SAFETY: there is room for it, and it is another place.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr().cast(), full, bytes.len()) };
        ffi::SQLITE_OK
    } else {
        ffi::SQLITE_CANTOPEN
    }
}

unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, amount: c_int, bytes: *mut c_char) -> c_int {
    let length = usize::try_from(amount).unwrap_or(0);
    let mut chosen = vec![0; length];
    trackside_random::Random::from_seeds(&[RandomState::new().build_hasher().finish()]).fill(&mut chosen);
    // SAFETY: SQLite gives room for as much as it asks for.
    unsafe { ptr::copy_nonoverlapping(chosen.as_ptr().cast(), bytes, length) };
    amount
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    thread::sleep(Duration::from_micros(u64::try_from(microseconds).unwrap_or(0)));
    microseconds
}

unsafe extern "C" fn last_error(_vfs: *mut sqlite3_vfs, _length: c_int, _text: *mut c_char) -> c_int {
    0
}

/// Since noon of 24 November 4714 before Christ, where SQLite's days begin.
fn since_the_first_day() -> i64 {
    const UNTIL_1970: i64 = 210_866_760_000_000;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNTIL_1970 + i64::try_from(since_1970.as_millis()).unwrap_or(0)
}

unsafe extern "C" fn days(_vfs: *mut sqlite3_vfs, answer: *mut f64) -> c_int {
    // SAFETY: there is a place for the answer.
    unsafe { answer.write(since_the_first_day() as f64 / 86_400_000.0) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn milliseconds(_vfs: *mut sqlite3_vfs, answer: *mut sqlite3_int64) -> c_int {
    // SAFETY: there is a place for the answer.
    unsafe { answer.write(since_the_first_day()) };
    ffi::SQLITE_OK
}
