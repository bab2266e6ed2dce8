//! The rules of a project: the effect of a command on a view, as a pure function.
//!
//! [`decide()`] answers a command with events or a refusal; [`apply()`] applies an event to a view. No IO,
//! no clock, no async, no randomness: time is an argument.

pub mod actor;
pub mod apply;
pub mod code;
pub mod command;
pub mod condition;
pub mod content;
pub mod coverage;
pub mod decide;
pub mod entity;
pub mod event;
pub mod fields;
mod fingerprint;
pub mod import_origin;
pub mod index;
pub mod journal;
pub mod key;
pub mod law;
pub mod observe;
pub mod overdue;
pub mod policy;
pub mod present;
pub mod project;
pub mod query;
pub mod ranking;
pub mod redact;
pub mod refusal;
pub mod settings;
pub mod supervise;
pub mod trace;
pub mod view;
pub mod world;

pub use apply::apply;
pub use decide::work;
pub use decide::{Accepted, Decision, decide, decide_briefly};
pub use law::Law;
pub use view::View;
