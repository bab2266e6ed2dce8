//! Sequences as Mermaid.

use super::{Sequence, SequenceKind, ends};
use trackside_lifecycle::printable::is_printable;

impl Sequence {
    /// A `sequenceDiagram` for Mermaid.
    pub fn mermaid(&self) -> String {
        let everyone = self.everyone();
        let mut out = String::from("sequenceDiagram\n");
        for (n, name) in everyone.iter().enumerate() {
            out.push_str(&format!("    participant p{n} as {}\n", escaped(name)));
        }
        for step in &self.steps {
            let (from, to) = ends(&everyone, step);
            let arrow = match step.kind {
                SequenceKind::Ask => "->>",
                SequenceKind::Refused => "-x",
                SequenceKind::Timer => "-)",
                SequenceKind::Engine => "-->>",
                SequenceKind::Crash => "--x",
            };
            let label = escaped(&step.label);
            out.push_str(&format!(
                "    p{from}{arrow}p{to}: {}\n",
                if label.is_empty() { " " } else { &label }
            ));
            if let Some(note) = &step.note {
                let over = if from == to {
                    format!("p{from}")
                } else {
                    format!("p{},p{}", from.min(to), from.max(to))
                };
                out.push_str(&format!("    Note over {over}: {}\n", escaped(note)));
            }
        }
        out
    }
}

/// Mermaid reads `#` and `;` as its own, and a line ends a statement.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '#' => out.push_str("#35;"),
            ';' => out.push_str("#59;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            ':' => out.push_str("#58;"),
            c if c.is_control() => out.push(' '),
            c if !is_printable(c) => out.push_str(&format!("#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}
