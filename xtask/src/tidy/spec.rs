//! The specification holds: every rule has its place in a pack and a scenario that proves it.
//!
//! A rule is a row `| id | rule | where | scenarios |` of `docs/spec.md` or a page of `docs/spec/`. Its id is the first letter of
//! its pack and a number. `where` names keys (`lifecycles/task.yaml transitions.start.by`), `scenarios`
//! are `file: title`, separated by semicolons, and each of them lists the id under `rules`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::TidyFinding;
use crate::packs::{PackFolder, PackYaml, packs, path_exists};
use crate::tree::Tree;

/// Pages that contain rules; missing ones are skipped.
const PAGES: [&str; 6] = [
    "docs/spec.md",
    "docs/spec/build.md",
    "docs/spec/coding.md",
    "docs/spec/mission.md",
    "docs/spec/research.md",
    "docs/spec/turns.md",
];

/// Keys a path may begin with.
const TOP: [&str; 34] = [
    "alerts",
    "roles",
    "settings",
    "types",
    "audiences",
    "policy",
    "queries",
    "supervise",
    "control",
    "fields",
    "assignee",
    "relations",
    "me",
    "gates",
    "read",
    "refs",
    "sets",
    "path",
    "create",
    "states",
    "transitions",
    "timers",
    "counters",
    "slots",
    "rankings",
    "reactions",
    "evidence",
    "invariants",
    "notify",
    "effects",
    "face",
    "indexes",
    "prove",
    "work",
];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let packs = packs(tree);
    let titles: Vec<Vec<Proof>> = packs.iter().map(proofs).collect();
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for page in PAGES {
        let Some(text) = tree.text(page) else { continue };
        let mut lines = BTreeMap::new();
        for row in rows(text) {
            known.insert(row.id.clone());
            if let Some(first) = lines.insert(row.id.clone(), row.line) {
                findings.push(TidyFinding::new(
                    page,
                    row.line,
                    format!("{} stands at line {first} already", row.id),
                ));
            }
            let Some((pack, titles)) = packs.iter().zip(&titles).find(|(pack, _)| owns(pack, &row.id)) else {
                findings.push(TidyFinding::new(
                    page,
                    row.line,
                    format!("no pack begins with the letter of {}", row.id),
                ));
                continue;
            };
            let wrong = missing_proofs(&row, titles).into_iter().chain(missing_keys(&row, pack));
            findings
                .extend(wrong.map(|what| TidyFinding::new(page, row.line, format!("{}: {what}", row.id))));
        }
    }
    // The other way round, for packs that have a page.
    for (pack, titles) in packs.iter().zip(&titles) {
        if !known.iter().any(|it| owns(pack, it)) {
            continue;
        }
        for proof in titles {
            for rule in proof.rules.iter().filter(|it| !known.contains(*it)) {
                let what = format!("\"{}\" proves {rule}, which no page knows", proof.title);
                findings.push(TidyFinding::new(&proof.path, 0, what));
            }
        }
    }
    findings
}

/// The page of a pack's rules.
pub fn page_of(pack: &PackFolder) -> String {
    format!("docs/spec/{}.md", pack.name)
}

/// Number of rules on the page of a pack.
pub fn rule_count(tree: &Tree, pack: &PackFolder) -> usize {
    let text = tree.text(&page_of(pack)).unwrap_or_default();
    rows(text).iter().filter(|it| owns(pack, &it.id)).count()
}

/// Number of scenarios of a pack; a matrix counts as one.
pub fn scenario_count(pack: &PackFolder) -> usize {
    proofs(pack).len()
}

fn owns(pack: &PackFolder, id: &str) -> bool {
    pack.name.chars().next().map(|it| it.to_ascii_uppercase()) == id.chars().next()
}

/// A rule of a page.
struct RuleRow {
    id: String,
    place: String,
    scenarios: String,
    line: usize,
}

fn rows(text: &str) -> Vec<RuleRow> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, place, scenarios] = cells.as_slice() else { continue };
        if line.starts_with('|') && is_id(id) {
            let (id, place, scenarios) = ((*id).to_owned(), (*place).to_owned(), (*scenarios).to_owned());
            found.push(RuleRow { id, place, scenarios, line: at + 1 });
        }
    }
    found
}

