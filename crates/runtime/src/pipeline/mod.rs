//! From command to commit: decide, commit, write behind.
//!
//! Three workers, each a plain value that does one step per call; `threads` gives each a thread, the simulation
//! drives them by hand.

mod batch;
mod committer;
mod committing;
mod decided_batch;
mod decider;
mod flusher;
mod recovery;
pub(crate) mod steps;
mod sweep;
mod threads;
mod time;
mod timers;

#[cfg(feature = "simulation")]
pub(crate) use self::{
    committing::Committing, decided_batch::DecidedBatch, decider::Decider, flusher::Flusher,
};
pub(crate) use committer::{CommitSize, Committed};
pub(crate) use decided_batch::{Outcomes, PriorState};
pub(crate) use steps::{Workers, write_projections};
pub use sweep::{Depth, SweepReport};
pub(crate) use threads::{Threads, Wiring};
