//! Diagrams of lifecycles, and exports to other notations.
//!
//! Pure: texts and values in, values out.

pub mod graph;
