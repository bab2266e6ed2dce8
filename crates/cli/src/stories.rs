//! Stories drawn as sequences: in the terminal, or as files.

use std::path::{Path, PathBuf};

use trackside_study::draw::sequence::{Sequence, SequenceKind, SequenceStep};
use trackside_study::draw::svg::Theme;
use trackside_study::explore::report::{ExampleRun, ExplorationReport, PromiseOutcome, RunStepKind};

use crate::files::unwritten;

/// The drawn form of a story.
pub(crate) fn sequence(title: &str, story: &ExampleRun) -> Sequence {
    let mut steps = Vec::new();
    for step in &story.steps {
        let of = step.of.clone().unwrap_or_else(|| "everything".to_owned());
        let kind = match step.kind {
            RunStepKind::Ask => SequenceKind::Ask,
            RunStepKind::Time => SequenceKind::Timer,
            RunStepKind::Sweep => SequenceKind::Engine,
            RunStepKind::Surprise => SequenceKind::Refused,
        };
        let own: Vec<&str> =
            step.then.iter().filter(|it| it.entity == of).map(|it| it.what.as_str()).collect();
        let note = (!own.is_empty()).then(|| own.join("; "));
        let label = step.what.replace(&format!(" of {of}"), "").replace(&format!(" {of}"), "");
        steps.push(SequenceStep { from: step.who.clone(), to: of.clone(), label, note, kind });
        for other in step.then.iter().filter(|it| it.entity != of) {
            steps.push(SequenceStep {
                from: of.clone(),
                to: other.entity.clone(),
                label: other.what.clone(),
                note: None,
                kind: SequenceKind::Engine,
            });
        }
    }
    if let Some(last) = steps.last_mut() {
        let note = last.note.take().map_or_else(String::new, |it| format!("{it}; "));
        last.note = Some(format!("{note}{}", story.ending));
    }
    Sequence { title: title.to_owned(), participants: Vec::new(), steps }
}

/// The counterexamples of a report: the promise and the run that breaks it.
pub(crate) fn counterexamples(report: &ExplorationReport) -> Vec<(String, &ExampleRun)> {
    let broken = report.verdicts.iter().filter_map(|it| match &it.outcome {
        PromiseOutcome::Broken { story, .. } | PromiseOutcome::NoAnswer { story, .. } => {
            Some((format!("{}: {}", it.lifecycle, it.says), story))
        }
        _ => None,
    });
    let surprises = report.surprises.iter().map(|it| (format!("{}: {}", it.lifecycle, it.says), &it.story));
    broken.chain(surprises).collect()
}

/// Writes every story of a report into a folder, as SVG and as Mermaid. Returns the files, or an error.
pub(crate) fn write(folder: &Path, pack: &str, report: &ExplorationReport) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let stories = counterexamples(report);
    if stories.is_empty() {
        return Ok(files);
    }
    std::fs::create_dir_all(folder).map_err(|it| unwritten(folder, &it))?;
    let stage: String = report.stage.chars().map(|it| if it.is_alphanumeric() { it } else { '-' }).collect();
    for (n, (title, story)) in stories.into_iter().enumerate() {
        let drawn = sequence(&title, story);
        for (ending, text) in [("svg", drawn.svg(Theme::Auto)), ("mmd", drawn.mermaid())] {
            let path = folder.join(format!("{pack}-{stage}-{}.{ending}", n + 1));
            std::fs::write(&path, text).map_err(|it| unwritten(&path, &it))?;
            files.push(path);
        }
    }
    Ok(files)
}
