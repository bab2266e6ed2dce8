//! A Markdown plan: phases are headings, tasks are checkboxes, fields are the lines below.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::{ForeignTask, ForeignTasks, ImportProblem, many};
use trackside_engine::key::is_valid_id;

/// Reads a plan.
pub(super) fn read(text: &str) -> ForeignTasks {
    let mut found = ForeignTasks::default();
    let mut plan = Plan::default();
    let mut fenced = false;
    for (n, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        if let Some(heading) = heading(line) {
            plan.heading(heading);
        } else if !plan.legend {
            plan.line(&mut found, n + 1, line);
        } else if let Some((mark, text)) = checkbox(line) {
            plan.skipped += 1;
            plan.words.extend(word(text).map(|it| (mark, it.to_owned())));
        }
    }
    for thing in &mut found.things {
        tidied(&mut thing.values);
        thing.go_by(&plan.words);
    }
    if plan.skipped > 0 {
        found
            .left_out
            .push(format!("{} that explain the symbols", many(plan.skipped, "checkbox", "checkboxes")));
    }
    if found.things.is_empty() && found.troubles.is_empty() {
        found.troubles.push(ImportProblem::new(
            "",
            "the file contains no task: a task is a line such as `- [ ] TASK-001: What to do`",
        ));
    }
    name_things(&mut found);
    found
}

#[derive(Default)]
struct Plan {
    phase: String,
    /// Under a heading that explains symbols.
    legend: bool,
    skipped: usize,
    /// The meanings of symbols, as the file declares them.
    words: BTreeMap<String, String>,
    /// Tasks that this line could belong to: how far each is indented, and its place.
    open: Vec<(usize, usize)>,
}

impl Plan {
    fn heading(&mut self, text: &str) {
        self.open.clear();
        let words = text.to_lowercase();
        self.legend = words.contains("symbols") || words.contains("legend");
        text.clone_into(&mut self.phase);
    }

    fn line(&mut self, found: &mut ForeignTasks, n: usize, line: &str) {
        let indent = indent_of(line);
        if let Some((mark, text)) = checkbox(line) {
            self.open.retain(|(of, _)| *of < indent);
            let parent = self.open.last().map(|(_, place)| *place);
            let mut thing = task(n, mark, text);
            if !self.phase.is_empty() {
                thing.values.insert("phase".to_owned(), json!(self.phase));
            }
            if let Some(parent) = parent {
                thing.values.insert(PARENT.to_owned(), json!(parent));
            }
            self.open.push((indent, found.things.len()));
            found.things.push(thing);
            return;
        }
        if line.trim().is_empty() {
            return;
        }
        self.open.retain(|(of, _)| *of < indent);
        let Some(thing) = self.open.last().and_then(|(_, place)| found.things.get_mut(*place)) else {
            return;
        };
        let text = line.trim_start();
        let item = bullet(text).unwrap_or(text);
        match item.split_once(':').filter(|(key, _)| is_key(key)) {
            Some((key, value)) => thing.know(key, value.trim()),
            None => {
                let known = thing.values.get("description").and_then(Json::as_str).unwrap_or_default();
                let joined = format!("{known}\n{text}");
                thing.values.insert("description".to_owned(), json!(joined.trim_start()));
            }
        }
    }
}

/// The key under which a parent's position is noted until all have their ids.
const PARENT: &str = "\u{0}parent";

impl ForeignTask {
    /// A line such as `Dependencies: [TASK-001]`.
    fn know(&mut self, key: &str, value: &str) {
        let key = key.trim().trim_matches('*').to_lowercase().replace(' ', "_");
        let value = value.trim_matches('`');
        if value.is_empty() || value.eq_ignore_ascii_case("none") {
            return;
        }
        if key == "status" {
            value.clone_into(&mut self.status);
            self.mark = None;
            return;
        }
        let listed = value.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let list = |text: &str| -> Json { text.split(',').map(|it| json!(it.trim())).collect() };
        let value = match listed {
            Some(inside) => list(inside),
            None if key == "dependencies" => list(value),
            None => json!(value),
        };
        self.values.insert(key, value);
    }
}

