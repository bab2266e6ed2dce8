//! Every link in a document leads to a file and a heading that are there.

use super::TidyFinding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files("", ".md") {
        for (link, line) in links(text) {
            if let Some(what) = link_error(tree, path, &link) {
                findings.push(TidyFinding::new(path, line, what));
            }
        }
    }
    findings
}

fn link_error(tree: &Tree, from: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target = if file.is_empty() { from.to_owned() } else { resolve_relative(from, file) };
    if !tree.exists(&target) {
        return Some(format!("the link to {link} leads nowhere"));
    }
    let heading = heading.filter(|_| target.ends_with(".md"))?;
    let known = headings(tree.text(&target).unwrap_or_default());
    (!known.iter().any(|it| it == heading)).then(|| format!("{target} has no heading #{heading}"))
}

/// A relative path, seen from the folder of the document.
fn resolve_relative(from: &str, file: &str) -> String {
    let mut parts: Vec<&str> = if file.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Targets of links outside code, with their lines.
fn links(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (line, prose) in prose(text) {
        for (at, _) in prose.match_indices("](") {
            let rest = prose.get(at + 2..).unwrap_or_default();
            if let Some((target, _)) = rest.split_once(')') {
                let target = target.split_whitespace().next().unwrap_or_default();
                found.push((target.trim_matches(['<', '>']).to_owned(), line));
            }
        }
        if let Some((_, target)) = prose.strip_prefix('[').and_then(|it| it.split_once("]: ")) {
            found.push((target.trim().to_owned(), line));
        }
    }
    found
}

/// Lines outside of code blocks, without text in backticks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let spoken: String = line.split('`').step_by(2).collect();
            lines.push((at + 1, spoken));
        }
    }
    lines
}

/// The anchors of a document, as code forges make them.
fn headings(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
        found.push(kept.collect::<String>().to_lowercase().replace(' ', "-"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn links_lead_somewhere() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn broken_links_are_found() {
        let page = "# One: two\n[a](../README.md) [b](other.md#a-heading)\n[c](#one-two)\n`[code](gone.md)`\n```\n[d](gone.md)\n```\n[e](gone.md)\n[f](other.md#none) [g](https://a.b/c) [h](../crates)\n";
        let tree = Tree::planted(&[
            ("README.md", "# R"),
            ("docs/page.md", page),
            ("docs/other.md", "## A `heading`\n"),
            ("crates/a/src/lib.rs", ""),
        ]);
        let found: Vec<String> = check(&tree).iter().map(TidyFinding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/page.md:8: the link to gone.md leads nowhere",
                "docs/page.md:9: docs/other.md has no heading #none"
            ]
        );
    }
}
