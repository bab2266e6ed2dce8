//! Plain English: the share of sentences with words of our old dialect, by area, never rises.
//!
//! A marker is not a fault by itself: "nobody" is right in a rule. The share shows where to look;
//! `cargo xtask prose` prints it with the worst sentences. Lower a ceiling when a share has fallen.

use std::sync::LazyLock;

use regex::Regex;

use super::TidyFinding;
use crate::packs::OWN_PACKS;
use crate::rust::{sources, texts};
use crate::tree::Tree;

/// Each area, and the share of marked sentences it may have, in tenths of a per cent.
const AREAS: [(ProseArea, usize); 7] = [
    (ProseArea::Docs, 6),
    (ProseArea::Rules, 5),
    (ProseArea::Packs, 6),
    (ProseArea::Help, 5),
    (ProseArea::Messages, 5),
    (ProseArea::Comments, 3),
    (ProseArea::Tooling, 3),
];

/// Words and turns of phrase that make readers stop.
static MARKERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"whoever|whomever|whom|whatever|whichever|somebody|nobody|anybody|told|tells|anew|afresh";
    let verbs = r"go(?:es)? on|went on|gone on|going on|lets? go|letting go|h[eo]ld(?:s|ing)? (?:\w+ ){0,3}against|seen to|sees to|comes? home";
    let clauses = r"be it|as it is now|all the same|of what|of which nothing";
    let nouns = r"what (?:is|was|are|were|has|had|nobody|somebody|it (?:is|was|has)|they (?:are|were|have)|there is|came|comes|follows|stands|goes|cannot|does|must|may|can|would|will)";
    Regex::new(&format!(r"(?i)\b(?:{words}|{verbs}|{clauses}|{nouns})\b")).ok()
});

/// A part of the repository that is measured on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProseArea {
    /// Pages, without the rules of the packs and the generated reference of commands.
    Docs,
    /// `docs/spec`.
    Rules,
    /// Texts and comments in the packs, and their README files.
    Packs,
    /// The help of every command, as `docs/reference/commands.md` shows it.
    Help,
    /// Texts in the product's Rust code.
    Messages,
    /// Comments in all Rust code.
    Comments,
    /// Comments in scripts, clients, SQL and configuration.
    Tooling,
}

/// A marked sentence.
#[derive(Debug)]
pub struct MarkedSentence {
    pub path: String,
    pub sentence: String,
    markers: usize,
}

/// The sentences of an area.
#[derive(Debug, Default)]
pub struct ProseShare {
    pub sentences: usize,
    pub marked: Vec<MarkedSentence>,
}

impl ProseShare {
    /// In tenths of a per cent.
    pub fn share(&self) -> usize {
        self.marked.len() * 1_000 / self.sentences.max(1)
    }

    /// The sentences with the most markers for their length first.
    pub fn worst(&self) -> Vec<&MarkedSentence> {
        let mut worst: Vec<&MarkedSentence> = self.marked.iter().collect();
        worst.sort_by_key(|it| (std::cmp::Reverse(1_000 * it.markers / it.sentence.len().max(1)), &it.path));
        worst.into_iter().take(10).collect()
    }

    fn add(&mut self, path: &str, text: &str) {
        for sentence in split(text) {
            self.sentences += 1;
            let markers = MARKERS.as_ref().map_or(0, |it| it.find_iter(&sentence).count());
            if markers > 0 {
                self.marked.push(MarkedSentence { path: path.to_owned(), sentence, markers });
            }
        }
    }
}

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (area, most) in AREAS {
        let measured = measure(tree, area);
        if measured.share() > most {
            let what = format!(
                "{area:?}: {} of {} sentences have words of the old dialect, {} ‰ of at most {most} ‰. Rewrite what you added; `cargo xtask prose` lists the worst",
                measured.marked.len(),
                measured.sentences,
                measured.share()
            );
            findings.push(TidyFinding::new("docs/style.md", 0, what));
            findings.extend(
                measured
                    .worst()
                    .into_iter()
                    .map(|it| TidyFinding::new(it.path.clone(), 0, it.sentence.clone())),
            );
        }
    }
    findings
}

/// The table that `cargo xtask prose` prints.
pub fn report(tree: &Tree) -> String {
    let mut lines = Vec::new();
    for (area, most) in AREAS {
        let measured = measure(tree, area);
        let share = measured.share() as f64 / 10.0;
        lines.push(format!(
            "{area:?}: {} of {} sentences, {share:.1} % (at most {:.1} %)",
            measured.marked.len(),
            measured.sentences,
            most as f64 / 10.0
        ));
        lines.extend(measured.worst().into_iter().map(|it| format!("  {}: {}", it.path, it.sentence)));
    }
    lines.join("\n")
}

