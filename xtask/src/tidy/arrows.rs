//! The allowed dependencies between crates, and the external crates that the pure ones may use.

use std::process::Command;

use serde_json::Value;

use super::TidyFinding;
use crate::tree::Tree;

/// A package of ours and the packages of ours it may use. A crate that is not here may not exist.
const ARROWS: &[(&str, &[&str])] = &[
    ("trackside-lifecycle", &[]),
    ("trackside-engine", &["trackside-lifecycle"]),
    // Scenarios compare what clients would get.
    ("trackside-study", &["trackside-engine", "trackside-lifecycle", "trackside-protocol"]),
    // `study` only with the feature `conformance`: its tests replay the scenarios of every pack.
    ("trackside-store", &["trackside-engine", "trackside-lifecycle", "trackside-study"]),
    ("trackside-runtime", &["trackside-engine", "trackside-lifecycle", "trackside-store"]),
    // Wire types are views of engine types.
    ("trackside-protocol", &["trackside-engine", "trackside-lifecycle"]),
    (
        "trackside-server",
        &[
            "trackside-engine",
            "trackside-lifecycle",
            "trackside-protocol",
            "trackside-redact",
            "trackside-runtime",
            "trackside-store",
            "trackside-study",
        ],
    ),
    ("trackside-redact", &[]),
    // The shim stays small: every run has one.
    ("trackside-shim", &["trackside-redact"]),
    // Git's command line. It knows no server.
    ("trackside-worktree", &[]),
    // A client of the HTTP API.
    ("trackside-runner", &["trackside-protocol", "trackside-shim", "trackside-worktree"]),
    (
        "trackside",
        &[
            "trackside-engine",
            "trackside-lifecycle",
            "trackside-protocol",
            "trackside-runner",
            "trackside-runtime",
            "trackside-server",
            "trackside-shim",
            "trackside-store",
            "trackside-study",
            "trackside-worktree",
        ],
    ),
    ("bench-peers", &["trackside-engine", "trackside-lifecycle", "trackside-runtime", "trackside-store"]),
    ("bench-law", &["trackside-engine", "trackside-lifecycle"]),
    ("bench-explore", &["trackside-engine", "trackside-lifecycle", "trackside-study"]),
    ("trackside-random", &[]),
    ("trackside-scripted-model", &[]),
    ("trackside-powercut", &["trackside-random"]),
    (
        "trackside-simulation",
        &[
            "trackside-engine",
            "trackside-lifecycle",
            "trackside-powercut",
            "trackside-random",
            "trackside-runtime",
            "trackside-store",
        ],
    ),
    ("trackside-crash", &["trackside-engine", "trackside-lifecycle", "trackside-runtime", "trackside-store"]),
    ("trackside-spin", &["trackside-engine", "trackside-lifecycle", "trackside-study"]),
    // Reference pages and clients are generated from the OpenAPI document and the engine's tables.
    ("xtask", &["trackside-engine", "trackside-server"]),
];

/// Our packages that only the tests of other crates may use.
const FOR_TESTS: &[&str] = &[
    "trackside-powercut",
    "trackside-protocol",
    "trackside-random",
    "trackside-scripted-model",
    "trackside-study",
];

/// The external crates that the pure crates may use: values, text and mathematics, without side effects.
const PURE: &[(&str, &[&str])] = &[
    (
        "trackside-lifecycle",
        &[
            "annotate-snippets",
            "cel",
            "jiff",
            "regex",
            "schemars",
            "serde",
            "serde-saphyr",
            "serde_json",
            "sha2",
            "smol_str",
            "thiserror",
        ],
    ),
    ("trackside-engine", &["foldhash", "jiff", "schemars", "serde", "serde_json", "sha2", "thiserror"]),
    ("trackside-study", &["foldhash", "schemars", "serde", "serde_json"]),
    // `ring` and `ureq` only with the feature `client`.
    ("trackside-protocol", &["ring", "serde", "serde_json", "thiserror", "ureq", "utoipa"]),
];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    match metadata(tree) {
        Ok(metadata) => compare(&metadata),
        Err(error) => {
            vec![TidyFinding::new("Cargo.toml", 0, format!("cargo metadata did not answer: {error}"))]
        }
    }
}

/// The manifests, as cargo reads them.
fn metadata(tree: &Tree) -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tree.root())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn compare(metadata: &Value) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let packages = list(metadata, "packages");
    let ours: Vec<String> = packages.iter().map(|it| text(it, "name")).collect();
    for package in &packages {
        let name = text(package, "name");
        let Some((_, allowed)) = ARROWS.iter().find(|(it, _)| *it == name) else {
            let what = format!(
                "the crate is not in the table of xtask/src/tidy/arrows.rs: give `{name}` its arrows there"
            );
            findings.push(TidyFinding::new(name, 0, what));
            continue;
        };
        let pure = PURE.iter().find(|(it, _)| *it == name).map(|(_, allowed)| *allowed);
        for dependency in list(package, "dependencies") {
            let used = text(&dependency, "name");
            let for_tests = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            if ours.contains(&used) {
                let by_tests = for_tests && FOR_TESTS.contains(&used.as_str());
                if !by_tests && !allowed.contains(&used.as_str()) {
                    findings.push(TidyFinding::new(
                        &name,
                        0,
                        format!("may not use `{used}`: no arrow leads there"),
                    ));
                }
            } else if let Some(pure) = pure
                && !for_tests
                && !pure.contains(&used.as_str())
            {
                let what =
                    format!("may not use the crate `{used}`: it is not on the list of the pure crates");
                findings.push(TidyFinding::new(&name, 0, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;
    use serde_json::json;

    #[test]
    fn the_dependency_rules_hold() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn test_crates_are_used_by_tests_only() {
        let planted = |kind: &str| {
            json!({ "packages": [
                { "name": "trackside-store", "dependencies": [ { "name": "trackside-powercut", "kind": kind } ] },
                { "name": "trackside-powercut", "dependencies": [] },
            ] })
        };
        assert_eq!(compare(&planted("dev")), []);
        assert_eq!(compare(&planted("normal")).len(), 1);
    }

    #[test]
    fn a_wrong_arrow_an_unlisted_crate_and_an_acting_crate_are_found() {
        let planted = json!({ "packages": [
            { "name": "trackside-lifecycle", "dependencies": [
                { "name": "trackside-engine", "kind": null },
                { "name": "tokio", "kind": null },
                { "name": "proptest", "kind": "dev" },
                { "name": "cel", "kind": null },
            ] },
            { "name": "trackside-engine", "dependencies": [ { "name": "trackside-lifecycle", "kind": null } ] },
            { "name": "trackside-goodies", "dependencies": [] },
        ] });
        let said: Vec<String> = compare(&planted).iter().map(TidyFinding::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said.iter().any(|it| it.contains("may not use `trackside-engine`")), "{said:?}");
        assert!(said.iter().any(|it| it.contains("may not use the crate `tokio`")), "{said:?}");
        assert!(said.iter().any(|it| it.contains("`trackside-goodies` its arrows")), "{said:?}");
    }
}
