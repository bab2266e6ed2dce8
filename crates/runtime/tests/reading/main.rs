//! Reads return only durable data, and never an older state than one that was returned before.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests stop at the first surprise"
)]

mod again;
mod alerts;
mod archived;
mod figures;
#[path = "../running/ground.rs"]
mod ground;
mod lists;
mod outbox;
mod pages;
mod past;
mod queries;
mod reasons;
mod stops;
mod stores;
mod violations;
