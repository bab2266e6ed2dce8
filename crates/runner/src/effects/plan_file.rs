//! Marks a task in the plan file from which it comes, as the effect `plan.write` asks.

use std::fs;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use serde_json::json;
use trackside_worktree::FileLock;

use super::effect_client::{HeldEffect, settle_effect};
use super::git_work::{GitWork, LONGEST};
use crate::launch::new_uuid;
use crate::run_monitor::shortened;
use crate::server_api::{ApiError, ServerApi};

/// The largest plan file in bytes.
const LARGEST: u64 = 4 << 20;

impl GitWork {
    /// Marks a task in its plan file in the main checkout. The same effect again changes nothing. Hold the lock of the
    /// merge queue: runners of other tasks write the same file. Returns a message for people.
    pub fn write_plan(
        &self,
        api: &ServerApi,
        effect: &HeldEffect,
        _queue: &FileLock,
    ) -> Result<String, ApiError> {
        let entity = effect.entity_key();
        let text = |name: &str| effect.text(name).unwrap_or_default();
        let (file, mark) = (text("file"), text("mark"));
        match mark_task(self.repository.root(), &file, &text("task"), &text("title"), &mark) {
            Ok(()) => {
                settle_effect(api, effect, true, json!({}))?;
                Ok(format!("{entity} is marked {mark} in {file}"))
            }
            Err(why) => {
                settle_effect(api, effect, false, json!({ "detail": shortened(&why, LONGEST) }))?;
                Ok(format!("{entity} is not marked in its plan file: {why}"))
            }
        }
    }
}

/// Replaces the checkbox of a task: the one whose line names its id, else the one whose text is its title.
fn mark_task(root: &Path, file: &str, id: &str, title: &str, mark: &str) -> Result<(), String> {
    let path = plan_path(root, file)?;
    let found = path.metadata().map_err(|it| format!("{file}: {it}"))?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(format!("{file} is no text file of at most {} MiB", LARGEST >> 20));
    }
    let text = fs::read_to_string(&path).map_err(|it| format!("{file}: {it}"))?;
    let place = checkbox_of_task(&text, id, title)
        .map_err(|why| format!("{file} has {why}. Mark the task there by hand"))?;
    if text.get(place.clone()) == Some(mark) {
        return Ok(());
    }
    let mut changed = text;
    changed.replace_range(place, mark);
    replace_file(&path, changed.as_bytes(), &found).map_err(|it| format!("{file}: {it}"))
}

/// The plan file below the main checkout. A link may not lead out of it.
fn plan_path(root: &Path, file: &str) -> Result<PathBuf, String> {
    let given = Path::new(file);
    let is_below = given.components().all(|it| matches!(it, Component::Normal(_)));
    if file.is_empty() || !is_below {
        return Err(format!("the plan file {file:?} must be a path below the main checkout"));
    }
    let real = |it: &Path| it.canonicalize().map_err(|error| format!("{file}: {error}"));
    let (path, root) = (real(&root.join(given))?, real(root)?);
    let inner = path.strip_prefix(&root).map_err(|_| format!("{file} leads out of the main checkout"))?;
    if inner.starts_with(".git") || inner.starts_with(".worktrees") {
        return Err(format!("{file} is not a file of the main checkout"));
    }
    Ok(path)
}

/// Where the checkbox of a task is in a plan, with its brackets.
fn checkbox_of_task(text: &str, id: &str, title: &str) -> Result<Range<usize>, String> {
    let boxes = checkboxes(text);
    let by_id: Vec<_> = boxes.iter().filter(|it| names(it.text, id)).collect();
    let by_title: Vec<_> =
        boxes.iter().filter(|it| !title.is_empty() && it.title() == title.trim()).collect();
    let found = if by_id.is_empty() { by_title } else { by_id };
    match found.as_slice() {
        [] => Err(format!("no line with a checkbox for {id} ({title})")),
        [one] => Ok(one.place.clone()),
        _ => Err(format!("{} lines with a checkbox for {id} ({title})", found.len())),
    }
}

/// A line with a checkbox.
struct PlanLine<'a> {
    place: Range<usize>,
    /// What follows the checkbox.
    text: &'a str,
}

impl PlanLine<'_> {
    /// Its text without emphasis.
    fn title(&self) -> &str {
        self.text.trim().trim_matches(['*', '_', '`', '~']).trim()
    }
}

