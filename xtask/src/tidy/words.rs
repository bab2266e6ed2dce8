//! Words the glossary avoids, because they say nothing about what a thing is.

use super::{Finding, crates};
use crate::rust::{mentions, sources};
use crate::tree::Tree;

/// Not in the names of files and folders.
const AVOIDED: [&str; 18] = [
    "util", "utils", "helper", "helpers", "manager", "managers", "service", "services", "handler",
    "handlers", "misc", "data", "info", "item", "items", "object", "status", "workflow",
];
/// Not at the end of the names of types.
const DOERS: [&str; 5] = ["Manager", "Helper", "Util", "Service", "Handler"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in ["crates/", "xtask/", "fuzz/", "benches/", "testkit/", "tests/"] {
        for (path, _) in tree.files(folder, ".rs") {
            let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
            let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders).split('/');
            let words = folders.chain([name]).flat_map(|it| it.split(['_', '-']));
            if let Some(word) = words.into_iter().find(|it| AVOIDED.contains(it)) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("`{word}` says nothing: name it by what it does"),
                ));
            }
        }
    }
    for src in crates(tree) {
        for source in sources(tree, &src).product {
            let mentions = mentions(&source.tokens);
            for pair in mentions.windows(2) {
                let [keyword, name] = pair else { continue };
                let declares = matches!(keyword.segments.as_slice(), [it] if ["struct", "enum", "trait", "type"].contains(&it.as_str()));
                let declared = name.segments.first().filter(|_| declares);
                if let Some(declared) = declared
                    && let Some(word) = DOERS.iter().find(|it| declared.ends_with(*it))
                {
                    let what = format!("`{declared}`: `{word}` says nothing: name it by its job");
                    findings.push(Finding::new(&source.path, name.line, what));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn names_say_what_things_are() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn empty_words_are_found() {
        let tree = Tree::planted(&[
            ("crates/engine/src/lib.rs", "pub struct LeaseManager; pub struct TimerKeeper;"),
            ("crates/engine/src/time_util.rs", ""),
            ("crates/engine/src/helpers/mod.rs", ""),
            ("crates/engine/src/database.rs", ""),
        ]);
        let found: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|it| it.contains("`LeaseManager`")), "{found:?}");
    }
}
