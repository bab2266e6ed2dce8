//! Makes it go: takes commands from many callers, decides them in turn, commits them together, and only then
//! tells anybody. The only place that knows the time.

mod answer;
mod archiving;
mod by;
mod catalog;
mod clock;
mod feed;
mod figures;
mod gateway;
mod histogram;
mod importing;
mod migration;
mod outbox;
mod pipeline;
mod planted;
pub mod read;
mod redaction;
mod runtime;
mod shared;
mod stages;
#[cfg(feature = "simulation")]
mod stepper;
mod tally;
mod trail;
mod work;

pub use answer::{Accepted, Answer, Batch, Failure, Pending, Seals, Verdict};
pub use by::By;
pub use catalog::{CatalogError, PackSource};
pub use clock::Clock;
pub use feed::{Follower, Heard};
pub use figures::Figures;
pub use gateway::Gateway;
pub use histogram::{Histogram, Observed};
pub use importing::Imported;
pub use migration::{Migration, Moved, Part, Went};
pub use outbox::{OpenEffect, OutboxCourier, OutboxError, TakenEffect};
pub use pipeline::{Depth, SweepReport};
pub use read::{ReadError, Reads};
pub use redaction::Redaction;
pub use runtime::{Options, Runtime, StartError};
pub use stages::Stages;
pub use tally::{SinceStart, Throughput};

/// What simulations drive the workers with. Not for products: it comes and goes with how they work.
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation {
    pub use crate::planted::{Bug, plant, plant_everywhere};
    pub use crate::stepper::{Behind, Cached, Packs, Stepper, Turned};
}
