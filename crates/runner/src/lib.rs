//! Runs agents: takes claimable work, starts the user's own agent program for it, watches it until it ends, and reports.
//!
//! A client of the HTTP API like any other. Everything that it knows about an agent program is in an adapter file.

pub mod adapter;
pub mod adapter_trial;
pub mod agent_loop;
mod app_server;
mod changes;
mod effects;
pub mod environment;
mod foreign_run;
mod held_leases;
pub mod launch;
pub mod local_run;
pub mod private_home;
pub mod program_lookup;
mod registration;
mod repository;
mod run_end;
mod run_limits;
mod run_monitor;
mod run_start;
mod runner_folder;
pub mod server_api;
pub mod shim_program;
pub mod spool;
mod stalling;
mod template;
pub mod tool_arguments;
pub mod transcript;
mod transcript_upload;
mod work_events;
mod work_reach;
pub mod work_rule;
