//! The times of the last maintenance since the start: audits and backups.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use trackside_lifecycle::time::Timestamp;
use trackside_runtime::ProjectClock;

/// The times of the last maintenance, by the system clock.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    pub verified: LastRun,
    pub backed_up: LastRun,
    /// 1 if the last audit found the journal changed.
    damaged: AtomicU64,
}

/// The history of one maintenance job since the start.
#[derive(Debug, Default)]
pub(crate) struct LastRun {
    at: AtomicI64,
    times: AtomicU64,
    failures: AtomicU64,
}

impl LastRun {
    pub fn well(&self) {
        self.at.store(ProjectClock::System.now().0, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// The time of the last success; none if there was none.
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
    /// Records an audit.
    pub fn audited(&self, intact: bool) {
        self.damaged.store(u64::from(!intact), Ordering::Relaxed);
        if intact { self.verified.well() } else { self.verified.failed() }
    }

    /// Whether the last audit found the journal changed.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed) > 0
    }
}
