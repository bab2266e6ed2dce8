//! The time that decisions use.

use trackside_engine::command::ClockNews;
use trackside_lifecycle::time::{Span, Timestamp};

use crate::clock::ProjectClock;
use crate::failpoints::{Failpoint, is_enabled};
use crate::steering::{ClockAlarm, ClockDirection};
use crate::work::Responder;

/// If the server was away for longer than this, its callers get a full period to come back.
const AWAY: Span = Span(10_000);
/// A longer time between two steps is a pause, which leases do not count.
const PAUSE: Span = Span(1_000);
/// The machine's clock agrees again when it has agreed for this long.
const AGREED: Span = Span(10_000);

/// The time between two steps was longer than a running loop takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopGap {
    /// The server was away until this moment.
    Away(Timestamp),
    /// The loop stood still for this long.
    Paused(Timestamp, Span),
}

/// The clock of the decider. It never runs backwards, unless a person corrects it.
pub(super) struct DecisionTime {
    clock: ProjectClock,
    /// The time of the last decision.
    now: Timestamp,
    /// The time of the last reading of the clock.
    read_at: Timestamp,
    /// The time since which the machine's clock agrees with project time.
    agrees_since: Option<Timestamp>,
    advance: Option<Advance>,
}

/// A move of the manual clock that is under way.
struct Advance {
    to: Timestamp,
    responder: Responder<Timestamp>,
}

impl DecisionTime {
    pub fn new(clock: ProjectClock, last: Timestamp) -> Self {
        clock.hold(last);
        let now = clock.now().max(last);
        Self { clock, now, read_at: now, agrees_since: None, advance: None }
    }

    /// Takes over from the clock of a decider whose decisions were not committed.
    pub fn succeed(&mut self, failed: &mut Self) {
        self.read_at = failed.read_at;
        self.agrees_since = failed.agrees_since;
        self.advance = failed.advance.take();
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Reads the clock. Returns the gap if the loop did not run until now.
    pub fn read(&mut self) -> Option<LoopGap> {
        let now = self.clock.tick();
        let passed = now.since(self.read_at);
        self.read_at = now;
        self.now = if is_enabled(Failpoint::TimeGoesBack) {
            self.clock.machine_time().unwrap_or(now)
        } else {
            self.now.max(now)
        };
        self.agrees_since = match self.clock.alarm() {
            Some(_) => None,
            None => self.agrees_since.or(Some(now)),
        };
        match passed {
            _ if self.clock.is_manual() => None,
            _ if passed > AWAY => Some(LoopGap::Away(now)),
            _ if passed > PAUSE => Some(LoopGap::Paused(now, passed)),
            _ => None,
        }
    }

    /// Why project time does not follow the machine's clock, if it does not.
    pub fn alarm(&self) -> Option<ClockAlarm> {
        self.clock.alarm()
    }

    /// What the journal does not know of the clock yet. `alert` is the open alert about it.
    pub fn news(&self, alert: Option<u64>) -> Option<ClockNews> {
        match (self.clock.alarm(), alert) {
            (Some(alarm), None) => Some(ClockNews::Alarm { machine: alarm.machine }),
            (None, Some(alert)) => {
                let agreed = self.agrees_since.is_some_and(|it| self.read_at.since(it) >= AGREED);
                agreed.then_some(ClockNews::Agrees { alert })
            }
            _ => None,
        }
    }

    /// The time to which a person can move project time, or why it cannot be moved.
    pub fn correction(&self, direction: ClockDirection) -> Result<Timestamp, String> {
        self.clock.correction(direction)
    }

    /// Moves project time to the machine's clock, forward or back.
    pub fn correct(&mut self, to: Timestamp) {
        self.clock.move_to(to);
        (self.now, self.read_at, self.agrees_since) = (to, to, Some(to));
    }

    pub fn move_to(&mut self, time: Timestamp) {
        self.now = self.now.max(time);
    }

    /// Begins to move the manual clock.
    pub fn advance(&mut self, to: Timestamp, responder: Responder<Timestamp>) {
        self.advance = Some(Advance { to, responder });
    }

    /// The target time of the manual clock.
    pub fn advancing_to(&self) -> Option<Timestamp> {
        self.advance.as_ref().map(|it| it.to)
    }

    /// The manual clock has arrived: returns the waiting caller.
    pub fn arrive(&mut self) -> Option<Responder<Timestamp>> {
        let Advance { to, responder } = self.advance.take()?;
        self.clock.set(to);
        Some(responder)
    }
}
