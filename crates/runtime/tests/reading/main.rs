//! Reads return only durable data, and never an older state than one that was returned before.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
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
#[allow(dead_code, reason = "shared with other tests, which use the rest")]
mod ground;
mod lists;
mod outbox;
mod pages;
mod past;
mod queries;
mod reasons;
mod stores;
mod violations;
