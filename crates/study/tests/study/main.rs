//! Tests of the parts of the crate, and of the packs against the documents they implement, in one program.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod check;
mod compare;
mod draw;
mod explore;
#[path = "../../../engine/tests/folder/mod.rs"]
mod folder;
mod specification;
