//! One public type name, one thing: no two public types of the workspace share a name.
//!
//! Public means declared with `pub`, `pub(crate)` or `pub(super)`. The rule covers all Rust code: the product,
//! its tests and benches, `testkit`, `tests`, `benches`, `fuzz` and `xtask`. A type without `pub` is visible in
//! one module only, so its name may be used again elsewhere.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

use super::TidyFinding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut declared: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for (path, text) in tree.files("", ".rs") {
        // The compiler reports a file that is not Rust.
        let Ok(tokens) = text.parse::<TokenStream>() else { continue };
        for (name, line) in public_types(&tokens) {
            declared.entry(name).or_default().push((path.to_owned(), line));
        }
    }
    let repeated = declared.into_iter().filter(|(_, places)| places.len() > 1);
    let repeated = repeated.flat_map(|(name, places)| {
        let all: Vec<String> = places.iter().map(|(path, line)| format!("{path}:{line}")).collect();
        let what = format!("`{name}` names {} types: {}. Give each its own name", all.len(), all.join(", "));
        places.into_iter().take(1).map(move |(path, line)| TidyFinding::new(path, line, what.clone()))
    });
    repeated.collect()
}

/// Types declared with `pub`, `pub(crate)` or `pub(super)`, including those inside inline modules and
/// macros.
fn public_types(tokens: &TokenStream) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    gather(tokens.clone(), &mut found);
    found
}

fn gather(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let mut public = false;
    let mut declares = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                let text = word.to_string();
                if declares && public {
                    found.push((text.clone(), word.span().start().line));
                }
                declares = ["struct", "enum", "trait", "type", "union"].contains(&text.as_str());
                // Only these may be between `pub` and the item.
                public = text == "pub" || public && (declares || ["unsafe", "auto"].contains(&text.as_str()));
            }
            TokenTree::Group(group) => {
                declares = false;
                let restriction = group.delimiter() == proc_macro2::Delimiter::Parenthesis && public;
                gather(group.stream(), found);
                public = restriction;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => (public, declares) = (false, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn a_public_type_name_means_one_thing() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_duplicate_public_name_is_found_and_private_ones_are_ignored() {
        let tree = Tree::planted(&[
            ("crates/a/src/lib.rs", "pub struct Part; struct Own; mod inner { pub(super) enum Step {} }"),
            ("crates/b/src/lib.rs", "pub(crate) struct Part(pub u8); enum Own {}\ntrait T { type Part; }"),
            ("crates/c/src/lib.rs", "pub type Step = u8;\n#[cfg(test)] mod tests { pub struct Case; }"),
            ("crates/c/tests/all.rs", "struct Step;\npub(crate) struct Case;"),
            ("benches/a/src/main.rs", "\n\npub enum Part {}"),
        ]);
        let found: Vec<String> = check(&tree).iter().map(TidyFinding::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("`Case` names 2 types"), "{found:?}");
        let parts =
            "`Part` names 3 types: benches/a/src/main.rs:3, crates/a/src/lib.rs:1, crates/b/src/lib.rs:1";
        assert!(found[1].contains(parts), "{found:?}");
        assert!(found[2].contains("`Step` names 2 types"), "{found:?}");
    }
}
