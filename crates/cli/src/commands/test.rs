//! `trackside test`: runs scenario files in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value as Json, json};
use trackside_engine::Law;
use trackside_engine::coverage::points_of;
use trackside_engine::journal::Journal;
use trackside_engine::trace::{Point, Trace};
use trackside_lifecycle::source::{FileId, Problems, Sources};
use trackside_study::scenario::{self, ScenarioReport};

use crate::args::TestArgs;
use crate::packs::{self, PackOnDisk};
use crate::print::{self, Colour, painted, painted_data};
use crate::styled::Styled;
use crate::{exit, files};

pub(crate) fn run(args: &TestArgs) -> u8 {
    let mut sources = Sources::default();
    let packs = match packs::find_or_report(&args.paths, &mut sources) {
        Ok(packs) => packs,
        Err(code) => return code,
    };
    let results: Vec<PackResult> = packs.iter().map(|pack| test(pack, &sources, args)).collect();
    if args.json {
        let all: Vec<Json> = results.iter().map(|it| it.to_json(&sources, args.coverage)).collect();
        print::json(&json!({ "packs": all }));
    } else {
        for result in &results {
            result.show(&sources, args.coverage);
        }
    }
    if let Some(path) = &args.journal
        && let Err(why) = write_journals(path, &results)
    {
        print::message(&why);
        return exit::USAGE;
    }
    let passed: usize = results.iter().map(|it| it.passed()).sum();
    let failed: usize = results.iter().map(|it| it.failed()).sum();
    let broken = results.iter().any(|it| it.problems.has_errors());
    let bare = args.coverage && results.iter().any(|it| !it.missed.is_empty());
    if results.len() > 1 || args.json {
        print::message(styled!("{passed} passed, {failed} failed"));
    }
    if failed > 0 || broken || bare || passed == 0 { exit::REFUSED } else { exit::DONE }
}

/// Writes the journal of each scenario: a single one into the file itself, several beside it, numbered.
fn write_journals(path: &Path, results: &[PackResult]) -> Result<(), String> {
    let all: Vec<&Journal> = results.iter().flat_map(|it| &it.journals).collect();
    for (n, journal) in all.iter().enumerate() {
        let file = match all.len() {
            1 => path.to_owned(),
            _ => PathBuf::from(format!("{}-{}.jsonl", path.with_extension("").display(), n + 1)),
        };
        std::fs::write(&file, journal.to_lines()).map_err(|it| files::unwritten(&file, &it))?;
        let scenario = journal.about.scenario.as_deref().unwrap_or_default();
        print::message(styled!("{}: {} entries of \"{scenario}\"", file.display(), journal.entries.len()));
    }
    Ok(())
}

/// The result of testing one pack.
struct PackResult {
    name: String,
    problems: Problems,
    files: Vec<(FileId, ScenarioReport)>,
    /// The journals of the scenarios, if requested.
    journals: Vec<Journal>,
    /// The number of rules that can be exercised, and of those that were not.
    rules: BTreeMap<&'static str, (usize, usize)>,
    missed: Vec<Point>,
    seconds: f64,
    /// The reason why no scenario ran, if none did.
    why_none: String,
}

fn test(pack: &PackOnDisk, sources: &Sources, args: &TestArgs) -> PackResult {
    let mut result = PackResult {
        name: pack.name.clone(),
        problems: Problems::default(),
        files: Vec::new(),
        journals: Vec::new(),
        rules: BTreeMap::new(),
        missed: Vec::new(),
        seconds: 0.0,
        why_none: match &args.only {
            Some(only) => format!("no name of a scenario or table contains `{only}`"),
            None => "its `scenarios` folder is empty, or the named file is not a scenario file".to_owned(),
        },
    };
    let compiled = match packs::compile(sources, &pack.files) {
        Ok((compiled, warnings)) => {
            result.problems.extend(warnings);
            compiled
        }
        Err(problems) => {
            result.problems = problems;
            return result;
        }
    };
    let wanted: BTreeSet<Point> = points_of(&compiled);
    let law = Arc::new(Law::new([compiled]));
    let trace = Arc::new(Trace::default());
    let begun = Instant::now();
    for file in &pack.scenarios {
        let Some(mut scenarios) = scenario::read_file(sources, *file, &mut result.problems) else { continue };
        if let Some(only) = &args.only {
            scenarios.keep_named(only);
        }
        let journals = &mut result.journals;
        let mut watch = |played: &scenario::Played<'_>| {
            if args.journal.is_some() {
                journals.push(played.journal());
            }
        };
        let report = scenario::run_watched(&law, &scenarios, &trace, &mut result.problems, &mut watch);
        result.files.push((*file, report));
    }
    result.seconds = begun.elapsed().as_secs_f64();
    let hit = trace.points();
    for point in wanted {
        let (all, missed) = result.rules.entry(point.kind.as_str()).or_default();
        *all += 1;
        if !hit.contains(&point) {
            *missed += 1;
            result.missed.push(point);
        }
    }
    result
}

