//! Keeps what was decided.
//!
//! The journal is the truth: a commit appends records to it, durably, and nothing else. Everything that is
//! asked for by key, by state or by time is a projection of it, written behind and caught up at start.

pub mod archive;
pub mod artifacts;
pub mod audit;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod error;
pub mod evidence;
pub mod lines;
pub mod memory;
pub mod project;
pub mod projection;
pub mod record;
pub mod rules;
pub mod sqlite;
pub mod stays;
pub mod store;

pub use artifacts::Artifacts;
pub use error::StoreError;
pub use memory::Memory;
pub use project::ProjectionBuilder;
pub use projection::{EntityRow, GroupChange, Projection};
pub use record::{Chain, Record};
pub use sqlite::{Sqlite, SqliteOptions};
pub use store::{Batch, Definition, Head, Journal, Projector, Reader, Store};
