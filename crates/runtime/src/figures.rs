//! Counters of the work done so far.

use std::sync::atomic::{AtomicU64, Ordering};

use trackside_lifecycle::time::Span;

use crate::histogram::Histogram;
use crate::pipeline::{CommitSize, Outcomes};

/// Counters since the start.
#[derive(Debug)]
pub struct Figures {
    /// Committed entries, including those of timers and sweeps.
    pub commands: AtomicU64,
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// Commands that had been carried out before, under the same key.
    pub replayed: AtomicU64,
    /// Commands that failed because the store could not be used.
    pub failed: AtomicU64,
    pub commits: AtomicU64,
    pub entries: AtomicU64,
    pub header_bytes: AtomicU64,
    pub payload_bytes: AtomicU64,
    pub payloads: AtomicU64,
    pub largest_commit: AtomicU64,
    pub flushes: AtomicU64,
    /// Entities in memory.
    pub cached: AtomicU64,
    /// Values that no two may share in memory.
    pub cached_values: AtomicU64,
    /// Idempotency keys in memory.
    pub cached_keys: AtomicU64,
    /// Groups in memory.
    pub cached_groups: AtomicU64,
    /// Timers in memory, those due next.
    pub cached_timers: AtomicU64,
    /// Places in the orders that are in memory.
    pub cached_places: AtomicU64,
    /// Bytes of entities and groups in memory, about.
    pub cached_bytes: AtomicU64,
    /// 1 once the sweep has found a journal entry that was altered.
    pub forged: AtomicU64,
    pub overloaded: AtomicU64,
    pub failed_commits: AtomicU64,
    /// Work that was let in, and work that was taken up: between them it waits.
    pub handed_in: AtomicU64,
    pub taken: AtomicU64,
    /// Followers that fell behind the live feed and read the journal instead.
    pub fell_behind: AtomicU64,
    /// The duration of a durable commit.
    pub commit_span: Histogram,
    /// The number of commands per commit.
    pub commit_size: Histogram,
    /// The delay of timers after they were due.
    pub lateness: Histogram,
}

impl Default for Figures {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            commands: zero(),
            accepted: zero(),
            refused: zero(),
            replayed: zero(),
            failed: zero(),
            commits: zero(),
            entries: zero(),
            header_bytes: zero(),
            payload_bytes: zero(),
            payloads: zero(),
            largest_commit: zero(),
            flushes: zero(),
            cached: zero(),
            cached_values: zero(),
            cached_keys: zero(),
            cached_groups: zero(),
            cached_timers: zero(),
            cached_places: zero(),
            cached_bytes: zero(),
            forged: zero(),
            overloaded: zero(),
            failed_commits: zero(),
            handed_in: zero(),
            taken: zero(),
            fell_behind: zero(),
            commit_span: Histogram::of_spans(),
            commit_size: Histogram::of_sizes(),
            lateness: Histogram::of_long_spans(),
        }
    }
}

impl Figures {
    pub(crate) fn add_commit(&self, written: &CommitSize) {
        Self::add(&self.entries, written.entries);
        Self::add(&self.header_bytes, written.header_bytes);
        Self::add(&self.payload_bytes, written.payload_bytes);
        Self::add(&self.payloads, written.payloads);
    }

    /// Counts the outcomes of commands after they are on disk.
    pub(crate) fn add_outcomes(&self, outcomes: &Outcomes) {
        Self::add(&self.accepted, outcomes.accepted);
        Self::add(&self.replayed, outcomes.replayed);
        Self::add(&self.failed, outcomes.failed);
    }

    pub(crate) fn add_timer_delay(&self, late: Span) {
        self.lateness.add(u64::try_from(late.0.saturating_mul(1_000)).unwrap_or(0));
    }

    /// The number of requests in the queue.
    pub fn waiting(&self) -> u64 {
        Self::get(&self.handed_in).saturating_sub(Self::get(&self.taken))
    }

    pub fn add(count: &AtomicU64, more: usize) {
        count.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }
}
