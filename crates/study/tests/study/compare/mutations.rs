//! Changing any single word of a pack is reported as a change.

use std::collections::BTreeMap;
use std::ops::Range;

use super::definition::{PACKS, Texts};
use trackside_lifecycle::model::Pack;
use trackside_study::compare::compare;

/// The ranges of the words in a text; a dot or a dash belongs to the word.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside =
            letter.is_alphanumeric() || matches!(letter, '_' | '%' | '&' | '|' | '=' | '<' | '>' | '!');
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                all.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    all
}

/// A replacement for a word, if there is a sensible one.
fn instead(word: &str, known: &BTreeMap<String, usize>, turn: usize) -> Option<String> {
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    if !digits.is_empty() {
        let number: u64 = digits.parse().ok()?;
        return Some(format!("{}{}", number + 1, &word[digits.len()..]));
    }
    let other = match word {
        "true" => "false",
        "false" => "true",
        "&&" => "||",
        "||" => "&&",
        "==" => "!=",
        "!=" => "==",
        "<" => "<=",
        "<=" => "<",
        ">" => ">=",
        ">=" => ">",
        "human" => "agent",
        "agent" => "human",
        "warning" => "critical",
        "success" => "failure",
        "cancelled" => "success",
        _ if word.chars().all(|it| it.is_alphanumeric() || it == '_') => {
            // Another word of the file that is used as often as names are; packs that do not compile are
            // skipped.
            let like = |it: &&String| {
                it.as_str() != word
                    && it.chars().all(char::is_uppercase) == word.chars().all(char::is_uppercase)
            };
            let others: Vec<&String> = known.keys().filter(like).collect();
            return others.get((turn * 7 + word.len()) % others.len().max(1)).map(|it| (*it).clone());
        }
        _ => return None,
    };
    Some(other.to_owned())
}

fn pack_text(pack: &Pack) -> String {
    format!("{pack:?}")
}

/// Changes one word after the other. Returns the number of effective changes, and those that were not
/// reported.
fn try_mutations(name: &str, most: usize) -> (usize, Vec<String>) {
    let texts = Texts::shipped_pack(name);
    let before = texts.compiled().unwrap();
    let shape = pack_text(&before);
    let (mut counted, mut silent) = (0, Vec::new());
    let files = texts.lifecycles.len() + 1;
    let all: Vec<(usize, Range<usize>)> = (0..files)
        .flat_map(|file| words(text_of(&texts, file)).into_iter().map(move |at| (file, at)))
        .collect();
    let stride = (all.len() / most).max(1);
    for (turn, (file, at)) in all.iter().enumerate().skip(stride / 2).step_by(stride) {
        let text = text_of(&texts, *file);
        let mut known = BTreeMap::new();
        for it in words(text) {
            *known.entry(text[it].to_owned()).or_insert(0_usize) += 1;
        }
        let Some(other) = instead(&text[at.clone()], &known, turn) else { continue };
        let mut mutated = texts.clone();
        let changed = format!("{}{other}{}", &text[..at.start], &text[at.end..]);
        match file {
            0 => mutated.pack = changed,
            _ => mutated.lifecycles[file - 1] = changed,
        }
        let Ok(after) = mutated.compiled() else { continue };
        if pack_text(&after) == shape {
            continue;
        }
        counted += 1;
        if compare(&before, &after).is_empty() {
            let line = text[..at.start].lines().count();
            let row = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            silent.push(format!("{name} file {file} line {line}: {} -> {other} in {row}", &text[at.clone()]));
        }
    }
    (counted, silent)
}

fn text_of(texts: &Texts, file: usize) -> &str {
    if file == 0 { &texts.pack } else { &texts.lifecycles[file - 1] }
}

#[test]
fn every_change_of_a_word_is_reported() {
    let most = std::env::var("MUTATIONS").ok().and_then(|it| it.parse().ok()).unwrap_or(12);
    let (mut counted, mut silent) = (0, Vec::new());
    for name in PACKS {
        let (some, unsaid) = try_mutations(name, most);
        assert!(some > 0, "{name}: only {some} changes counted");
        counted += some;
        silent.extend(unsaid);
    }
    assert!(silent.is_empty(), "{} of {counted} changes are not told:\n{}", silent.len(), silent.join("\n"));
}
