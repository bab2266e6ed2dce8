//! The time that decisions use.

use trackside_lifecycle::time::{Span, Timestamp};

use crate::clock::ProjectClock;
use crate::failpoints::{Failpoint, is_enabled};
use crate::work::Responder;

/// If the server was away for longer than this, its callers could not reach it either.
const GAP: Span = Span(10_000);

/// The clock of the decider. It never runs backwards.
pub(super) struct DecisionTime {
    clock: ProjectClock,
    /// The time of the last decision.
    now: Timestamp,
    /// The time of the last reading of the clock.
    read_at: Timestamp,
    advance: Option<Advance>,
}

/// A move of the manual clock that is under way.
struct Advance {
    to: Timestamp,
    responder: Responder<Timestamp>,
}

impl DecisionTime {
    pub fn new(clock: ProjectClock, last: Timestamp) -> Self {
        let now = clock.now().max(last);
        Self { clock, now, read_at: now, advance: None }
    }

    /// Takes over from the clock of a decider whose decisions were not committed.
    pub fn succeed(&mut self, failed: &mut Self) {
        self.read_at = failed.read_at;
        self.advance = failed.advance.take();
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Reads the clock. Returns the time if the server was away until now.
    pub fn read(&mut self) -> Option<Timestamp> {
        let now = self.clock.now();
        let was_away = !self.clock.is_manual() && now.since(self.read_at) > GAP;
        self.read_at = now;
        self.now = if is_enabled(Failpoint::TimeGoesBack) { now } else { self.now.max(now) };
        was_away.then_some(now)
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
