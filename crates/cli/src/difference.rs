//! The changes of formatting, line by line.

/// Lines shown around a change.
const AROUND: usize = 1;

/// The changed lines with one line around them, `-` before and `+` after, with their numbers.
///
/// For texts that differ in blanks only: their lines that are not blank are the same, in the
/// same order.
pub(crate) fn of(before: &str, after: &str) -> Vec<String> {
    let rows = rows(before, after);
    let near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        rows.iter().skip(from).take(at + AROUND + 1 - from).any(|it| !matches!(it, Row::Same(_)))
    };
    let mut shown = Vec::new();
    let (mut line, mut last) = (0, None);
    for (at, row) in rows.iter().enumerate() {
        line += usize::from(!matches!(row, Row::New(_)));
        if !near(at) {
            continue;
        }
        if last.is_none_or(|it| it + 1 != at) {
            shown.push(format!("@@ line {line} @@"));
        }
        last = Some(at);
        match row {
            Row::Same(it) => shown.push(format!(" {it}")),
            Row::Changed(old, new) => {
                shown.push(format!("-{}", visible(old)));
                shown.push(format!("+{new}"));
            }
            Row::Gone(it) => shown.push(format!("-{}", visible(it))),
            Row::New(it) => shown.push(format!("+{it}")),
        }
    }
    if !before.is_empty() && !before.ends_with('\n') && after.ends_with('\n') {
        shown.push("\\ the last line was not ended".to_owned());
    }
    shown
}

enum Row<'a> {
    Same(&'a str),
    Changed(&'a str, &'a str),
    Gone(&'a str),
    New(&'a str),
}

fn rows<'a>(before: &'a str, after: &'a str) -> Vec<Row<'a>> {
    let is_blank = |it: &str| it.trim().is_empty();
    let mut old = before.split_inclusive('\n').map(bare).peekable();
    let mut new = after.split_inclusive('\n').map(bare).peekable();
    let mut rows = Vec::new();
    loop {
        rows.push(match (old.peek().copied(), new.peek().copied()) {
            (None, None) => return rows,
            (Some(a), Some(b)) if is_blank(a) == is_blank(b) => {
                old.next();
                new.next();
                if a == b { Row::Same(a) } else { Row::Changed(a, b) }
            }
            (Some(a), b) if b.is_none() || is_blank(a) => {
                old.next();
                Row::Gone(a)
            }
            (_, Some(b)) => {
                new.next();
                Row::New(b)
            }
            (Some(a), None) => {
                old.next();
                Row::Gone(a)
            }
        });
    }
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Blanks at the end, tabs and carriage returns as signs.
fn visible(line: &str) -> String {
    let inner = line.trim_end();
    let end = line.get(inner.len()..).unwrap_or_default();
    format!("{inner}{}", end.replace(' ', "·")).replace('\t', "→").replace('\r', "␍")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let before = "a: 1\nb: 2\nc:  3\t \nd: 4\n\n\n\ne: 5\nf: 6\ng: 7\nh:  8";
        let after = "a: 1\nb: 2\nc: 3\nd: 4\n\ne: 5\nf: 6\ng: 7\nh: 8\n";
        assert_eq!(
            of(before, after),
            [
                "@@ line 2 @@",
                " b: 2",
                "-c:  3→·",
                "+c: 3",
                " d: 4",
                " ",
                "-",
                "-",
                " e: 5",
                "@@ line 10 @@",
                " g: 7",
                "-h:  8",
                "+h: 8",
                "\\ the last line was not ended"
            ]
        );
        assert!(of(after, after).is_empty());
        assert_eq!(of("a: 1\r\n", "a: 1\n"), ["@@ line 1 @@", "-a: 1␍", "+a: 1"]);
        assert_eq!(of("\n\na: 1\n", "a: 1\n"), ["@@ line 1 @@", "-", "-", " a: 1"]);
    }
}
