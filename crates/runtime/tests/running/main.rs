//! A project that runs: commands, commits, restarts, time.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod agreement;
mod bounds;
mod cold;
mod commands;
mod erasing;
mod failures;
mod fairness;
mod ground;
mod long_term;
mod pages;
mod restarts;
mod rot;
mod rot_pages;
mod rot_rows;
mod together;