impl ForeignTask {
    /// Without a status line, the status is the meaning of the symbol, or the symbol itself.
    fn go_by(&mut self, words: &BTreeMap<String, String>) {
        if let Some(mark) = &self.mark {
            words.get(mark).unwrap_or(mark).clone_into(&mut self.status);
        }
    }
}

/// The meaning of a symbol, from the line that explains it: `blocked/failed (needs attention)` is
/// `blocked`.
fn word(text: &str) -> Option<&str> {
    let text = text.trim_matches(['*', '`']);
    let end = ["(", "/", ":", " -", " –", " —", "*", "`"].iter().filter_map(|it| text.find(it)).min();
    text.get(..end.unwrap_or(text.len())).map(str::trim).filter(|it| !it.is_empty())
}

fn task(n: usize, mark: String, text: &str) -> ForeignTask {
    let (id, rest) = match numbered(text) {
        Some((id, rest)) => (id.to_owned(), rest),
        None => (String::new(), text),
    };
    let (title, description) = match rest.strip_prefix("**").and_then(|it| it.split_once("**")) {
        Some((title, rest)) => (title, rest.trim_start_matches([' ', '-', '–', '—', ':']).trim()),
        None => (rest, ""),
    };
    let mut values = Map::new();
    values.insert("title".to_owned(), json!(title.trim()));
    if !description.is_empty() {
        values.insert("description".to_owned(), json!(description));
    }
    ForeignTask { at: format!("line {n}"), id, status: String::new(), mark: Some(mark), values }
}

/// `TASK-001: text`, with or without stars around the number.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let (id, rest) = text.split_once(':')?;
    let id = id.trim().trim_matches('*');
    let (word, number) = id.rsplit_once('-')?;
    let fits = word.starts_with(|it: char| it.is_ascii_alphabetic())
        && number.starts_with(|it: char| it.is_ascii_digit())
        && is_valid_id(id);
    fits.then(|| (id, rest.trim_start().trim_start_matches("**").trim_start()))
}

/// The box, such as `[x]`, and the text after it.
fn checkbox(line: &str) -> Option<(String, &str)> {
    let rest = bullet(line.trim_start())?.strip_prefix('[')?;
    let symbol = rest.chars().next()?;
    let text = rest.get(symbol.len_utf8()..)?.strip_prefix(']')?;
    let text = text.strip_prefix(' ')?.trim();
    (!text.is_empty()).then(|| (format!("[{symbol}]"), text))
}

fn bullet(text: &str) -> Option<&str> {
    ["- ", "* ", "+ "].iter().find_map(|it| text.strip_prefix(it)).map(str::trim_start)
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len().saturating_sub(text.len());
    let text = text.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    (1..=6).contains(&level).then_some(text)
}

/// Short, and a word or a few.
fn is_key(key: &str) -> bool {
    let key = key.trim().trim_matches('*');
    (1..=24).contains(&key.len()) && key.chars().all(|it| it.is_ascii_alphabetic() || it == ' ')
}

/// Tabs count as four.
fn indent_of(line: &str) -> usize {
    line.chars().take_while(|it| it.is_whitespace()).map(|it| if it == '\t' { 4 } else { 1 }).sum()
}

fn tidied(values: &mut Map<String, Json>) {
    if let Some(Json::String(text)) = values.get_mut("description") {
        *text = text.trim().to_owned();
    }
}