impl PackResult {
    fn passed(&self) -> usize {
        self.files.iter().map(|(_, it)| it.passed).sum()
    }

    fn failed(&self) -> usize {
        self.files.iter().map(|(_, it)| it.failures.len()).sum()
    }

    fn show(&self, sources: &Sources, coverage: bool) {
        print::problems(&self.problems, sources);
        for (_, report) in &self.files {
            for failure in &report.failures {
                let place = sources.show(failure.at);
                print::message(styled!(
                    "{} {}",
                    painted("failed", Colour::Red),
                    painted(&failure.scenario, Colour::Bold)
                ));
                let step = failure.step.map(|it| format!(", step {it}")).unwrap_or_default();
                print::message(styled!("  at       {place}{step}"));
                print::message(styled!("  expected {}", indented(&failure.expected)));
                print::message(styled!("  happened {}", indented(&failure.happened)));
                if !failure.journal.is_empty() {
                    print::message("  journal so far");
                    for line in &failure.journal {
                        print::message(painted(styled!("    {line}"), Colour::Dim));
                    }
                }
            }
        }
        let (passed, failed) = (self.passed(), self.failed());
        if passed + failed == 0 && !self.problems.has_errors() {
            print::line(styled!("{:<10} no scenario ran: {}", self.name, self.why_none));
            return;
        }
        let mark = if failed == 0 && !self.problems.has_errors() {
            painted_data("ok", Colour::Green)
        } else {
            painted_data("FAIL", Colour::Red)
        };
        let rate = if self.seconds > 0.0 { (passed + failed) as f64 / self.seconds } else { 0.0 };
        print::line(styled!(
            "{:<10} {mark}  {passed} passed, {failed} failed in {:.2} s ({rate:.0} a second)",
            self.name,
            self.seconds
        ));
        if coverage && !self.rules.is_empty() {
            self.show_coverage();
        }
    }

    fn show_coverage(&self) {
        let all: usize = self.rules.values().map(|(all, _)| all).sum();
        let covered = all - self.missed.len();
        let percent = if all == 0 { 100.0 } else { covered as f64 * 100.0 / all as f64 };
        let kinds = self.rules.iter().map(|(kind, (all, missed))| format!("{kind} {}/{all}", all - missed));
        print::line(styled!(
            "           coverage {percent:.1} % ({covered} of {all} rules): {}",
            kinds.collect::<Vec<_>>().join(", ")
        ));
        for point in &self.missed {
            print::line(styled!(
                "           not exercised: {} {} {}",
                point.kind.as_str(),
                point.lifecycle,
                point.what
            ));
        }
    }

    fn to_json(&self, sources: &Sources, coverage: bool) -> Json {
        let failures: Vec<Json> = self
            .files
            .iter()
            .flat_map(|(file, report)| report.failures.iter().map(|it| it.to_json(sources.path(*file))))
            .collect();
        let proved: Vec<Json> = self
            .files
            .iter()
            .flat_map(|(file, report)| {
                let file = sources.path(*file).to_owned();
                report
                    .proved
                    .iter()
                    .map(move |(name, rules)| json!({ "file": file, "scenario": name, "rules": rules }))
            })
            .collect();
        let mut json = json!({
            "pack": self.name, "passed": self.passed(), "failed": self.failed(), "seconds": self.seconds,
            "problems": self.problems.to_json(sources), "failures": failures, "proved": proved
        });
        if coverage && let Json::Object(map) = &mut json {
            let missed: Vec<Json> = self
                .missed
                .iter()
                .map(|it| json!({ "kind": it.kind.as_str(), "lifecycle": it.lifecycle, "rule": it.what }))
                .collect();
            let rules: usize = self.rules.values().map(|(all, _)| all).sum();
            map.insert("coverage".to_owned(), json!({ "rules": rules, "missed": missed }));
        }
        json
    }
}

/// Further lines below the first.
fn indented(text: &str) -> Styled {
    let indented = text.split('\n').enumerate().map(|(at, it)| match at {
        0 => styled!("{it}"),
        _ => styled!("           {it}"),
    });
    Styled::joined(indented)
}
