//! Problems in a definition, collected while it is read and checked.

use super::place::Place;
use crate::printable::is_printable;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemSeverity {
    Error,
    Warning,
    /// Not a mistake, but worth a look.
    Note,
}

impl ProblemSeverity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A problem, its place, and the advice for fixing it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceProblem {
    pub severity: ProblemSeverity,
    /// A stable short name, for instance `unknown-key`.
    pub code: &'static str,
    pub message: String,
    pub at: Place,
    pub hint: Option<String>,
    /// An example that shows how the problem arises.
    pub example: Option<String>,
    /// The way to it, for instance `transitions.start.by`; may be empty.
    pub path: String,
    /// Whether the compiled pack is complete in spite of it. Such an error refuses new packs only: a stored pack runs on.
    pub only_new: bool,
}

impl SourceProblem {
    /// Adds advice.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Refuses new packs only. For rules that do not change what is compiled: a stored pack that a later release would
    /// refuse keeps running.
    pub fn for_new_packs(&mut self) -> &mut Self {
        self.only_new = true;
        self
    }

    /// Shows how one gets there.
    pub fn example(&mut self, example: impl Into<String>) -> &mut Self {
        self.example = Some(example.into());
        self
    }
}

/// The problems found so far.
///
/// Shown in the order of the text, each once. Records the keys above the reader's position, so that a
/// problem has a path.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    found: Vec<SourceProblem>,
    path: Vec<String>,
}

impl Problems {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn error(&mut self, code: &'static str, at: Place, message: impl Into<String>) -> &mut SourceProblem {
        self.add(ProblemSeverity::Error, code, at, message.into())
    }

    pub fn warning(
        &mut self,
        code: &'static str,
        at: Place,
        message: impl Into<String>,
    ) -> &mut SourceProblem {
        self.add(ProblemSeverity::Warning, code, at, message.into())
    }

    pub fn note(&mut self, code: &'static str, at: Place, message: impl Into<String>) -> &mut SourceProblem {
        self.add(ProblemSeverity::Note, code, at, message.into())
    }

    pub(crate) fn add(
        &mut self,
        severity: ProblemSeverity,
        code: &'static str,
        at: Place,
        message: String,
    ) -> &mut SourceProblem {
        let path = self.path();
        self.found.push_mut(SourceProblem {
            severity,
            code,
            message,
            at,
            hint: None,
            example: None,
            path,
            only_new: false,
        })
    }

    /// Removes problems that another check reports better.
    pub fn forget(&mut self, code: &str) {
        self.found.retain(|it| it.code != code);
    }

    /// Takes over the problems of another reader.
    pub fn extend(&mut self, other: Problems) {
        self.found.extend(other.found);
    }

    /// Does `work` one key further in.
    pub fn within<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        self.inside(key.to_owned(), work)
    }

    /// Does `work` in one item of a list, counted from 0.
    pub fn within_item<T>(&mut self, index: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        self.inside(format!("[{index}]"), work)
    }

    fn inside<T>(&mut self, step: String, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = work(self);
        self.path.pop();
        result
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    /// The number of problems.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// The number of errors.
    pub fn errors(&self) -> usize {
        self.found.iter().filter(|it| it.severity == ProblemSeverity::Error).count()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|it| it.severity == ProblemSeverity::Error)
    }

    /// Makes warnings of the errors that refuse new packs only.
    pub fn spare_stored(&mut self) {
        for problem in self.found.iter_mut().filter(|it| it.only_new) {
            problem.severity = problem.severity.max(ProblemSeverity::Warning);
        }
    }

    /// In the order of the text, each once.
    pub fn sorted(&self) -> Vec<&SourceProblem> {
        let mut sorted: Vec<&SourceProblem> = self.found.iter().collect();
        sorted.sort_by(|a, b| order(a).cmp(&order(b)));
        sorted.dedup_by(|a, b| order(a) == order(b));
        sorted
    }
}

fn order(problem: &SourceProblem) -> (Place, ProblemSeverity, &str, &str) {
    (problem.at, problem.severity, problem.code, &problem.message)
}

/// A word of the text in a message: in backticks, without line breaks, never very long.
pub fn quote(word: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = word.chars().take(SHOWN).map(|c| if is_printable(c) { c } else { ' ' }).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn problems_come_in_reading_order_and_once() {
        let at = |line, start| Place { line, start, end: start, ..Place::top(FileId(0)) };
        let mut problems = Problems::new();
        problems.error("b", at(2, 9), "second");
        problems.within("transitions", |problems| {
            problems.within_item(1, |problems| {
                problems
                    .within("by", |problems| problems.warning("a", at(1, 0), "first").hint("do it").clone())
            })
        });
        problems.error("b", at(2, 9), "second");
        let sorted = problems.sorted();
        assert_eq!(sorted.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(sorted[0].path, "transitions[1].by");
        assert!(problems.has_errors());
    }

    #[test]
    fn a_quoted_word_stays_on_its_line() {
        assert_eq!(quote("a\nb\u{1b}[31m"), "`a b [31m`");
        assert_eq!(quote(&"é".repeat(100)).chars().count(), 63);
    }
}
