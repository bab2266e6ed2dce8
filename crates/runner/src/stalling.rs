//! Finds a run that lives but makes no progress.
//!
//! Output is no progress: a program can redraw a spinner for hours. Whole lines of the transcript are, and so are a
//! change of the agent's entity and a commit. Without progress, a run is alive while a tool call is open, while its
//! processes compute, and while it starts others without writing to the terminal. Processes that the kernel schedules
//! without any of this wait for something, such as a model that thinks: they have twice the time.

/// Signs of life of a run at one moment. Times are in milliseconds of any one clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct StallSigns {
    pub now: u64,
    /// The last line of the transcript or change of the entity.
    pub last_progress: u64,
    /// Processor time of all its processes.
    pub processor: u64,
    /// Processes that it has started.
    pub started: u64,
    /// Context switches of its living processes.
    pub switches: u64,
    /// Bytes of output.
    pub output: u64,
    /// Tool calls without a result.
    pub open_calls: usize,
}

/// The share of one processor, in percent, above which a silent run counts as computing.
const COMPUTES: u64 = 5;

#[derive(Debug, Default)]
pub struct StallDetector {
    /// The signs at the last progress; none before the first look.
    since: Option<StallSigns>,
    told: bool,
}

impl StallDetector {
    /// The server did not get the report: the next look finds the silence again.
    pub fn repeat(&mut self) {
        self.told = false;
    }

    /// Whether the run has just been found to make no progress for `limit` milliseconds. Says it once per silence.
    pub fn look(&mut self, signs: StallSigns, limit: u64) -> bool {
        let since = match self.since {
            Some(since) if since.last_progress == signs.last_progress => since,
            _ => {
                *self = Self { since: Some(signs), told: false };
                signs
            }
        };
        let silence = signs.now.saturating_sub(signs.last_progress);
        if self.told || silence < limit || signs.open_calls > 0 {
            return false;
        }
        let draws = signs.output > since.output;
        let waits = signs.switches != since.switches && !draws;
        if waits && silence < limit.saturating_mul(2) {
            return false;
        }
        let computes = signs.processor.saturating_sub(since.processor) * 100 >= silence * COMPUTES;
        let starts = signs.started > since.started;
        self.told = !computes && (draws || !starts);
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn signs(now: u64, last_progress: u64, processor: u64, open_calls: usize) -> StallSigns {
        StallSigns { now, last_progress, processor, open_calls, ..StallSigns::default() }
    }

    #[test]
    fn a_spinner_is_found_once() {
        let mut detector = StallDetector::default();
        assert!(!detector.look(signs(MINUTE, MINUTE, 100, 0), 15 * MINUTE));
        assert!(!detector.look(signs(10 * MINUTE, MINUTE, 150, 0), 15 * MINUTE));
        assert!(detector.look(signs(16 * MINUTE, MINUTE, 200, 0), 15 * MINUTE));
        assert!(!detector.look(signs(20 * MINUTE, MINUTE, 220, 0), 15 * MINUTE));
        assert!(!detector.look(signs(21 * MINUTE, 21 * MINUTE, 230, 0), 15 * MINUTE));
        assert!(detector.look(signs(40 * MINUTE, 21 * MINUTE, 240, 0), 15 * MINUTE), "a second silence");
    }

    #[test]
    fn a_tool_call_and_a_computation_are_no_stall() {
        let mut detector = StallDetector::default();
        assert!(!detector.look(signs(0, 0, 0, 1), 15 * MINUTE));
        assert!(!detector.look(signs(40 * MINUTE, 0, 0, 1), 15 * MINUTE), "a tool call is open");
        let mut detector = StallDetector::default();
        assert!(!detector.look(signs(0, 0, 0, 0), 15 * MINUTE));
        assert!(!detector.look(signs(16 * MINUTE, 0, 8 * MINUTE, 0), 15 * MINUTE), "it computes");
    }

    #[test]
    fn processes_that_only_wait_have_twice_the_time() {
        let at = |now, switches, output| StallSigns { switches, output, ..signs(now, 0, 0, 0) };
        let mut detector = StallDetector::default();
        assert!(!detector.look(at(0, 100, 0), 15 * MINUTE));
        assert!(!detector.look(at(16 * MINUTE, 900, 0), 15 * MINUTE), "a model thinks");
        assert!(detector.look(at(31 * MINUTE, 1800, 0), 15 * MINUTE), "for too long");
        let mut detector = StallDetector::default();
        assert!(!detector.look(at(0, 100, 0), 15 * MINUTE));
        assert!(detector.look(at(16 * MINUTE, 100, 0), 15 * MINUTE), "it does not even wait");
        let mut detector = StallDetector::default();
        assert!(!detector.look(at(0, 100, 0), 15 * MINUTE));
        assert!(detector.look(at(16 * MINUTE, 900, 500), 15 * MINUTE), "it draws a spinner");
    }

    #[test]
    fn a_script_that_starts_programs_is_alive_unless_it_only_draws() {
        let at = |now, started, output| StallSigns { started, output, ..signs(now, 0, 0, 0) };
        let mut detector = StallDetector::default();
        assert!(!detector.look(at(0, 0, 0), MINUTE));
        assert!(!detector.look(at(2 * MINUTE, 9, 0), MINUTE), "it starts programs");
        let mut detector = StallDetector::default();
        assert!(!detector.look(at(0, 0, 0), MINUTE));
        assert!(detector.look(at(2 * MINUTE, 9, 400), MINUTE), "each of them draws one step of a spinner");
    }
}
