//! The generated parts of the packs' pages are up to date.

use super::TidyFinding;
use crate::pack_pages::pack_pages;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for page in pack_pages(tree) {
        match page {
            Ok(page) if tree.text(&page.path) == Some(page.text.as_str()) => {}
            Ok(page) => findings.push(TidyFinding::new(
                page.path,
                0,
                "its generated part is out of date: run `cargo xtask reference`",
            )),
            Err((path, part)) => findings.push(TidyFinding::new(
                path,
                0,
                format!("add `<!-- {part} -->` and `<!-- /{part} -->` for the generated part"),
            )),
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn generated_parts_are_up_to_date() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_wrong_count_and_missing_markers_are_found() {
        let found = check(&Tree::planted(&[
            ("docs/spec/mission.md", "<!-- counts -->\n7 rules, 9 scenarios.\n<!-- /counts -->\n"),
            ("docs/spec/build.md", "# Rules\n"),
            ("packs/mission/pack.yaml", "pack: mission\n"),
            ("packs/build/pack.yaml", "pack: build\n"),
        ]));
        let found: Vec<String> = found.iter().map(TidyFinding::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/spec/build.md: add `<!-- counts -->`"), "{found:?}");
        assert!(found[1].starts_with("docs/spec/mission.md: its generated part is out of date"), "{found:?}");
    }
}
