//! Parts to lines.

use super::STEP;
use super::tokens::{YamlBlock, YamlToken, YamlTokenKind};

/// The least number of spaces before a comment at the end of a line.
const BEFORE_COMMENT: usize = 2;

/// The last column that comments behind lines are set in.
const COMMENT_COLUMN: usize = 160;

/// Writes every part in the line it was in.
pub(super) fn write(tokens: &[YamlToken], blocks: &[YamlBlock]) -> String {
    let line = Line::default();
    let mut writer =
        Writer { tokens, blocks, leads: leads(tokens, blocks), lines: Vec::new(), line, open: Vec::new() };
    for index in 0..tokens.len() {
        writer.token(index);
    }
    if !tokens.is_empty() {
        writer.end_line();
    }
    let mut lines = writer.lines;
    place_comments(&mut lines);
    let mut result = String::new();
    for line in lines {
        result.push_str(&line.text);
        if let Some((column, comment)) = line.comment {
            result.push_str(&" ".repeat(column.saturating_sub(line.width)));
            result.push_str(&comment);
        }
        result.push('\n');
    }
    result
}

#[derive(Default)]
struct Line {
    text: String,
    /// Characters of the text.
    width: usize,
    /// A comment behind it, and its column.
    comment: Option<(usize, String)>,
}

impl Line {
    fn indented(indent: usize) -> Self {
        Self { text: " ".repeat(indent), width: indent, comment: None }
    }

    fn add(&mut self, spaces: usize, text: &str) {
        self.text.push_str(&" ".repeat(spaces));
        self.text.push_str(text);
        self.width += spaces + text.chars().count();
    }
}

/// Brackets that are not closed yet.
struct Bracket {
    column: usize,
    /// The column that its lines are indented from if the first part is on the next line.
    base: usize,
    /// The column of its first part, once that is known.
    inside: Option<usize>,
    /// The first part is in the line of the bracket.
    hanging: bool,
}

struct Writer<'a> {
    tokens: &'a [YamlToken<'a>],
    blocks: &'a [YamlBlock],
    /// The column of each part that is the first in its line and not in brackets.
    leads: Vec<usize>,
    lines: Vec<Line>,
    line: Line,
    open: Vec<Bracket>,
}

impl Writer<'_> {
    fn token(&mut self, index: usize) {
        let Some(token) = self.tokens.get(index) else { return };
        let before = index.checked_sub(1).and_then(|it| self.tokens.get(it));
        let after = self.tokens.get(index + 1);
        let first = before.is_none() || token.breaks > 0;
        if let YamlTokenKind::Body(lines) = &token.kind {
            self.end_line();
            self.body(lines, token.indent);
            return;
        }
        let mut spaces = 0;
        if first {
            if before.is_some() {
                self.end_line();
            }
            if before.is_some() && token.breaks > 1 {
                self.lines.push(Line::default());
            }
            self.line = Line::indented(self.indent(index, token, before));
        } else if token.kind == YamlTokenKind::Comment {
            self.line.comment = Some((token.column, token.text.to_string()));
            return;
        } else if token.kind == YamlTokenKind::Comma
            && after.is_some_and(|it| it.breaks == 0 && matches!(it.kind, YamlTokenKind::Close { .. }))
        {
            return;
        } else {
            spaces = token.pad.unwrap_or_else(|| gap(before, token));
        }
        let column = self.line.width + spaces;
        if let Some(bracket) = self.open.last_mut()
            && bracket.inside.is_none()
            && token.kind != YamlTokenKind::Comment
        {
            bracket.inside = Some(column);
            bracket.hanging = !first;
        }
        match token.kind {
            YamlTokenKind::Open { .. } => {
                let base = self.base(token);
                self.open.push(Bracket { column, base, inside: None, hanging: false });
            }
            YamlTokenKind::Close { .. } => {
                self.open.pop();
            }
            _ => {}
        }
        self.text(token, spaces);
    }

    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }

    /// The text of a part; that of a scalar may have several lines.
    fn text(&mut self, token: &YamlToken, spaces: usize) {
        let mut lines = token.text.split('\n');
        let first = lines.next().unwrap_or_default();
        let indent = match self.open.last().and_then(|it| it.inside) {
            Some(inside) => inside + STEP,
            None => token.block.and_then(|it| self.blocks.get(it)).map_or(STEP, |it| it.indent + STEP),
        };
        let several = token.text.contains('\n');
        self.line.add(spaces, if several { trim_line(first, &token.text) } else { first });
        for line in lines {
            self.end_line();
            let line = trim_line(line.trim_start_matches([' ', '\t']), &token.text);
            if !line.is_empty() {
                self.line.add(indent, line);
            }
        }
    }

    /// Ends in the last line of the text, so the next token starts a new line.
    fn body(&mut self, lines: &[String], indent: usize) {
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.line.add(indent, line);
            }
        }
    }

    /// The column of a part that is the first in its line.
    fn indent(&self, index: usize, token: &YamlToken, before: Option<&YamlToken>) -> usize {
        let Some(bracket) = self.open.last() else {
            return self.leads.get(index).copied().unwrap_or(0);
        };
        let inside = bracket.inside.unwrap_or(bracket.base + STEP);
        match (&token.kind, before.map(|it| &it.kind)) {
            (YamlTokenKind::Close { .. }, _) if bracket.hanging => bracket.column,
            (YamlTokenKind::Close { .. }, _) => bracket.base,
            (_, Some(YamlTokenKind::Colon { .. })) => inside + STEP,
            _ => inside,
        }
    }

    fn base(&self, token: &YamlToken) -> usize {
        if let Some(outer) = self.open.last() {
            return outer.inside.unwrap_or(outer.base + STEP);
        }
        match token.block.and_then(|it| self.blocks.get(it)) {
            Some(block) if block.list => block.indent + STEP,
            Some(block) => block.indent,
            None => 0,
        }
    }
}

