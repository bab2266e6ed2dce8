//! Properties of every definition and every sequence of commands.
//!
//! Definitions are generated as YAML and then read, compiled, decided and applied.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod definition;
mod promises;
mod walk;
