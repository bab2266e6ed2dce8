//! Measures the speed of Trackside on this machine, beside controls in the same run.
//!
//! The measured system implements [`Maker`] and [`Subject`]; everything else, from the load to the table,
//! uses only these two.

mod account;
pub mod control;
mod deciding;
mod follow;
pub mod latency;
pub mod load;
pub mod machine;
pub mod plan;
pub mod report;
pub mod scratch;
pub mod start;
pub mod subject;
pub mod table;
pub mod trackside;
mod trouble;
pub mod usage;
pub mod web;

pub use subject::{AnswerSender, CommandOutcome, CommitTotals, LoadCommand, Maker, StoreSize, Subject};
pub use trouble::BenchError;
