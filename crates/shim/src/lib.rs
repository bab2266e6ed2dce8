//! The shim: one small process per run. It starts the agent, holds its process tree, copies its output to disk, and
//! ends the tree when the lease lapses or the runner asks for it.
//!
//! The run folder is the whole protocol between runner and shim, so that a restarted runner finds its runs again:
//! see [`RunFolder`]. Roles of the program, chosen by the first argument:
//!
//! | role | process |
//! |---|---|
//! | `run FOLDER` | the shim itself |
//! | `stage` | makes the namespaces of the run |
//! | `init` | the first process in the new pid namespace |
//! | `enter` | restricts itself, then becomes the agent |
//! | `probe TIER` | tries a containment tier |

pub mod boot_time;
pub mod folder;
mod leftovers;
pub mod liveness;
mod mount_mask;
pub mod process_table;
pub mod records;
mod redaction;
mod roles;
mod sandbox;
mod segments;
mod shim;
mod steering;
mod termination;
pub mod tier;

pub use folder::RunFolder;
pub use leftovers::end_leftovers;
pub use records::{
    ExitCause, ExitRecord, LivenessSample, RunSecrets, RunSpec, RunningRecord, SandboxSpec, StopRequest,
};
pub use sandbox::has_landlock;
pub use tier::ContainmentTier;

/// Version of the files in a run folder.
pub const PROTOCOL: u32 = 1;

/// Name under which a program starts itself in the role of the shim.
pub const HIDDEN_COMMAND: &str = "__shim";

/// The shim's arguments, if a program that has other jobs too was started as a shim. `all` begins with the program's
/// name.
pub fn arguments_in_program(
    all: impl IntoIterator<Item = std::ffi::OsString>,
) -> Option<Vec<std::ffi::OsString>> {
    let mut all = all.into_iter().skip(1);
    (all.next()? == HIDDEN_COMMAND).then(|| all.collect())
}

/// Runs one of the roles. `arguments` begins after the program's name. Returns the exit code.
pub fn main(arguments: Vec<std::ffi::OsString>) -> u8 {
    roles::main(arguments)
}
