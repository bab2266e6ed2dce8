//! Counts of rules, scenarios and the like are generated, never typed.

use super::TidyFinding;
use crate::tree::Tree;

/// Things that a generator counts.
const COUNTED: [&str; 10] =
    ["rules", "scenarios", "cases", "checks", "points", "crates", "promises", "tests", "rows", "findings"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let pages = ["README.md", "ARCHITECTURE.md", "AGENTS.md", "CONTRIBUTING.md", "docs/spec.md"];
    let readme = |name: &&str| format!("packs/{name}/README.md");
    let packs: Vec<String> = tree.folders("packs").iter().map(readme).collect();
    let named = pages.into_iter().chain(packs.iter().map(String::as_str));
    let named = named.filter_map(|path| Some((path, tree.text(path)?)));
    named.chain(tree.files("docs/spec/", ".md")).flat_map(|(path, text)| typed_counts(path, text)).collect()
}

/// Every count outside generated parts and code.
fn typed_counts(path: &str, text: &str) -> Vec<TidyFinding> {
    let (mut generated, mut code) = (None, false);
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match (generated, marker(line)) {
            (None, Some(part)) if text.contains(&format!("<!-- /{part} -->")) => generated = Some(part),
            (Some(part), Some(end)) if end.strip_prefix('/') == Some(part) => generated = None,
            _ => {}
        }
        code ^= line.trim_start().starts_with("```");
        if generated.is_some() || code {
            continue;
        }
        // A row of rules describes behaviour: its limits are no counts of ours.
        for count in counts_in(line).into_iter().filter(|_| !line.starts_with('|')) {
            let what = format!("`{count}` is typed: put it between `<!-- counts -->` and `<!-- /counts -->`");
            findings.push(TidyFinding::new(path, number + 1, what));
        }
    }
    findings
}

/// The name in a line such as `<!-- counts -->`.
fn marker(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")
}

/// A number that is followed by the name of something counted, such as `1,210 rules`.
fn counts_in(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |it: &str| {
        it.starts_with(|it: char| it.is_ascii_digit())
            && it.chars().all(|it| it.is_ascii_digit() || it == ',')
    };
    let name = |it: &str| it.trim_matches(|it: char| !it.is_ascii_alphanumeric()).to_owned();
    let pairs = words.iter().copied().zip(words.iter().copied().skip(1));
    let pairs = pairs.map(|(number, noun)| (number.trim_matches(['(', '*', '`']), name(noun)));
    let counts = pairs.filter(|(number, noun)| is_number(number) && COUNTED.contains(&noun.as_str()));
    counts.map(|(number, noun)| format!("{number} {noun}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn no_count_is_typed() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn typed_counts_are_found_outside_generated_parts_and_code() {
        let page = "# Rules\n\n<!-- counts -->\n152 rules, 165 scenarios.\n<!-- /counts -->\n\nIt has 1,210 rules (365 cases).\n```\n7 passed, 39 rules\n```\n| B-1 | at most 3 rules | x |\nAll of 12 crates.\n";
        let readme = "Each of the 5 packs has rules. See the 20 promises.\n";
        let found = check(&Tree::planted(&[
            ("docs/spec/build.md", page),
            ("packs/build/README.md", readme),
            ("packs/build/pack.yaml", "pack: build\n"),
            ("docs/internals/spin.md", "more than 150 cases\n"),
        ]));
        let found: Vec<(&str, usize, &str)> = found
            .iter()
            .map(|it| (it.path.as_str(), it.line, it.what.split('`').nth(1).unwrap_or_default()))
            .collect();
        assert_eq!(
            found,
            [
                ("packs/build/README.md", 1, "20 promises"),
                ("docs/spec/build.md", 7, "1,210 rules"),
                ("docs/spec/build.md", 7, "365 cases"),
                ("docs/spec/build.md", 12, "12 crates"),
            ]
        );
    }
}
