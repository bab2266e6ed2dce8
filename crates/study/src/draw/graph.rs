//! Builds the graph of a lifecycle, from which every drawing and export starts.
//!
//! Every move is an edge. A target that is only known at run time (a state in a field, or named by the
//! caller) becomes one edge per possible state. Everything is in declared order.

mod build;
mod defaults;
mod leases;
mod triggers;
mod words;

pub use build::pack_graphs;
