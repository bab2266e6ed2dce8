//! Durations and sizes, counted in buckets that many threads add to without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts observations by fixed upper bounds.
///
/// Whole numbers: microseconds for durations, plain numbers for counts. The metrics page names the unit.
/// The bounds are fixed because Prometheus adds up histograms of several servers only if their bounds are equal; stored
/// dwell times use the logarithmic buckets of the store instead.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last counts all values beyond them.
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

/// A snapshot of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// An upper bound, and how many were at or below it.
    pub up_to: Vec<(u64, u64)>,
    pub count: u64,
    pub sum: u64,
}

/// From a tenth of a millisecond to ten seconds, in microseconds.
const SPANS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];
/// From a tenth of a second to an hour, in microseconds.
const LONG_SPANS: &[u64] = &[
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    900_000_000,
    3_600_000_000,
];
const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

impl Histogram {
    /// Buckets for the waiting times of callers.
    pub fn of_spans() -> Self {
        Self::new(SPANS)
    }

    /// For work that no caller waits for.
    pub fn of_long_spans() -> Self {
        Self::new(LONG_SPANS)
    }

    /// For how many there were at once.
    pub fn of_sizes() -> Self {
        Self::new(SIZES)
    }

    fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    pub fn add(&self, value: u64) {
        let place = self.bounds.partition_point(|it| *it < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn add_span(&self, span: Duration) {
        self.add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn snapshot(&self) -> Observed {
        let mut count = 0;
        let mut all = self.counts.iter().map(|it| {
            count += it.load(Ordering::Relaxed);
            count
        });
        let up_to = self.bounds.iter().copied().zip(all.by_ref()).collect();
        let count = all.last().unwrap_or_default();
        Observed { up_to, count, sum: self.sum.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_bound_is_inside_and_one_beyond_all_is_only_counted() {
        let sizes = Histogram::of_sizes();
        [1, 2, 3, 4, 5, 2_000].into_iter().for_each(|it| sizes.add(it));
        let seen = sizes.snapshot();
        let up_to = |bound| seen.up_to.iter().find(|(it, _)| *it == bound).map(|(_, count)| *count);
        assert_eq!([up_to(1), up_to(2), up_to(4), up_to(8), up_to(1_024)], [1, 2, 4, 5, 5].map(Some));
        assert_eq!((seen.count, seen.sum), (6, 2_015));
    }

    #[test]
    fn every_list_of_bounds_grows() {
        for histogram in [Histogram::of_spans(), Histogram::of_long_spans(), Histogram::of_sizes()] {
            assert!(histogram.bounds.is_sorted_by(|one, other| one < other));
            let seen = histogram.snapshot();
            assert_eq!((seen.up_to.len(), seen.count), (histogram.bounds.len(), 0));
        }
    }
}
