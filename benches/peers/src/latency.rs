//! Durations in a histogram with a constant relative error.

use std::time::Duration;

use trackside_store::log_buckets::LogBuckets;

/// Seven bits: a reading is less than 1 % too high.
const BUCKETS: LogBuckets = LogBuckets::new(7);

/// Durations, counted in buckets of nanoseconds that grow with their size.
///
/// A percentile is the upper end of its bucket: never below the true value, at most 1 % above. The largest
/// duration is exact.
#[derive(Clone)]
pub struct Latency {
    buckets: Vec<u64>,
    count: u64,
    longest: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS.count()], count: 0, longest: 0 }
    }
}

impl std::fmt::Debug for Latency {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Latency")
            .field("count", &self.count)
            .field("p50", &self.at(0.5))
            .finish_non_exhaustive()
    }
}

impl Latency {
    pub fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get_mut(BUCKETS.bucket(nanos)) {
            *bucket += 1;
        }
        self.count += 1;
        self.longest = self.longest.max(nanos);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    /// The value that the given share, from 0 to 1, does not exceed. Zero if nothing was recorded.
    pub fn at(&self, share: f64) -> Duration {
        let wanted = ((self.count as f64 * share.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(BUCKETS.bounds(index).1.min(self.longest));
            }
        }
        self.max()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: impl IntoIterator<Item = u64>) -> Latency {
        let mut all = Latency::default();
        nanos.into_iter().for_each(|it| all.record(Duration::from_nanos(it)));
        all
    }

    #[test]
    fn a_reading_is_at_most_a_hundredth_too_high() {
        for nanos in (0..64_u32).flat_map(|power| [1, 77].map(|more| (1_u64 << power).saturating_add(more))) {
            let mut all = of([nanos, u64::MAX]);
            all.count = 1;
            let told = all.at(1.0).as_nanos() as f64;
            assert!(told >= nanos as f64 && told - nanos as f64 <= nanos as f64 / 100.0, "{nanos}: {told}");
        }
    }

    #[test]
    fn percentiles_are_those_of_a_sorted_list() {
        let all = of((1..=10_000).map(|it| it * 1_000));
        for (share, exact) in [(0.5, 5_000_000), (0.9, 9_000_000), (0.99, 9_900_000), (0.999, 9_990_000)] {
            let told = all.at(share).as_nanos() as f64;
            assert!(told >= f64::from(exact) && told <= f64::from(exact) * 1.01, "{share}: {told}");
        }
        assert_eq!(all.max(), Duration::from_millis(10));
        assert_eq!(all.at(1.0), all.max());
    }

    #[test]
    fn one_slow_answer_among_a_thousand_shows_in_the_last_percentile_only() {
        let all = of(std::iter::repeat_n(1_000, 999).chain([5_000_000]));
        assert!(all.at(0.99) < Duration::from_micros(2));
        assert_eq!(all.at(0.9991), Duration::from_millis(5));
    }

    #[test]
    fn merged_is_as_if_counted_together() {
        let mut all = of(1..500);
        all.merge(&of(500..90_000));
        let together = of(1..90_000);
        assert_eq!((all.count(), all.max()), (together.count(), together.max()));
        for share in [0.1, 0.5, 0.99] {
            assert_eq!(all.at(share), together.at(share));
        }
    }

    #[test]
    fn nothing_recorded_is_zero() {
        assert_eq!(Latency::default().at(0.99), Duration::ZERO);
    }
}
