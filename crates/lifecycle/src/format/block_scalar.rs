//! The lines of a text that begins with `|` or `>`.

/// The lines of a block text that follow the line break at `at`, and where the last one ends.
///
/// They are indented by `exact` if the header says so, else as much as the first that is not
/// blank, which is at least `least`. A longer blank line before that one ends the text there.
pub(super) fn body(
    text: &str,
    at: usize,
    least: usize,
    exact: Option<usize>,
    keep: bool,
) -> (Vec<String>, usize) {
    let Some(after) = text.get(at..).and_then(|it| it.strip_prefix('\n')) else { return (Vec::new(), at) };
    let lines = || after.split_inclusive('\n').map(|it| it.strip_suffix('\n').unwrap_or(it));
    let spaces = |it: &str| it.len() - it.trim_start_matches(' ').len();
    let is_blank = |it: &str| spaces(it) == it.len();
    let blank = lines().take_while(|it| is_blank(it)).map(spaces).max().unwrap_or(0);
    let first = lines().find(|it| !is_blank(it)).map(spaces).filter(|it| *it >= least.max(blank));
    let indent = exact.or(first).unwrap_or(usize::MAX);

    let (mut found, mut end, mut kept) = (Vec::new(), at, (0, at));
    for line in lines() {
        if spaces(line) < indent && !is_blank(line) {
            break;
        }
        let inner = line.get(indent.min(line.len())..).unwrap_or_default();
        end += 1 + line.len();
        // Spaces after the last line break are no line.
        if end == text.len() && inner.is_empty() {
            break;
        }
        found.push(inner.to_owned());
        if keep || !inner.is_empty() {
            kept = (found.len(), end);
        }
    }
    found.truncate(kept.0);
    (found, kept.1)
}
