//! Issues of beads: `.beads/issues.jsonl`, or the output of `bd export`.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::{ForeignTask, ForeignTasks, ImportProblem, WORDS, many};

/// Reads issues, one on a line.
pub(super) fn read(text: &str) -> ForeignTasks {
    let mut found = ForeignTasks::default();
    let (mut deleted, mut others) = (0, 0);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("line {}", n + 1);
        let issue = match serde_json::from_str::<Json>(line) {
            Ok(Json::Object(issue)) => issue,
            Ok(_) => {
                found.troubles.push(ImportProblem::new(at, "not an issue: each line must be a JSON object"));
                continue;
            }
            Err(error) => {
                let what = match line.starts_with("<<<<<<<")
                    || line.starts_with(">>>>>>>")
                    || line.starts_with("=======")
                {
                    true => "unresolved git conflict: resolve it first".to_owned(),
                    false => format!("this is not valid JSON ({error})"),
                };
                found.troubles.push(ImportProblem::new(at, what));
                continue;
            }
        };
        if text_of(&issue, "_type").is_some_and(|it| it != "issue") {
            others += 1;
        } else if text_of(&issue, "status").is_some_and(|it| WORDS.deleted.iter().any(|word| word == it)) {
            deleted += 1;
        } else {
            thing(issue, at, &mut found);
        }
    }
    if deleted > 0 {
        found.left_out.push(format!("{} deleted there", many(deleted, "issue", "issues")));
    }
    if others > 0 {
        found.left_out.push(many(others, "line that is not an issue", "lines that are not issues"));
    }
    let gone = only_known(&mut found);
    if gone > 0 {
        let what = many(gone, "reference to an issue", "references to issues");
        found.left_out.push(format!("{what} not in the file"));
    }
    if found.things.is_empty() && found.troubles.is_empty() {
        found.troubles.push(ImportProblem::new("", "the file contains no issue"));
    }
    found
}

fn text_of<'a>(issue: &'a Map<String, Json>, name: &str) -> Option<&'a str> {
    issue.get(name).and_then(Json::as_str)
}

/// Counters of beads that are not imported.
const COUNTS: [&str; 3] = ["dependency_count", "dependent_count", "comment_count"];

fn thing(mut issue: Map<String, Json>, at: String, found: &mut ForeignTasks) {
    let mut missing = Vec::new();
    let mut take = |name: &str| match issue.remove(name) {
        Some(Json::String(text)) if !text.trim().is_empty() => text,
        _ => {
            missing.push(format!("`{name}`"));
            String::new()
        }
    };
    let (id, status) = (take("id"), take("status"));
    if !missing.is_empty() {
        found.troubles.push(ImportProblem::new(at, format!("this issue has no {}", missing.join(" and "))));
        return;
    }
    let mut values = Map::new();
    for (name, value) in issue {
        match name.as_str() {
            "dependencies" => depend(&value, &mut values),
            "comments" => {
                values.insert(name, comments(&value));
            }
            "_type" => {}
            name if COUNTS.contains(&name) => {}
            _ => {
                values.insert(name, value);
            }
        }
    }
    found.things.push(ForeignTask { at, id, status, mark: None, values });
}

/// Dependencies, parent and related issues.
fn depend(value: &Json, values: &mut Map<String, Json>) {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |kinds: &dyn Fn(&str) -> bool| -> Vec<Json> {
        let kind = |it: &Json| it.get("type").and_then(Json::as_str).unwrap_or_default().to_owned();
        let fitting = all.iter().filter(|it| kinds(&kind(it)));
        fitting.filter_map(|it| it.get("depends_on_id").cloned()).collect()
    };
    let waits = |it: &str| WORDS.waits.iter().any(|word| word == it);
    let belongs = |it: &str| WORDS.belongs.iter().any(|word| word == it);
    let mut put = |name: &str, ids: Vec<Json>| {
        if !ids.is_empty() {
            values.insert(name.to_owned(), Json::Array(ids));
        }
    };
    put("dependencies", of(&waits));
    put("related", of(&|it| !waits(it) && !belongs(it)));
    if let Some(parent) = of(&belongs).into_iter().next() {
        values.insert("parent".to_owned(), parent);
    }
}

fn comments(value: &Json) -> Json {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let answer = |it: &Json| {
        let part = |name: &str| it.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        json!(format!("{}: {}", part("author"), part("text")))
    };
    all.iter().map(answer).collect()
}

/// Removes dependencies on unknown ids. Returns their number.
fn only_known(found: &mut ForeignTasks) -> usize {
    let ids: BTreeSet<String> = found.things.iter().map(|it| it.id.clone()).collect();
    let known = |it: &Json| it.as_str().is_some_and(|it| ids.contains(it));
    let mut gone = 0;
    for thing in &mut found.things {
        for name in ["dependencies", "related"] {
            if let Some(Json::Array(all)) = thing.values.get_mut(name) {
                let before = all.len();
                all.retain(known);
                gone += before.saturating_sub(all.len());
            }
        }
        if thing.values.get("parent").is_some_and(|it| !known(it)) {
            thing.values.remove("parent");
            gone += 1;
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUES: &str = r#"{"id":"bd-1","title":"Mend the gate","description":"It squeaks","status":"open","priority":0,"issue_type":"bug","labels":["iron"],"created_at":"2026-04-18T16:19:12Z","dependency_count":1,"dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"},{"issue_id":"bd-1","depends_on_id":"bd-9","type":"blocks"},{"issue_id":"bd-1","depends_on_id":"bd-2","type":"parent-child"},{"issue_id":"bd-1","depends_on_id":"bd-2","type":"related"}],"comments":[{"author":"ann","text":"Soon"}]}

{"_type":"issue","id":"bd-2","title":"Oil","status":"closed","priority":2}
{"id":"bd-9","title":"Gone","status":"tombstone"}
{"_type":"memory","key":"k","value":"v"}
"#;

    #[test]
    fn issues_are_read_with_their_dependencies() {
        let found = read(ISSUES);
        assert!(found.troubles.is_empty(), "{:?}", found.troubles);
        assert_eq!(found.things.len(), 2);
        let first = &found.things[0];
        assert_eq!((first.id.as_str(), first.status.as_str(), first.at.as_str()), ("bd-1", "open", "line 1"));
        assert_eq!(first.values["priority"], 0);
        assert_eq!(first.values["dependencies"], json!(["bd-2"]));
        assert_eq!(first.values["parent"], "bd-2");
        assert_eq!(first.values["related"], json!(["bd-2"]));
        assert_eq!(first.values["comments"], json!(["ann: Soon"]));
        assert!(!first.values.contains_key("dependency_count"));
        let left = [
            "1 issue deleted there",
            "1 line that is not an issue",
            "1 reference to an issue not in the file",
        ];
        assert_eq!(found.left_out, left);
    }

    #[test]
    fn every_line_that_is_wrong_is_named() {
        let found = read("{\"id\":\"a\"}\nnope\n[1]\n<<<<<<< HEAD\n{\"status\":\"open\"}\n");
        let answer: Vec<String> = found.troubles.iter().map(|it| it.describe("f")).collect();
        assert_eq!(answer.len(), 5, "{answer:#?}");
        assert_eq!(answer[0], "f line 1: this issue has no `status`");
        assert!(answer[1].starts_with("f line 2: this is not valid JSON"));
        assert!(answer[3].contains("unresolved git conflict"));
        assert!(answer[4].contains("`id`"));
    }
}
