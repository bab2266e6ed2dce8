//! The times at which a command was taken, decided and answered.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The stages of one command, each once it is reached.
#[derive(Debug)]
pub struct Stages {
    begun: Instant,
    taken: OnceLock<Duration>,
    decided: OnceLock<Duration>,
    answered: OnceLock<Duration>,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            taken: OnceLock::new(),
            decided: OnceLock::new(),
            answered: OnceLock::new(),
        }
    }
}

impl Stages {
    /// The time of submission. The other times are relative to it.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// The time at which the decider took it.
    pub fn taken(&self) -> Option<Duration> {
        self.taken.get().copied()
    }

    /// The time at which it was decided.
    pub fn decided(&self) -> Option<Duration> {
        self.decided.get().copied()
    }

    /// The time at which it was answered: after its commit was on disk, or with an error.
    pub fn answered(&self) -> Option<Duration> {
        self.answered.get().copied()
    }

    pub(crate) fn is_taken(&self) {
        self.taken.set(self.begun.elapsed()).ok();
    }

    pub(crate) fn is_decided(&self) {
        self.decided.set(self.begun.elapsed()).ok();
    }

    pub(crate) fn is_answered(&self) {
        self.answered.set(self.begun.elapsed()).ok();
    }
}
