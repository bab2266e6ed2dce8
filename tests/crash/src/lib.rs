//! What is left when the process is killed, the power fails or the disk is no good.
//!
//! `load` is what callers ask for, `writer` a process that serves them and says what it has answered, `journal` and
//! `whole` look at what is found afterwards. The tests kill, cut and damage: `crash`, `powercut`, `faults`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "this is for tests, which stop at the first surprise"
)]

pub mod chance;
pub mod folder;
pub mod journal;
pub mod load;
pub mod packs;
pub mod script;
pub mod whole;
pub mod writer;

/// What was found and should not be, in words.
pub type Found<T = ()> = Result<T, String>;

/// Says what is wrong unless something is so.
pub fn holds(so: bool, what: impl FnOnce() -> String) -> Found {
    if so { Ok(()) } else { Err(what()) }
}
