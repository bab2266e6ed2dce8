//! A finding: its class, place, reason, advice, and the route to it.

use std::fmt;

use serde::Serialize;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;
pub use trackside_lifecycle::source::ProblemSeverity;

pub use crate::check::class::Class;

/// One thing that is wrong with a definition, or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub class: Class,
    pub severity: ProblemSeverity,
    /// The lifecycle, by its full name, or the pack.
    pub of: Name,
    /// The path within it.
    pub way: DefinitionPath,
    /// Why it is one, in plain words.
    pub message: String,
    /// The advice for fixing it.
    pub advice: String,
    /// A route to the state, where that helps.
    pub route: Route,
}

/// The shortest path from creation to a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Route(pub Vec<Hop>);

/// One move of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The transition, `create`, or `always`.
    pub by: Name,
    /// The state after it.
    #[serde(rename = "state")]
    pub to: Name,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, hop) in self.0.iter().enumerate() {
            let arrow = if n == 0 { "" } else { " → " };
            write!(f, "{arrow}{} ({})", hop.by, hop.to)?;
        }
        Ok(())
    }
}

impl Finding {
    pub fn new(
        class: Class,
        of: &Name,
        way: DefinitionPath,
        message: String,
        advice: impl Into<String>,
    ) -> Self {
        let (of, route) = (of.clone(), Route::default());
        Self { class, severity: class.severity(), of, way, message, advice: advice.into(), route }
    }

    pub fn by_way_of(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    pub fn weighing(mut self, severity: ProblemSeverity) -> Self {
        self.severity = severity;
        self
    }
}
