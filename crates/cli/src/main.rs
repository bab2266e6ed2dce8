//! The command line.

/// Decisions are many small allocations, which the system allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[macro_use]
mod styled;

mod args;
mod bench;
mod bridge;
mod builtin;
mod change_waiter;
mod commands;
mod demo;
mod difference;
mod entity_labels;
mod feed;
mod field_types;
mod files;
mod folder;
mod foreign;
mod git_revision;
mod git_worktree;
mod help;
mod huge_pages;
mod live;
mod log_lines;
mod open_files;
mod owner_credential;
mod packs;
mod paging;
mod person;
mod pinned_servers;
mod print;
mod print_entry;
mod print_transition;
mod project;
mod project_access;
mod project_files;
mod proofs;
mod refused;
mod server_lookup;
mod sign_in_options;
mod stages;
mod stories;
mod table;
mod time_format;
mod traces;
mod transcript_stream;
mod url;
mod values;

use std::process::ExitCode;

use clap::FromArgMatches;

fn main() -> ExitCode {
    // Before everything else: the shim starts no thread before it makes its namespaces, and has no command line.
    if let Some(arguments) = trackside_shim::arguments_in_program(std::env::args_os()) {
        return ExitCode::from(trackside_shim::main(arguments));
    }
    match help::explained_command().try_get_matches().and_then(|it| args::Args::from_arg_matches(&it)) {
        Ok(args) => commands::run(&args),
        Err(mut error) => {
            help::suggest(&mut error);
            // Help and version are answers, not mistakes.
            let answer = !error.use_stderr();
            print::usage(&error);
            ExitCode::from(if answer { exit::DONE } else { exit::USAGE })
        }
    }
}

/// The meanings of exit codes.
pub(crate) mod exit {
    pub(crate) const DONE: u8 = 0;
    pub(crate) const REFUSED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const UNREACHABLE: u8 = 3;
    pub(crate) const FORBIDDEN: u8 = 4;
}
