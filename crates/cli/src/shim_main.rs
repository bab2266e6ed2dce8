//! The program `trackside-shim`: one process per run. `trackside` starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(trackside_shim::main(std::env::args_os().skip(1).collect()))
}
