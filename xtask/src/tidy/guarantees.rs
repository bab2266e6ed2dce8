//! Every row of the table of guarantees names tests that exist and that CI runs.

use std::collections::BTreeMap;

use super::TidyFinding;
use crate::tree::Tree;

const PAGE: &str = "docs/operating/guarantees.md";

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let Some(text) = tree.text(PAGE) else { return Vec::new() };
    let tests = tests(tree);
    let mut findings = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').collect();
        let [_, _, named] = cells.as_slice() else { continue };
        if !row.starts_with("| ") || named.trim() == "test" {
            continue;
        }
        let mut holds = 0;
        // Every second piece is between backticks.
        for name in named.split('`').skip(1).step_by(2) {
            if is_test_name(name) {
                holds += 1;
                match tests.get(name) {
                    None => findings.push(TidyFinding::new(PAGE, line, format!("there is no test `{name}`"))),
                    Some(false) => {}
                    Some(true) => {
                        let what = format!("the test `{name}` is ignored: no run of CI holds the guarantee");
                        findings.push(TidyFinding::new(PAGE, line, what));
                    }
                }
            } else if name.contains('/') || name.contains('.') {
                holds += 1;
                if !tree.exists(name) {
                    findings.push(TidyFinding::new(PAGE, line, format!("there is no file `{name}`")));
                }
            }
        }
        if holds == 0 && !named.contains("](") {
            findings.push(TidyFinding::new(PAGE, line, "the row names no test"));
        }
    }
    findings
}

/// Whether a text has the form of a test's name: packages and words have no underscore.
fn is_test_name(name: &str) -> bool {
    name.contains('_') && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
}

/// The names of all functions that are tests, and whether each is ignored.
fn tests(tree: &Tree) -> BTreeMap<&str, bool> {
    let mut tests = BTreeMap::new();
    for (_, text) in tree.files("", ".rs") {
        let (mut is_test, mut is_ignored) = (false, false);
        for line in text.lines().map(str::trim) {
            is_test |= line == "#[test]";
            is_ignored |= line.starts_with("#[ignore");
            if let Some((_, rest)) = line.split_once("fn ") {
                if is_test {
                    tests.extend(rest.split('(').next().map(|name| (name, is_ignored)));
                }
                (is_test, is_ignored) = (false, false);
            }
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn every_guarantee_names_tests_that_exist() {
        let tree = Tree::here();
        let rows = tree.text(PAGE).unwrap_or_default().lines().filter(|it| it.starts_with("| ")).count();
        assert!(rows > 20, "the page has rows: {rows}");
        clean(&check(&tree));
    }

    #[test]
    fn a_row_without_a_test_and_one_with_a_lost_or_ignored_test_are_found() {
        let page = "| guarantee | limit | test |\n|---|---|---|\n| a | | `trackside-x`: `it_holds`, `a/t.rs` |\n\
                    | b | | `it_is_gone`, `it_is_slow` |\n| c | | tested well |\n| d | | `a/lost.rs` |\n| e | | [page](x.md) |\n";
        let code = "#[test]\nfn it_holds() {}\n\nfn it_is_gone() {}\n\n\
                    #[test]\n#[ignore = \"slow\"]\nfn it_is_slow() {}\n";
        let tree = Tree::planted(&[(PAGE, page), ("a/t.rs", code)]);
        let found: Vec<String> = check(&tree).iter().map(|it| format!("{}: {}", it.line, it.what)).collect();
        assert_eq!(
            found,
            [
                "4: there is no test `it_is_gone`",
                "4: the test `it_is_slow` is ignored: no run of CI holds the guarantee",
                "5: the row names no test",
                "6: there is no file `a/lost.rs`"
            ]
        );
    }
}
