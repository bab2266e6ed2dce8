//! Aligns values in columns.
//!
//! If most values of a mapping are aligned by hand, all of them are aligned. A blank line, a comment or a
//! value of several lines under its key begins a new table, which may continue in the column of the
//! previous one or have its own, never further right than the longest key of the mapping needs. Elsewhere
//! one space follows the colon. Mappings with a single key that are the items of one list are rows of a
//! table as well.

use std::collections::BTreeMap;

use super::tokens::{YamlBlock, YamlEntry, YamlToken, YamlTokenKind};

/// Gives every value in the line of its key the spaces before it.
pub(super) fn align(tokens: &mut [YamlToken], blocks: &[YamlBlock]) {
    for block in blocks.iter().filter(|it| !it.list) {
        let rows: Vec<Option<Row>> = block.entries.iter().map(|it| row(tokens, it, it.key)).collect();
        let widest = block.entries.iter().filter_map(|it| width(tokens, it.key)).max().unwrap_or(0);
        set(tokens, sections(rows), widest);
    }
    for rows in lists(tokens, blocks).into_values() {
        let widest = rows.iter().flatten().map(|it| it.needs).max().unwrap_or(0);
        set(tokens, sections(rows), widest);
    }
}

/// The rows of lists of mappings with a single key, such as `- task/T-1: { state: DONE }`.
fn lists(tokens: &[YamlToken], blocks: &[YamlBlock]) -> BTreeMap<usize, Vec<Option<Row>>> {
    let mut lists: BTreeMap<usize, (usize, Vec<Option<Row>>)> = BTreeMap::new();
    for block in blocks {
        if let (Some((list, item)), [entry]) = (block.item, block.entries.as_slice()) {
            let (last, rows) = lists.entry(list).or_default();
            if *last + 1 != item {
                rows.push(None);
            }
            *last = item;
            rows.push(row(tokens, entry, entry.key.saturating_sub(1)));
        }
    }
    lists.into_iter().map(|(list, (_, rows))| (list, rows)).collect()
}

fn set(tokens: &mut [YamlToken], sections: Vec<Vec<Row>>, widest: usize) {
    let columns: Vec<usize> = sections.iter().filter_map(|it| table(it, widest)).collect();
    for section in &sections {
        let column = match table(section, widest) {
            Some(column) => column,
            // Keys of one length, or a single key, may use the column of the others.
            None => {
                common(section).filter(|it| *it >= widest || columns.contains(it)).unwrap_or(0).min(widest)
            }
        };
        for row in section {
            if let Some(value) = tokens.get_mut(row.value) {
                value.pad = Some(column.saturating_sub(row.needs) + 1);
            }
        }
    }
}

/// A key and its value on one line.
struct Row {
    value: usize,
    /// The smallest distance of the value from its key.
    needs: usize,
    /// The column of the value in the text.
    begins: usize,
    /// A blank line or a comment is above it.
    apart: bool,
}

/// The row of an entry in the line that `first` begins; none if its value is below it.
fn row(tokens: &[YamlToken], entry: &YamlEntry, first: usize) -> Option<Row> {
    let needs = width(tokens, entry.key)?;
    let value = entry.value?;
    let colon = tokens.get(entry.key + 1)?;
    let begins = needs + tokens.get(value)?.column.saturating_sub(colon.column + 2);
    let above = first.checked_sub(1).and_then(|it| tokens.get(it));
    let below_comment = above.is_some_and(|it| it.kind == YamlTokenKind::Comment && it.breaks > 0);
    let apart = below_comment || tokens.get(first).is_some_and(|it| it.breaks > 1);
    Some(Row { value, needs, begins, apart })
}

/// Rows that follow each other.
fn sections(rows: Vec<Option<Row>>) -> Vec<Vec<Row>> {
    let mut sections: Vec<Vec<Row>> = Vec::new();
    let mut goes_on = false;
    for row in rows {
        match (row, sections.last_mut()) {
            (None, _) => goes_on = false,
            (Some(row), Some(section)) if goes_on && !row.apart => section.push(row),
            (Some(row), _) => {
                sections.push(vec![row]);
                goes_on = true;
            }
        }
    }
    sections
}

/// The smallest distance of a value from its key; none for keys over several lines.
fn width(tokens: &[YamlToken], key: usize) -> Option<usize> {
    let text = &tokens.get(key)?.text;
    (!text.contains('\n')).then(|| text.chars().count() + 2)
}

/// The column of a table: keys of several lengths, most of the short ones followed by spaces.
fn table(section: &[Row], widest: usize) -> Option<usize> {
    let longest = section.iter().map(|it| it.needs).max()?;
    let shortest = section.iter().map(|it| it.needs).min()?;
    let common = common(section)?;
    let short = section.iter().filter(|it| it.needs < common);
    let set = short.clone().filter(|it| it.begins > it.needs).count();
    (shortest < longest && set * 2 > short.count()).then(|| common.clamp(longest, widest))
}

/// The column of most rows that have more than one space.
fn common(section: &[Row]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for row in section.iter().filter(|it| it.begins > it.needs) {
        *counts.entry(row.begins).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(begins, count)| (*count, *begins)).map(|(begins, _)| begins)
}
