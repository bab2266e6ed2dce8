//! `trackside completions`: prints completion scripts for shells.

use crate::args::CompletionsArgs;
use crate::{exit, help, print};

pub(crate) fn run(args: &CompletionsArgs) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "trackside", &mut script);
    print::text(&String::from_utf8_lossy(&script));
    exit::DONE
}
