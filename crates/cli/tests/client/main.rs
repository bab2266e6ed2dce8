//! The commands that speak to a server, as people type them: the real binary and a real server.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod ground;
mod help;
mod identity;
mod moves;
mod project;
mod reaching;
mod reads;
mod stuck;
mod upkeep;
mod watch;
