//! Runs agents: takes claimable work, starts the user's own agent program for it, watches it until it ends, and reports.
//!
//! A client of the HTTP API like any other. Everything that it knows about an agent program is in an adapter file.

pub mod adapter;
pub mod adapter_trial;
mod app_server;
pub mod environment;
pub mod launch;
pub mod local_run;
pub mod private_home;
pub mod program_lookup;
pub mod shim_program;
pub mod spool;
mod template;
pub mod transcript;
