//! The log of a run, printed when a promise is broken.

use std::collections::VecDeque;

/// The number of lines that are kept.
const KEPT: usize = 400;

/// The last steps of a run, numbered.
#[derive(Debug, Default)]
pub(crate) struct StepLog {
    lines: VecDeque<String>,
    count: usize,
}

impl StepLog {
    pub fn add(&mut self, line: impl Into<String>) {
        self.count += 1;
        self.lines.push_back(format!("{:5} {}", self.count, line.into()));
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}
