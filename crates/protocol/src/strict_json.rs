//! Mistakes in JSON that a reader would accept silently: a key that is there twice, and integers that become floats.

use std::collections::BTreeSet;
use std::fmt;

/// A mistake in JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonMistake {
    /// An object has a key twice. `inside` is the key of that object; empty for the whole document.
    Twice { key: String, inside: String },
    /// An integer that is not between -2^63 and 2^63 - 1.
    TooLarge(String),
}

impl fmt::Display for JsonMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { key, inside } if inside.is_empty() => {
                write!(f, "the key {key:?} is there twice. Send each key once")
            }
            Self::Twice { key, inside } => {
                write!(f, "the key {key:?} is there twice in {inside:?}. Send each key once")
            }
            Self::TooLarge(number) => write!(
                f,
                "the integer {number} is outside -2^63 to 2^63-1 and would lose digits. Send it as text, or as a float such as 1e20"
            ),
        }
    }
}

/// The longest number that is repeated in a message.
const SHOWN: usize = 40;

/// Finds the first mistake in valid JSON. Other text may have any result, but ends.
pub fn find_mistake(text: &[u8]) -> Option<JsonMistake> {
    // For each open object or list: the keys so far (none for a list), and its own key.
    let mut open: Vec<(Option<BTreeSet<String>>, String)> = Vec::new();
    let (mut at, mut key_of_next) = (0, String::new());
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' => open.push((Some(BTreeSet::new()), std::mem::take(&mut key_of_next))),
            b'[' => open.push((None, std::mem::take(&mut key_of_next))),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let end = end_of_text(text, at);
                let is_key = text.get(end..).is_some_and(|it| it.trim_ascii_start().first() == Some(&b':'));
                if is_key && let Some((Some(keys), inside)) = open.last_mut() {
                    let key: String = serde_json::from_slice(text.get(at..end)?).ok()?;
                    if !keys.insert(key.clone()) {
                        return Some(JsonMistake::Twice { key, inside: inside.clone() });
                    }
                    key_of_next = key;
                }
                at = end;
                continue;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |it: &u8| matches!(it, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = text.get(at..)?.iter().take_while(|it| is_part(it)).count();
                let number = std::str::from_utf8(text.get(at..at + length)?).ok()?;
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer && number.parse::<i64>().is_err() {
                    return Some(JsonMistake::TooLarge(number.chars().take(SHOWN).collect()));
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place after a text that begins here.
fn end_of_text(text: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_there_twice_and_integers_that_lose_digits_are_found() {
        let find = |text: &str| find_mistake(text.as_bytes()).map(|it| it.to_string()).unwrap_or_default();
        for fine in [
            r#"{"a":{"b":1},"c":{"b":[{"b":2},{"b":3}]},"s":"{\"a\":1,\"a\":2}"}"#,
            "[-9223372036854775808, 9223372036854775807, 1e300, 0.1, -0, 18446744073709551616.0]",
            r#"{"a":"b","b":"a"}"#,
            "",
        ] {
            assert_eq!(find(fine), "", "{fine}");
        }
        assert!(
            find(r#"{"a":1,"fields":{"n":1,"\u006e" : 2}}"#).contains("\"n\" is there twice in \"fields\"")
        );
        assert!(find(r#"{"a":[{"a":1,"a":2}]}"#).contains("\"a\" is there twice"));
        assert!(find(r#"{"a":1,"b":{},"a":2}"#).starts_with("the key \"a\" is there twice. Send"));
        for large in ["9223372036854775808", "-9223372036854775809", &"9".repeat(400)] {
            assert!(find(&format!("{{\"n\":[{large}]}}")).contains("outside -2^63"), "{large}");
        }
        for odd in ["{\"", "{\"a\\", "}]}", "{\"a\":1,\"a", "[\u{0}"] {
            let _ = find(odd);
        }
    }
}
