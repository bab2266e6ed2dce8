//! The disk as running programs see it, and the log of their operations.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

use rusqlite::ffi;

use crate::cut::put;
use crate::fault::{ArmedFault, DiskFault};
use crate::image::Image;
use crate::locks::{Level, Locks};
use crate::operation::{Operation, OperationKind};
use crate::sharing::SharedMemory;

/// A result for SQLite: a value or an error code.
pub type SqliteResult<T> = Result<T, c_int>;

#[derive(Debug)]
pub struct DiskState {
    names: BTreeMap<Arc<str>, u64>,
    files: BTreeMap<u64, File>,
    pub operations: Vec<Operation>,
    pub ignores_syncs: bool,
    pub armed: Option<ArmedFault>,
    /// The next number of files and connections.
    next: u64,
}

/// A file, also while it is open and has no name any more.
#[derive(Debug)]
pub struct File {
    name: Arc<str>,
    bytes: Vec<u8>,
    /// Whether the file is only needed while the process lives.
    temporary: bool,
    /// Its first sync is one of its folder too.
    new_in_folder: bool,
    open: usize,
    pub locks: Locks,
    pub sharing: Option<SharedMemory>,
}

/// The options for opening a file.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    pub create: bool,
    /// Fails if it is there.
    pub exclusive: bool,
    pub read_only: bool,
    pub temporary: bool,
    /// A journal or a WAL.
    pub journal: bool,
}

/// A file that was opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenedFile {
    pub who: u64,
    pub inode: u64,
    pub read_only: bool,
}

impl DiskState {
    /// Files are numbered in the order of their names, as a replay numbers them.
    pub fn new(start: &Image) -> Self {
        let mut state = Self {
            names: BTreeMap::new(),
            files: BTreeMap::new(),
            operations: Vec::new(),
            ignores_syncs: false,
            armed: None,
            next: 0,
        };
        for (name, bytes) in start.files() {
            let inode = state.number();
            state.names.insert(name.into(), inode);
            state.files.insert(inode, File::new(name.into(), bytes.to_vec(), false, false));
        }
        state
    }

    pub fn boundary(&self) -> u64 {
        self.operations.len() as u64
    }

    /// The contents that a program would read now.
    pub fn image(&self) -> Image {
        let bytes = |inode| self.files.get(inode).map(|it| it.bytes.clone()).unwrap_or_default();
        self.names.iter().map(|(name, inode)| (name.to_string(), bytes(inode))).collect()
    }

