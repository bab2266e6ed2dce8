//! A rate limit without a lock.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A token bucket that fills at a rate and holds one second of it.
///
/// Stored as the time at which it will be full again, so that threads can take from it without a lock.
#[derive(Debug, Default)]
pub(crate) struct TokenBucket(AtomicU64);

impl TokenBucket {
    /// Takes one, if there is one. `rate` is per second; 0 means no limit.
    pub fn take(&self, rate: u32) -> bool {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take_at(rate, now)
    }

    /// Puts one back.
    pub fn give_back(&self, rate: u32) {
        let each = 1_000_000_000_u64.checked_div(u64::from(rate)).unwrap_or(0);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |it| Some(it.saturating_sub(each))).ok();
    }

    fn take_at(&self, rate: u32, now: u64) -> bool {
        if rate == 0 {
            return true;
        }
        const SECOND: u64 = 1_000_000_000;
        let each = SECOND / u64::from(rate);
        let next = |full: u64| {
            let full = full.max(now).saturating_add(each);
            (full.saturating_sub(now) <= SECOND.max(each)).then_some(full)
        };
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_one_second_of_burst_and_then_the_rate() {
        let bucket = TokenBucket::default();
        let second = 1_000_000_000;
        let taken = |from: u64, times: usize| (0..times).filter(|_| bucket.take_at(10, from)).count();
        assert_eq!(taken(0, 25), 10);
        assert_eq!(taken(second / 2, 25), 5);
        assert_eq!(taken(second / 2, 25), 0);
        assert_eq!(taken(100 * second, 25), 10);
    }

    #[test]
    fn one_request_always_passes_and_zero_means_no_limit() {
        let bucket = TokenBucket::default();
        assert!(bucket.take_at(1, 0) && !bucket.take_at(1, 0));
        assert!((0..10_000).all(|_| bucket.take_at(0, 0)));
    }
}