/// The column of each part that is the first in its line.
///
/// A comment is aligned with the next token, or with the block that it ends, depending on its own column.
fn leads(tokens: &[YamlToken], blocks: &[YamlBlock]) -> Vec<usize> {
    let mut leads: Vec<usize> = tokens.iter().map(|it| it.indent).collect();
    // The current column of the next token, and its new one.
    let mut next = (0, 0);
    let mut columns = vec![0; tokens.len()];
    for ((token, lead), column) in tokens.iter().zip(&mut leads).zip(&mut columns).rev() {
        if token.kind == YamlTokenKind::Comment {
            (*column, *lead) = next;
        } else {
            next = (token.column, token.indent);
        }
    }
    let mut last = None;
    for ((token, lead), next) in tokens.iter().zip(&mut leads).zip(columns) {
        if token.kind != YamlTokenKind::Comment {
            last = token.block;
            continue;
        }
        let around = std::iter::successors(last.and_then(|it| blocks.get(it)), |it| blocks.get(it.parent?));
        let under = around.filter(|it| it.column <= token.column && it.column > next);
        if let Some(block) = under.max_by_key(|it| it.column) {
            *lead = block.indent;
        }
    }
    leads
}

/// Spaces between two parts of one line.
fn gap(before: Option<&YamlToken>, token: &YamlToken) -> usize {
    let Some(before) = before else { return 0 };
    match (&before.kind, &token.kind) {
        (YamlTokenKind::Open { .. }, YamlTokenKind::Close { .. }) => 0,
        (YamlTokenKind::Open { roomy }, _) => usize::from(*roomy),
        (_, YamlTokenKind::Close { roomy }) => usize::from(*roomy),
        (_, YamlTokenKind::Comma) => 0,
        (_, YamlTokenKind::Colon { apart }) => usize::from(*apart),
        _ => 1,
    }
}

/// A line of a scalar of several lines without trailing blanks, which have no meaning unless one is
/// escaped.
fn trim_line<'a>(line: &'a str, whole: &str) -> &'a str {
    let shorn = line.trim_end_matches([' ', '\t']);
    if whole.starts_with('"') && shorn.ends_with('\\') {
        return line.get(..shorn.len() + 1).unwrap_or(line);
    }
    shorn
}

/// Aligns comments at the ends of consecutive lines: in the column of most of them, or further right if a
/// line is too long. After very long lines they follow at once.
fn place_comments(lines: &mut [Line]) {
    for group in lines.chunk_by_mut(|a, b| a.comment.is_some() == b.comment.is_some()) {
        let mut least = 0;
        let mut columns: Vec<usize> = Vec::new();
        for line in group.iter_mut() {
            let end = line.width + BEFORE_COMMENT;
            let Some((column, _)) = &mut line.comment else { continue };
            if end > COMMENT_COLUMN {
                *column = end;
            } else {
                least = least.max(end);
                columns.push((*column).min(COMMENT_COLUMN));
            }
        }
        columns.sort_unstable();
        let most = columns.chunk_by(|a, b| a == b).max_by_key(|it| it.len()).and_then(|it| it.first());
        let place = most.copied().unwrap_or(0).max(least);
        for line in group.iter_mut().filter(|it| it.width + BEFORE_COMMENT <= COMMENT_COLUMN) {
            if let Some((column, _)) = &mut line.comment {
                *column = place;
            }
        }
    }
}
