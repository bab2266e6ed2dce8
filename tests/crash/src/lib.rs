//! Tests of the real workers on real files: killed processes, power cuts and disk faults.
//!
//! `load` makes the commands, `writer` is a process that serves callers and prints its answers, `journal`
//! and `whole` check the files afterwards. The tests kill, cut and damage: `crash`, `powercut`, `faults`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "this is for tests, which stop at the first surprise"
)]

pub mod consistency;
pub mod folder;
pub mod journal;
pub mod load;
pub mod packs;
pub mod script;
pub mod settings;
pub mod writer;

/// The problems found, as text.
pub type CheckResult<T = ()> = Result<T, String>;

/// Reports a problem unless a condition holds.
pub fn holds(so: bool, what: impl FnOnce() -> String) -> CheckResult {
    if so { Ok(()) } else { Err(what()) }
}
