//! Chores of this repository: what `cargo xtask` lists.

#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

mod clients;
mod openapi;
mod packs;
mod reference;
mod rust;
mod seeds;
mod tidy;
mod tree;
mod words;

use std::process::ExitCode;

use tree::Tree;

const USAGE: &str = "\
cargo xtask tidy       what the repository promises about itself, checked
cargo xtask seeds      writes fuzz/corpus from the packs
cargo xtask clients    writes the typed parts of clients/ from the routes
cargo xtask reference  writes the pages of docs/reference that are made from the code";

fn main() -> ExitCode {
    let tree = Tree::here();
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => report(&tidy::all(&tree)),
        Some("seeds") => told(seeds::write(&tree), "fuzz/corpus"),
        Some("clients") => told(clients::write(&tree), "clients"),
        Some("reference") => told(reference::write(&tree), "docs/reference"),
        _ => {
            println!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// What was written, or why nothing was.
fn told(written: std::io::Result<String>, what: &str) -> ExitCode {
    match written {
        Ok(written) => {
            println!("{written}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("could not write {what}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(findings: &[tidy::Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    println!("tidy: {} to put right", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