fn is_id(text: &str) -> bool {
    let letter = text.starts_with(|it: char| it.is_ascii_uppercase());
    let number = text
        .split_once('-')
        .is_some_and(|(_, it)| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
    letter && number
}

/// A scenario, or a table of them, and the rules it claims to prove.
struct Proof {
    path: String,
    file: String,
    title: String,
    rules: Vec<String>,
}

fn proofs(pack: &PackFolder) -> Vec<Proof> {
    let mut found = Vec::new();
    for file in &pack.scenarios {
        let mut add = |it: &Value, key: &str| {
            let rules = it.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            found.push(Proof {
                path: file.path.clone(),
                file: file.stem.clone(),
                title: it.get(key).and_then(Value::as_str).unwrap_or_default().to_owned(),
                rules: rules.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            });
        };
        let list = |key: &str| file.value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        list("scenarios").iter().for_each(|it| add(it, "scenario"));
        list("matrix").iter().for_each(|it| add(it, "name"));
        if let Some(matrix @ Value::Object(_)) = file.value.get("matrix") {
            add(matrix, "name");
        }
    }
    found
}

fn missing_proofs(row: &RuleRow, proofs: &[Proof]) -> Vec<String> {
    let named = scenarios(&row.scenarios, proofs);
    if named.is_empty() {
        return vec!["no scenario proves it".to_owned()];
    }
    let mut wrong = Vec::new();
    for (file, title) in named {
        // A table may be introduced: `matrix: the table: every edge …`.
        let fits = |it: &&Proof| {
            it.file == file && (it.title == title || title.ends_with(&format!(": {}", it.title)))
        };
        match proofs.iter().find(fits) {
            None => wrong.push(format!("there is no scenario \"{title}\" in {file}")),
            Some(proof) if !proof.rules.contains(&row.id) => {
                wrong.push(format!("\"{title}\" in {file} does not list it under `rules`"));
            }
            Some(_) => {}
        }
    }
    wrong
}

/// `file: title` pairs. A semicolon inside a title does not separate: the text after it names no file.
fn scenarios(cell: &str, proofs: &[Proof]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for piece in cell.split("; ").map(str::trim).filter(|it| !it.is_empty()) {
        let begins = piece.split_once(": ").filter(|(file, _)| proofs.iter().any(|it| it.file == *file));
        match (begins, found.last_mut()) {
            (Some((file, title)), _) => found.push((file.to_owned(), title.to_owned())),
            (None, Some((_, title))) => *title = format!("{title}; {piece}"),
            (None, None) => found.push(("?".to_owned(), piece.to_owned())),
        }
    }
    found
}

/// Keys that are missing at the path of the row.
fn missing_keys(row: &RuleRow, pack: &PackFolder) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut files: Vec<&PackYaml> = pack.definitions().collect();
    let mut before: Vec<String> = Vec::new();
    for part in parts(&row.place) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let alone = words.iter().filter(|it| !it.ends_with(".yaml")).count() == 1;
        for word in words {
            if let Some(stem) = word.strip_suffix(".yaml") {
                files = pack.definitions().filter(|it| is_called(it, stem)).collect();
                before.clear();
                if files.is_empty() {
                    wrong.push(format!("the pack has no {word}"));
                }
                continue;
            }
            // A file inside the backticks limits this path to that file.
            let (word, files) = match word.split_once(".yaml:") {
                Some((stem, word)) => (word, pack.definitions().filter(|it| is_called(it, stem)).collect()),
                None => (word, files.clone()),
            };
            let keys: Vec<&str> = word.trim_start_matches('.').split('.').collect();
            let absolute = keys.first().is_some_and(|it| TOP.contains(&it.split('[').next().unwrap_or(it)));
            let there = |path: &[&str]| files.iter().any(|it| path_exists(&it.value, path));
            if absolute && there(&keys) {
                before = keys.iter().map(|it| (*it).to_owned()).collect();
            } else if alone || word.starts_with('.') || (absolute && keys.len() > 1) {
                // Short for a path that begins like the one before it, or for one entry of a section.
                let near = (0..=before.len()).rev().any(|kept| {
                    let kept = before.iter().take(kept).map(String::as_str);
                    there(&kept.chain(keys.iter().copied()).collect::<Vec<_>>())
                });
                let entry = !absolute
                    && pack
                        .definitions()
                        .any(|it| path_exists(&it.value, &[&["*"], keys.as_slice()].concat()));
                if !near && !entry {
                    wrong.push(format!("`{word}` is not in {}", list_files(&files)));
                }
            }
        }
    }
    wrong
}

/// `task` or `lifecycles/task`; `*` is every file.
fn is_called(file: &PackYaml, name: &str) -> bool {
    name == "*" || file.path.ends_with(&format!("/{name}.yaml"))
}

