//! A store in the memory of the process: for tests, for simulations, and for use without a disk.

mod faults;
mod journal;
mod projected;
mod projector;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::rules::Installed;
use crate::store::{Definition, Head, JournalWriter, Projector, Reader, Store};
use crate::{Chain, Record, StoreError};
pub use faults::{Call, Faults, StoreFault};
use projected::{Projected, Write};

/// Most writes to the projections that a crash can take back.
const UNSAVED: usize = 64;

/// A project that exists as long as one handle to it.
///
/// A clone is the same store. [`MemoryStore::reopen`] gives the store that a new process finds after a crash.
#[derive(Clone)]
pub struct MemoryStore {
    disk: Arc<Mutex<Disk>>,
    /// The process that owns it: handles from before the last crash return errors.
    process: u64,
}

/// The data that survives a crash.
#[derive(Default)]
struct Disk {
    process: u64,
    base: Chain,
    records: BTreeMap<u64, Record>,
    /// Records before `base` that stayed when the journal was cut.
    stayed: BTreeMap<u64, Record>,
    head: Head,
    /// The number of sessions that were started.
    begun: u64,
    definitions: BTreeMap<(Name, u32), Definition>,
    installed: Vec<Installed>,
    projected: Projected,
    /// The state after a crash; only with fault injection.
    safe: Option<Safe>,
    faults: Option<Box<dyn Faults>>,
    journal_taken: bool,
    projector_taken: bool,
}

/// The durable projections, and the writes since.
#[derive(Default)]
struct Safe {
    projected: Projected,
    since: Vec<Write>,
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store without faults.
    pub fn new() -> Self {
        Self { disk: Arc::default(), process: 0 }
    }

    /// An empty store with injected faults.
    pub fn with_faults(faults: impl Faults + 'static) -> Self {
        let disk = Disk { safe: Some(Safe::default()), faults: Some(Box::new(faults)), ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(disk)), process: 0 }
    }

    /// The store as a new process finds it after a crash: the whole journal, and the projections up to some write.
    /// Older handles return errors from then on.
    pub fn reopen(&self) -> Self {
        let mut disk = lock_disk(&self.disk);
        disk.process += 1;
        (disk.journal_taken, disk.projector_taken) = (false, false);
        let Disk { safe, faults, projected, .. } = &mut *disk;
        if let (Some(safe), Some(faults)) = (safe, faults) {
            let lost = faults.lost(safe.since.len());
            safe.since.truncate(safe.since.len().saturating_sub(lost));
            safe.save();
            *projected = safe.projected.clone();
        }
        Self { disk: self.disk.clone(), process: disk.process }
    }

    fn open(&self) -> Result<MutexGuard<'_, Disk>, StoreError> {
        let disk = lock_disk(&self.disk);
        if disk.process != self.process {
            return Err(StoreError::io("using the store", "it was opened by a process that has ended"));
        }
        Ok(disk)
    }

    /// Does the work unless a fault is injected.
    fn attempt<T>(
        &self,
        call: Call,
        work: impl FnOnce(&mut Disk) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut disk = self.open()?;
        let fault = disk.faults.as_mut().and_then(|it| it.on(call));
        let failed = || StoreError::io("using the store", "the disk failed");
        if fault == Some(StoreFault::Before) {
            return Err(failed());
        }
        let done = work(&mut disk)?;
        match fault {
            Some(StoreFault::After) => Err(failed()),
            _ => Ok(done),
        }
    }

    fn already_open(what: &str) -> StoreError {
        StoreError::InUse { path: PathBuf::from(what), owner: "another part of this process".to_owned() }
    }
}

impl Store for MemoryStore {
    fn journal(&self) -> Result<Box<dyn JournalWriter>, StoreError> {
        let mut disk = self.open()?;
        if std::mem::replace(&mut disk.journal_taken, true) {
            return Err(Self::already_open("the journal"));
        }
        Ok(Box::new(journal::MemoryJournal(self.clone())))
    }

    fn projector(&self) -> Result<Box<dyn Projector>, StoreError> {
        let mut disk = self.open()?;
        if std::mem::replace(&mut disk.projector_taken, true) {
            return Err(Self::already_open("the projections"));
        }
        Ok(Box::new(projector::MemoryProjector(self.clone())))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        drop(self.open()?);
        Ok(Box::new(reader::MemoryReader(self.clone())))
    }
}

impl Disk {
    /// Writes to the projections.
    fn write(&mut self, write: Write) -> Result<usize, StoreError> {
        let done = self.projected.write(&write)?;
        if let Some(safe) = &mut self.safe {
            safe.since.push(write);
            if safe.since.len() > UNSAVED {
                let oldest = safe.since.remove(0);
                safe.projected.write(&oldest)?;
            }
        }
        Ok(done)
    }
}

impl Safe {
    /// Everything written so far becomes durable.
    fn save(&mut self) {
        for write in std::mem::take(&mut self.since) {
            // The same write succeeded before.
            let _ = self.projected.write(&write);
        }
    }
}

/// The time of an entry.
fn time_of(record: &Record) -> Result<Timestamp, StoreError> {
    #[derive(serde::Deserialize)]
    struct Dated {
        at: Timestamp,
    }
    let dated: Result<Dated, _> = serde_json::from_str(&record.header);
    dated.map(|it| it.at).map_err(|it| StoreError::Unreadable { seq: record.seq, what: it.to_string() })
}

fn lock_disk(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}
