//! The wait before a failed delivery is retried.

use std::time::Duration;

use super::WebhookOptions;

/// The longest `Retry-After` that is honoured.
const MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait after so many failures, half of it random, so that deliveries that failed together do not retry together.
/// A longer `Retry-After` wins.
pub(crate) fn wait(options: &WebhookOptions, failures: u32, asked: Option<Duration>) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(31));
    let whole = options.first_wait.saturating_mul(doubled).min(options.longest_wait);
    let spread = whole / 2 + (whole / 2).mul_f64(chance());
    spread.max(asked.unwrap_or_default().min(MOST))
}

/// From 0 to 1.
fn chance() -> f64 {
    let mut bytes = [0_u8; 4];
    // Without randomness all wait the same time, which does no harm.
    getrandom::fill(&mut bytes).ok();
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

/// A clock that went back by more than this was wrong at the last attempt. In milliseconds.
const CLOCK_JUMP: u64 = 60_000;

/// The rest of the wait, in milliseconds. If the machine's clock was ahead at the last attempt and was set back, there is
/// none: the stored time is wrong, and the delivery would wait for it.
pub(crate) fn left(tried_at: u64, next_at: u64, now: u64) -> u64 {
    if tried_at.saturating_sub(now) > CLOCK_JUMP { 0 } else { next_at.saturating_sub(now) }
}

/// The wait in `Retry-After`: seconds, or a date.
pub(crate) fn asked(header: &str, now: std::time::SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(header).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_clock_that_was_set_back_does_not_delay_a_delivery() {
        assert_eq!(left(100_000, 130_000, 110_000), 20_000);
        assert_eq!(left(100_000, 130_000, 140_000), 0);
        assert_eq!(left(100_000, 130_000, 99_000), 31_000, "a small step");
        assert_eq!(left(8_000_000_000, 8_000_030_000, 110_000), 0, "the attempt was in a wrong future");
    }

    #[test]
    fn waits_double_up_to_a_bound_and_differ() {
        let options = WebhookOptions::default();
        for (failures, whole) in [(1, 1), (2, 2), (5, 16), (12, 2_048), (13, 3_600), (40, 3_600), (0, 1)] {
            let whole = Duration::from_secs(whole);
            let all: Vec<Duration> = (0..20).map(|_| wait(&options, failures, None)).collect();
            assert!(all.iter().all(|it| (whole / 2..=whole).contains(it)), "{failures}: {all:?}");
            assert!(all.iter().any(|it| *it != all[0]), "they all wait as long");
        }
    }

    #[test]
    fn a_receiver_that_asks_for_more_time_gets_it_within_reason() {
        let options = WebhookOptions::default();
        assert_eq!(wait(&options, 1, Some(Duration::from_secs(90))), Duration::from_secs(90));
        assert!(wait(&options, 10, Some(Duration::from_secs(1))) >= Duration::from_secs(256));
        assert_eq!(wait(&options, 1, Some(Duration::from_secs(u64::MAX))), MOST);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(asked("120", now), Some(Duration::from_secs(120)));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(asked("soon", now), None);
    }
}
