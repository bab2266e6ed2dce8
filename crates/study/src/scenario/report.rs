//! The result of running scenarios.

use serde::Serialize;
use serde_json::Value as Json;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Place;

/// The result of all scenarios of one file.
#[derive(Clone, Debug, Default)]
pub struct ScenarioReport {
    pub passed: usize,
    pub failures: Vec<ScenarioFailure>,
    /// Scenario to the rules it proves.
    pub proved: Vec<(String, Vec<Name>)>,
}

/// A scenario that failed.
#[derive(Clone, Debug)]
pub struct ScenarioFailure {
    pub scenario: String,
    /// The number of the step, from 1; none before the first step.
    pub step: Option<usize>,
    pub at: Place,
    pub expected: String,
    pub happened: String,
    /// The journal so far, one line for each entry.
    pub journal: Vec<String>,
}

impl ScenarioFailure {
    /// The failure as JSON.
    pub fn to_json(&self, file: &str) -> Json {
        #[derive(Serialize)]
        struct Report<'a> {
            file: &'a str,
            line: u32,
            scenario: &'a str,
            step: Option<usize>,
            expected: &'a str,
            happened: &'a str,
            journal: &'a [String],
        }
        let Self { scenario, step, at, expected, happened, journal } = self;
        let report = Report { file, line: at.line, scenario, step: *step, expected, happened, journal };
        serde_json::to_value(report).unwrap_or_default()
    }
}
