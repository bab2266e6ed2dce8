//! Texts, and positions in them.

/// A text handed in, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The texts that were handed in, with the path each is known by.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<(String, String)>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push((path.into(), text.into()));
        id
    }

    /// The path; empty for a file that was never added.
    pub fn path(&self, file: FileId) -> &str {
        self.file(file).map_or("", |(path, _)| path)
    }

    /// The text; empty for a file that was never added.
    pub fn text(&self, file: FileId) -> &str {
        self.file(file).map_or("", |(_, text)| text)
    }

    /// For messages: `tasks.yaml:3:5`.
    pub fn show(&self, at: Place) -> String {
        format!("{}:{}:{}", self.path(at.file), at.line, at.column)
    }

    fn file(&self, file: FileId) -> Option<&(String, String)> {
        self.files.get(usize::try_from(file.0).ok()?)
    }
}

/// A place in a file. Sorts in reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub file: FileId,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// Byte offset of the first byte.
    pub start: usize,
    /// Byte offset after the last byte.
    pub end: usize,
}

impl Place {
    /// The very beginning, for problems of a file as a whole.
    pub const fn top(file: FileId) -> Self {
        Self { file, line: 1, column: 1, start: 0, end: 0 }
    }
}

/// Finds line and column of byte offsets.
///
/// The cost is the distance from the previous offset, so a forward reader scans the text once, even with
/// long lines.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    file: FileId,
    text: &'a str,
    offset: usize,
    line: u32,
    column: u32,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: FileId, text: &'a str) -> Self {
        // A byte order mark is no column.
        let offset = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Self { file, text, offset, line: 1, column: 1 }
    }

    /// Begins at a place that is known already.
    pub(super) fn at(place: Place, text: &'a str) -> Self {
        let offset = text.floor_char_boundary(place.start);
        Self { file: place.file, text, offset, line: place.line, column: place.column }
    }

    pub(super) fn place(&mut self, start: usize, end: usize) -> Place {
        let start = self.text.floor_char_boundary(start);
        let end = self.text.floor_char_boundary(end).max(start);
        self.go(start);
        Place { file: self.file, line: self.line, column: self.column, start, end }
    }

    fn go(&mut self, to: usize) {
        if to < self.offset {
            let before = self.text.get(..to).unwrap_or_default();
            let crossed = self.text.get(to..self.offset).unwrap_or_default().matches('\n').count();
            let line_start = before.rfind('\n').map_or(0, |it| it + 1);
            let head = before.get(line_start..).unwrap_or_default();
            let head =
                if line_start == 0 { head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head) } else { head };
            self.line = self.line.saturating_sub(small(crossed)).max(1);
            self.column = 1 + small(head.chars().count());
        } else {
            for char in self.text.get(self.offset..to).unwrap_or_default().chars() {
                if char == '\n' {
                    self.line += 1;
                    self.column = 1;
                } else {
                    self.column += 1;
                }
            }
        }
        self.offset = to;
    }
}

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_counts_characters_in_both_directions() {
        let text = "\u{feff}añb\n日本: x\r\nend";
        let mut cursor = Cursor::new(FileId(0), text);
        let at = |cursor: &mut Cursor, word: &str| {
            let start = text.find(word).unwrap();
            let place = cursor.place(start, start + word.len());
            (place.line, place.column)
        };
        assert_eq!(at(&mut cursor, "a"), (1, 1));
        assert_eq!(at(&mut cursor, "b"), (1, 3));
        assert_eq!(at(&mut cursor, "x"), (2, 5));
        assert_eq!(at(&mut cursor, "end"), (3, 1));
        assert_eq!(at(&mut cursor, "本"), (2, 2));
        assert_eq!(at(&mut cursor, "ñ"), (1, 2));
        assert_eq!(
            cursor.place(usize::MAX, 0),
            Place { file: FileId(0), line: 3, column: 4, start: text.len(), end: text.len() }
        );
    }

    #[test]
    fn an_unknown_file_is_empty() {
        assert_eq!(Sources::new().text(FileId(7)), "");
    }
}
