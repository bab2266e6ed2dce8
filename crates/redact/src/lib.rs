//! Removes keys of well-known forms from text before it is written: those of model providers, code hosts and clouds, and
//! tokens of Trackside.

use aho_corasick::{AhoCorasick, MatchKind};

/// The text that replaces a secret.
pub const REPLACEMENT: &[u8] = b"[redacted]";
/// Bytes after which a key of a known form has ended.
pub const LONGEST_KEY: usize = 512;
/// Shortest rest of a key behind its prefix.
const SHORTEST_KEY: usize = 16;

/// How well-known keys begin.
const KEY_PREFIXES: [&str; 15] = [
    "sk-ant-",
    "sk-proj-",
    "sk-or-",
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "ts_",
];

/// Finds keys by how they begin.
#[derive(Debug)]
pub struct KeyRedactor(Option<AhoCorasick>);

impl Default for KeyRedactor {
    fn default() -> Self {
        Self(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(KEY_PREFIXES).ok())
    }
}

impl KeyRedactor {
    /// The text without keys. Keeps how each begins. JSON stays JSON.
    pub fn redact(&self, text: Vec<u8>) -> Vec<u8> {
        let Some(prefixes) = &self.0 else { return text };
        let mut clean = Vec::new();
        let mut copied = 0;
        for found in prefixes.find_iter(&text) {
            let is_key_byte = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
            let starts_a_word = is_start_of_word(&text, found.start(), is_key_byte);
            let rest = text.get(found.end()..).unwrap_or_default();
            let length = rest.iter().take(LONGEST_KEY).take_while(|it| is_key_byte(it)).count();
            if starts_a_word && length >= SHORTEST_KEY && found.start() >= copied {
                clean.extend_from_slice(text.get(copied..found.end()).unwrap_or_default());
                clean.extend_from_slice(REPLACEMENT);
                copied = found.end() + length;
            }
        }
        if copied == 0 {
            return text;
        }
        clean.extend_from_slice(text.get(copied..).unwrap_or_default());
        clean
    }
}

/// Whether a word starts here. Inside a JSON string it can also follow an escaped line break or tab.
fn is_start_of_word(text: &[u8], at: usize, is_key_byte: impl Fn(&u8) -> bool) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|it| text.get(it));
    match before(1) {
        Some(b'n' | b'r' | b't') if before(2) == Some(&b'\\') => true,
        Some(it) => !is_key_byte(it),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        String::from_utf8(KeyRedactor::default().redact(text.as_bytes().to_vec())).unwrap_or_default()
    }

    #[test]
    fn known_keys_are_removed() {
        assert_eq!(
            clean(
                "true sk-ant-abcdefghijklmnopqrstuv task_ts_3 ghp_0123456789abcdefXYZ AKIAIOSFODNN7EXAMPLE1"
            ),
            "true sk-ant-[redacted] task_ts_3 ghp_[redacted] AKIA[redacted]"
        );
    }

    #[test]
    fn a_key_after_an_escaped_line_break_is_removed() {
        assert_eq!(clean(r#"{"text":"a\nsk-abcdefghijklmnopqr"}"#), r#"{"text":"a\nsk-[redacted]"}"#);
    }
}
