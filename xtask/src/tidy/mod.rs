//! The rules of the repository itself, as ordinary tests.
//!
//! Each check is a function from the tree to findings, with a test on a planted violation beside it and one
//! on this repository.

mod arrows;
mod counts;
mod guarantees;
mod links;
mod lints;
mod maps;
mod markers;
mod pages;
pub mod prose;
mod purity;
pub mod spec;
mod states;
mod unique;
mod wire;
mod words;

use std::fmt;

use crate::tree::Tree;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TidyFinding {
    pub path: String,
    /// Zero for a file as a whole.
    pub line: usize,
    pub what: String,
}

impl TidyFinding {
    pub fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Every check.
pub fn all(tree: &Tree) -> Vec<TidyFinding> {
    let checks = [
        arrows::check,
        purity::check,
        states::check,
        words::check,
        unique::check,
        wire::check,
        markers::check,
        links::check,
        lints::check,
        maps::check,
        spec::check,
        counts::check,
        guarantees::check,
        pages::check,
        prose::check,
    ];
    let mut findings: Vec<TidyFinding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

/// Folders of Rust that is part of the product.
fn crates(tree: &Tree) -> Vec<String> {
    tree.folders("crates").into_iter().map(|it| format!("crates/{it}/src")).collect()
}

/// Fails a test of this repository with its findings.
#[cfg(test)]
fn clean(findings: &[TidyFinding]) {
    let lines: Vec<String> = findings.iter().map(TidyFinding::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
}
