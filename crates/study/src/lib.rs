//! Studies a definition before it runs.
//!
//! - [`check`] finds mistakes without running anything.
//! - [`compare`] describes the changes between two versions of a pack, and their effect on running
//!   entities.
//! - [`explore`] runs the law through every sequence of moves up to a bound and checks the promises of the pack.
//! - [`draw`] writes diagrams and exports to other notations.
//! - [`scenario`] runs tests written as data, in virtual time.
//!
//! Pure: compiled packs and texts in, values out.

pub mod check;
pub mod compare;
pub mod draw;
pub mod explore;
mod graph;
pub mod scenario;
mod truth;
