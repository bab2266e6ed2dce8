//! Answers of the server are types of `protocol`: no handler puts JSON together by hand.

use super::TidyFinding;
use crate::rust::{mentions, sources};
use crate::tree::Tree;

const SERVER: &str = "crates/server/src";
/// Where answers are made.
const ANSWERING: [&str; 5] = ["rest/", "mcp/", "webhooks/", "middleware/", "events.rs"];
/// Files that write JSON which is no answer, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("mcp/mod.rs", "an error of JSON-RPC itself, before there is a call"),
    ("mcp/schema.rs", "JSON Schemas of the tools"),
];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for source in sources(tree, SERVER).product {
        let name = source.path.strip_prefix(SERVER).unwrap_or_default().trim_start_matches('/');
        let answers = ANSWERING.iter().any(|it| name.starts_with(it));
        if !answers || EXCEPTIONS.iter().any(|(path, _)| *path == name) {
            continue;
        }
        let json = mentions(&source.tokens).into_iter().filter(|it| it.called);
        let json = json.filter(|it| it.segments.last().is_some_and(|it| it == "json"));
        let what = "`json!`: an answer is a type in `protocol`";
        findings.extend(json.map(|it| TidyFinding::new(&source.path, it.line, what)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn answers_are_types_of_protocol() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_handler_that_puts_json_together_is_found() {
        let handler = "fn f() -> Value { json!({ \"success\": true }) }";
        let tree = Tree::planted(&[
            ("crates/server/src/lib.rs", "mod rest; mod telemetry;"),
            ("crates/server/src/rest/mod.rs", handler),
            ("crates/server/src/telemetry.rs", handler),
        ]);
        let found: Vec<TidyFinding> = check(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, "crates/server/src/rest/mod.rs");
    }
}
