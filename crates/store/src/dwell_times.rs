//! Dwell times in logarithmic buckets: percentiles within a few per cent, updated as entities move.

use crate::log_buckets::LogBuckets;
use crate::store::DwellTimes;

/// Sixteen buckets for each doubling of the length.
const BUCKETS: LogBuckets = LogBuckets::new(4);

/// The bucket of a length in milliseconds, as it is stored.
pub fn bucket(ms: i64) -> u16 {
    u16::try_from(BUCKETS.bucket(u64::try_from(ms).unwrap_or(0))).unwrap_or(u16::MAX)
}

/// The middle of a bucket, in milliseconds.
pub fn middle(bucket: u16) -> i64 {
    let (first, last) = BUCKETS.bounds(usize::from(bucket));
    i64::try_from(first + (last - first).div_ceil(2)).unwrap_or(i64::MAX)
}

impl DwellTimes {
    pub fn add(&mut self, ms: i64) {
        self.count += 1;
        self.total_ms = self.total_ms.saturating_add(ms);
        *self.buckets.entry(bucket(ms)).or_default() += 1;
    }

    /// The percentile for a share from 0 to 1; none if no entity has left the state.
    pub fn percentile(&self, share: f64) -> Option<i64> {
        let wanted = ((self.count as f64) * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return Some(middle(*bucket));
            }
        }
        None
    }

    /// How many are at most as long as a bound in milliseconds. A length counts with its bucket, so one that is up to
    /// a sixteenth longer may be among them; one that is exactly as long always is.
    pub fn count_up_to(&self, bound: i64) -> u64 {
        self.buckets.range(..=bucket(bound)).map(|(_, count)| count).sum()
    }

    pub fn mean_ms(&self) -> Option<i64> {
        i64::try_from(self.count).ok().filter(|it| *it > 0).map(|it| self.total_ms / it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_within_a_few_per_cent_of_its_values() {
        for ms in (0..2_000).chain((1..40).map(|it| 3_i64 << it)) {
            let near = middle(bucket(ms));
            assert!((near - ms).abs() as f64 <= (ms as f64) * 0.04 + 0.5, "{ms} became {near}");
        }
        assert!((1..5_000_i64).all(|it| bucket(it) >= bucket(it - 1)), "longer is never a lower bucket");
    }

    #[test]
    fn a_length_that_equals_a_bound_is_within_it() {
        let mut dwell_times = DwellTimes::default();
        for ms in [1_000, 60_000, 3_600_000, 3_600_001, 86_400_000] {
            dwell_times.add(ms);
        }
        let counts =
            [999, 1_000, 59_000, 60_000, 3_600_000, 86_400_000].map(|it| dwell_times.count_up_to(it));
        assert_eq!(counts[1..], [1, 1, 2, 4, 5]);
        assert_eq!(dwell_times.count_up_to(800), 0);
    }

    #[test]
    fn percentiles_match_the_added_values() {
        let mut dwell_times = DwellTimes::default();
        assert_eq!(dwell_times.percentile(0.5), None);
        for second in 1..=100 {
            dwell_times.add(second * 1_000);
        }
        let near = |share, wanted: i64| {
            let found = dwell_times.percentile(share).unwrap_or(0);
            assert!((found - wanted).abs() * 20 <= wanted, "{found} is not near {wanted}");
        };
        near(0.5, 50_000);
        near(0.9, 90_000);
        near(0.99, 99_000);
        assert_eq!(dwell_times.mean_ms(), Some(50_500));
    }
}
