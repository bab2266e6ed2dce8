//! What is wrong with a definition before it runs.
//!
//! Pure: a compiled pack in, findings out. [`check`] looks at everything that can be seen without
//! running anything; [`locate`] finds the places in the text.

mod class;
mod classes;
mod defaults;
mod facts;
mod finding;
mod firing;
mod graph;
mod locate;
mod others;
mod parts;
mod reads;
mod survey;
mod targets;
mod truth;
mod values;

pub use class::Class;
pub use finding::{Finding, Hop, Route, Severity};
pub use locate::{locate, place, to_json};
pub use survey::check;
