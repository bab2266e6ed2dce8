//! Project time from elapsed time, steered towards the machine's clock.
//!
//! Project time is the time of the last entry plus elapsed monotonic time. A small difference to the machine's clock is
//! steered away at a bounded rate. A jump of the machine's clock is not followed: it raises an alarm until the clock
//! agrees again or a person corrects project time. Nothing here reads a clock.

use trackside_lifecycle::time::{Span, Timestamp};

/// The largest difference that is steered away. More is a jump.
pub(crate) const JUMP: Span = Span::seconds(60);
/// At most one part in this many of the elapsed time is steered: 5 %, so 60 s take 20 minutes.
pub(crate) const RATE: i64 = 20;
/// The longest time without a server that is believed at a start.
pub(crate) const LONGEST_ABSENCE: Span = Span::seconds(400 * 24 * 60 * 60);
/// 2026-01-01T00:00:00Z: a machine's clock before it is wrong.
pub(crate) const EARLIEST: Timestamp = Timestamp(1_767_225_600_000);

/// The machine's clock disagrees with project time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAlarm {
    /// The time of the machine's clock.
    pub machine: Timestamp,
    /// The time of the project at that moment.
    pub project: Timestamp,
}

impl std::fmt::Display for ClockAlarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { machine, project } = *self;
        if machine > project {
            let apart = machine.since(project);
            return write!(
                f,
                "the machine's clock says {machine}, {apart} ahead of project time, which does not follow it. If the \
                 machine is right, run `trackside clock accept`; if not, set the machine's clock"
            );
        }
        let apart = project.since(machine);
        write!(
            f,
            "the machine's clock says {machine}, {apart} behind project time, which does not follow it. If the machine \
             is right, run `trackside clock reset`; if not, set the machine's clock"
        )
    }
}

/// The direction in which a person moves project time to the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDirection {
    Forward,
    Back,
}

/// Project time as a function of monotonic time. Moments inside are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steering {
    /// Project time at `base`.
    time: i64,
    /// A monotonic time.
    base: i64,
    /// The difference to the machine's clock that is steered away from `base` on.
    left: i64,
    alarm: Option<ClockAlarm>,
    /// While the machine's clock has not been plausible since the start: how far ahead it may be to be believed.
    starting: Option<i64>,
}

impl Steering {
    /// A start. `last` is the time of the last entry, none in a new project.
    pub fn begin(last: Option<Timestamp>, monotonic: i64, machine: Timestamp) -> Self {
        let (from, furthest) = match last {
            Some(last) => (micros(last), micros(Timestamp(LONGEST_ABSENCE.0))),
            None => (micros(EARLIEST), i64::MAX),
        };
        let mut new = Self { time: from, base: monotonic, left: 0, alarm: None, starting: Some(furthest) };
        new.tick(monotonic, machine);
        new
    }

    /// Project time at a monotonic time.
    pub fn at(&self, monotonic: i64) -> Timestamp {
        Timestamp(self.micros_at(monotonic).div_euclid(1_000))
    }

    fn micros_at(&self, monotonic: i64) -> i64 {
        let elapsed = monotonic.saturating_sub(self.base).max(0);
        let most = elapsed / RATE;
        self.time.saturating_add(elapsed).saturating_add(self.left.clamp(-most, most))
    }

    /// Compares with the machine's clock and steers towards it from here on.
    pub fn tick(&mut self, monotonic: i64, machine: Timestamp) {
        (self.time, self.base) = (self.micros_at(monotonic), self.base.max(monotonic));
        let apart = micros(machine).saturating_sub(self.time);
        if apart.unsigned_abs() <= micros(Timestamp(JUMP.0)).unsigned_abs() {
            // At a start, the time since the last entry has passed.
            let leaps = self.starting.take().is_some() && apart > 0;
            (self.time, self.left) = if leaps { (micros(machine), 0) } else { (self.time, apart) };
            self.alarm = None;
        } else if self.starting.is_some_and(|furthest| apart > 0 && apart <= furthest) {
            self.move_to(machine);
        } else {
            self.left = 0;
            self.alarm = Some(ClockAlarm { machine, project: self.at(self.base) });
        }
    }

