//! Rows with columns that line up.

use std::io::IsTerminal;

use crate::print::{self, Colour, painted_data};

/// Rows under headings; the last column takes the remaining width.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// On a terminal long lines are cut; a file or a pipe gets all of them.
    pub(crate) fn show(&self) {
        let most = std::io::stdout().is_terminal().then(print::columns);
        for (at, line) in self.lines(most).iter().enumerate() {
            match at {
                0 => print::line(&painted_data(line, Colour::Bold)),
                _ => print::line(line),
            }
        }
    }

    fn lines(&self, most: Option<usize>) -> Vec<String> {
        let headings: Vec<String> = self.headings.iter().map(|it| (*it).to_owned()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&headings).chain(&self.rows).collect();
        let width = |column: usize| {
            all.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        all.iter().map(|row| cut(&aligned(row, &widths), most)).collect()
    }
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
        let mut table = TextTable::new(&["id", "state", "says"]);
        table.row(["T-1", "OPEN", "a long story"].map(str::to_owned));
        table.row(["T-100", "ÜBER", ""].map(str::to_owned));
        assert_eq!(table.lines(None), ["id     state  says", "T-1    OPEN   a long story", "T-100  ÜBER"]);
        assert_eq!(table.lines(Some(16)).get(1).map(String::as_str), Some("T-1    OPEN   a…"));
    }
}
