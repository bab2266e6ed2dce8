//! One file per command.

mod archive;
mod audit;
mod backup;
mod bench;
mod check;
mod diagram;
mod diff;
mod doctor;
mod explore;
mod fmt;
mod import;
mod migrate;
mod redact;
mod schema;
mod test;
mod up;
mod validate;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::print;

pub(crate) fn run(args: &Args) -> ExitCode {
    let code = match &args.command {
        Command::Up(args) => up::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Check(args) => check::run(args),
        Command::Diagram(args) => diagram::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Archive(args) => archive::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Restore(args) => backup::run_restore(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Redact(args) => redact::run(args),
        Command::Migrate(args) => migrate::run(args),
        Command::Import(args) => import::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Version => {
            print::line(concat!("trackside ", env!("CARGO_PKG_VERSION")));
            crate::exit::DONE
        }
    };
    ExitCode::from(if print::all_written() { code } else { code.max(crate::exit::REFUSED) })
}
