//! The graph of a lifecycle: its moves, and the rules by which the engine makes moves itself.
//!
//! Read from the definition alone. Findings, diagrams and comparisons start from it.

mod firings;
mod moves;
mod sites;
mod targets;

pub use firings::{Firing, firings, supervision};
pub use moves::{ChoiceOracle, Move, moves};
pub use sites::{Origin, Site, aims, arm_way, sites, timer_way, timer_word};
pub use targets::{after, targets};
pub use trackside_protocol::diagram::Cause;