fn measure(tree: &Tree, area: ProseArea) -> ProseShare {
    let mut measured = ProseShare::default();
    match area {
        ProseArea::Docs => {
            let pages = tree.files("", ".md").filter(|(path, _)| {
                (!path.contains('/') || path.starts_with("docs/"))
                    && !path.starts_with("docs/spec")
                    && *path != COMMANDS
            });
            pages.for_each(|(path, text)| measured.add_page(path, text));
        }
        ProseArea::Rules => {
            tree.files("docs/spec", ".md").for_each(|(path, text)| measured.add_page(path, text))
        }
        ProseArea::Packs => {
            tree.files("packs/", ".md").for_each(|(path, text)| measured.add_page(path, text));
            let own = OWN_PACKS.iter().flat_map(|it| tree.files(it, ".yaml"));
            for (path, text) in tree.files("packs/", ".yaml").chain(own) {
                let code = text.lines().filter(|it| !it.trim_start().starts_with('#'));
                code.for_each(|it| measured.add(path, &yaml_text(it)));
                comments(path, text).iter().for_each(|it| measured.add(path, it));
            }
        }
        ProseArea::Help => {
            let help = tree.text(COMMANDS).unwrap_or_default();
            help.lines().for_each(|it| measured.add(COMMANDS, it));
        }
        ProseArea::Messages => {
            for folder in super::crates(tree) {
                for source in sources(tree, &folder).product {
                    for (text, _) in texts(&source.tokens) {
                        measured.add(&source.path, &text);
                    }
                }
            }
        }
        ProseArea::Comments => {
            for (path, text) in tree.files("", ".rs") {
                comments(path, text).iter().for_each(|it| measured.add(path, it));
            }
        }
        ProseArea::Tooling => {
            let other = |path: &str| {
                [".rs", ".md", ".json"].iter().any(|it| path.ends_with(it)) || path.starts_with("packs/")
            };
            for (path, text) in tree.files("", "").filter(|(path, _)| !other(path)) {
                comments(path, text).iter().for_each(|it| measured.add(path, it));
            }
        }
    }
    measured
}

const COMMANDS: &str = "docs/reference/commands.md";

impl ProseShare {
    /// Markdown without its code.
    fn add_page(&mut self, path: &str, text: &str) {
        let mut fenced = false;
        let mut paragraph = String::new();
        for line in text.lines().chain([""]) {
            let trimmed = line.trim_start();
            if trimmed.starts_with("```") {
                fenced = !fenced;
                continue;
            }
            let starts = trimmed.is_empty() || trimmed.starts_with(['#', '-', '*', '|', '<']);
            if starts {
                self.add(path, &without_code(&paragraph));
                paragraph.clear();
            }
            if !fenced && !trimmed.starts_with("<!--") {
                paragraph.push_str(trimmed.trim_start_matches(['#', '-', '*', '|', ' ']));
                paragraph.push(' ');
            }
        }
    }
}

/// Code between backticks is not prose.
fn without_code(text: &str) -> String {
    text.split('`').enumerate().map(|(nth, it)| if nth % 2 == 0 { it } else { "code" }).collect()
}

/// The texts of a line of YAML: the parts after a colon or a dash, without keys and punctuation.
fn yaml_text(line: &str) -> String {
    let pieces = line.split(['{', '}', '[', ']', ',']).map(|piece| {
        let piece = piece.trim().trim_start_matches(['#', '-']).trim();
        piece.split_once(": ").map_or(piece, |(_, text)| text).trim_matches(['"', '\''])
    });
    pieces.filter(|it| it.starts_with(char::is_uppercase)).collect::<Vec<_>>().join(" | ")
}

/// The sign that begins a comment.
fn comment_sign(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "rs" | "mjs" | "ts")) => "//",
        Some((_, "sql")) => "--",
        _ => "#",
    }
}

