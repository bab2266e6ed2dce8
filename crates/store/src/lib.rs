//! Durable storage: the journal and its projections.
//!
//! The journal is the truth: a commit durably appends records to it and does nothing else. Data that is
//! read by key, state or time is in projections, which are written later and updated at the start.

pub mod archive;
pub mod artifacts;
pub mod audit;
pub mod backups;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod dwell_times;
pub mod error;
pub mod evidence;
pub mod export_lines;
#[cfg(feature = "simulation")]
pub mod failpoints;
#[cfg(not(feature = "simulation"))]
mod failpoints;
pub mod log_buckets;
pub mod memory;
pub mod projection;
pub mod projection_builder;
pub mod record;
pub mod rules;
pub mod space;
pub mod sqlite;
pub mod store;

pub use artifacts::Artifacts;
pub use backups::BackupSet;
pub use error::StoreError;
pub use memory::MemoryStore;
pub use projection::{EntityRow, GroupChange, Projection};
pub use projection_builder::ProjectionBuilder;
pub use record::{Chain, Record};
pub use space::DiskSpace;
pub use sqlite::{Sqlite, SqliteOptions};
pub use store::{Batch, Definition, Head, JournalWriter, Projector, Reader, Store, WrittenRecord};
