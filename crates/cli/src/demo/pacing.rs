//! The pace of the story, which can be ended at any time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use trackside_lifecycle::time::Span;

/// The time between steps, in halves; clones share their end.
#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    half: Duration,
    ended: Arc<(Mutex<bool>, Condvar)>,
}

impl Pacing {
    /// Reads `1s`, `500ms` or `0`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let span = if text.trim() == "0" { Span(0) } else { Span::parse(text)? };
        let whole = Duration::from_millis(u64::try_from(span.0).ok()?);
        (whole <= Duration::from_secs(60)).then(|| Self { half: whole / 2, ended: Arc::default() })
    }

    /// The time between two steps.
    pub(crate) fn whole(&self) -> Duration {
        self.half * 2
    }

    /// Waits this many half paces; false if the story ended meanwhile.
    pub(crate) fn rest(&self, halves: u32) -> bool {
        let (ended, answer) = &*self.ended;
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = answer.wait_timeout_while(ended, self.half * halves, |ended| !*ended);
        let (ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*ended
    }

    pub(crate) fn is_ended(&self) -> bool {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self) {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_a_span_or_nothing_at_all() {
        for good in ["0", "1s", "500ms", "60s"] {
            assert!(Pacing::parse(good).is_some(), "{good}");
        }
        for bad in ["", "1", "-1s", "61s", "fast"] {
            assert!(Pacing::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_end_wakes_a_resting_story() {
        let pace = Pacing::parse("60s").unwrap();
        let other = pace.clone();
        let resting = std::thread::spawn(move || other.rest(1));
        pace.end();
        assert!(!resting.join().unwrap());
    }
}
