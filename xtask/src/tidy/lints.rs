//! Every crate inherits the lints of the workspace, so `unsafe` is forbidden in all of them but one.

use super::TidyFinding;
use crate::tree::Tree;

/// The crate that may use `unsafe`: a file layer of SQLite, which is a C interface, used by tests only. A
/// crate cannot allow a lint that the workspace forbids, so it lists the lints itself.
const UNSAFE: &str = "testkit/powercut/Cargo.toml";
/// Lints that one sets its own way.
const OWN: &str = "unsafe_code";

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let wanted = section(tree, "Cargo.toml", "[workspace.lints.");
    for (path, text) in tree.files("", "/Cargo.toml").filter(|(path, _)| !path.starts_with("fuzz/")) {
        if path == UNSAFE {
            let listed = section(tree, path, "[lints.");
            for lint in wanted.iter().filter(|it| !it.starts_with(OWN) && !listed.contains(it)) {
                let what = format!("the lints of the workspace have `{lint}`: list it here too");
                findings.push(TidyFinding::new(path, 0, what));
            }
            if !listed.contains(&"unsafe_code = \"deny\"") {
                let what = "`unsafe_code` must be denied, and allowed again only where C is spoken to";
                findings.push(TidyFinding::new(path, 0, what));
            }
        } else if !text.contains("[lints]\nworkspace = true") {
            let what = "the crate has lints of its own: add `[lints]` with `workspace = true`";
            findings.push(TidyFinding::new(path, 0, what));
        }
    }
    findings
}

/// The lines of the tables of a manifest whose headers begin with `begin`.
fn section<'a>(tree: &'a Tree, path: &str, begin: &str) -> Vec<&'a str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in tree.text(path).unwrap_or_default().lines() {
        if line.starts_with('[') {
            inside = line.starts_with(begin);
        } else if inside && line.contains('=') {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn every_crate_inherits_the_lints() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn a_crate_that_makes_its_own_rules_is_found() {
        let workspace =
            "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[workspace.lints.clippy]\npanic = \"warn\"";
        let own = "[lints.rust]\nunsafe_code = \"allow\"\n";
        let tree = Tree::planted(&[
            ("Cargo.toml", workspace),
            ("crates/a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", own),
            ("fuzz/Cargo.toml", ""),
            (UNSAFE, own),
        ]);
        let found: Vec<String> = check(&tree).iter().map(TidyFinding::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("crates/b/Cargo.toml"), "{found:?}");
        assert!(found[1].contains("`panic = \"warn\"`"), "{found:?}");
        assert!(found[2].contains("must be denied"), "{found:?}");
    }
}
