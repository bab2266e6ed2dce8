//! The commit interval: under load, the decider waits a little for more commands, because every commit has a fixed cost.
//!
//! Without it, a half-loaded server commits very often for a few commands each, and a command costs twice as much
//! as at full load.

use std::time::Duration;

/// The time between two commits while fewer commands than [`ENOUGH`] wait.
const INTERVAL: Duration = Duration::from_millis(2);
/// Commands that are worth a commit at any time.
const ENOUGH: usize = 20;
/// The number of steps over which the callers are counted.
const STEPS: usize = 4;

/// Decides how long to wait before the next step. A step that has all known callers in it does not wait, so a lone caller
/// never does.
#[derive(Debug, Default)]
pub(crate) struct CommitInterval {
    /// When the last batch was passed to the committer.
    handed_over: Option<Duration>,
    /// The callers who waited for an answer at the last steps.
    callers: [usize; STEPS],
    step: usize,
}

impl CommitInterval {
    /// The number of commands to wait for: those of all known callers, if they are few.
    pub fn wanted(&self) -> usize {
        self.callers.iter().copied().max().unwrap_or(0).clamp(1, ENOUGH)
    }

    /// How much longer to wait while this many commands wait; none to begin now. `now` is none if the clock is manual.
    pub fn left(&self, now: Option<Duration>, waiting: usize) -> Option<Duration> {
        if waiting == 0 || waiting >= self.wanted() {
            return None;
        }
        // A clock that was set back ends the wait.
        let passed = now?.checked_sub(self.handed_over?)?;
        INTERVAL.checked_sub(passed).filter(|it| !it.is_zero())
    }

    /// A batch was passed to the committer. `callers` is the number of callers who wait for an answer to a command, in
    /// this batch or elsewhere.
    pub fn hand_over(&mut self, now: Option<Duration>, callers: usize) {
        self.handed_over = now;
        self.step = (self.step + 1) % STEPS;
        if let Some(place) = self.callers.get_mut(self.step) {
            *place = callers;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Option<Duration> {
        Some(Duration::from_micros(micros))
    }

    #[test]
    fn a_lone_caller_never_waits() {
        let mut interval = CommitInterval::default();
        for n in 0..10 {
            assert_eq!(interval.left(at(n * 300), 1), None);
            interval.hand_over(at(n * 300), 1);
        }
    }

    #[test]
    fn many_callers_share_a_commit() {
        let mut interval = CommitInterval::default();
        interval.hand_over(at(0), 14);
        assert_eq!((interval.wanted(), interval.left(at(500), 5)), (14, Some(Duration::from_micros(1_500))));
        assert_eq!(interval.left(at(500), 14), None, "all of them wait");
        assert_eq!(interval.left(at(2_000), 1), None, "the interval is over");
        assert_eq!(interval.left(at(500), 0), None, "nothing to decide");
        interval.hand_over(at(2_000), 500);
        assert_eq!((interval.wanted(), interval.left(at(2_100), 20)), (20, None), "enough for a commit");
    }

    #[test]
    fn callers_who_left_are_not_waited_for_long() {
        let mut interval = CommitInterval::default();
        interval.hand_over(at(0), 12);
        (0..STEPS as u64).for_each(|n| interval.hand_over(at(n * 100), 1));
        assert_eq!(interval.left(at(400), 1), None);
    }

    #[test]
    fn a_manual_clock_and_one_that_is_set_back_mean_no_wait() {
        let mut interval = CommitInterval::default();
        interval.hand_over(at(5_000), 10);
        assert_eq!(interval.left(at(4_000), 1), None);
        interval.hand_over(None, 10);
        assert_eq!((interval.left(None, 1), interval.left(at(1), 1)), (None, None));
    }
}
