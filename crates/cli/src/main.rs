//! The command line.

/// Decisions are many small allocations, which the system allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod args;
mod builtin;
mod commands;
mod difference;
mod folder;
mod packs;
mod past;
mod print;
mod proofs;
mod stages;
mod stories;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match args::Args::try_parse() {
        Ok(args) => commands::run(&args),
        Err(error) => {
            // Help and version are answers, not mistakes.
            let answer = !error.use_stderr();
            let _ = error.print();
            ExitCode::from(if answer { exit::DONE } else { exit::USAGE })
        }
    }
}

/// What the exit code says.
pub(crate) mod exit {
    pub(crate) const DONE: u8 = 0;
    pub(crate) const REFUSED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const UNREACHABLE: u8 = 3;
}
