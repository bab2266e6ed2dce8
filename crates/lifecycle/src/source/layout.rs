//! The layout of a scalar in the text, so that a mistake inside an expression can be shown at its place.

use std::ops::Range;

use super::place::{Cursor, Place, small};

#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Not known: escapes, or not a scalar.
    Whole,
    /// One run on one line, beginning this many bytes (an opening quote) after the node.
    Straight(u32),
    /// Several runs, in order, as in block scalars and folded lines.
    Runs(Vec<LineRun>),
}

/// Bytes of the value that are contiguous in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRun {
    value: usize,
    place: Place,
}

const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

impl Layout {
    /// Finds the words of `value` one after the other between `start` and `end` of the text.
    ///
    /// Folding and indentation only ever change the white space between words, so this holds
    /// for every style; where a word is written differently the layout is not known.
    pub(super) fn find(text: &str, start: usize, end: usize, value: &str, cursor: &mut Cursor<'_>) -> Self {
        let mut runs: Vec<LineRun> = Vec::new();
        let mut here = start;
        let mut next = 0;
        for word in value.split(SPACE) {
            let offset = next;
            next += word.len() + 1; // every SPACE is one byte
            if word.is_empty() {
                continue;
            }
            let rest = text.get(here..end).unwrap_or_default();
            let tail = rest.trim_start_matches(SPACE);
            if !tail.starts_with(word) {
                return Self::Whole;
            }
            let gap = rest.get(..rest.len() - tail.len()).unwrap_or_default();
            here += gap.len();
            let goes_on = runs.last().is_some_and(|run| here - run.place.start == offset - run.value);
            if gap.contains('\n') || !goes_on {
                runs.push(LineRun { value: offset, place: cursor.place(here, here) });
            }
            here += word.len();
        }
        Self::Runs(runs)
    }

    pub(super) fn place_of(&self, whole: Place, value: &str, range: Range<usize>) -> Place {
        self.find_place(whole, value, range).unwrap_or(whole)
    }

    fn find_place(&self, whole: Place, value: &str, range: Range<usize>) -> Option<Place> {
        value.get(range.clone())?;
        let from = self.run_of(whole, range.start)?;
        let last = self.run_of(whole, range.end.saturating_sub(1).max(range.start))?;
        let ahead = small(value.get(from.value..range.start)?.chars().count());
        Some(Place {
            column: from.place.column + ahead,
            start: from.place.start + (range.start - from.value),
            end: (last.place.start + range.end.checked_sub(last.value)?).min(whole.end.max(whole.start)),
            ..from.place
        })
    }

    /// The run that a byte of the value belongs to.
    fn run_of(&self, whole: Place, offset: usize) -> Option<LineRun> {
        match self {
            Self::Whole => None,
            Self::Straight(skip) => {
                let start = whole.start + usize::try_from(*skip).ok()?;
                Some(LineRun { value: 0, place: Place { column: whole.column + skip, start, ..whole } })
            }
            Self::Runs(runs) => {
                let after = runs.partition_point(|run| run.value <= offset);
                runs.get(after.checked_sub(1)?).copied()
            }
        }
    }
}
