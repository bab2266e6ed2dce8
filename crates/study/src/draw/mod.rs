//! Diagrams of lifecycles, and exports to other notations.
//!
//! Pure: texts and values in, values out.

pub mod export;
pub mod graph;
pub mod layout;
mod metrics;
pub mod page;
mod picture;
mod scene;
pub mod sequence;
pub mod svg;
pub mod text;
pub use picture::{Area, Picture};
