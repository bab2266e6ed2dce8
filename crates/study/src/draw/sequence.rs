//! A sequence diagram of a run, from top to bottom.

mod mermaid;
mod svg;
mod terminal;

use serde::Serialize;

/// Participants from left to right, and steps in the order in which they happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sequence {
    pub title: String,
    /// Participants that only the steps name are added at the end.
    pub participants: Vec<String>,
    pub steps: Vec<SequenceStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SequenceStep {
    pub from: String,
    pub to: String,
    pub label: String,
    /// The text below it.
    pub note: Option<String>,
    pub kind: SequenceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SequenceKind {
    /// Requested and accepted.
    Ask,
    /// Requested and refused.
    Refused,
    /// Time has passed.
    Timer,
    /// Done by the engine.
    Engine,
    /// An actor stopped in the middle.
    Crash,
}

impl Sequence {
    /// All participants, in order.
    fn everyone(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.participants.iter().map(String::as_str).collect();
        for name in self.steps.iter().flat_map(|it| [it.from.as_str(), it.to.as_str()]) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }
}

/// The columns of a step's ends.
fn ends(everyone: &[&str], step: &SequenceStep) -> (usize, usize) {
    let column = |name: &str| everyone.iter().position(|it| *it == name).unwrap_or(0);
    (column(&step.from), column(&step.to))
}

#[cfg(test)]
mod tests;
