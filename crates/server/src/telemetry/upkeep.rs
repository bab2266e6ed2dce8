//! The times of the last maintenance since the start: audits and backups.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trackside_lifecycle::time::Timestamp;
use trackside_runtime::ProjectClock;

/// The times of the last maintenance, by the system clock.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    pub verified: LastRun,
    pub backed_up: LastRun,
    /// 1 if the last audit found the journal changed.
    damaged: AtomicU64,
    pub scrub: ScrubProgress,
    /// Checks of packs that ended because their request had ended.
    pub cancelled_checks: AtomicU64,
}

/// The progress of the scrub, and what it found.
#[derive(Debug, Default)]
pub(crate) struct ScrubProgress {
    /// Complete passes.
    pub passes: LastRun,
    /// The entry up to which the present pass has read.
    done: AtomicU64,
    /// The last entry.
    all: AtomicU64,
    /// Damage that the present pass has found.
    found: Mutex<Vec<String>>,
    /// The number of damaged parts that the last complete pass found.
    damaged: AtomicU64,
}

/// Most findings that are kept.
const KEPT: usize = 100;

impl ScrubProgress {
    pub fn begin(&self) {
        self.done.store(0, Ordering::Relaxed);
    }

    pub fn advance(&self, done: u64, all: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// Records damage.
    pub fn found(&self, what: String) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < KEPT {
            found.push(what);
        }
        self.damaged.fetch_max(found.len() as u64, Ordering::Relaxed);
    }

    /// Ends a pass, and returns what it found.
    pub fn end(&self) -> Vec<String> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        self.damaged.store(found.len() as u64, Ordering::Relaxed);
        self.passes.well();
        found
    }

    /// The number of damaged parts.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The share of the journal that the present pass has read.
    pub fn ratio(&self) -> f64 {
        match self.all.load(Ordering::Relaxed) {
            0 => 0.0,
            all => (self.done.load(Ordering::Relaxed) as f64 / all as f64).min(1.0),
        }
    }
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
