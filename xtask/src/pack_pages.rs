//! Generated parts of the pages about packs: the counts in `docs/spec` and the promises in each pack's README.
//!
//! A generated part is between `<!-- NAME -->` and `<!-- /NAME -->`. `cargo xtask reference` writes it, and
//! [`crate::tidy`] reports a part that is out of date.

use std::fmt::Write as _;

use serde_json::Value;

use crate::packs::{PackFolder, packs};
use crate::tidy::spec;
use crate::tree::Tree;

const OVERVIEW: &str = "docs/spec.md";

/// A page and its text with all generated parts up to date. Pages that do not exist are left out.
pub struct PackPage {
    pub path: String,
    pub text: String,
}

/// Every page with a generated part, or the page and the name of a part whose markers are missing.
pub fn pack_pages(tree: &Tree) -> Vec<Result<PackPage, (String, &'static str)>> {
    let packs = packs(tree);
    let mut pages = vec![(OVERVIEW.to_owned(), "counts", overview(tree, &packs))];
    for pack in &packs {
        pages.push((spec::page_of(pack), "counts", counts(tree, pack)));
        if has_promises(pack) {
            pages.push((format!("packs/{}/README.md", pack.name), "promises", promises(pack)));
        }
    }
    let fill = |(path, part, content): (String, &'static str, String)| {
        let text = tree.text(&path)?;
        Some(match fill_part(text, part, &content) {
            Some(text) => Ok(PackPage { path, text }),
            None => Err((path, part)),
        })
    };
    pages.into_iter().filter_map(fill).collect()
}

/// The text with `content` between the markers of `part`, if the markers are there.
fn fill_part(text: &str, part: &str, content: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- /{part} -->"));
    let (head, rest) = text.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    Some(format!("{head}{begin}{content}{end}{tail}"))
}

/// The table of all packs.
fn overview(tree: &Tree, packs: &[PackFolder]) -> String {
    let mut out = "| pack | rules | scenarios |\n|---|---|---|\n".to_owned();
    for pack in packs {
        let (rules, scenarios) = (spec::rule_count(tree, pack), spec::scenario_count(pack));
        let _ = writeln!(out, "| [`{0}`](spec/{0}.md) | {rules} | {scenarios} |", pack.name);
    }
    out
}

/// The line at the top of a pack's page.
fn counts(tree: &Tree, pack: &PackFolder) -> String {
    format!("{} rules, {} scenarios.\n", spec::rule_count(tree, pack), spec::scenario_count(pack))
}

fn has_promises(pack: &PackFolder) -> bool {
    pack.definitions().any(|it| it.value.get("prove").is_some())
}

/// The promises of every lifecycle, then the states that must stay reachable.
fn promises(pack: &PackFolder) -> String {
    let mut out = String::new();
    let mut reachable = Vec::new();
    for file in pack.definitions() {
        let all = file.value.get("prove").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let (possible, kept): (Vec<&Value>, Vec<&Value>) =
            all.iter().partition(|it| it.get("reachable").is_some());
        reachable.extend(possible.into_iter().filter_map(says));
        if kept.is_empty() {
            continue;
        }
        let lifecycle = file.value.get("lifecycle").and_then(Value::as_str).unwrap_or(&pack.name);
        let _ = writeln!(out, "\n**`{lifecycle}`**\n");
        for text in kept.into_iter().filter_map(says) {
            let _ = writeln!(out, "- {text}.");
        }
    }
    if !reachable.is_empty() {
        out.push_str("\n**Always possible**\n\n");
        for text in reachable {
            let _ = writeln!(out, "- {text}.");
        }
    }
    out.push('\n');
    out
}

fn says(promise: &Value) -> Option<&str> {
    promise.get("says").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "lifecycle: mission.task\nprove:\n  - { says: A closed task stays closed, never: x }\n  - { says: A task can be closed, reachable: y }\n";

    fn planted(readme: &str) -> Vec<Result<PackPage, (String, &'static str)>> {
        let page = "# Rules\n\n<!-- counts -->\nold\n<!-- /counts -->\n\n| M-1 | It starts | `states` | starting: It starts |\n";
        pack_pages(&Tree::planted(&[
            ("docs/spec/mission.md", page),
            ("packs/mission/README.md", readme),
            ("packs/mission/pack.yaml", "pack: mission\n"),
            ("packs/mission/lifecycles/task.yaml", TASK),
            (
                "packs/mission/scenarios/starting.yaml",
                "scenarios:\n  - { scenario: It starts, rules: [M-1] }\n  - { scenario: It stops }\nmatrix: { name: Edges }\n",
            ),
        ]))
    }

    #[test]
    fn counts_and_promises_are_written_between_their_markers() {
        let pages = planted("# mission\n\n<!-- promises -->\n<!-- /promises -->\nend\n");
        let texts: Vec<&str> = pages.iter().flatten().map(|it| it.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "# Rules\n\n<!-- counts -->\n1 rules, 3 scenarios.\n<!-- /counts -->\n\n| M-1 | It starts | `states` | starting: It starts |\n",
                "# mission\n\n<!-- promises -->\n\n**`mission.task`**\n\n- A closed task stays closed.\n\n**Always possible**\n\n- A task can be closed.\n\n<!-- /promises -->\nend\n",
            ]
        );
    }

    #[test]
    fn a_page_without_markers_is_an_error() {
        let missing: Vec<(String, &str)> =
            planted("# mission\n").into_iter().filter_map(Result::err).collect();
        assert_eq!(missing, [("packs/mission/README.md".to_owned(), "promises")]);
    }
}
