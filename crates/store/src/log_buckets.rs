//! Logarithmic buckets: numbers are counted with the same relative error everywhere.

/// Divides each power of two into `2^bits` buckets. Numbers below `2^bits` have a bucket each.
///
/// `state.db` stores the bucket numbers of dwell times: they must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBuckets {
    bits: u32,
}

impl LogBuckets {
    pub const fn new(bits: u32) -> Self {
        Self { bits }
    }

    /// How many buckets hold all numbers.
    pub const fn count(self) -> usize {
        ((64 - self.bits) as usize + 1) << self.bits
    }

    /// The bucket of a number.
    pub fn bucket(self, number: u64) -> usize {
        let power = number.checked_ilog2().unwrap_or(0);
        let bucket = match power.checked_sub(self.bits) {
            None => number,
            Some(shift) => (u64::from(shift) << self.bits) + (number >> shift),
        };
        usize::try_from(bucket).unwrap_or(usize::MAX)
    }

    /// The smallest and the largest number of a bucket. A bucket beyond the last one has the largest number.
    pub fn bounds(self, bucket: usize) -> (u64, u64) {
        let bucket = bucket as u64;
        let parts = 1_u64 << self.bits;
        let Some(shift) = (bucket / parts).checked_sub(1) else { return (bucket, bucket) };
        let width = u32::try_from(shift).ok().and_then(|it| 1_u64.checked_shl(it));
        let first = width.and_then(|it| (parts + bucket % parts).checked_mul(it));
        match (first, width) {
            (Some(first), Some(width)) => (first, first.saturating_add(width - 1)),
            _ => (u64::MAX, u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..64_u32).flat_map(|it| [0, 1, 77].map(|more| (1_u64 << it).saturating_add(more)));
        powers.chain([0, 127, 128, 129, 255, 256, 257, 999_983, u64::MAX - 1, u64::MAX])
    }

    #[test]
    fn every_number_is_within_the_bounds_of_its_bucket() {
        for bits in [0, 4, 7] {
            let buckets = LogBuckets::new(bits);
            for number in numbers() {
                let bucket = buckets.bucket(number);
                assert!(bucket < buckets.count(), "{number}");
                let (first, last) = buckets.bounds(bucket);
                assert!((first..=last).contains(&number), "{number} is not in {first} to {last}");
                assert_eq!((buckets.bucket(first), buckets.bucket(last)), (bucket, bucket));
                assert!((last - first) as f64 <= first as f64 / f64::from(1 << bits), "{first} to {last}");
            }
        }
    }

    #[test]
    fn stored_bucket_numbers_stay_the_same() {
        let buckets = LogBuckets::new(4);
        let stored = [
            (0, 0),
            (15, 15),
            (16, 16),
            (31, 31),
            (32, 32),
            (33, 32),
            (34, 33),
            (1_000, 111),
            (3_600_000, 299),
        ];
        for (ms, bucket) in stored {
            assert_eq!(buckets.bucket(ms), bucket, "{ms}");
        }
    }

    #[test]
    fn a_bucket_that_no_number_has_does_no_harm() {
        let buckets = LogBuckets::new(4);
        assert_eq!(buckets.bounds(usize::from(u16::MAX)), (u64::MAX, u64::MAX));
        assert_eq!(buckets.bounds(buckets.count()), (u64::MAX, u64::MAX));
    }
}