    pub fn open(&mut self, name: Option<&str>, how: FileOptions) -> SqliteResult<OpenedFile> {
        let fault = self.fault().filter(|_| !how.temporary);
        let read_only = how.read_only || fault == Some(DiskFault::ReadOnly);
        if fault == Some(DiskFault::Denied) {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        let there = name.and_then(|it| self.names.get(it)).copied();
        let inode = match there {
            Some(_) if how.exclusive => return Err(ffi::SQLITE_CANTOPEN),
            Some(inode) => inode,
            None if read_only || !how.create => return Err(ffi::SQLITE_CANTOPEN),
            None => self.create(name, how),
        };
        let who = self.number();
        self.file(inode)?.open += 1;
        Ok(OpenedFile { who, inode, read_only })
    }

    pub fn close(&mut self, opened: OpenedFile) {
        let Ok(file) = self.file(opened.inode) else { return };
        file.open -= 1;
        file.locks.unlock(opened.who, Level::None);
        file.stop_sharing(opened.who);
        self.forget_unused(opened.inode);
    }

    /// The existing bytes, fewer than requested at the end of the file.
    pub fn read(&mut self, inode: u64, offset: usize, length: usize) -> SqliteResult<&[u8]> {
        let fault = self.fault();
        let file = self.file(inode)?;
        if fault == Some(DiskFault::ReadFails) && !file.temporary {
            return Err(ffi::SQLITE_IOERR_READ);
        }
        let end = (offset + length).min(file.bytes.len());
        Ok(file.bytes.get(offset..end).unwrap_or_default())
    }

    pub fn write(&mut self, inode: u64, offset: usize, bytes: &[u8]) -> SqliteResult<()> {
        let fault = self.fault();
        let file = self.file(inode)?;
        if file.temporary {
            put(&mut file.bytes, offset, bytes);
            return Ok(());
        }
        let size = file.bytes.len();
        let fits = match fault {
            Some(DiskFault::Full) => 0,
            Some(DiskFault::FullAfter { bytes: room }) => {
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                bytes.len().min(size.saturating_add(room).saturating_sub(offset))
            }
            Some(DiskFault::WriteFails | DiskFault::ReadOnly) => {
                return self.fail(inode, "write", ffi::SQLITE_IOERR_WRITE);
            }
            _ => bytes.len(),
        };
        if fits == 0 && !bytes.is_empty() {
            return self.fail(inode, "write", ffi::SQLITE_FULL);
        }
        let written = bytes.get(..fits).unwrap_or(bytes);
        put(&mut file.bytes, offset, written);
        let grown = file.bytes.len() - size;
        self.record(inode, OperationKind::Write { offset: offset as u64, bytes: written.into() });
        if matches!(fault, Some(DiskFault::FullAfter { .. }))
            && let Some(ArmedFault { fault: DiskFault::FullAfter { bytes: room }, .. }) = &mut self.armed
        {
            *room = room.saturating_sub(grown as u64);
        }
        if fits < bytes.len() { Err(ffi::SQLITE_FULL) } else { Ok(()) }
    }

    pub fn truncate(&mut self, inode: u64, size: usize) -> SqliteResult<()> {
        let fault = self.fault();
        let file = self.file(inode)?;
        if matches!(fault, Some(DiskFault::WriteFails | DiskFault::ReadOnly)) && !file.temporary {
            return self.fail(inode, "truncate", ffi::SQLITE_IOERR_TRUNCATE);
        }
        file.bytes.resize(size, 0);
        self.record(inode, OperationKind::Truncate { size: size as u64 });
        Ok(())
    }

    pub fn sync(&mut self, inode: u64) -> SqliteResult<()> {
        let (fault, ignored) = (self.fault(), self.ignores_syncs);
        let file = self.file(inode)?;
        if let Some(DiskFault::SyncFails { forgets }) = fault
            && !file.temporary
        {
            self.record(inode, OperationKind::SyncFailed { forgets });
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        let folder = file.new_in_folder;
        file.new_in_folder = false;
        self.record(inode, OperationKind::Sync { folder, ignored });
        Ok(())
    }

    pub fn delete(&mut self, name: &str, sync_folder: bool) -> SqliteResult<()> {
        let inode = *self.names.get(name).ok_or(ffi::SQLITE_IOERR_DELETE_NOENT)?;
        if self.fault() == Some(DiskFault::ReadOnly) {
            return self.fail(inode, "delete", ffi::SQLITE_IOERR_DELETE);
        }
        self.names.remove(name);
        self.record(inode, OperationKind::Delete { folder: sync_folder && !self.ignores_syncs });
        self.forget_unused(inode);
        Ok(())
    }

    /// Whether there is a file that is not empty: empty files do not count, as in SQLite's Unix VFS.
    pub fn exists(&self, name: &str) -> bool {
        self.names.get(name).and_then(|it| self.files.get(it)).is_some_and(|it| !it.bytes.is_empty())
    }

    pub fn writable(&self, name: &str) -> bool {
        self.names.contains_key(name) && self.fault() != Some(DiskFault::ReadOnly)
    }

    pub fn file(&mut self, inode: u64) -> SqliteResult<&mut File> {
        self.files.get_mut(&inode).ok_or(ffi::SQLITE_IOERR)
    }

    /// The fault that affects the next operation.
    fn fault(&self) -> Option<DiskFault> {
        let next = self.boundary() + 1;
        self.armed.as_ref().filter(|it| it.strikes.contains(&next)).map(|it| it.fault)
    }

    fn create(&mut self, name: Option<&str>, how: FileOptions) -> u64 {
        let inode = self.number();
        let file = File::new(name.unwrap_or("temporary").into(), Vec::new(), how.temporary, how.journal);
        if let Some(name) = name {
            self.names.insert(name.into(), inode);
        }
        self.files.insert(inode, file);
        self.record(inode, OperationKind::Create);
        inode
    }

    fn record(&mut self, inode: u64, act: OperationKind) {
        if let Some(file) = self.files.get(&inode).filter(|it| !it.temporary) {
            self.operations.push(Operation { file: file.name.clone(), inode, act });
        }
    }

    fn fail(&mut self, inode: u64, tried: &'static str, code: c_int) -> SqliteResult<()> {
        self.record(inode, OperationKind::Failed { tried });
        Err(code)
    }

    fn forget_unused(&mut self, inode: u64) {
        let named = self.files.get(&inode).is_some_and(|it| self.names.get(&it.name) == Some(&inode));
        if !named {
            self.files.retain(|it, file| *it != inode || file.open > 0);
        }
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

impl File {
    fn new(name: Arc<str>, bytes: Vec<u8>, temporary: bool, new_in_folder: bool) -> Self {
        Self { name, bytes, temporary, new_in_folder, open: 0, locks: Locks::default(), sharing: None }
    }

    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// One leaves; the last one takes the shared memory along.
    pub fn stop_sharing(&mut self, who: u64) {
        if self.sharing.as_mut().is_some_and(|it| it.leave(who)) {
            self.sharing = None;
        }
    }
}
