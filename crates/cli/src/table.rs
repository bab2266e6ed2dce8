//! Rows with columns that line up.

use trackside_lifecycle::printable::escape;

use crate::print::{self, Colour, painted_data};

/// The width that the last column keeps if it needs that much, unless the terminal is very narrow.
const LAST: usize = 24;

/// Rows under headings. On a terminal too narrow for them, the last column is cut first, then the widest others.
pub(crate) fn print_table<T, const N: usize>(
    headings: [&str; N],
    items: impl IntoIterator<Item = T>,
    row: impl FnMut(T) -> [String; N],
) {
    print_rows(&headings, items.into_iter().map(row));
}

/// A table whose columns are known only from its data.
pub(crate) fn print_rows<R: AsRef<[String]>>(headings: &[&str], rows: impl IntoIterator<Item = R>) {
    let most = print::is_terminal().then(print::columns);
    for (at, line) in lines(headings, rows, most).iter().enumerate() {
        match at {
            0 => print::line(painted_data(line, Colour::Bold)),
            _ => print::line(line),
        }
    }
}

fn lines<R: AsRef<[String]>>(
    headings: &[&str],
    rows: impl IntoIterator<Item = R>,
    most: Option<usize>,
) -> Vec<String> {
    // Escaped before the columns are measured.
    let escaped = |row: R| row.as_ref().iter().map(|it| escape(it).into_owned()).collect();
    let mut all: Vec<Vec<String>> = vec![headings.iter().map(|it| (*it).to_owned()).collect()];
    all.extend(rows.into_iter().map(escaped));
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let widths = most.map_or(widths.clone(), |most| fit(&widths, most));
    all.iter().map(|row| cut(&aligned(row, &widths), most)).collect()
}

/// The widths of columns that fit into a line, each at least 1.
fn fit(widths: &[usize], most: usize) -> Vec<usize> {
    let Some((last, others)) = widths.split_last() else { return Vec::new() };
    let room = most.saturating_sub(2 * others.len());
    let least = LAST.min(room / widths.len());
    let kept = (*last).min(least.max(room.saturating_sub(others.iter().sum())));
    // The widest others share the rest. Short ones stay whole.
    let room = room.saturating_sub(kept);
    let widest = (1..=room).rev().find(|cap| others.iter().map(|it| it.min(cap)).sum::<usize>() <= room);
    others.iter().map(|it| *it.min(&widest.unwrap_or(1))).chain([kept]).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let cell = cut(cell, Some(*width));
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
    }
    line.trim_end().to_owned()
}

/// No longer than there is room.
pub(crate) fn cut(line: &str, most: Option<usize>) -> String {
    match most {
        Some(most) if line.chars().count() > most => {
            let kept: String = line.chars().take(most.saturating_sub(1)).collect();
            format!("{kept}…")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_long_lines_are_cut_on_a_terminal() {
        let rows = [["T-1", "OPEN", "a long story"], ["T-100", "ÜBER", ""]];
        let lines = |most| lines(&["id", "state", "says"], rows.iter().map(|it| it.map(str::to_owned)), most);
        assert_eq!(lines(None), ["id     state  says", "T-1    OPEN   a long story", "T-100  ÜBER"]);
        assert_eq!(lines(Some(21)).get(1).map(String::as_str), Some("T-1    OPEN   a long…"));
        let odd = [["a\nb", "x"], ["\u{1b}", "y"]].map(|it| it.map(str::to_owned));
        assert_eq!(super::lines(&["id", "is"], odd, None), ["id      is", "a\\nb    x", "\\u{1b}  y"]);
    }

    #[test]
    fn every_column_is_on_a_narrow_terminal() {
        for widths in [&[8, 60, 6, 90][..], &[70, 70, 70, 70], &[3, 3, 200], &[40, 9, 300], &[150]] {
            for most in [40, 80, 100, 140] {
                let fitted = fit(widths, most);
                assert!(
                    fitted.iter().zip(widths).all(|(it, wanted)| (1..=*wanted).contains(it)),
                    "{fitted:?}"
                );
                let all: usize = fitted.iter().sum::<usize>() + 2 * (fitted.len() - 1);
                assert!(all <= most, "{widths:?} into {most}: {fitted:?}");
                assert!(fitted.last().is_some_and(|it| *it >= LAST.min(most / 5)), "{fitted:?}");
            }
        }
        // The last column is cut before an id is.
        assert_eq!(fit(&[40, 9, 300], 100), [40, 9, 47]);
        assert_eq!(fit(&[8, 60, 6, 90], 100), [8, 57, 6, 23]);
    }
}
