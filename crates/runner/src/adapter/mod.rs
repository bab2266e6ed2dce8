//! Adapters: what the runner knows about an agent program, as data.
//!
//! `definition` is the file, `pattern` finds values in an event, `reader` turns a program's output into transcript
//! lines and figures, `outcome` says how a run ended.

mod catalogue;
mod definition;
mod outcome;
mod pattern;
mod reader;

pub use catalogue::{AdapterCatalogue, FoundAdapter};
pub use definition::{
    AdapterDefinition, AdapterError, EventMeaning, ExitClass, HandshakeRule, PromptPlace, RetryAdvice,
    SessionChooser, SteerRule, TestModelRule, Transport,
};
pub use outcome::RunOutcome;
pub(crate) use outcome::{STAYED, ended_by_itself};
pub use reader::{AdapterReader, PendingApproval, QuotaWindow, RunUsage, TranscriptContent};
