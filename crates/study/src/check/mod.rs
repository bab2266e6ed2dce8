//! Finds mistakes in a definition without running it.
//!
//! Pure: a compiled pack in, findings out. [`check`] runs all checks; [`locate()`] finds the places in the
//! text.

mod check_budget;
mod class;
mod classes;
mod facts;
mod finding;
mod firing;
mod graph;
mod locate;
mod reads;
mod satisfy;
mod survey;
mod values;

pub use check_budget::{CheckBudget, ChecksStopped, MOST_STEPS};
pub use class::Class;
pub use finding::{Finding, Hop, ProblemSeverity, Route};
pub use locate::{locate, place, to_json};
pub use survey::{check, check_within};
