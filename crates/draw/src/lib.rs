//! Diagrams of lifecycles, and exports to other notations.
//!
//! Pure: texts and values in, values out.

pub mod export;
pub mod graph;
pub mod layout;
mod metrics;
mod picture;
mod scene;
pub mod svg;
pub use picture::{Area, Picture};
