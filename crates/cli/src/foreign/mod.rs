//! Reads the task files of other tools, and maps them to a lifecycle of the user's choice.

mod beads;
mod mapping;
mod plan;
mod target;
mod vibe_kanban;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::args::ForeignTool;
pub(crate) use mapping::{Mapped, Wishes, mapped};
pub(crate) use target::TargetLifecycle;

/// A thing of another tool, as it is there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForeignTask {
    /// The position in the file, for messages: `line 12`.
    pub(crate) at: String,
    pub(crate) id: String,
    pub(crate) status: String,
    /// The symbol of its status, if it had one: `[x]`.
    pub(crate) mark: Option<String>,
    pub(crate) values: Map<String, Json>,
}

/// A problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImportProblem {
    /// Empty where it is about the whole.
    pub(crate) at: String,
    pub(crate) what: String,
}

impl ImportProblem {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }

    /// In a line, with the file.
    pub(crate) fn describe(&self, file: &str) -> String {
        match self.at.as_str() {
            "" => format!("{file}: {}", self.what),
            at => format!("{file} {at}: {}", self.what),
        }
    }
}

/// The content of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeignTasks {
    pub(crate) things: Vec<ForeignTask>,
    /// Descriptions of the skipped parts.
    pub(crate) left_out: Vec<String>,
    pub(crate) troubles: Vec<ImportProblem>,
}

/// Reads the file of a tool.
pub(crate) fn read(tool: ForeignTool, path: &Path) -> ForeignTasks {
    let mut found = match tool {
        ForeignTool::Plan => of_text(path, plan::read),
        ForeignTool::Beads => of_text(path, beads::read),
        ForeignTool::VibeKanban => vibe_kanban::read(path),
    };
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut twice = Vec::new();
    for thing in &found.things {
        match first.get(thing.id.as_str()) {
            Some(at) => twice
                .push(ImportProblem::new(&thing.at, format!("{} appears twice, first in {at}", thing.id))),
            None => {
                first.insert(&thing.id, &thing.at);
            }
        }
    }
    found.troubles.extend(twice);
    found
}

/// Most bytes of a text that is read at once.
pub(crate) const MOST: u64 = 256 * 1024 * 1024;

fn of_text(path: &Path, read: fn(&str) -> ForeignTasks) -> ForeignTasks {
    let failed = |what: String| ForeignTasks {
        troubles: vec![ImportProblem::new("", what)],
        ..ForeignTasks::default()
    };
    match crate::files::read_text(path, MOST) {
        Ok(text) => read(&text),
        Err(error) => failed(crate::files::reading(&error)),
    }
}

/// Equivalent names in other tools and here, as data.
#[derive(Debug, Deserialize)]
struct Words {
    /// Statuses of deleted tasks.
    deleted: Vec<String>,
    /// Kinds of dependencies that block a task.
    waits: Vec<String>,
    /// Dependencies on its parent.
    belongs: Vec<String>,
    /// Equivalent names, as [`plain`] writes them.
    alike: Vec<Vec<String>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let empty = Words { deleted: Vec::new(), waits: Vec::new(), belongs: Vec::new(), alike: Vec::new() };
    serde_json::from_str(include_str!("words.json")).unwrap_or(empty)
});

/// A name without differences of spelling: `in-progress`, `inProgress` and `IN_PROGRESS` are one.
fn plain(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A number with its noun.
fn many(count: usize, one: &str, more: &str) -> String {
    crate::folder::count_with_noun(count as u64, one, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equivalent_names_are_complete() {
        assert!(!WORDS.waits.is_empty() && WORDS.alike.iter().flatten().all(|it| *it == plain(it)));
    }

    #[test]
    fn spelling_variants_are_one_name() {
        for it in ["in-progress", "inProgress", "IN_PROGRESS", "inprogress", "In Progress"] {
            assert_eq!(plain(it), "inprogress");
        }
    }
}
