//! Removes secrets from output before it is written.
//!
//! Works on whole lines. A value with line breaks is matched line by line, and each value also in the form that it
//! has inside a JSON string.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use trackside_redact::{KeyRedactor, LONGEST_KEY, REPLACEMENT};

/// Shorter values are not secrets, and removing them would damage the output.
pub(crate) const SHORTEST: usize = 8;
/// A line is cut here if it has no end.
const LONGEST_LINE: usize = 1 << 20;
#[derive(Debug)]
pub(crate) struct Redactor {
    values: Option<AhoCorasick>,
    keys: KeyRedactor,
    /// Bytes that stay in the buffer when a line is cut.
    overlap: usize,
    line: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new(values: &[String]) -> Self {
        let mut needles: BTreeSet<Vec<u8>> = BTreeSet::new();
        for value in values {
            for part in std::iter::once(value.as_str())
                .chain(value.split(['\n', '\r']))
                .filter(|it| it.len() >= SHORTEST)
            {
                needles.insert(part.as_bytes().to_vec());
                if let Ok(quoted) = serde_json::to_string(part) {
                    needles.insert(quoted.trim_matches('"').as_bytes().to_vec());
                }
            }
        }
        let overlap = needles.iter().map(Vec::len).max().unwrap_or(0).max(LONGEST_KEY);
        let search = |needles: Vec<Vec<u8>>| {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(needles);
            built.ok()
        };
        let values = search(needles.into_iter().collect());
        Self { values, keys: KeyRedactor::default(), overlap, line: Vec::new() }
    }

    /// Takes the next bytes of a stream and returns the lines that are complete, without secrets.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.line.extend_from_slice(bytes);
        // A carriage return ends a line, too: a program that redraws one may never write another end.
        if let Some(end) = self.line.iter().rposition(|it| matches!(it, b'\n' | b'\r')) {
            let rest = self.line.split_off(end + 1);
            let complete = std::mem::replace(&mut self.line, rest);
            return self.clean(&complete);
        }
        if self.line.len() < LONGEST_LINE {
            return Vec::new();
        }
        // A secret that begins in the overlap is still whole in the next part.
        let line = std::mem::take(&mut self.line);
        let mut clean = self.clean(&line);
        let rest = clean.split_off(clean.len().saturating_sub(self.overlap));
        self.line = rest;
        clean
    }

    /// The rest of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.line);
        self.clean(&rest)
    }

    fn clean(&self, text: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(text.len());
        let mut copied = 0;
        for found in self.values.iter().flat_map(|it| it.find_iter(text)) {
            clean.extend_from_slice(text.get(copied..found.start()).unwrap_or_default());
            clean.extend_from_slice(REPLACEMENT);
            copied = found.end();
        }
        clean.extend_from_slice(text.get(copied..).unwrap_or_default());
        self.keys.redact(clean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(values: &[&str], text: &str, step: usize) -> String {
        let values: Vec<String> = values.iter().map(|it| (*it).to_owned()).collect();
        let mut redactor = Redactor::new(&values);
        let mut out = Vec::new();
        for part in text.as_bytes().chunks(step) {
            out.extend(redactor.push(part));
        }
        out.extend(redactor.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_value_is_removed_wherever_the_reads_are_cut() {
        for step in 1..40 {
            let out = whole(&["canary-value-1"], "a canary-value-1 b\nx{\"v\":\"canary-value-1\"}\n", step);
            assert_eq!(out, "a [redacted] b\nx{\"v\":\"[redacted]\"}\n", "step {step}");
        }
    }

    #[test]
    fn a_value_is_removed_in_its_json_form_and_line_by_line() {
        assert_eq!(whole(&["quo\"te\\long"], r#"{"a":"quo\"te\\long"}"#, 7), r#"{"a":"[redacted]"}"#);
        assert_eq!(
            whole(&["first line\nsecond line"], "x first line\nsecond line y", 5),
            "x [redacted]\n[redacted] y"
        );
        assert_eq!(
            whole(&["first part\rsecond part"], "x first part\rsecond part y", 5),
            "x [redacted]\r[redacted] y"
        );
    }

    #[test]
    fn known_keys_are_removed_and_short_values_stay() {
        let out =
            whole(&["true"], "true sk-ant-abcdefghijklmnopqrstuv task_ts_3 ghp_0123456789abcdefXYZ\n", 9);
        assert_eq!(out, "true sk-ant-[redacted] task_ts_3 ghp_[redacted]\n");
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_hides_a_value_at_the_cut() {
        let secret = "canary-value-1";
        for at in LONGEST_LINE - 20..LONGEST_LINE + 2 {
            let text = format!("{}{secret}{}", "x".repeat(at), "y".repeat(2000));
            assert!(!whole(&[secret], &text, 64 * 1024).contains(secret), "at {at}");
        }
    }
}
