//! The disk under SQLite: in normal use, when power fails, and when the disk fails.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cuts;
mod faults;
mod ordinary;
mod story;
