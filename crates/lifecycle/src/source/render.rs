//! Problems for people, with an excerpt, and for machines.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use serde::Serialize;

use super::excerpt::Excerpt;
use super::place::{Cursor, Sources};
use super::problem::{ProblemSeverity, Problems, SourceProblem};

/// The number of problems shown before the rest are only counted.
const SHOWN: usize = 50;

impl Problems {
    /// Renders the problems in the style of the Rust compiler.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let sorted = self.sorted();
        let mut blocks: Vec<String> =
            sorted.iter().take(SHOWN).map(|it| render(it, sources, &renderer)).collect();
        if let Some(rest @ 1..) = sorted.len().checked_sub(SHOWN) {
            let s = if rest == 1 { "" } else { "s" };
            blocks.push(format!("and {rest} more problem{s}, not shown"));
        }
        blocks.join("\n\n")
    }

    /// A list with one object for each problem.
    pub fn to_json(&self, sources: &Sources) -> serde_json::Value {
        self.sorted().into_iter().map(|it| to_json(it, sources)).collect()
    }
}

fn render(problem: &SourceProblem, sources: &Sources, renderer: &Renderer) -> String {
    let at = problem.at;
    let level = match problem.severity {
        ProblemSeverity::Error => Level::ERROR,
        ProblemSeverity::Warning => Level::WARNING,
        ProblemSeverity::Note => Level::NOTE,
    };
    let Excerpt { text, start, end, cut } = Excerpt::of(sources.text(at.file), at);
    let path = normalize_untrusted_str(sources.path(at.file));
    let line = usize::try_from(at.line).unwrap_or(usize::MAX);
    let snippet = Snippet::source(text).line_start(line).annotation(AnnotationKind::Primary.span(start..end));
    let title = level.primary_title(normalize_untrusted_str(&problem.message)).id(problem.code);
    let mut group = if cut {
        // The column would be counted from the cut.
        let column = usize::try_from(at.column).unwrap_or(usize::MAX);
        title.element(Origin::path(path).line(line).char_column(column)).element(snippet)
    } else {
        title.element(snippet.path(path))
    };
    if let Some(example) = &problem.example {
        group = group.element(Level::NOTE.message(normalize_untrusted_str(example)));
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(normalize_untrusted_str(hint)));
    }
    renderer.render(&[group])
}

fn to_json(problem: &SourceProblem, sources: &Sources) -> serde_json::Value {
    let at = problem.at;
    let end = Cursor::at(at, sources.text(at.file)).place(at.end, at.end);
    let report = ProblemReport {
        file: sources.path(at.file),
        line: at.line,
        column: at.column,
        end_line: end.line,
        end_column: end.column,
        severity: problem.severity.word(),
        code: problem.code,
        message: &problem.message,
        hint: problem.hint.as_deref(),
        path: &problem.path,
    };
    serde_json::to_value(report).unwrap_or_default()
}

/// A problem for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemReport<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    severity: &'a str,
    code: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
    path: &'a str,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::{FileId, Place};

    fn show(path: &str, text: &str, places: &[(u32, u32, usize, usize)]) -> String {
        let mut sources = Sources::new();
        let file = sources.add(path, text);
        let mut problems = Problems::new();
        for &(line, column, start, end) in places {
            let at = Place { file, line, column, start, end };
            problems.error("odd", at, "this is \u{1b}[31modd").hint("make it\neven");
        }
        problems.render(&sources, false)
    }

    #[test]
    fn odd_text_is_rendered_safely() {
        let long = "日".repeat(200_000);
        for (text, place) in [
            ("", (1, 1, 0, 0)),
            ("", (9, 9, 9, 99)),
            ("a", (1, 2, 1, 1)),
            ("a\n", (2, 1, 2, 2)),
            ("a\r\nb\r\n", (1, 2, 1, 6)),
            ("\u{feff}a\tb\0\u{202e}c", (1, 3, 5, 6)),
            (long.as_str(), (1, 100_001, 300_000, 300_003)),
            ("👩‍👩‍👧 e\u{301} ﷽", (1, 1, 0, 18)),
            ("日本", (1, 1, 1, 2)),
            ("a", (0, 0, usize::MAX, 0)),
            ("a", (u32::MAX, u32::MAX, 0, usize::MAX)),
        ] {
            let shown = show("odd\u{1b}.yaml", text, &[place]);
            assert!(shown.contains("error[odd]: this is ␛[31modd"), "{shown}");
            assert!(
                shown.contains("odd␛.yaml") && !shown.contains('\u{1b}') && shown.len() < 2000,
                "{shown}"
            );
        }
    }

    #[test]
    fn wide_characters_keep_the_caret_in_place() {
        insta::assert_snapshot!(show("wide.yaml", "日本: \"é\" # x", &[(1, 5, 8, 12)]), @r#"
        error[odd]: this is ␛[31modd
         --> wide.yaml:1:5
          |
        1 | 日本: "é" # x
          |       ^^^
          |
          = help: make it
                  even
        "#);
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_place() {
        let line = format!("{}needle{}", "x".repeat(300), "y".repeat(300));
        insta::assert_snapshot!(show("long.yaml", &line, &[(1, 301, 300, 306)]), @r#"
        error[odd]: this is ␛[31modd
         --> long.yaml:1:301
          |
        1 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxneedleyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
          |                                                                  ^^^^^^
          |
          = help: make it
                  even
        "#);
    }

    #[test]
    fn problems_beyond_the_limit_are_counted() {
        let places: Vec<_> = (1..=53).map(|n| (n, 1, 0, 0)).collect();
        assert!(show("a.yaml", "", &places).ends_with("and 3 more problems, not shown"));
        assert_eq!(show("a.yaml", "", &[]), "");
    }

    #[test]
    fn the_json_contains_start_and_end() {
        let mut sources = Sources::new();
        let file = sources.add("a.yaml", "é: [1,\n  2]\n");
        let mut problems = Problems::new();
        let at = Place { file, line: 1, column: 4, start: 4, end: 12 };
        problems.within("é", |problems| problems.warning("odd", at, "odd").clone());
        assert_eq!(
            problems.to_json(&sources),
            json!([{
                "file": "a.yaml", "line": 1, "column": 4, "endLine": 2, "endColumn": 5, "severity": "warning",
                "code": "odd", "message": "odd", "hint": null, "path": "é",
            }])
        );
        let nowhere = Place::top(FileId(9));
        problems.error("odd", nowhere, "odd");
        assert!(problems.render(&sources, true).contains("odd"));
    }
}
