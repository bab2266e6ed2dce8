//! A cheap scan of the source before it is parsed: limits, brackets, unreadable characters.
//!
//! Afterwards it gives the positions of words and brackets, which the parser's tree has only in part.

use std::ops::Range;

use super::{GuardError, limits};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprTokenKind {
    Word,
    Number,
    Text,
    Open(char),
    Close(char),
    Sign,
}

#[derive(Clone, Debug)]
pub(super) struct ExprToken {
    pub(super) kind: ExprTokenKind,
    pub(super) at: Range<usize>,
}

/// The tokens of one source, brackets paired.
#[derive(Debug)]
pub(super) struct ExprTokens<'s> {
    source: &'s str,
    all: Vec<ExprToken>,
    /// Pairs of opening and closing token, by position of the opening one.
    pairs: Vec<(usize, usize)>,
    /// Deepest nesting of brackets.
    pub(super) nesting: usize,
}

impl<'s> ExprTokens<'s> {
    /// Splits the source, or returns the reasons why it is refused.
    pub(super) fn read(source: &'s str) -> Result<Self, Vec<GuardError>> {
        let whole = 0..source.len();
        if source.len() > limits::SOURCE {
            let message = format!("the expression is longer than {} bytes", limits::SOURCE);
            return Err(vec![
                GuardError::new(message, whole).hint("split it, or compute a part of it in a field"),
            ]);
        }
        let mut tokens = Self { source, all: Vec::new(), pairs: Vec::new(), nesting: 0 };
        let mut errors = Vec::new();
        let mut open: Vec<(char, usize)> = Vec::new();
        let mut ternaries = 0;
        for token in scan(source) {
            let token = match token {
                Ok(token) => token,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let index = tokens.all.len();
            match token.kind {
                ExprTokenKind::Open(bracket) => open.push((bracket, index)),
                ExprTokenKind::Close(bracket) => match open.pop() {
                    Some((opening, at)) if closing(opening) == bracket => tokens.pairs.push((at, index)),
                    _ => {
                        errors.push(GuardError::new(format!("`{bracket}` closes nothing"), token.at));
                        return Err(errors);
                    }
                },
                ExprTokenKind::Sign if source.get(token.at.clone()) == Some("?") => ternaries += 1,
                ExprTokenKind::Word | ExprTokenKind::Number | ExprTokenKind::Text | ExprTokenKind::Sign => {}
            }
            tokens.nesting = tokens.nesting.max(open.len());
            tokens.all.push(token);
            let excess = match () {
                () if tokens.all.len() > limits::TOKENS => {
                    format!("more than {} tokens", limits::TOKENS)
                }
                () if open.len() > limits::BRACKETS => {
                    format!("more than {} brackets inside each other", limits::BRACKETS)
                }
                () if ternaries > limits::TERNARIES => format!("more than {} uses of `?`", limits::TERNARIES),
                () => continue,
            };
            errors.push(GuardError::new(format!("the expression has {excess}"), whole));
            return Err(errors);
        }
        for (bracket, index) in open {
            errors.push(GuardError::new(format!("`{bracket}` is never closed"), tokens.range(index)));
        }
        if tokens.all.is_empty() && errors.is_empty() {
            errors.push(GuardError::new("an expression is missing", whole));
        }
        tokens.pairs.sort_unstable();
        if errors.is_empty() { Ok(tokens) } else { Err(errors) }
    }

    /// The token at, or next after, a byte of the source.
    pub(super) fn at(&self, byte: usize) -> usize {
        self.all.partition_point(|it| it.at.end <= byte)
    }

    /// The range of a token; the end of the text if there is none.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        self.all.get(index).map_or(self.source.len()..self.source.len(), |it| it.at.clone())
    }

    pub(super) fn text(&self, index: usize) -> &'s str {
        self.source.get(self.range(index)).unwrap_or_default()
    }

    /// From a bracket to its closing bracket; any other token alone.
    pub(super) fn extent(&self, index: usize) -> Range<usize> {
        let start = self.range(index);
        match self.pairs.binary_search_by_key(&index, |it| it.0).ok().and_then(|it| self.pairs.get(it)) {
            Some((_, close)) => start.start..self.range(*close).end,
            None => start,
        }
    }
}

fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The tokens one after the other, without spaces and comments.
pub(super) fn scan(source: &str) -> impl Iterator<Item = Result<ExprToken, GuardError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = source.get(at..)?;
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                at += first.len_utf8();
            } else if rest.starts_with("//") {
                at += rest.find('\n').unwrap_or(rest.len());
            } else {
                let start = at;
                let (length, kind) = token(rest, first);
                at += length;
                return Some(match kind {
                    Ok(kind) => Ok(ExprToken { kind, at: start..at }),
                    Err(error) => Err(error.shifted(start)),
                });
            }
        }
    })
}

