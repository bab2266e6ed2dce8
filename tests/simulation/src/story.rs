//! The story of a run, printed when a promise is broken.

use std::collections::VecDeque;

/// The number of lines that are kept.
const KEPT: usize = 400;

/// The last lines of a story.
#[derive(Debug, Default)]
pub(crate) struct Story {
    lines: VecDeque<String>,
    told: usize,
}

impl Story {
    pub fn tell(&mut self, line: impl Into<String>) {
        self.told += 1;
        self.lines.push_back(format!("{:5} {}", self.told, line.into()));
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}
