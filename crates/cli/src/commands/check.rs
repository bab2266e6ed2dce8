//! `trackside check`: is it right, before it runs? Static findings, and promises explored within a stated bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trackside_engine::Law;
use trackside_lifecycle::source::{FileId, Problems, Sources};
use trackside_study::check::{
    CheckBudget, ChecksStopped, Finding, MOST_STEPS, ProblemSeverity, check_within, locate, to_json,
};
use trackside_study::explore::report::{
    CheckBound, CheckOptions, ExplorationReport, PromiseOutcome, check_stages,
};

use super::explore::{cores, used};
use crate::args::CheckArgs;
use crate::packs::{self, PackOnDisk};
use crate::print::{self, Colour, painted_data};
use crate::proofs::{self, ReportPrinting};
use crate::{exit, stages};

pub(crate) fn run(args: &CheckArgs) -> u8 {
    let mut sources = Sources::default();
    let packs = match packs::find_or_built_in_or_report(&args.paths, &mut sources) {
        Ok(packs) => packs,
        Err(code) => return code,
    };
    let mut failed = false;
    let mut all: Vec<Json> = Vec::new();
    for pack in &packs {
        let checked = one(pack, &sources, args);
        failed |= checked.fails(args.strict);
        if args.json {
            all.push(checked.to_json(&sources));
        } else {
            checked.show(&sources, args);
        }
    }
    if args.json {
        print::json(&json!({ "packs": all }));
    }
    if failed { exit::REFUSED } else { exit::DONE }
}

/// The result of checking one pack.
struct Checked {
    name: String,
    /// Problems of the loader, and of stage files.
    problems: Problems,
    findings: Vec<Finding>,
    /// The checks need too many steps.
    stopped: Option<ChecksStopped>,
    files: Vec<FileId>,
    reports: Vec<ExplorationReport>,
    /// The limit that ended the exploration, if the bound did not.
    spent: &'static str,
    seconds: f64,
}

fn one(pack: &PackOnDisk, sources: &Sources, args: &CheckArgs) -> Checked {
    let begun = Instant::now();
    let files = std::iter::once(pack.files.pack).chain(pack.files.lifecycles.iter().copied()).collect();
    let mut checked = Checked {
        name: pack.name.clone(),
        problems: Problems::default(),
        findings: Vec::new(),
        stopped: None,
        files,
        reports: Vec::new(),
        spent: "time",
        seconds: 0.0,
    };
    match packs::compile(sources, &pack.files) {
        Ok((compiled, warnings)) => {
            checked.problems = warnings;
            // The check reports the same with a route.
            checked.problems.forget("unreached-state");
            match check_within(&compiled, &CheckBudget::new(MOST_STEPS, &|| false)) {
                Ok(findings) => checked.findings = findings,
                Err(stopped) => checked.stopped = Some(stopped),
            }
            let law = Arc::new(Law::new([compiled]));
            if !args.no_proofs {
                let stages = stages::of(pack, &law, sources, &mut checked.problems);
                let bound = match args.worlds {
                    Some(worlds) => CheckBound::Worlds(worlds),
                    None if args.quick => CheckBound::Stage,
                    None => CheckBound::Open,
                };
                let deadline = begun.checked_add(Duration::from_secs(args.seconds));
                let full = AtomicBool::new(false);
                let go_on = || {
                    if used().is_some_and(|it| it > args.memory) {
                        full.store(true, Ordering::Relaxed);
                        return false;
                    }
                    bound != CheckBound::Open || deadline.is_none_or(|it| Instant::now() < it)
                };
                let options = CheckOptions {
                    bound,
                    depth: args.depth,
                    threads: args.threads.map_or_else(cores, usize::from),
                    until: None,
                    go_on: &go_on,
                };
                checked.reports = check_stages(&stages, &options);
                if full.load(Ordering::Relaxed) {
                    checked.spent = "memory";
                }
            }
        }
        Err(problems) => checked.problems = problems,
    }
    checked.seconds = begun.elapsed().as_secs_f64();
    checked
}

impl Checked {
    fn count(&self, severity: ProblemSeverity) -> usize {
        self.findings.iter().filter(|it| it.severity == severity).count()
    }

    fn fails(&self, strict: bool) -> bool {
        self.problems.has_errors()
            || self.stopped.is_some()
            || self.count(ProblemSeverity::Error) > 0
            || (strict && (self.count(ProblemSeverity::Warning) > 0 || !self.problems.is_empty()))
            || self.reports.iter().any(proofs::fails)
            || !self.unreached().is_empty()
    }

