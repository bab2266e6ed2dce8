//! The disk under SQLite: in normal use, when power fails, and when the disk fails.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod cuts;
mod faults;
mod ordinary;
mod story;
