//! The times at which a command was taken, decided and answered.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The stages of one command, each once it is reached.
#[derive(Debug)]
pub struct Stages {
    started_at: Instant,
    taken: OnceLock<Duration>,
    decided: OnceLock<Duration>,
    answered: OnceLock<Duration>,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            started_at: Instant::now(),
            taken: OnceLock::new(),
            decided: OnceLock::new(),
            answered: OnceLock::new(),
        }
    }
}

impl Stages {
    /// The time of submission.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// The time from submission until the decider took it.
    pub fn taken_after(&self) -> Option<Duration> {
        self.taken.get().copied()
    }

    /// The time from submission until it was decided.
    pub fn decided_after(&self) -> Option<Duration> {
        self.decided.get().copied()
    }

    /// The time from submission until it was answered: after its commit was on disk, or with an error.
    pub fn answered_after(&self) -> Option<Duration> {
        self.answered.get().copied()
    }

    pub(crate) fn mark_taken(&self) {
        self.taken.set(self.started_at.elapsed()).ok();
    }

    pub(crate) fn mark_decided(&self) {
        self.decided.set(self.started_at.elapsed()).ok();
    }

    pub(crate) fn mark_answered(&self) {
        self.answered.set(self.started_at.elapsed()).ok();
    }
}
