//! `trackside man`: manual pages.

use std::path::Path;

use clap_mangen::Man;

use crate::args::ManArgs;
use crate::folder::CliError;
use crate::{exit, help, print};

pub(crate) fn run(args: &ManArgs) -> u8 {
    let written = match &args.output {
        None => page(help::command()).map(|page| print::text(&String::from_utf8_lossy(&page))),
        Some(folder) => pages(folder),
    };
    match written {
        Ok(()) => exit::DONE,
        Err(error) => {
            let to = args.output.as_deref().unwrap_or(Path::new("standard output"));
            CliError::unwritten(to, &error).report()
        }
    }
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

/// A page for the program, and one for every command.
fn pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(help::command(), folder)?;
    print::message(styled!("pages are in {}: read one with man -l FILE", folder.display()));
    Ok(())
}
