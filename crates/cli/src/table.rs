//! Rows with columns that line up.

use trackside_lifecycle::printable::escape;

use crate::print::{self, Colour, painted_data};

/// Rows under headings; the last column takes the remaining width.
pub(crate) fn print_table<T, const N: usize>(
    headings: [&str; N],
    items: impl IntoIterator<Item = T>,
    row: impl FnMut(T) -> [String; N],
) {
    let most = print::is_terminal().then(print::columns);
    for (at, line) in lines(headings, items.into_iter().map(row), most).iter().enumerate() {
        match at {
            0 => print::line(painted_data(line, Colour::Bold)),
            _ => print::line(line),
        }
    }
}

fn lines<const N: usize>(
    headings: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    most: Option<usize>,
) -> Vec<String> {
    // Escaped before the columns are measured.
    let rows = rows.map(|row| row.map(|cell| escape(&cell).into_owned()));
    let all: Vec<[String; N]> = std::iter::once(headings.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    all.iter().map(|row| cut(&aligned(row, &widths), most)).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
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
        let lines = |most| lines(["id", "state", "says"], rows.iter().map(|it| it.map(str::to_owned)), most);
        assert_eq!(lines(None), ["id     state  says", "T-1    OPEN   a long story", "T-100  ÜBER"]);
        assert_eq!(lines(Some(16)).get(1).map(String::as_str), Some("T-1    OPEN   a…"));
        let odd = [["a\nb", "x"], ["\u{1b}", "y"]].map(|it| it.map(str::to_owned));
        assert_eq!(
            super::lines(["id", "is"], odd.into_iter(), None),
            ["id      is", "a\\nb    x", "\\u{1b}  y"]
        );
    }
}
