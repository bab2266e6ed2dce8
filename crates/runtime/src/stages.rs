//! When a command was taken, decided and answered.

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
    /// When it was handed in; the others are so long after it.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// When the decider took it up.
    pub fn taken(&self) -> Option<Duration> {
        self.taken.get().copied()
    }

    /// When it was decided.
    pub fn decided(&self) -> Option<Duration> {
        self.decided.get().copied()
    }

    /// When it was answered: with what it shared a commit with on disk, or with why not.
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
