//! Tests as data: given, when, then, in virtual time.

mod check;
mod expect;
mod matrix;
mod report;
mod run;
mod substitute;
mod syntax;

pub use report::{Failure, Report};
pub use run::run;
pub use syntax::{ScenarioFile, ScenarioHead, ScenarioNode, read_file};

/// The JSON Schema of a scenario file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ScenarioFile).to_value()
}