fn list_files(files: &[&PackYaml]) -> String {
    if files.is_empty() {
        return "any file of that name".to_owned();
    }
    files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// The parts between commas and semicolons: backticks and brackets taken out, `a.{b,c}` spelled out.
fn parts(cell: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut aside = 0_u32;
    let quoted = |(at, piece): (usize, &str)| {
        if at % 2 == 1 { piece.replace(".yaml ", ".yaml:") } else { piece.to_owned() }
    };
    for sign in cell.split('`').enumerate().map(quoted).collect::<String>().chars() {
        match sign {
            '(' => aside += 1,
            ')' => aside = aside.saturating_sub(1),
            _ if aside > 0 => {}
            sign => plain.push(sign),
        }
    }
    while let Some((head, rest)) = plain.split_once('{')
        && let Some((inside, tail)) = rest.split_once('}')
    {
        let (lead, stem) = head.rsplit_once(' ').map_or(("", head), |(lead, stem)| (lead, stem));
        let spelled: Vec<String> = inside.split(',').map(|it| format!("{stem}{}", it.trim())).collect();
        plain = format!("{lead} {}{tail}", spelled.join(" "));
    }
    plain.split([',', ';']).map(|it| it.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    const TASK: &str = "lifecycle: mission.task\nstates: { OPEN: { require: { title: Needed } } }\ntransitions:\n  start: { by: human }\n  block: [ { by: human }, { by: agent, when: x } ]\n";
    const SCENARIOS: &str = "pack: mission\nscenarios:\n  - { scenario: It starts, rules: [M-1] }\n  - { scenario: One thing; and another, rules: [M-1, M-2] }\nmatrix: { name: every edge, rules: [M-2] }\n";

    fn planted(rows: &str) -> Vec<String> {
        let page = format!("# Rules\n\n| id | rule | where | scenarios |\n|---|---|---|---|\n{rows}");
        let tree = Tree::planted(&[
            ("docs/spec.md", &page),
            ("packs/mission/pack.yaml", "pack: mission\nsettings: { limit: 3 }\nqueries: { late: {} }\n"),
            ("packs/mission/lifecycles/task.yaml", TASK),
            ("packs/mission/scenarios/starting.yaml", SCENARIOS),
        ]);
        check(&tree).iter().map(TidyFinding::to_string).collect()
    }

    const GOOD: &str = "| M-1 | It starts | task.yaml transitions.start.by, block[1].when; pack.yaml settings.limit | starting: It starts; starting: One thing; and another |\n| M-2 | Edges | `transitions.block`, second arm `.when`, `pack.yaml settings.limit`, `lifecycles/task.yaml transitions.start.by`, `late` (no. 2), `states.OPEN`, the engine | starting: the table: every edge |\n";

    #[test]
    fn the_specification_holds() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_good_page_has_no_findings() {
        assert_eq!(planted(GOOD), [""; 0]);
    }

    #[test]
    fn every_way_to_be_wrong_is_found() {
        for (row, said) in [
            ("| M-3 | A rule | task.yaml states.OPEN | |", "M-3: no scenario proves it"),
            (
                "| M-3 | A rule | task.yaml states.OPEN | starting: It stops |",
                "M-3: there is no scenario \"It stops\" in starting",
            ),
            (
                "| M-3 | A rule | task.yaml states.OPEN | nowhere: It starts |",
                "M-3: there is no scenario \"nowhere: It starts\" in ?",
            ),
            (
                "| M-3 | A rule | task.yaml states.OPEN | starting: It starts |",
                "M-3: \"It starts\" in starting does not list it under `rules`",
            ),
            (
                "| M-2 | Again | task.yaml states.OPEN | starting: every edge |",
                "M-2 stands at line 6 already",
            ),
            ("| X-1 | A rule | states | starting: It starts |", "no pack begins with the letter of X-1"),
            ("| M-3 | A rule | gone.yaml states | starting: every edge |", "M-3: the pack has no gone.yaml"),
            (
                "| M-3 | A rule | task.yaml states.SHUT | starting: every edge |",
                "M-3: `states.SHUT` is not in packs/mission/lifecycles/task.yaml",
            ),
            (
                "| M-3 | A rule | `transitions.start`, `.stop` | starting: every edge |",
                "M-3: `.stop` is not in",
            ),
            (
                "| M-3 | A rule | task.yaml transitions.start, stop | starting: every edge |",
                "M-3: `stop` is not in",
            ),
        ] {
            let found = planted(&format!("{GOOD}{row}\n"));
            assert!(found.iter().any(|it| it.contains(said)), "{said} in {found:?}");
        }
    }

    #[test]
    fn a_scenario_cannot_prove_a_rule_that_is_nowhere() {
        let found = planted("| M-1 | It starts | transitions.start | starting: It starts |\n");
        assert_eq!(
            found.iter().filter(|it| it.contains("proves M-2, which no page knows")).count(),
            2,
            "{found:?}"
        );
    }
}
