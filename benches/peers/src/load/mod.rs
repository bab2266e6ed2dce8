//! The arrival of commands: from callers that wait for their answer, or on a schedule that does not.

mod closed;
mod open;

pub use closed::{ClosedLoad, closed};
pub use open::{LoadSecond, OpenLoad, OpenLoadResult, open};

use std::time::Duration;

use crate::latency::Latency;

/// The longest wait for missing answers after a load has ended.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The pace of a load.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Commands, which may be a fraction: a control counts in entries.
    pub commands: f64,
    pub seconds: f64,
    pub latency: Latency,
}

impl Pace {
    pub fn per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.commands / self.seconds } else { 0.0 }
    }

    /// Adds another stretch of the same.
    pub fn merge(&mut self, other: &Self) {
        self.commands += other.commands;
        self.seconds += other.seconds;
        self.latency.merge(&other.latency);
    }
}
