//! Commands on the folder of a project, as people type them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod audit;
mod copies;
mod doctor;
mod exchange;
mod files;
mod ground;
mod help;
mod import;
mod migrate;
#[path = "../program/mod.rs"]
mod program;
mod redact;
mod validate;
