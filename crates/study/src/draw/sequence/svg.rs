//! Sequences as SVG, in the same colours as diagrams.

use super::{Sequence, SequenceKind, SequenceStep, ends};
use crate::draw::metrics::{self, width};
use crate::draw::svg::{Svg, Theme, tidy};

const MARGIN: f64 = 24.0;
/// Height of a participant's box.
const HEAD: f64 = 34.0;
const LABEL: f64 = 12.0;
const NOTE: f64 = 11.0;
/// Widest label or note.
const WIDEST: f64 = 260.0;

impl Sequence {
    pub fn svg(&self, theme: Theme) -> String {
        let everyone = self.everyone();
        let columns = self.columns(&everyone);
        let rows: Vec<Lines> = self.steps.iter().map(Lines::of).collect();
        let top = MARGIN + if self.title.is_empty() { 0.0 } else { 34.0 };
        let body: f64 = rows.iter().map(Lines::height).sum();
        let bottom = top + HEAD + 16.0 + body + 12.0;
        let last = columns.last().copied().unwrap_or(MARGIN);
        let half = everyone.last().map_or(0.0, |it| head(it) / 2.0);
        let beside = self.steps.iter().zip(&rows).map(|(step, lines)| {
            let (from, to) = ends(&everyone, step);
            let at = columns.get(from.min(to)).copied().unwrap_or(0.0);
            at + lines.width() + if from == to { 40.0 } else { 16.0 }
        });
        let titled = MARGIN + width(&self.title, 18.0, true);
        let right = beside.fold(last + half, f64::max).max(titled) + MARGIN;
        let mut out = Svg::open(&self.title, &self.description(), right, bottom + MARGIN, theme);
        if !self.title.is_empty() {
            out.text(MARGIN, MARGIN + 14.0, "title", "start", &self.title);
        }
        for (name, x) in everyone.iter().zip(&columns) {
            let x = *x;
            out.line(&format!(
                r#"<path class="way engine" stroke-dasharray="2 4" d="M{} {} V{}"/>"#,
                tidy(x),
                tidy(top + HEAD),
                tidy(bottom)
            ));
            out.line(r#"<g class="state">"#);
            out.rect("edge", x - head(name) / 2.0, top, head(name), HEAD, 8.0);
            out.text(x, top + HEAD / 2.0 + 5.0, "name", "middle", name);
            out.line("</g>");
        }
        let mut y = top + HEAD + 16.0;
        for (step, lines) in self.steps.iter().zip(&rows) {
            let (from, to) = ends(&everyone, step);
            let at = |n: usize| columns.get(n).copied().unwrap_or(0.0);
            arrow(&mut out, step, lines, at(from), at(to), y);
            y += lines.height();
        }
        out.close()
    }

    /// The position of each lifeline: far enough apart for the texts between neighbours.
    fn columns(&self, everyone: &[&str]) -> Vec<f64> {
        let mut columns: Vec<f64> = Vec::new();
        for (n, name) in everyone.iter().enumerate() {
            let Some(before) = n.checked_sub(1) else {
                columns.push(MARGIN + head(name) / 2.0);
                continue;
            };
            let close = everyone.get(before).map_or(0.0, |it| (head(it) + head(name)) / 2.0 + 20.0);
            let mut x = columns.last().copied().unwrap_or(0.0) + close;
            for step in &self.steps {
                let (from, to) = ends(everyone, step);
                let lines = Lines::of(step);
                // A step to itself needs room on its right.
                let (left, right) = if from == to { (from, from + 1) } else { (from.min(to), from.max(to)) };
                if right == n {
                    let start = columns.get(left).copied().unwrap_or(0.0);
                    x = x.max(start + lines.width() + if from == to { 48.0 } else { 28.0 });
                }
            }
            columns.push(x);
        }
        columns
    }

    /// The story as text, for people who cannot see the drawing.
    fn description(&self) -> String {
        let step = |it: &SequenceStep| {
            let how = match it.kind {
                SequenceKind::Refused => " (refused)",
                SequenceKind::Crash => " (crash)",
                SequenceKind::Ask | SequenceKind::Timer | SequenceKind::Engine => "",
            };
            format!("{} to {}: {}{how}", it.from, it.to, it.label)
        };
        self.steps.iter().map(step).collect::<Vec<_>>().join("; ")
    }
}

fn head(name: &str) -> f64 {
    width(name, 14.0, true) + 28.0
}

/// The words of a step.
struct Lines {
    label: Vec<String>,
    note: Vec<String>,
}

impl Lines {
    fn of(step: &SequenceStep) -> Self {
        let label = metrics::wrap(&step.label, LABEL * 1.08, WIDEST, 3);
        let note = step.note.as_ref().map(|it| metrics::wrap(it, NOTE, WIDEST, 4)).unwrap_or_default();
        Self { label, note }
    }

    fn width(&self) -> f64 {
        let labels = self.label.iter().map(|it| width(it, LABEL, true));
        labels.chain(self.note.iter().map(|it| width(it, NOTE, false))).fold(0.0, f64::max)
    }

    fn height(&self) -> f64 {
        self.label.len() as f64 * LABEL * 1.3 + self.note.len() as f64 * NOTE * 1.3 + 26.0
    }
}

fn arrow(out: &mut Svg, step: &SequenceStep, lines: &Lines, from: f64, to: f64, y: f64) {
    let (line, words) = match step.kind {
        SequenceKind::Ask => ("asked", "asked"),
        SequenceKind::Timer => ("timed", "timed"),
        SequenceKind::Engine => ("engine", "engine"),
        SequenceKind::Refused | SequenceKind::Crash => ("refused", "refused"),
    };
    let around = from == to;
    let start = if around { from + 32.0 } else { from.min(to) + 10.0 };
    let mut base = y + LABEL;
    for text in &lines.label {
        out.line(&format!(
            r#"<text x="{}" y="{}"><tspan class="{words}">{}</tspan></text>"#,
            tidy(start),
            tidy(base),
            crate::draw::svg::escaped(text)
        ));
        base += LABEL * 1.3;
    }
    let level = base - LABEL + 6.0;
    let mark = if line == "refused" { "cross" } else { line };
    let path = if around {
        let high = level - 12.0;
        format!(
            "M{} {} C{} {} {} {} {} {}",
            tidy(from),
            tidy(high),
            tidy(from + 26.0),
            tidy(high - 2.0),
            tidy(from + 26.0),
            tidy(level + 2.0),
            tidy(from + 1.0),
            tidy(level)
        )
    } else {
        format!("M{} {} H{}", tidy(from), tidy(level), tidy(to + if from < to { -1.0 } else { 1.0 }))
    };
    let dashes = if step.kind == SequenceKind::Crash { r#" stroke-dasharray="5 4""# } else { "" };
    out.line(&format!(r#"<path class="way {line}"{dashes} d="{path}" marker-end="url(#{mark})"/>"#));
    let mut base = level + NOTE + 4.0;
    for text in &lines.note {
        out.line(&format!(
            r#"<text x="{}" y="{}"><tspan class="who">{}</tspan></text>"#,
            tidy(start),
            tidy(base),
            crate::draw::svg::escaped(text)
        ));
        base += NOTE * 1.3;
    }
}
