//! From findings to places in the text, and to the form in which problems are shown.

use trackside_lifecycle::source::{FileId, Locator, Place, Problems, Sources};

use crate::finding::{Finding, Severity};

/// Where a finding stands, if its lifecycle is among the files.
///
/// What a pack shares, such as a setting, may be declared in any of its files.
pub fn place(finding: &Finding, locator: &Locator) -> Option<Place> {
    let elsewhere = || locator.names().find(|it| locator.reaches(it, &finding.way));
    match locator.reaches(&finding.of, &finding.way) || finding.of.contains('.') {
        true => locator.place(&finding.of, &finding.way),
        false => locator.place(elsewhere().unwrap_or(&finding.of), &finding.way),
    }
}

/// The findings as problems of these files, to be rendered or given as JSON like those of the loader.
pub fn locate(findings: &[Finding], sources: &Sources, files: &[FileId]) -> Problems {
    let locator = Locator::new(sources, files.iter().copied());
    let nowhere = files.first().copied();
    let mut problems = Problems::new();
    for finding in findings {
        let Some(at) = place(finding, &locator).or_else(|| nowhere.map(Place::top)) else { continue };
        let code = finding.class.code();
        let problem = match finding.severity {
            Severity::Error => problems.error(code, at, finding.message.clone()),
            Severity::Warning => problems.warning(code, at, finding.message.clone()),
            Severity::Note => problems.note(code, at, finding.message.clone()),
        };
        problem.hint(finding.advice.clone());
        problem.path = finding.way.to_string();
        if !finding.route.0.is_empty() {
            problem.example(format!("for example: {}", finding.route));
        }
    }
    problems
}
