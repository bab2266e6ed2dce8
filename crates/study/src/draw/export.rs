//! A lifecycle in the notations of others: for people Mermaid and DOT, for state machines SCXML and XState.
//!
//! All of them start from a [`Graph`](crate::draw::graph::Graph). Pictures bundle what leads from one state to another
//! into one arrow; state machines keep every arm and choice apart.

mod arrows;
mod dot;
mod ids;
mod mermaid;
mod moves;
mod scxml;
mod xstate;

pub use dot::dot;
pub use mermaid::mermaid;
pub use scxml::scxml;
pub use xstate::xstate;