    pub fn alarm(&self) -> Option<ClockAlarm> {
        self.alarm
    }

    /// Moves project time to the machine's clock.
    pub fn move_to(&mut self, machine: Timestamp) {
        (self.time, self.left, self.alarm, self.starting) = (micros(machine), 0, None, None);
    }

    /// Why project time may not be moved to the machine's clock in this direction, if it may not.
    pub fn refuses(
        &self,
        direction: ClockDirection,
        monotonic: i64,
        machine: Timestamp,
    ) -> Result<(), String> {
        let project = self.at(monotonic);
        let apart = machine.0.saturating_sub(project.0);
        let both = format!("The machine's clock says {machine}, project time is {project}");
        if machine < EARLIEST {
            return Err(format!("{both}. The machine's clock is wrong: set it first"));
        }
        if !machine.plus(LONGEST_ABSENCE).is_date() {
            return Err(format!("{both}. The machine's clock is at the end of the calendar: set it first"));
        }
        if apart.unsigned_abs() <= JUMP.0.unsigned_abs() {
            return Err(format!(
                "{both}. Differences up to {JUMP} need no correction: project time follows the machine's clock"
            ));
        }
        match direction {
            ClockDirection::Forward if apart < 0 => Err(format!(
                "{both}. The machine's clock is behind: `trackside clock reset` moves project time back"
            )),
            ClockDirection::Back if apart > 0 => Err(format!(
                "{both}. The machine's clock is ahead: `trackside clock accept` moves project time forward"
            )),
            _ => Ok(()),
        }
    }

    /// Project time is not before the last entry: for a correction that was not committed.
    pub fn hold(&mut self, last: Timestamp, monotonic: i64) {
        let now = self.micros_at(monotonic);
        if now < micros(last) {
            (self.time, self.base, self.left) = (micros(last), self.base.max(monotonic), 0);
        }
    }
}

