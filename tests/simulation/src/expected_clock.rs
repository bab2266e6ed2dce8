//! The expected project time: elapsed time, independent of the time of day.

use trackside_engine::view::Pauses;
use trackside_lifecycle::time::{Span, Timestamp};

/// A server that was away for longer than this was away for its callers too.
const AWAY: Span = Span(10_000);
/// Leases do not count a longer pause of the loop.
const PAUSE: Span = Span(1_000);
/// The time for which the machine's clock must agree before the alert ends.
const AGREED: Span = Span(10_000);
/// A larger difference is a jump, which project time does not follow.
const JUMP: i64 = 60_000_000;
/// The longest absence that a start believes.
const ABSENCE: i64 = 400 * 86_400_000_000;
/// The earliest time of a new project.
const EARLIEST: &str = "2026-01-01T00:00:00Z";

/// The clocks of the simulated machine: elapsed milliseconds, and the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineTime {
    pub elapsed: i64,
    pub day: i64,
}

/// The expected time, and the knowledge of the journal about the clock. Microseconds, where nothing else is said.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedClock {
    /// Project time when the machine's clocks were last compared, and the elapsed time then.
    compared: (i64, i64),
    /// How far the time of day was ahead then; none after a jump.
    ahead: Option<i64>,
    /// The time of day of an alarm.
    pub jumped_to: Option<Timestamp>,
    /// How far ahead the time of day may be to be believed, while it was wrong since the start.
    believes: Option<i64>,
    agrees_since: Option<Timestamp>,
    pub looked: Timestamp,
    pub resumed_at: Option<Timestamp>,
    pub pauses: Pauses,
}

impl ExpectedClock {
    /// A process starts; `last` is the time of the last entry.
    pub fn start(last: Option<Timestamp>, machine: MachineTime) -> Self {
        let (from, believes) = match last {
            Some(last) => (last, ABSENCE),
            None => (Timestamp::parse(EARLIEST).unwrap(), i64::MAX),
        };
        let mut new = Self {
            compared: (from.0 * 1_000, machine.elapsed * 1_000),
            believes: Some(believes),
            ..Self::default()
        };
        new.compare(machine);
        let now = new.now(machine);
        (new.looked, new.resumed_at) = (now, Some(now));
        new
    }

    /// A process with a manual clock starts.
    pub fn manual(now: Timestamp) -> Self {
        Self { resumed_at: Some(now), ..Self::default() }
    }

    pub fn now(&self, machine: MachineTime) -> Timestamp {
        Timestamp(self.micros(machine).div_euclid(1_000))
    }

    fn micros(&self, machine: MachineTime) -> i64 {
        let (time, then) = self.compared;
        let passed = machine.elapsed * 1_000 - then;
        let twentieth = passed / 20;
        time + passed + self.ahead.unwrap_or(0).clamp(-twentieth, twentieth)
    }

    fn compare(&mut self, machine: MachineTime) {
        let now = self.micros(machine);
        let ahead = machine.day * 1_000 - now;
        let near = ahead.abs() <= JUMP;
        let leaps = ahead > 0 && self.believes.is_some_and(|it| near || ahead <= it);
        self.compared = (if leaps { machine.day * 1_000 } else { now }, machine.elapsed * 1_000);
        self.ahead = (near && !leaps).then_some(ahead);
        self.jumped_to = (!near && !leaps).then_some(Timestamp(machine.day));
        if near || leaps {
            self.believes = None;
        }
    }

    /// A step of the decider. Returns the time.
    pub fn step(&mut self, machine: MachineTime) -> Timestamp {
        self.compare(machine);
        let now = self.now(machine);
        self.agrees_since = if self.jumped_to.is_some() { None } else { self.agrees_since.or(Some(now)) };
        let passed = now.since(self.looked);
        if passed > AWAY {
            self.resumed_at = Some(now);
            self.pauses.clear();
        } else if passed > PAUSE {
            self.pauses.add(now, passed);
        }
        self.looked = now;
        now
    }

    /// Whether the clocks have agreed for long enough to end an alert.
    pub fn agreed(&self) -> bool {
        self.agrees_since.is_some_and(|it| self.looked.since(it) >= AGREED)
    }
}
