//! A rate limit without a lock.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A token bucket that fills at a rate and holds one second of it.
///
/// Stored as the time at which it will be full again, so that threads can take from it without a lock.
#[derive(Debug, Default)]
pub(crate) struct TokenBucket(AtomicU64);

impl TokenBucket {
    /// Takes this many if at least one is there. It may owe the rest afterwards, so a large request passes and the next
    /// ones wait for it. Returns the time until the next attempt can succeed. `rate` is per second; 0 means no limit.
    pub fn take(&self, rate: u32, many: usize) -> Result<(), Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take_at(rate, many, now)
    }

    fn take_at(&self, rate: u32, many: usize, now: u64) -> Result<(), Duration> {
        if rate == 0 || many == 0 {
            return Ok(());
        }
        const SECOND: u64 = 1_000_000_000;
        let each = SECOND / u64::from(rate);
        let most = SECOND.max(each);
        let cost = each.saturating_mul(u64::try_from(many).unwrap_or(u64::MAX));
        let next = |full: u64| {
            let full = full.max(now);
            (full.saturating_add(each).saturating_sub(now) <= most).then(|| full.saturating_add(cost))
        };
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(_) => Ok(()),
            Err(full) => Err(Duration::from_nanos(full.saturating_add(each).saturating_sub(now) - most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_allows_one_second_of_burst_and_then_the_rate() {
        let bucket = TokenBucket::default();
        let taken =
            |from: u64, times: usize| (0..times).filter(|_| bucket.take_at(10, 1, from).is_ok()).count();
        assert_eq!(taken(0, 25), 10);
        assert_eq!(taken(SECOND / 2, 25), 5);
        assert_eq!(taken(SECOND / 2, 25), 0);
        assert_eq!(taken(100 * SECOND, 25), 10);
    }

    #[test]
    fn a_large_request_passes_and_the_next_one_waits_for_it() {
        let bucket = TokenBucket::default();
        assert_eq!(bucket.take_at(10, 100, 0), Ok(()));
        assert_eq!(bucket.take_at(10, 1, 0), Err(Duration::from_millis(9_100)));
        assert_eq!(bucket.take_at(10, 1, 9 * SECOND + SECOND / 10), Ok(()));
    }

    #[test]
    fn one_request_always_passes_and_zero_means_no_limit() {
        let bucket = TokenBucket::default();
        assert!(bucket.take_at(1, 1, 0).is_ok() && bucket.take_at(1, 1, 0).is_err());
        assert!((0..10_000).all(|_| bucket.take_at(0, 1, 0).is_ok()));
    }
}
