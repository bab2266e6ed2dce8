//! What a disk does under SQLite: as a disk like any other, when power fails, and when it fails itself.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod cuts;
mod faults;
mod ordinary;
mod story;
