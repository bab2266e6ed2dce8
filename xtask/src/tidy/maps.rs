//! Lists that are typed by hand agree with the repository: the crates in ARCHITECTURE.md, the steps in the workflow file.

use std::collections::BTreeSet;

use super::TidyFinding;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const STEPS: &str = ".ci/run";
const WORKFLOW: &str = ".github/workflows/ci.yml";

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = crates(tree);
    let read = |path: &str| std::fs::read_to_string(tree.root().join(path)).unwrap_or_default();
    findings.extend(steps(&read(STEPS), &read(WORKFLOW)));
    findings
}

/// Every crate has a row in the table of crates, and every row a crate.
fn crates(tree: &Tree) -> Vec<TidyFinding> {
    let there: BTreeSet<String> = tree.folders("crates").into_iter().map(str::to_owned).collect();
    let text = tree.text(MAP).unwrap_or_default();
    let rows = text.lines().filter(|it| it.starts_with("| ["));
    let listed: BTreeSet<String> =
        rows.filter_map(|it| it.split_once("](crates/")?.1.split(')').next()).map(str::to_owned).collect();
    let missing = there.difference(&listed).map(|it| format!("the table of crates lacks `{it}`"));
    let stale = listed.difference(&there).map(|it| format!("there is no crate `{it}`"));
    missing.chain(stale).map(|what| TidyFinding::new(MAP, 0, what)).collect()
}

/// The workflow runs every step of `.ci/run` but `agents`, and no other.
fn steps(script: &str, workflow: &str) -> Vec<TidyFinding> {
    let block = script.split_once("steps='").and_then(|(_, it)| it.split_once('\'')).map_or("", |(it, _)| it);
    let declared: BTreeSet<&str> = block.lines().filter_map(|it| it.split_whitespace().next()).collect();
    let listed: BTreeSet<&str> = workflow
        .lines()
        .skip_while(|it| it.trim() != "steps:")
        .skip(1)
        .take_while(|it| it.trim_start().starts_with("- ") && !it.contains(':'))
        .flat_map(|it| it.split_whitespace().skip(1))
        .collect();
    let missing = declared
        .difference(&listed)
        .filter(|it| **it != "agents")
        .map(|it| format!("the workflow does not run the step `{it}`"));
    let stale = listed.difference(&declared).map(|it| format!("{STEPS} has no step `{it}`"));
    missing.chain(stale).map(|what| TidyFinding::new(WORKFLOW, 0, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn typed_lists_agree_with_the_repository() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_missing_and_a_stale_row_are_found() {
        let map = "| Crate | Job |\n|---|---|\n| [`a`](crates/a) | x |\n| [`old`](crates/old) | y |\n";
        let tree = Tree::planted(&[
            ("ARCHITECTURE.md", map),
            ("crates/a/src/lib.rs", ""),
            ("crates/b/src/lib.rs", ""),
        ]);
        let found: Vec<String> = crates(&tree).iter().map(TidyFinding::to_string).collect();
        assert_eq!(
            found,
            ["ARCHITECTURE.md: the table of crates lacks `b`", "ARCHITECTURE.md: there is no crate `old`"]
        );
        let script = "steps='fmt   formatting\ntest  tests\nagents  foreign'\n";
        let workflow = "matrix:\n  steps:\n    - fmt doc\n  name: x\n";
        let found: Vec<String> = steps(script, workflow).iter().map(|it| it.what.clone()).collect();
        assert_eq!(found, ["the workflow does not run the step `test`", ".ci/run has no step `doc`"]);
    }
}
