//! Chores of this repository: `cargo xtask tidy` and `cargo xtask seeds`.

#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

mod packs;
mod rust;
mod seeds;
mod tidy;
mod tree;

use std::process::ExitCode;

use tree::Tree;

const USAGE: &str = "\
cargo xtask tidy     what the repository promises about itself, checked
cargo xtask seeds    writes fuzz/corpus from the packs";

fn main() -> ExitCode {
    let tree = Tree::here();
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => report(&tidy::all(&tree)),
        Some("seeds") => match seeds::write(&tree) {
            Ok(written) => {
                println!("{written}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("could not write fuzz/corpus: {error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            println!("{USAGE}");
            ExitCode::from(2)
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
