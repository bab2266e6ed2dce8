//! The commands that need a server, as people type them: the real binary and a real server.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod credentials;
mod deciding;
mod demo;
mod evidence;
mod examples;
mod exchange;
mod ground;
mod guides;
mod help;
mod hook;
mod hostile;
mod identity;
mod ladder;
mod log;
mod main_checkout;
mod mcp;
mod memory;
mod moves;
#[path = "../program/mod.rs"]
mod program;
mod project;
mod reaching;
mod reads;
mod real_agents;
mod run_commands;
mod runs;
mod runs_again;
mod runs_attached;
mod runs_stopped;
mod sandboxed_git;
mod scripting;
mod space;
mod stopping;
mod stuck;
mod terminal;
mod tls;
mod upgrade;
mod upkeep;
mod watch;
mod worktree_clones;
mod worktree_rounds;
mod worktrees;
