//! From command to commit: decide, commit, write behind.
//!
//! Three workers, each a plain value that does one step per call; `threads` gives each a thread, the simulation
//! drives them by hand. In a server, `long_term` moves archived entities to files in the background.

mod batch;
mod commit_interval;
mod committer;
mod committing;
mod correction;
mod damage;
mod decided_batch;
mod decider;
mod flusher;
mod long_term;
mod project_alerts;
mod recovery;
pub(crate) mod steps;
mod sweep;
mod threads;
mod time;
mod timers;

#[cfg(feature = "simulation")]
pub(crate) use self::{
    commit_interval::CommitInterval, committing::Committing, decided_batch::DecidedBatch, decider::Decider,
    flusher::Flusher,
};
pub(crate) use committer::{CommitSize, Committed};
pub use correction::ClockCorrection;
pub(crate) use decided_batch::{Outcomes, PriorState};
pub(crate) use steps::{Workers, write_projections};
pub use sweep::{Depth, SweepReport};
pub(crate) use threads::{Threads, Wiring};
