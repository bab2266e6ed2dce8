//! Lines of bounded length.

use std::io::BufRead;

/// The longest message that is taken.
const LONGEST: usize = 4 * 1024 * 1024;

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BridgeLine {
    Whole(Vec<u8>),
    /// More than may be, and dropped.
    TooLong(usize),
}

/// Input, line by line.
pub(super) struct LineReader<R> {
    input: R,
    longest: usize,
}

impl<R: BufRead> LineReader<R> {
    pub fn new(input: R) -> Self {
        Self { input, longest: LONGEST }
    }

    /// The next line; none at the end, or after a read error.
    pub fn next(&mut self) -> Option<BridgeLine> {
        let (mut line, mut length, mut begun) = (Vec::new(), 0_usize, false);
        loop {
            let ready = match self.input.fill_buf() {
                Ok(ready) => ready,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            if ready.is_empty() {
                return begun.then(|| self.finished(line, length));
            }
            begun = true;
            let end = ready.iter().position(|it| *it == b'\n');
            let piece = ready.get(..end.unwrap_or(ready.len())).unwrap_or_default();
            length += piece.len();
            if length <= self.longest {
                line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Some(self.finished(line, length));
            }
        }
    }

    fn finished(&self, line: Vec<u8>, length: usize) -> BridgeLine {
        if length > self.longest { BridgeLine::TooLong(self.longest) } else { BridgeLine::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_is_read() {
        let input = std::io::BufReader::with_capacity(3, "one\n\nmuch too long\ntwo".as_bytes());
        let mut lines = LineReader { input, longest: 4 };
        let whole = |text: &str| Some(BridgeLine::Whole(text.as_bytes().to_vec()));
        assert_eq!(lines.next(), whole("one"));
        assert_eq!(lines.next(), whole(""));
        assert_eq!(lines.next(), Some(BridgeLine::TooLong(4)));
        assert_eq!(lines.next(), whole("two"));
        assert_eq!(lines.next(), None);
    }
}