fn micros(at: Timestamp) -> i64 {
    at.0.saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(EARLIEST.0 + 300 * 86_400_000);
    const SECOND: i64 = 1_000_000;
    const DAY: i64 = 86_400_000;

    fn plus(ms: i64) -> Timestamp {
        Timestamp(START.0 + ms)
    }

    #[test]
    fn a_start_believes_a_plausible_absence_and_nothing_else() {
        let begin = |ms: i64| {
            let it = Steering::begin(Some(START), 5, plus(ms));
            (it.at(5).0 - START.0, it.alarm().is_some())
        };
        assert_eq!(begin(0), (0, false));
        assert_eq!(begin(7 * DAY), (7 * DAY, false), "off for a week");
        assert_eq!(begin(400 * DAY), (400 * DAY, false));
        assert_eq!(begin(401 * DAY), (0, true));
        assert_eq!(begin(-59_000), (0, false), "steered");
        assert_eq!(begin(-61_000), (0, true));
        assert_eq!(begin(-START.0), (0, true), "1970");
        let new = Steering::begin(None, 5, Timestamp(0));
        assert_eq!((new.at(5), new.alarm().is_some()), (EARLIEST, true), "a new project in 1970");
        assert_eq!(Steering::begin(None, 5, START).at(5), START);
    }

    #[test]
    fn a_clock_that_is_set_after_the_start_is_believed_once() {
        let mut it = Steering::begin(Some(START), 0, Timestamp(0));
        it.tick(SECOND, plus(2 * DAY));
        assert_eq!((it.at(SECOND), it.alarm()), (plus(2 * DAY), None));
        it.tick(2 * SECOND, plus(9 * DAY));
        assert_eq!(it.at(2 * SECOND), plus(2 * DAY + 1_000));
        assert!(it.alarm().is_some(), "no second leap");
    }

    #[test]
    fn a_jump_is_not_followed_and_ends_with_the_jump() {
        for jump in [3_600_000, -3_600_000, DAY, -DAY, 222 * 365 * DAY, -START.0] {
            let mut it = Steering::begin(Some(START), 0, START);
            it.tick(10 * SECOND, plus(10_000 + jump));
            assert_eq!(it.at(10 * SECOND), plus(10_000), "{jump}");
            assert_eq!(it.at(25 * SECOND), plus(25_000), "{jump}");
            assert!(it.alarm().is_some(), "{jump}");
            it.tick(30 * SECOND, plus(30_000));
            assert_eq!((it.at(30 * SECOND), it.alarm()), (plus(30_000), None), "{jump}");
        }
    }

    #[test]
    fn a_small_difference_is_steered_away_at_a_bounded_rate() {
        for apart in [-50_000, 50_000] {
            let mut it = Steering::begin(Some(START), 0, START);
            let mut before = it.at(0);
            for second in 1..=1_050 {
                it.tick(second * SECOND, plus(second * 1_000 + apart));
                let now = it.at(second * SECOND);
                assert!((950..=1_051).contains(&(now.0 - before.0)), "{} in a second", now.0 - before.0);
                before = now;
            }
            assert_eq!(before, plus(1_050_000 + apart));
        }
    }

    #[test]
    fn corrections_name_the_other_direction() {
        let mut it = Steering::begin(Some(START), 0, START);
        it.tick(SECOND, plus(DAY));
        let refuses = |direction, machine| it.refuses(direction, SECOND, machine);
        assert!(refuses(ClockDirection::Back, plus(DAY)).unwrap_err().contains("clock accept"));
        assert!(refuses(ClockDirection::Forward, plus(-DAY)).unwrap_err().contains("clock reset"));
        assert!(refuses(ClockDirection::Forward, plus(5_000)).unwrap_err().contains("no correction"));
        assert!(refuses(ClockDirection::Back, Timestamp(0)).unwrap_err().contains("wrong"));
        refuses(ClockDirection::Forward, plus(DAY)).unwrap();
        refuses(ClockDirection::Back, plus(-DAY)).unwrap();
        it.move_to(plus(DAY));
        assert_eq!((it.at(2 * SECOND), it.alarm()), (plus(DAY + 1_000), None));
        it.hold(plus(2 * DAY), 3 * SECOND);
        assert_eq!(it.at(4 * SECOND), plus(2 * DAY + 1_000));
    }

    /// Time advances with monotonic time, by 95 to 105 % of it, also while the machine's clock is wrong.
    #[test]
    fn time_is_monotone_never_stands_still_and_never_runs() {
        let mut random = trackside_random::Random::new(7);
        for _ in 0..200 {
            let mut it = Steering::begin(Some(START), 0, START);
            // The first reading settles the start.
            let (mut monotonic, mut offset) = (0_i64, 0_i64);
            for _ in 0..300 {
                match random.below(8) {
                    0 => offset = random.between(-90_000, 90_000),
                    1 => offset = random.between(-400 * DAY, 400 * DAY),
                    2 => offset = 0,
                    _ => {}
                }
                let passed = random.between(0, 3) * random.between(1, 900_000);
                let before = it.micros_at(monotonic);
                monotonic += passed;
                let unread = it.micros_at(monotonic);
                it.tick(monotonic, Timestamp(START.0 + monotonic / 1_000 + offset));
                let now = it.micros_at(monotonic);
                assert_eq!(unread, now, "reading the machine's clock moves nothing");
                let grown = now - before;
                assert!(
                    grown >= passed - passed / RATE && grown <= passed + passed / RATE,
                    "{grown} in {passed}"
                );
                assert!(passed == 0 || grown > 0);
            }
        }
    }
}
