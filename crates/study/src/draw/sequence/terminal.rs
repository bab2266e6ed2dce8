//! Sequences for the terminal: lifelines side by side, arrows between them.

use super::{Sequence, SequenceKind, SequenceStep, ends};
use crate::draw::page::{TextPage, Tone, columns_of, wrapped};

impl Sequence {
    /// The story in `width` columns.
    pub fn text(&self, width: usize) -> TextPage {
        let everyone = self.everyone();
        let mut page = TextPage::default();
        if !self.title.is_empty() {
            for line in wrapped(&self.title, width.max(40)) {
                page.line().put(Tone::Strong, &line);
            }
            page.line();
        }
        if everyone.is_empty() {
            return page;
        }
        let longest = everyone.iter().map(|it| columns_of(it)).max().unwrap_or(0);
        let labels = self.steps.iter().map(|it| columns_of(&it.label) + 5).max().unwrap_or(0);
        let count = everyone.len().max(1);
        // Wide enough for the longest word, otherwise as narrow as the page requires.
        let step = labels.max(longest + 2).min((width.max(40) / count).max(longest + 2)).max(10);
        let first = longest / 2 + 1;
        let columns = Columns { first, step, count };
        columns.heads(&mut page, &everyone);
        for (n, it) in self.steps.iter().enumerate() {
            columns.step(&mut page, n + 1, it, ends(&everyone, it), width.max(40));
        }
        columns.rest(&mut page);
        page
    }
}

struct Columns {
    first: usize,
    step: usize,
    count: usize,
}

impl Columns {
    fn at(&self, n: usize) -> usize {
        self.first + n * self.step
    }

    /// The lifelines, as characters that arrows may be written over.
    fn lines(&self) -> Vec<char> {
        let mut row = vec![' '; self.at(self.count.saturating_sub(1)) + 1];
        for n in 0..self.count {
            put(&mut row, self.at(n), '│');
        }
        row
    }

    fn rest(&self, page: &mut TextPage) {
        let row: String = self.lines().into_iter().collect();
        page.line().put(Tone::Dim, &row);
    }

    fn heads(&self, page: &mut TextPage, everyone: &[&str]) {
        let mut row = String::new();
        for (n, name) in everyone.iter().enumerate() {
            let start = self.at(n).saturating_sub(columns_of(name) / 2);
            let gap = start.saturating_sub(columns_of(&row));
            row.push_str(&" ".repeat(if row.is_empty() { gap } else { gap.max(1) }));
            row.push_str(name);
        }
        page.line().put(Tone::Strong, &row);
    }

    fn step(
        &self,
        page: &mut TextPage,
        number: usize,
        step: &SequenceStep,
        (from, to): (usize, usize),
        width: usize,
    ) {
        self.rest(page);
        let (tone, shaft, head) = match step.kind {
            SequenceKind::Ask => (Tone::Move, '─', None),
            SequenceKind::Refused => (Tone::Bad, '─', Some('✗')),
            SequenceKind::Timer => (Tone::Time, '╌', None),
            SequenceKind::Engine => (Tone::Dim, '┄', None),
            SequenceKind::Crash => (Tone::Bad, '╌', Some('✗')),
        };
        let clock = if step.kind == SequenceKind::Timer { "⏱ " } else { "" };
        let label = format!("{number}. {clock}{}", step.label);
        let (left, right) = (self.at(from.min(to)), self.at(from.max(to)));
        // The text is above its arrow, over the lifelines it crosses.
        let mut row = self.lines();
        let start = if from == to { right + 2 } else { left + 2 };
        row.truncate(start);
        row.resize(start, ' ');
        let room = width.saturating_sub(start).max(24);
        let lead: String = row.into_iter().collect();
        // Lifelines continue behind the text where there is room.
        let tail =
            |text: &str| -> String { self.lines().into_iter().skip(start + columns_of(text)).collect() };
        for line in wrapped(&label, room) {
            page.line().put(Tone::Dim, &lead).put(tone, &line).put(Tone::Dim, &tail(&line));
        }
        let mut row = self.lines();
        if from == to {
            row.resize(row.len().max(right + 4), ' ');
            put(&mut row, right, '├');
            put(&mut row, right + 1, shaft);
            put(&mut row, right + 2, head.unwrap_or('╯'));
        } else {
            for at in left + 1..right {
                put(&mut row, at, shaft);
            }
            let rightwards = from < to;
            put(&mut row, self.at(from), if rightwards { '├' } else { '┤' });
            let tip = if rightwards { right - 1 } else { left + 1 };
            put(&mut row, tip, head.unwrap_or(if rightwards { '▶' } else { '◀' }));
        }
        let row: String = row.into_iter().collect();
        page.line().put(tone, &row);
        for line in step.note.iter().flat_map(|it| wrapped(it, room)) {
            page.line().put(Tone::Dim, &lead).put(Tone::Dim, &line).put(Tone::Dim, &tail(&line));
        }
    }
}

fn put(row: &mut [char], at: usize, c: char) {
    if let Some(it) = row.get_mut(at) {
        *it = c;
    }
}
