//! From findings to places in the text, and to the form in which problems are shown.

use serde_json::Value as Json;
use trackside_lifecycle::source::{FileId, Locator, Place, Problems, Sources};

use crate::check::finding::{Finding, ProblemSeverity};

/// The place of a finding, if its lifecycle is among the files.
///
/// A shared declaration, such as a setting, may be in any file of the pack.
pub fn place(finding: &Finding, locator: &Locator) -> Option<Place> {
    let elsewhere = || locator.names().find(|it| locator.reaches(it, &finding.way));
    match locator.reaches(&finding.of, &finding.way) || finding.of.contains('.') {
        true => locator.place(&finding.of, &finding.way),
        false => locator.place(elsewhere().unwrap_or(&finding.of), &finding.way),
    }
}

/// The findings for programs: each like a problem of the loader, with its lifecycle or pack and the route to it.
pub fn to_json(findings: &[Finding], sources: &Sources, files: &[FileId]) -> Json {
    let locator = Locator::new(sources, files.iter().copied());
    let whole = |finding: &Finding| {
        let mut problems = Problems::new();
        add(&mut problems, finding, &locator, files);
        let mut json = problems.to_json(sources).get(0).cloned().unwrap_or_default();
        if let Json::Object(json) = &mut json {
            json.insert("of".to_owned(), Json::from(finding.of.as_str()));
            json.insert("route".to_owned(), serde_json::to_value(&finding.route).unwrap_or_default());
        }
        json
    };
    findings.iter().map(whole).collect()
}

/// The findings as problems of these files, to be rendered or given as JSON like those of the loader.
pub fn locate(findings: &[Finding], sources: &Sources, files: &[FileId]) -> Problems {
    let locator = Locator::new(sources, files.iter().copied());
    let mut problems = Problems::new();
    for finding in findings {
        add(&mut problems, finding, &locator, files);
    }
    problems
}

fn add(problems: &mut Problems, finding: &Finding, locator: &Locator, files: &[FileId]) {
    let nowhere = || files.first().copied().map(Place::top);
    let Some(at) = place(finding, locator).or_else(nowhere) else { return };
    let code = finding.class.code();
    let problem = match finding.severity {
        ProblemSeverity::Error => problems.error(code, at, finding.message.clone()),
        ProblemSeverity::Warning => problems.warning(code, at, finding.message.clone()),
        ProblemSeverity::Note => problems.note(code, at, finding.message.clone()),
    };
    problem.hint(finding.advice.clone());
    problem.path = finding.way.to_string();
    if !finding.route.0.is_empty() {
        problem.example(format!("this happens after, for example: {}", finding.route));
    }
}
