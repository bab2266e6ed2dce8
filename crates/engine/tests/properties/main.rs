//! What holds for every definition and every sequence of commands.
//!
//! Definitions are made up as YAML and go the whole way: read, compiled, decided, applied.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod definition;
mod promises;
mod walk;
