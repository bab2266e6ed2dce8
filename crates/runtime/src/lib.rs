//! Runs a project: takes commands from many callers, decides them one after the other, commits them together, and
//! answers after the commit. The only place that knows the time.

mod answer;
mod archiving;
mod catalog;
mod clock;
mod entity_records;
mod failpoints;
mod feed;
mod figures;
mod gateway;
mod histogram;
mod importing;
mod memory;
mod migration;
mod observers;
mod outbox;
mod pipeline;
mod queue;
pub mod read;
mod redaction;
mod requester;
mod runtime;
mod salts;
mod shared;
mod space;
mod stages;
mod steering;
#[cfg(feature = "simulation")]
mod stepper;
mod tally;
mod work;

pub use answer::{AcceptedCommand, BatchAnswer, BatchVerdict, CommandAnswer, Failure, Pending, Seals};
pub use catalog::{CatalogError, PackOrigin, PackSource, is_version_of};
pub use clock::ProjectClock;
pub use feed::{EntryWriter, FeedBatch, Follower};
pub use figures::Figures;
pub use gateway::Gateway;
pub use histogram::{Histogram, Observed};
pub use importing::Imported;
pub use migration::{MigratedEntity, Migration, MigrationProgress, MigrationRange};
pub use observers::CommitObserver;
pub use outbox::{OutboxCourier, OutboxEffect, OutboxError, TakenEffect};
pub use pipeline::{ClockCorrection, Depth, SweepReport};
pub use read::{ReadError, Reads, Viewer};
pub use redaction::Redaction;
pub use requester::Requester;
pub use runtime::{Options, Runtime, StartError};
pub use salts::SaltSource;
pub use space::{SpaceLimits, SpaceStatus};
pub use stages::Stages;
pub use steering::{ClockAlarm, ClockDirection};
pub use tally::{SinceStart, Throughput};
pub use work::SubmitOptions;

/// Lets simulations drive the workers. Not for products: it changes with the workers.
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation {
    pub use crate::clock::SimulatedMachine;
    pub use crate::failpoints::{Failpoint, enable, enable_everywhere};
    pub use crate::memory::CacheSizes;
    pub use crate::stepper::{Packs, StepResult, Stepper, WriteWorkers};
}
