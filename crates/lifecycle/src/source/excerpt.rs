//! The piece of a line that a problem is shown with.

use super::place::{BYTE_ORDER_MARK, Place};

/// A line, or the part of a very long one around the place.
#[derive(Debug, PartialEq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Bytes of `text` to underline; empty at the end of a file.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The line begins earlier than `text` does.
    pub(super) cut: bool,
}

const CUT: &str = "…";
/// From how many bytes before the place on a line is absurdly long, and how many stay then.
const LONG: usize = 4000;
const BEFORE: usize = 60;
/// The bytes of the line that stay after the place.
const AFTER: usize = 240;
/// The most bytes that are underlined.
const MARKED: usize = 100;

impl Excerpt {
    /// Only the first line of a place that has several: a mapping is shown by its beginning.
    pub(super) fn of(text: &str, at: Place) -> Self {
        let start = text.floor_char_boundary(at.start);
        let (head, tail) = text.split_at_checked(start).unwrap_or((text, ""));
        let head = head.get(head.rfind('\n').map_or(0, |it| it + 1)..).unwrap_or_default();
        let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        let tail = tail.split('\n').next().unwrap_or_default();
        let tail = tail.strip_suffix('\r').unwrap_or(tail);

        let cut = head.len() > LONG;
        let (before, head) = match cut {
            true => (CUT, head.get(head.ceil_char_boundary(head.len() - BEFORE)..).unwrap_or_default()),
            false => ("", head),
        };
        let tail = tail.get(..tail.floor_char_boundary(AFTER)).unwrap_or_default();
        let marked = tail.floor_char_boundary(at.end.saturating_sub(at.start).min(MARKED));
        // White space at the end of the marked text gets no caret.
        let marked = tail.get(..marked).unwrap_or_default().trim_end().len();
        let start = before.len() + head.len();
        Self { text: format!("{before}{head}{tail}"), start, end: start + marked, cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn check(text: &str, start: usize, end: usize) -> (String, String) {
        let it = Excerpt::of(text, Place { start, end, ..Place::top(FileId(0)) });
        let marked = it.text[it.start..it.end].to_owned();
        (it.text, marked)
    }

    #[test]
    fn one_line_is_shown_and_long_ones_are_cut() {
        assert_eq!(check("a: b\nc: d\ne: f", 5, 14), ("c: d".into(), "c: d".into()));
        assert_eq!(check("a: b\r\nc: d", 3, 4), ("a: b".into(), "b".into()));
        assert_eq!(check("", 0, 0), (String::new(), String::new()));
        assert_eq!(check("a\n", 2, 2), (String::new(), String::new()));
        assert_eq!(check("\u{feff}a: b", 3, 4), ("a: b".into(), "a".into()));
        assert_eq!(check("a", 99, 120), ("a".into(), String::new()));
        let long = "日".repeat(2000) + "x" + &"é".repeat(1000);
        let (text, marked) = check(&long, 6000, 8001);
        assert_eq!((text.len(), marked.len()), (3 + 60 + 239, 99));
        assert!(text.starts_with("…日") && marked.starts_with("xé"));
    }
}
