//! Chores of this repository; `cargo xtask` lists them.

#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

mod clients;
mod openapi;
mod pack_pages;
mod packs;
mod reference;
mod rust;
mod seeds;
mod tables;
mod tidy;
mod tree;
mod words;

use std::process::ExitCode;

use tree::Tree;

const USAGE: &str = "\
cargo xtask tidy       check what the repository promises about itself
cargo xtask prose      print the share of hard sentences by area, and the worst ones
cargo xtask seeds      write fuzz/corpus from the packs
cargo xtask clients    write the typed parts of clients/ from the routes
cargo xtask reference  write docs/reference, and the generated parts of the packs' pages";

fn main() -> ExitCode {
    let tree = Tree::here();
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => report(&tidy::all(&tree)),
        Some("prose") => {
            println!("{}", tidy::prose::report(&tree));
            ExitCode::SUCCESS
        }
        Some("seeds") => print_result(seeds::write(&tree), "fuzz/corpus"),
        Some("clients") => print_result(clients::write(&tree), "clients"),
        Some("reference") => print_result(reference::write(&tree), "docs/reference"),
        _ => {
            println!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Prints which files were written, or the error.
fn print_result(result: std::io::Result<String>, what: &str) -> ExitCode {
    match result {
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

fn report(findings: &[tidy::TidyFinding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    println!("tidy: {} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