fn token(rest: &str, first: char) -> (usize, Result<ExprTokenKind, GuardError>) {
    if let Some(length) = text(rest) {
        return match length {
            Ok(length) => (length, Ok(ExprTokenKind::Text)),
            Err(length) => (length, Err(GuardError::new("the text has no closing quote", 0..1))),
        };
    }
    let decimal = first == '.' && rest.chars().nth(1).is_some_and(|it| it.is_ascii_digit());
    if first.is_ascii_digit() || decimal {
        return (number(rest), Ok(ExprTokenKind::Number));
    }
    if is_word(first) {
        return (rest.find(|it| !is_word(it)).unwrap_or(rest.len()), Ok(ExprTokenKind::Word));
    }
    if ["&&", "||", "==", "!=", "<=", ">="].iter().any(|it| rest.starts_with(it)) {
        return (2, Ok(ExprTokenKind::Sign));
    }
    match first {
        '(' | '[' | '{' => (1, Ok(ExprTokenKind::Open(first))),
        ')' | ']' | '}' => (1, Ok(ExprTokenKind::Close(first))),
        '+' | '-' | '*' | '/' | '%' | '<' | '>' | '!' | '?' | ':' | '.' | ',' => (1, Ok(ExprTokenKind::Sign)),
        '=' | '&' | '|' => {
            let error = GuardError::new(format!("unexpected `{first}`"), 0..1);
            (1, Err(error.hint(format!("did you mean `{first}{first}`?"))))
        }
        _ => {
            let length = first.len_utf8();
            (
                length,
                Err(GuardError::new(format!("unexpected character `{}`", first.escape_debug()), 0..length)),
            )
        }
    }
}

fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// The length of a number such as `12`, `0x1F`, `1.5e-3`.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let hexadecimal = rest.starts_with("0x");
    let mut end = 0;
    loop {
        let it = byte(end);
        let part = it.is_ascii_alphanumeric()
            || (it == b'.' && byte(end + 1).is_ascii_digit())
            || (matches!(it, b'+' | b'-')
                && !hexadecimal
                && end > 0
                && matches!(byte(end - 1), b'e' | b'E')
                && byte(end + 1).is_ascii_digit());
        if !part {
            return end;
        }
        end += 1;
    }
}

/// The length of a text literal, if one begins here; the error holds the length of an unclosed one.
fn text(rest: &str) -> Option<Result<usize, usize>> {
    let prefix = rest.find(|it: char| !matches!(it, 'r' | 'R' | 'b' | 'B'))?;
    let raw = rest.get(..prefix)?.contains(['r', 'R']);
    let quote = rest.get(prefix..)?.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    if prefix > 2 {
        return None;
    }
    let body = rest.get(prefix..)?;
    let triple: String = [quote; 3].iter().collect();
    let end = if body.starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = prefix + end.len();
    while let Some(tail) = rest.get(at..) {
        if tail.starts_with(&end) {
            return Some(Ok(at + end.len()));
        }
        let Some(next) = tail.chars().next() else { break };
        if end.len() == 1 && matches!(next, '\n' | '\r') {
            break;
        }
        at += next.len_utf8();
        if next == '\\' && !raw {
            at += tail.chars().nth(1).map_or(0, char::len_utf8);
        }
    }
    Some(Err(at.min(rest.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        scan(source).map(|it| source.get(it.unwrap().at).unwrap()).collect()
    }

    fn refusal(source: &str) -> String {
        let errors = ExprTokens::read(source).unwrap_err();
        errors.iter().map(|it| format!("{} at {:?}", it.message, it.at)).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_source_is_split_into_words_texts_and_signs() {
        assert_eq!(
            words("a.b[0] >= 1.5e-3 && !(x == 'it\\'s') // end"),
            ["a", ".", "b", "[", "0", "]", ">=", "1.5e-3", "&&", "!", "(", "x", "==", "'it\\'s'", ")"]
        );
        assert_eq!(words("r'\\' + \"\"\"a\"b\n\"\"\" + br"), ["r'\\'", "+", "\"\"\"a\"b\n\"\"\"", "+", "br"]);
        assert_eq!(words("1.size() - .5 + 0x1F"), ["1", ".", "size", "(", ")", "-", ".5", "+", "0x1F"]);
    }

    #[test]
    fn unreadable_input_is_reported_before_parsing() {
        for (source, expected) in [
            ("", "an expression is missing at 0..0"),
            ("  // nothing", "an expression is missing at 0..12"),
            ("a = b", "unexpected `=` at 2..3"),
            ("a == 'b", "the text has no closing quote at 5..6"),
            ("(a[1)", "`)` closes nothing at 4..5"),
            ("f(a, [1]", "`(` is never closed at 1..2"),
            ("é && @", "unexpected character `é` at 0..2; unexpected character `@` at 6..7"),
        ] {
            assert_eq!(refusal(source), expected, "{source}");
        }
    }

    #[test]
    fn limits_hold_before_parsing() {
        let long = format!("'{}'", "x".repeat(limits::SOURCE));
        assert!(refusal(&long).starts_with("the expression is longer than 2048 bytes"));
        let chain = format!("1{}", "+1".repeat(256));
        assert!(refusal(&chain).starts_with("the expression has more than 512 tokens"));
        assert!(ExprTokens::read(&format!("1{}", "+1".repeat(255))).is_ok());
        let deep = format!("{}1{}", "(".repeat(33), ")".repeat(33));
        assert!(refusal(&deep).starts_with("the expression has more than 32 brackets"));
        assert!(ExprTokens::read(&format!("{}1{}", "(".repeat(32), ")".repeat(32))).is_ok());
        let choices = format!("{}1", "a?b:".repeat(33));
        assert!(refusal(&choices).starts_with("the expression has more than 32 uses of `?`"));
    }

    #[test]
    fn brackets_know_their_extent() {
        let source = "f(a, [1, 2])[0]";
        let tokens = ExprTokens::read(source).unwrap();
        let extent = |byte| source.get(tokens.extent(tokens.at(byte))).unwrap();
        assert_eq!(extent(1), "(a, [1, 2])");
        assert_eq!(extent(5), "[1, 2]");
        assert_eq!(extent(12), "[0]");
        assert_eq!(extent(2), "a");
    }
}