/// The lines with a checkbox: `- [ ] text`, also in numbered lists and headings. Code blocks have none.
fn checkboxes(text: &str) -> Vec<PlanLine<'_>> {
    let mut found = Vec::new();
    let (mut start, mut is_code) = (0, false);
    for line in text.split_inclusive('\n') {
        let begin = start;
        start += line.len();
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let rest = line.trim_start_matches(|it: char| it.is_ascii_digit() || " \t-*+#.)>".contains(it));
        let mut chars = rest.chars();
        let is_box = chars.next() == Some('[') && chars.next().is_some_and(|it| " xX!~-".contains(it));
        if is_code || !is_box || chars.next() != Some(']') {
            continue;
        }
        let place = begin + (line.len() - rest.len());
        found.push(PlanLine { place: place..place + 3, text: chars.as_str() });
    }
    found
}

/// Whether a text has this id as a word.
fn names(text: &str, id: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
    !id.is_empty()
        && text.match_indices(id).any(|(at, _)| {
            let before = text.get(..at).and_then(|it| it.chars().next_back());
            let after = text.get(at + id.len()..).and_then(|it| it.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

/// Replaces a file. After a crash it has the old content or the new one.
fn replace_file(path: &Path, content: &[u8], found: &fs::Metadata) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", new_uuid()));
    let write = || -> io::Result<()> {
        // An agent can have put a link there.
        let mut file = fs::File::create_new(&draft)?;
        file.write_all(content)?;
        file.set_permissions(found.permissions())?;
        file.sync_data()?;
        fs::rename(&draft, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, mark: &str) -> Result<String, String> {
        let root = std::env::temp_dir().join(format!("trackside-plan-{}", new_uuid()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("plan.md"), text).unwrap();
        let done = mark_task(&root, "plan.md", "T-1", "Close the file", mark);
        let after = fs::read_to_string(root.join("plan.md")).unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(&root).unwrap();
        if done.is_err() {
            assert_eq!(after, text, "a failure changes nothing");
        }
        done.map(|()| after)
    }

    #[test]
    fn the_line_of_the_task_gets_the_mark_and_nothing_else_changes() {
        for (before, after) in [
            ("- [ ] T-1 x\n- [ ] T-2\n", "- [x] T-1 x\n- [ ] T-2\n"),
            ("- [ ] T-12\r\n  * [ ] (T-1)\r\n", "- [ ] T-12\r\n  * [x] (T-1)\r\n"),
            ("1. [!] **Close the file**", "1. [x] **Close the file**"),
            ("- [ ] Close the file\n- [ ] other T-1", "- [ ] Close the file\n- [x] other T-1"),
            ("```\n- [ ] T-1\n```\n## [ ] T-1\n", "```\n- [ ] T-1\n```\n## [x] T-1\n"),
            ("- [x] T-1\n", "- [x] T-1\n"),
            ("- [ ] Ärger: T-1", "- [x] Ärger: T-1"),
        ] {
            assert_eq!(marked(before, "[x]").unwrap(), after, "{before:?}");
        }
        assert_eq!(marked("- [ ] T-1", "[!]").unwrap(), "- [!] T-1");
    }

    #[test]
    fn a_task_without_a_line_of_its_own_is_not_marked() {
        for (text, why) in [
            ("- T-1\n[link] T-1\n- [ ] Close the files\n", "no line with a checkbox"),
            ("- [ ] T-1 a\n- [ ] T-1 b\n", "2 lines with a checkbox"),
            ("", "no line"),
        ] {
            let error = marked(text, "[x]").unwrap_err();
            assert!(error.contains(why) && error.contains("by hand"), "{error}");
        }
    }

    #[test]
    fn no_file_outside_of_the_main_checkout_is_changed() {
        let root = std::env::temp_dir().join(format!("trackside-plan-{}", new_uuid()));
        let inside = root.join("repo");
        fs::create_dir_all(inside.join(".git")).unwrap();
        fs::write(root.join("outside.md"), "- [ ] T-1\n").unwrap();
        fs::write(inside.join(".git/plan.md"), "- [ ] T-1\n").unwrap();
        std::os::unix::fs::symlink(root.join("outside.md"), inside.join("link.md")).unwrap();
        let absolute = root.join("outside.md").display().to_string();
        for file in ["../outside.md", "link.md", &absolute, ".git/plan.md", "", "missing.md"] {
            mark_task(&inside, file, "T-1", "", "[x]").unwrap_err();
        }
        assert_eq!(fs::read_to_string(root.join("outside.md")).unwrap(), "- [ ] T-1\n");
        fs::remove_dir_all(&root).unwrap();
    }
}
