//! A disk in memory that SQLite can be opened on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OpenFlags};

use crate::cut::Unsynced;
use crate::fault::{ArmedFault, DiskFault};
use crate::image::Image;
use crate::operation::Operation;
use crate::replay::DiskReplay;
use crate::sqlite::Vfs;
use crate::state::DiskState;

/// A disk in memory, known to SQLite by the name of its VFS. Clones are the same disk.
///
/// Connections may outlive it; none can be opened when it is gone.
#[derive(Clone, Debug)]
pub struct VirtualDisk {
    shared: Arc<DiskShared>,
    vfs: Arc<Vfs>,
}

/// The state that connections and the disk share.
#[derive(Debug)]
pub(crate) struct DiskShared {
    state: Mutex<DiskState>,
    start: Image,
    /// The position of the last cut, since the next one is mostly a little later.
    replay: Mutex<DiskReplay>,
}

impl DiskShared {
    pub fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for VirtualDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl VirtualDisk {
    /// An empty one.
    pub fn new() -> Self {
        Self::from_image(Image::default())
    }

    /// A disk that contains these files, synced.
    pub fn from_image(image: Image) -> Self {
        let state = Mutex::new(DiskState::new(&image));
        let replay = Mutex::new(DiskReplay::new(&image));
        let shared = Arc::new(DiskShared { state, start: image, replay });
        let vfs = Arc::new(Vfs::register(&shared));
        Self { shared, vfs }
    }

    /// The name to give to `Connection::open_with_flags_and_vfs`, no other disk of this process has it.
    pub fn vfs(&self) -> &str {
        self.vfs.name()
    }

    /// Opens a database, or makes it.
    pub fn open(&self, name: &str) -> rusqlite::Result<Connection> {
        Connection::open_with_flags_and_vfs(name, OpenFlags::default(), self.vfs())
    }

    /// The number of operations so far.
    pub fn boundary(&self) -> u64 {
        self.shared.state().boundary()
    }

    /// All operations until now; the first one leads to boundary 1.
    pub fn operations(&self) -> Vec<Operation> {
        self.shared.state().operations.clone()
    }

    /// The contents that programs would read now.
    pub fn image(&self) -> Image {
        self.shared.state().image()
    }

    /// A possible image after a power cut at a boundary, or at the last one if there are fewer.
    ///
    /// In growing order of boundaries, the cost is the size of the files; otherwise it is that of all
    /// operations before it.
    pub fn after_cut_at(&self, boundary: u64, how: Unsynced) -> Image {
        let mut replay = self.shared.replay.lock().unwrap_or_else(PoisonError::into_inner);
        if replay.at() > boundary {
            *replay = DiskReplay::new(&self.shared.start);
        }
        let missing = |end: u64| usize::try_from(end).unwrap_or(usize::MAX);
        let (done, wanted) = (missing(replay.at()), missing(boundary - replay.at()));
        let state = self.shared.state();
        for operation in state.operations.iter().skip(done).take(wanted) {
            replay.advance(operation);
        }
        drop(state);
        replay.image(how)
    }

    /// Every boundary so far with the two extremes and `torn` torn ways, in the fast order.
    pub fn cuts(&self, torn: u64) -> impl Iterator<Item = (u64, Unsynced)> + use<> {
        (0..=self.boundary()).flat_map(move |at| Unsynced::ways(torn).map(move |how| (at, how)))
    }

    /// Sets whether the disk confirms syncs without doing them.
    pub fn ignore_syncs(&self, ignores: bool) {
        self.shared.state().ignores_syncs = ignores;
    }

    /// Fails from the next operation on, until the fault is lifted.
    pub fn fail(&self, fault: DiskFault) {
        self.fail_from(0, fault);
    }

    /// Fails from the operation on that leads to this boundary.
    pub fn fail_from(&self, operation: u64, fault: DiskFault) {
        self.arm(Some(ArmedFault { fault, strikes: operation..=u64::MAX }));
    }

    /// Fails at one operation. A failed operation counts, so the next one succeeds.
    pub fn fail_only_at(&self, operation: u64, fault: DiskFault) {
        self.arm(Some(ArmedFault { fault, strikes: operation..=operation }));
    }

    /// Removes the fault. There is one fault at a time; a new one replaces it.
    pub fn lift(&self) {
        self.arm(None);
    }

    fn arm(&self, armed: Option<ArmedFault>) {
        self.shared.state().armed = armed;
    }
}
