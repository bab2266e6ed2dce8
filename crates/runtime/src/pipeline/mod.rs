//! From command to commit: decide, commit, write behind.
//!
//! Three workers, each a plain value that does one step when it is told to; `threads` gives each a thread, the
//! simulation drives them by hand.

mod batch;
mod committer;
mod committing;
mod comparing;
mod decider;
mod flusher;
mod loading;
mod recovery;
mod sealed;
mod searching;
pub(crate) mod steps;
mod sweep;
mod tail;
mod threads;
mod timers;
mod together;
mod turn;
mod unreadable;

#[cfg(feature = "simulation")]
pub(crate) use self::{committing::Committing, decider::Decider, flusher::Flusher, turn::Turn};
pub(crate) use committer::{Committed, Written};
pub(crate) use decider::Limits;
pub(crate) use steps::Workers;
pub use sweep::{Depth, SweepReport};
pub(crate) use threads::{Threads, Wiring};
pub(crate) use turn::{Before, Outcomes};
