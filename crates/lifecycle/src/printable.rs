//! Characters that must not reach a terminal or a log line as they are: they move the cursor, end a line, reorder
//! the text around them or are invisible.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is a control character, a line or paragraph separator, a bidirectional mark or invisible.
/// The joiners of emoji and of some scripts (U+200C and U+200D) are printable.
pub fn is_printable(it: char) -> bool {
    !it.is_control()
        && !matches!(it,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every unprintable character as an escape: `\n`, `\u{1b}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_with(text, |out, it| out.extend(it.escape_default()))
}

/// The same, but line breaks and tabs stay: for a document of several lines that a program reads.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_with(text, |out, it| match it {
        '\n' | '\t' => out.push(it),
        _ => out.extend(it.escape_default()),
    })
}

/// JSON text with the unprintable characters of its strings as `\u202e`. The document stays the same. Line breaks
/// between its members stay.
pub fn escape_json(text: &str) -> Cow<'_, str> {
    escape_with(text, |out, it| {
        if it == '\n' {
            return out.push(it);
        }
        for unit in it.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn escape_with(text: &str, put: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let Some(first) = text.find(|it| !is_printable(it)) else { return Cow::Borrowed(text) };
    let (start, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(start);
    for it in rest.chars() {
        if is_printable(it) { out.push(it) } else { put(&mut out, it) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_the_rest_stays() {
        let text = "é 日本 👩\u{200d}👧 a\\nb";
        assert_eq!(escape(text), text);
        assert!(matches!(escape(text), Cow::Borrowed(_)));
        let hostile = "x\u{1b}]0;T\u{7}\r\n\t\0\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{2028}\u{e0041}";
        let expected =
            "x\\u{1b}]0;T\\u{7}\\r\\n\\t\\u{0}\\u{7f}\\u{9b}2J\\u{202e}\\u{2066}\\u{200b}\\u{2028}\\u{e0041}";
        assert_eq!(escape(hostile), expected);
        assert_eq!(escape(expected), expected, "escaping twice changes nothing");
        assert_eq!(escape_lines("\ta\r\n\u{1b}"), "\ta\\r\n\\u{1b}");
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let document = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{9b}\u{7f}\n\u{e0041}é" });
        let text = format!("{document:#}");
        let escaped = escape_json(&text);
        assert!(escaped.chars().all(|it| it == '\n' || is_printable(it)), "{escaped:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), document);
    }
}
