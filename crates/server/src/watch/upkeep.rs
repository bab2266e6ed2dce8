//! When what keeps a project safe was last done, since the server was started.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use trackside_lifecycle::time::Timestamp;
use trackside_runtime::Clock;

/// When what keeps a project safe was last done. Times are those of the machine, whatever clock the project goes by.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    pub verified: Done,
    pub backed_up: Done,
    /// Whether the last look at the journal found it as it was written; 1 until one found otherwise.
    damaged: AtomicU64,
}

/// Something that is done now and then.
#[derive(Debug, Default)]
pub(crate) struct Done {
    at: AtomicI64,
    times: AtomicU64,
    failures: AtomicU64,
}

impl Done {
    pub fn well(&self) {
        self.at.store(Clock::System.now().0, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// When it last went well; none if it has not since the start.
    pub fn at(&self) -> Option<Timestamp> {
        Some(Timestamp(self.at.load(Ordering::Relaxed))).filter(|it| it.0 > 0)
    }

    pub fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }

    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Upkeep {
    /// Somebody went through the journal.
    pub fn audited(&self, intact: bool) {
        self.damaged.store(u64::from(!intact), Ordering::Relaxed);
        if intact { self.verified.well() } else { self.verified.failed() }
    }

    /// Whether the last look found the journal other than it was written.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed) > 0
    }
}
