//! A simulation of faults in an order that a seed decides: the same seed gives the same run.
//!
//! The workers of the runtime are driven step by step on a store that fails, with a clock that jumps,
//! callers whose requests are lost, delayed or duplicated, and crashes in between. A model without caches,
//! projections or commits gets the same requests in the same order, and must give the same journal and the
//! same answers.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a simulation stops at the first surprise; what makes requests is shared with the walks of the engine"
)]

mod callers;
mod disk;
mod expected_clock;
mod final_checks;
mod followers;
mod interference;
mod model;
mod rot;
mod run;
mod step_log;

#[path = "../../../crates/engine/tests/walks/actor_choice.rs"]
mod actor_choice;
#[path = "../../../crates/engine/tests/walks/broken.rs"]
mod broken;
#[path = "../../../crates/engine/tests/walks/cast.rs"]
mod cast;
#[path = "../../../crates/engine/tests/walks/counts.rs"]
mod counts;
#[path = "../../../crates/engine/tests/walks/describe.rs"]
mod describe;
#[path = "../../../crates/engine/tests/walks/effects.rs"]
mod effects;
#[path = "../../../crates/engine/tests/walks/findings.rs"]
mod findings;
#[path = "../../../crates/engine/tests/folder/mod.rs"]
mod folder;
#[path = "../../../crates/engine/tests/walks/hints.rs"]
mod hints;
#[path = "../../../crates/engine/tests/walks/holds.rs"]
mod holds;
#[path = "../../../crates/engine/tests/walks/ids.rs"]
mod ids;
#[path = "../../../crates/engine/tests/walks/leases.rs"]
mod leases;
#[path = "../../../crates/engine/tests/walks/openings.rs"]
mod openings;
#[path = "../../../crates/engine/tests/walks/orders.rs"]
mod orders;
#[path = "../../../crates/engine/tests/walks/packs.rs"]
mod packs;
#[path = "../../../crates/engine/tests/walks/request_chooser.rs"]
mod request_chooser;
#[path = "../../../crates/engine/tests/walks/setup.rs"]
mod setup;
#[path = "../../../crates/engine/tests/walks/steps.rs"]
mod steps;
#[path = "../../../crates/engine/tests/walks/values.rs"]
mod values;

pub use interference::DiskBug;
pub use run::{SimulationFailure, SimulationOptions, SimulationTotals, simulate};

/// Every pack there is.
pub fn packs() -> Vec<String> {
    packs::names()
}