    /// `reachable` promises that no stage fulfils, although one explored everything.
    fn unreached(&self) -> Vec<String> {
        proofs::unreached(self.reports.iter())
    }

    fn show(&self, sources: &Sources, args: &CheckArgs) {
        let mut all = self.problems.clone();
        all.extend(locate(&self.findings, sources, &self.files));
        // Counted as shown: two findings with the same place and message are one.
        let count =
            |severity: ProblemSeverity| all.sorted().iter().filter(|it| it.severity == severity).count();
        let mut shown: Vec<Finding> = self.findings.clone();
        shown.retain(|it| args.notes || it.severity != ProblemSeverity::Note);
        let mut problems = self.problems.clone();
        problems.extend(locate(&shown, sources, &self.files));
        print::problems(&problems, sources);
        if let Some(stopped) = self.stopped {
            print::message(styled!("{}: {stopped}. {}", self.name, ChecksStopped::ADVICE));
        }
        for report in &self.reports {
            if args.proofs || proofs::fails(report) {
                let shown = ReportPrinting {
                    pack: &self.name,
                    seconds: None,
                    promise: None,
                    coverage: args.proofs,
                    sequence: args.sequence,
                    draw: args.draw.as_deref(),
                    spent: self.spent,
                };
                proofs::show(report, &shown);
            }
        }
        for it in self.unreached() {
            print::line(styled!("  {} {it}", painted_data("NOT SHOWN", Colour::Red)));
        }
        let mark = match self.fails(args.strict) {
            true => painted_data("FAIL", Colour::Red),
            false => painted_data("ok", Colour::Green),
        };
        let findings = format!(
            "{}, {}, {}",
            many(count(ProblemSeverity::Error), "error"),
            many(count(ProblemSeverity::Warning), "warning"),
            many(count(ProblemSeverity::Note), "note")
        );
        print::line(styled!(
            "{:<10} {mark}  {findings}; {} in {:.2} s",
            self.name,
            self.proved(),
            self.seconds
        ));
        if !self.reports.is_empty() {
            for report in &self.reports {
                print::line(painted_data(
                    styled!(
                        "           {}: {}. {}",
                        report.stage,
                        proofs::worlds(report),
                        proofs::bound(report, self.spent)
                    ),
                    Colour::Dim,
                ));
            }
        }
        let notes = count(ProblemSeverity::Note);
        if notes > 0 && !args.notes {
            print::message(styled!("notes hidden: {notes}; show them with --notes"));
        }
    }

    /// The results of the promises over all stages, and how far the search looked.
    fn proved(&self) -> String {
        if self.reports.is_empty() {
            return "no promise was explored".to_owned();
        }
        let reports = || self.reports.iter();
        let tally = proofs::tally(reports());
        let promises = match tally.all {
            0 => "no promises".to_owned(),
            all => format!("{} of {}", tally.hold, many(all, "promise")),
        };
        let looked = proofs::extent(reports());
        let found = match (tally.broken + tally.surprises, tally.all) {
            (0, 0) => "nothing unexpected",
            (0, _) => "no counterexample",
            _ => "explored",
        };
        let situations: usize = reports().map(|it| it.progress.worlds.max(it.directed.worlds)).sum();
        let stages = many(self.reports.len(), "stage");
        let mut text = format!("{promises}: {found} {looked}; {} on {stages}", many(situations, "situation"));
        if tally.broken > 0 {
            text.push_str(&format!("; {} broken", many(tally.broken, "promise")));
        }
        if tally.unseen > 0 {
            text.push_str(&format!("; {} not reached", many(tally.unseen, "promise")));
        }
        if tally.surprises > 0 {
            text.push_str(&format!("; {}", many(tally.surprises, "surprise")));
        }
        text
    }

    fn to_json(&self, sources: &Sources) -> Json {
        let reports = self.reports.iter();
        let reports: Vec<Json> = reports.map(|it| proofs::to_json(&self.name, it, None)).collect();
        let broken = self.reports.iter().flat_map(|it| &it.verdicts);
        let broken = broken.filter(|it| matches!(it.outcome, PromiseOutcome::Broken { .. })).count();
        json!({
            "pack": self.name,
            "ok": !self.fails(false),
            "problems": self.problems.to_json(sources),
            "findings": to_json(&self.findings, sources, &self.files),
            "stopped": self.stopped.map(|it| it.to_string()),
            "broken": broken,
            "unreached": self.unreached(),
            "bound": proofs::bound_json(self.reports.iter()),
            "promises": proofs::promises_json(self.reports.iter()),
            "stages": reports,
            "seconds": self.seconds,
        })
    }
}

fn many(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}