/// Tasks without a number are called by their title; the second of the same title has a 2 behind it.
fn name_things(found: &mut ForeignTasks) {
    let mut taken: std::collections::BTreeSet<String> =
        found.things.iter().filter(|it| !it.id.is_empty()).map(|it| it.id.clone()).collect();
    for thing in &mut found.things {
        if !thing.id.is_empty() {
            continue;
        }
        let title = thing.values.get("title").and_then(Json::as_str).unwrap_or_default();
        let base = slug(title);
        let mut id = base.clone();
        let mut number = 1;
        while !taken.insert(id.clone()) {
            number += 1;
            id = format!("{base}-{number}");
        }
        thing.id = id;
    }
    let ids: Vec<String> = found.things.iter().map(|it| it.id.clone()).collect();
    for thing in &mut found.things {
        let parent = thing.values.remove(PARENT).and_then(|it| usize::try_from(it.as_u64()?).ok());
        if let Some(id) = parent.and_then(|it| ids.get(it)) {
            thing.values.insert("parent".to_owned(), json!(id));
        }
    }
}

fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.chars() {
        match letter.is_ascii_alphanumeric() {
            true => slug.push(letter.to_ascii_lowercase()),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    slug.truncate(60);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
# Implementation Plan: Shop

## Task Breakdown

### Phase 0: Discovery

- [x] TASK-001: Research existing solutions
  - Status: completed
  - Assigned: @agent-documenter
  - Dependencies: none

### Phase 1: Design

- [~] TASK-002: Architecture design
  - Assigned: @agent-solution-validator
  - Dependencies: [TASK-001]
  Keep it small.
  - [ ] Draw it

- [ ] **Project Setup** - Initialize project with git
  - Worktree: `todos/worktrees/setup`
- [ ] **Project Setup** - once more
- [%] Strange
- [!] Stuck

```markdown
- [ ] TASK-009: in an example
```

## Checkbox Status Symbols

- [ ] pending (not started)
- [x] completed (finished successfully)
- [!] **blocked/failed** (needs attention)
";

    #[test]
    fn tasks_are_read_with_their_details() {
        let found = read(PLAN);
        assert!(found.troubles.is_empty(), "{:?}", found.troubles);
        let all: Vec<(&str, &str)> =
            found.things.iter().map(|it| (it.id.as_str(), it.status.as_str())).collect();
        let expected = [
            ("TASK-001", "completed"),
            ("TASK-002", "[~]"),
            ("draw-it", "pending"),
            ("project-setup", "pending"),
            ("project-setup-2", "pending"),
            ("strange", "[%]"),
            ("stuck", "blocked"),
        ];
        assert_eq!(all, expected);
        let second = &found.things[1];
        assert_eq!(second.at, "line 14");
        assert_eq!(second.values["title"], "Architecture design");
        assert_eq!(second.values["dependencies"], json!(["TASK-001"]));
        assert_eq!(second.values["assigned"], "@agent-solution-validator");
        assert_eq!(second.values["description"], "Keep it small.");
        assert_eq!(second.values["phase"], "Phase 1: Design");
        assert!(!found.things[0].values.contains_key("dependencies"), "none is none");
        assert_eq!(found.things[2].values["parent"], "TASK-002");
        assert_eq!(found.things[3].values["description"], "Initialize project with git");
        assert_eq!(found.things[3].values["worktree"], "todos/worktrees/setup");
        assert_eq!(found.left_out, ["3 checkboxes that explain the symbols"]);
        let marks: Vec<Option<&str>> = found.things.iter().map(|it| it.mark.as_deref()).collect();
        assert_eq!(marks[..3], [None, Some("[~]"), Some("[ ]")], "a line goes before the symbol");
    }

    #[test]
    fn a_text_without_tasks_gets_an_explanation_of_the_format() {
        let found = read("# Nothing\n\n[ ] no bullet\n- [] nothing in it\n");
        assert_eq!(found.troubles.len(), 1);
        assert!(found.troubles[0].what.contains("- [ ] TASK-001"), "{:?}", found.troubles);
    }

    #[test]
    fn any_text_is_parsed_without_a_panic() {
        for text in [
            "# Symbols\n- [é] (",
            "- [",
            "- [é] ü",
            "#",
            "- [ ] **",
            "- [ ] : x",
            "\t- [x] \u{0}",
            "- [ ] -1: a",
            "- [ ] **a**b**",
        ] {
            read(text);
        }
    }
}
