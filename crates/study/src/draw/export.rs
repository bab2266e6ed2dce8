//! A lifecycle in other notations: Mermaid and DOT for people, SCXML and XState for state machines.
//!
//! All of them start from a [`Graph`](trackside_protocol::diagram::Graph). Pictures merge the moves from one state
//! to another into one arrow; state machines keep every arm and choice separate.

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
