//! Words without meaning are forbidden in the names of files and types.

use super::{TidyFinding, crates};
use crate::rust::{mentions, sources};
use crate::tree::Tree;

const EMPTY: [&str; 7] = ["util", "utils", "helper", "helpers", "manager", "managers", "misc"];
/// Forbidden endings of type names.
const ENDINGS: [&str; 4] = ["Util", "Helper", "Manager", "Misc"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for folder in ["crates/", "xtask/", "fuzz/", "benches/", "testkit/", "tests/"] {
        for (path, _) in tree.files(folder, ".rs") {
            let words = path.trim_end_matches(".rs").split(['/', '_', '-']);
            if let Some(word) = words.into_iter().find(|it| EMPTY.contains(it)) {
                findings.push(TidyFinding::new(
                    path,
                    0,
                    format!("`{word}` says nothing: name the file by its job"),
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
                    && let Some(word) = ENDINGS.iter().find(|it| declared.ends_with(*it))
                {
                    let what = format!("`{declared}`: `{word}` says nothing: name the type by its job");
                    findings.push(TidyFinding::new(&source.path, name.line, what));
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
    fn names_contain_no_empty_words() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn empty_words_are_found_and_words_of_the_trade_are_not() {
        let tree = Tree::planted(&[
            ("crates/engine/src/lib.rs", "pub struct LeaseManager; pub struct RequestHandler;"),
            ("crates/engine/src/time_util.rs", ""),
            ("crates/engine/src/helpers/mod.rs", ""),
            ("crates/engine/src/status.rs", ""),
        ]);
        let found: Vec<String> = check(&tree).iter().map(TidyFinding::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|it| it.contains("`LeaseManager`")), "{found:?}");
    }
}
