//! A project that runs: commands, commits, restarts, time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests stop at the first surprise"
)]

mod bounds;
mod cold;
mod commands;
mod erasing;
mod failures;
mod ground;
mod restarts;
mod together;
