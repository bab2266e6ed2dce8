//! One way to write a definition file.
//!
//! Only blanks change: indentation, the spaces between the parts of a line, columns, blank lines. No line
//! is broken or joined, so the order of everything and every comment stay. A result with another meaning is
//! discarded: [`format()`] reads it again and compares.
//!
//! Three steps: [`tokenize`] splits the text, [`tables`] finds the columns, and [`write_lines`] writes the
//! parts out.

mod block_scalar;
mod tables;
mod tokenize;
mod tokens;
mod write_lines;

#[cfg(test)]
mod random_yaml;
#[cfg(test)]
mod roundtrip_tests;
#[cfg(test)]
mod style_tests;

use crate::source::{FileId, Node, Place, Problems, Sources, read};
use tokens::{YamlToken, YamlTokenKind};

/// The indentation per level.
const STEP: usize = 2;

/// The text as it is written by the rules, or why it is left alone: mistakes that the reader
/// finds.
pub fn format(sources: &Sources, file: FileId) -> Result<String, Problems> {
    let mut problems = Problems::new();
    let before = read(sources, file, &mut problems);
    let Some(before) = before.filter(|_| !problems.has_errors()) else { return Err(problems) };

    let text = plain_breaks(sources.text(file));
    let (tokens, result) = write(&text);
    if says_the_same(&before, &tokens, &result) {
        return Ok(result);
    }
    problems
        .error("format", Place::top(file), "this file cannot be formatted without changing its meaning")
        .hint("it is left as it is; please report it");
    Err(problems)
}

fn write(text: &str) -> (Vec<YamlToken<'_>>, String) {
    let (mut tokens, blocks) = tokenize::tokenize(text);
    tables::align(&mut tokens, &blocks);
    let result = write_lines::write(&tokens, &blocks);
    (tokens, result)
}

/// Without a byte order mark, lines ended by a line feed alone.
fn plain_breaks(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Whether both texts have the same values and comments, each in the same order.
fn says_the_same(before: &Node, tokens: &[YamlToken], result: &str) -> bool {
    let mut sources = Sources::new();
    let file = sources.add("", result);
    let mut problems = Problems::new();
    let after = read(&sources, file, &mut problems);
    !problems.has_errors()
        && after.as_ref() == Some(before)
        && comments(&tokenize::tokenize(result).0) == comments(tokens)
}

fn comments(tokens: &[YamlToken]) -> Vec<String> {
    let comments = tokens.iter().filter(|it| matches!(it.kind, YamlTokenKind::Comment));
    comments.map(|it| it.text.trim_start_matches('#').trim().to_owned()).collect()
}