/// Comments and Python docstrings, those on neighbouring lines joined.
fn comments(path: &str, text: &str) -> Vec<String> {
    const DOCSTRING: &str = "\"\"\"";
    let sign = comment_sign(path);
    let has_blocks = path.ends_with(".ts") || path.ends_with(".mjs");
    let mut blocks = vec![String::new()];
    let (mut docstring, mut block) = (false, false);
    for line in text.lines() {
        let line = line.trim();
        let comment = if sign == "#" && (docstring || line.starts_with(DOCSTRING)) {
            docstring ^= line.matches(DOCSTRING).count() % 2 == 1;
            Some(line.trim_matches('"'))
        } else if has_blocks && (block || line.starts_with("/*")) {
            block = !line.ends_with("*/");
            Some(line.trim_matches(['/', '*']))
        } else {
            // `#!` names the program that runs a script.
            line.strip_prefix(sign).filter(|it| sign != "#" || !it.starts_with('!'))
        };
        let comment = comment.or_else(|| trailing_comment(path, line));
        let comment = comment.map(|it| it.trim_start_matches(['/', '!', '#', '-']).trim());
        match (comment, blocks.last_mut()) {
            (Some(comment), Some(block)) if !comment.is_empty() => {
                block.push_str(&without_code(comment));
                block.push(' ');
            }
            _ => blocks.push(String::new()),
        }
    }
    blocks.retain(|it| !it.is_empty());
    blocks
}

/// The comment after a value of YAML, TOML or SQL. In other languages the sign may be code.
fn trailing_comment<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let (sign, quotes) = match path.rsplit_once('.')?.1 {
        "yaml" | "yml" | "toml" => (" # ", ['"', '\'']),
        "sql" => ("-- ", ['\'', '"']),
        _ => return None,
    };
    let (before, comment) = line.split_once(sign)?;
    quotes.iter().all(|it| before.matches(*it).count() % 2 == 0).then_some(comment)
}

/// Sentences of at least three words.
fn split(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for cell in text.split(" | ") {
        let mut sentence = String::new();
        for word in cell.split_whitespace() {
            sentence.push_str(word);
            sentence.push(' ');
            if word.ends_with(['.', '!', '?', ';']) {
                sentences.push(std::mem::take(&mut sentence));
            }
        }
        sentences.push(sentence);
    }
    sentences.retain(|it| it.split_whitespace().count() >= 3);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::clean;

    #[test]
    fn the_share_of_dialect_does_not_rise() {
        clean(&check(&Tree::here()));
    }

    #[test]
    fn markers_are_counted_by_area_and_code_is_left_out() {
        let page = "# Told\n\nIt tells whom it may concern. Plain is better.\n\n```\nnobody tells anybody anything\n```\nThe word `told` is code.";
        let code = "//! What is kept of it is made anew.\nfn f() { g(\"This server is told of it\"); }\n#[cfg(test)] mod t { const A: &str = \"nobody is told\"; }";
        let tree = Tree::planted(&[("docs/a.md", page), ("crates/a/src/lib.rs", code)]);
        let docs = measure(&tree, ProseArea::Docs);
        assert_eq!((docs.sentences, docs.marked.len()), (3, 1), "{docs:?}");
        let messages = measure(&tree, ProseArea::Messages);
        assert_eq!((messages.sentences, messages.marked.len()), (1, 1), "{messages:?}");
        let comments = measure(&tree, ProseArea::Comments);
        assert_eq!((comments.sentences, comments.marked.len()), (1, 1), "{comments:?}");
        let findings = check(&tree);
        assert!(findings[0].what.starts_with("Docs: 1 of 3 sentences"), "{findings:?}");
        assert!(findings[1].what.starts_with("It tells whom"), "{findings:?}");
    }

    #[test]
    fn comments_of_scripts_and_configuration_are_measured() {
        let script =
            "#!/bin/sh\n# Tells whom it may concern.\n# Plain is better.\necho \"nobody # is told\"\n";
        let python = "def f():\n    \"\"\"Tells nobody anything.\n\n    Plain is better.\n    \"\"\"\n";
        let tree = Tree::planted(&[
            ("scripts/a", script),
            ("scripts/a.d/b.py", python),
            ("a/b.sql", "create table a (b); -- Told to nobody else.\n-- Plain is better.\n"),
            ("a/Cargo.toml", "a = \"# told to nobody\" # What is kept of it.\n"),
            ("a/c.ts", "/**\n * Made anew each time.\n */\nlet a = 1; // nobody sees this\n"),
            ("packs/a/b.yaml", "a: b # What is kept of it.\n# Somebody must be told.\n"),
        ]);
        let tooling = measure(&tree, ProseArea::Tooling);
        assert_eq!((tooling.sentences, tooling.marked.len()), (8, 5), "{tooling:?}");
        let packs = measure(&tree, ProseArea::Packs);
        assert_eq!((packs.sentences, packs.marked.len()), (2, 2), "{packs:?}");
    }

    #[test]
    fn texts_of_yaml_are_found_without_their_keys() {
        let text = yaml_text(
            "  start: { from: ASSIGNED, says: Nobody starts it twice, takes: { plan: Say what is planned } }",
        );
        assert_eq!(split(&text), ["Nobody starts it twice ", "Say what is planned "]);
    }
}
