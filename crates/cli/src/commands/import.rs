//! `trackside import`: exports, journals of scenarios, and files of other tools.

mod exported;
mod foreign;
mod journal;
mod restore;
mod send;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::args::ImportArgs;
use crate::folder::CliError;
use crate::foreign::ImportProblem;
use crate::{files, print};

pub(crate) fn run(args: &ImportArgs) -> u8 {
    if let Err(error) = File::open(&args.file) {
        let next = "An export is written by: trackside export --to FILE";
        return CliError::usage(format!("{}. {next}", files::unread(&args.file, &error))).report();
    }
    match args.from {
        Some(tool) => foreign::run(args, tool),
        None if is_export(&args.file) => exported::run(args),
        None => journal::run(args),
    }
}

/// The start of the first line of a dry run; empty if this is none.
fn dry_run_mark(args: &ImportArgs) -> &'static str {
    if args.dry_run { "dry run, nothing was changed: " } else { "" }
}

/// Whether its first line is that of an export.
fn is_export(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut first = Vec::new();
    let read = BufReader::new(file).take(4 * 1024).read_until(b'\n', &mut first);
    read.is_ok() && first.trim_ascii_start().starts_with(b"{\"export\":")
}

/// Maximum number of problems to print; all are counted.
const LISTED: usize = 200;

/// Prints every problem.
fn in_the_way(args: &ImportArgs, troubles: &[ImportProblem], code: u8) -> u8 {
    let file = args.file.display().to_string();
    if args.json {
        let all: Vec<_> =
            troubles.iter().map(|it| serde_json::json!({ "at": it.at, "message": it.what })).collect();
        let json = serde_json::json!({ "success": false, "imported": 0, "problems": all });
        print::json(&json);
    }
    for trouble in troubles.iter().take(LISTED) {
        print::message(trouble.describe(&file));
    }
    if troubles.len() > LISTED {
        print::message(styled!("and {} more; --json lists all of them", troubles.len() - LISTED));
    }
    print::message("nothing was imported");
    code
}
