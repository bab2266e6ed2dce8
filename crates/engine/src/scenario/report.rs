//! What a run of scenarios found.

use serde_json::{Value as Json, json};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Place;

/// All scenarios of one file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub passed: usize,
    pub failures: Vec<ScenarioFailure>,
    /// Scenario to the rules it proves.
    pub proved: Vec<(String, Vec<Name>)>,
}

/// One scenario that did not go as it says.
#[derive(Clone, Debug)]
pub struct ScenarioFailure {
    pub scenario: String,
    /// Which step, from 1; none before the first.
    pub step: Option<usize>,
    pub at: Place,
    pub expected: String,
    pub happened: String,
    /// The journal so far, a line each.
    pub journal: Vec<String>,
}

impl ScenarioFailure {
    pub fn to_json(&self, file: &str) -> Json {
        json!({
            "file": file, "line": self.at.line, "scenario": self.scenario, "step": self.step,
            "expected": self.expected, "happened": self.happened, "journal": self.journal
        })
    }
}
