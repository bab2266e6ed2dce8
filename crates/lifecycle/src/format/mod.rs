//! One way to write a definition file.
//!
//! Only blanks change: indentation, the spaces between the parts of a line, columns, blank
//! lines. No line is broken or joined, so the order of everything and every comment stay. A
//! result that would not say the same as the text is thrown away: [`format`] reads it again
//! and compares.
//!
//! Three steps: [`cut`] takes the text apart, [`tables`] finds the columns, and [`lines`] writes
//! the parts out.

mod body;
mod cut;
mod lines;
mod tables;
mod tokens;

#[cfg(test)]
mod hand;
#[cfg(test)]
mod keeps;
#[cfg(test)]
mod style;

use crate::source::{FileId, Node, Place, Problems, Sources, read};
use tokens::{Kind, Token};

/// How deep each level is.
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
        .error("format", Place::top(file), "this file cannot be formatted without changing what it says")
        .hint("it is left as it is; please report it");
    Err(problems)
}

fn write(text: &str) -> (Vec<Token<'_>>, String) {
    let (mut tokens, blocks) = cut::cut(text);
    tables::align(&mut tokens, &blocks);
    let result = lines::write(&tokens, &blocks);
    (tokens, result)
}

/// Without a byte order mark, lines ended by a line feed alone.
fn plain_breaks(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The same values and the same comments, each in the same order.
fn says_the_same(before: &Node, tokens: &[Token], result: &str) -> bool {
    let mut sources = Sources::new();
    let file = sources.add("", result);
    let mut problems = Problems::new();
    let after = read(&sources, file, &mut problems);
    !problems.has_errors()
        && after.as_ref() == Some(before)
        && comments(&cut::cut(result).0) == comments(tokens)
}

fn comments(tokens: &[Token]) -> Vec<String> {
    let comments = tokens.iter().filter(|it| matches!(it.kind, Kind::Comment));
    comments.map(|it| it.text.trim_start_matches('#').trim().to_owned()).collect()
}
