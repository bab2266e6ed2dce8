//! `trackside explore`: explore stages within a budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trackside_engine::Law;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::explore::report::{ExplorationReport, ExploreOptions, explore};
use trackside_study::explore::search::{Progress, SearchBound};
use trackside_study::explore::world::Reduce;

use crate::args::ExploreArgs;
use crate::packs;
use crate::print;
use crate::proofs::{self, ReportPrinting};
use crate::{exit, stages};

pub(crate) fn run(args: &ExploreArgs) -> u8 {
    let mut sources = Sources::default();
    let packs = match packs::find_or_built_in_or_report(&args.paths, &mut sources) {
        Ok(packs) => packs,
        Err(code) => return code,
    };
    let mut failed = false;
    let mut played = 0_usize;
    let mut named = false;
    let mut all: Vec<Json> = Vec::new();
    for pack in &packs {
        let mut problems = Problems::default();
        let law = match packs::compile(&sources, &pack.files) {
            Ok((compiled, _)) => Arc::new(Law::new([compiled])),
            Err(found) => {
                print::problems(&found, &sources);
                failed = true;
                continue;
            }
        };
        let stages = stages::of(pack, &law, &sources, &mut problems);
        if problems.has_errors() {
            print::problems(&problems, &sources);
            failed = true;
        }
        let wanted = |name: &str| args.stage.as_ref().is_none_or(|it| name.contains(it.as_str()));
        let mut reports: Vec<ExplorationReport> = Vec::new();
        for stage in stages.iter().filter(|it| wanted(&it.name)) {
            played += 1;
            let begun = Instant::now();
            let deadline = begun.checked_add(Duration::from_secs(args.seconds));
            let line = print::ProgressBar::new(&format!("{} · {}", pack.name, stage.name));
            let full = AtomicBool::new(false);
            let go_on = |so_far: &Progress| {
                let spent = begun.elapsed().as_secs_f64().max(0.001);
                let rate = so_far.worlds as f64 / spent;
                let share = spent / args.seconds.max(1) as f64;
                line.show(
                    share,
                    &format!("{} worlds, depth {}, {rate:.0} a second", so_far.worlds, so_far.depth),
                );
                if used().is_some_and(|it| it > args.memory) {
                    full.store(true, Ordering::Relaxed);
                    return false;
                }
                deadline.is_none_or(|it| Instant::now() < it)
            };
            let how = ExploreOptions {
                bound: SearchBound { worlds: args.worlds, depth: args.depth },
                threads: args.threads.map_or_else(cores, usize::from),
                reduce: if args.no_symmetry { Reduce::Cone } else { Reduce::Mirrors },
                go_on: &go_on,
            };
            let report = explore(stage, &how);
            line.done();
            let seconds = begun.elapsed().as_secs_f64();
            failed |= proofs::fails(&report);
            let report = reports.push_mut(report);
            if args.json {
                all.push(proofs::to_json(&pack.name, report, Some(seconds)));
            } else {
                let shown = ReportPrinting {
                    pack: &pack.name,
                    seconds: Some(seconds),
                    promise: args.promise.as_deref(),
                    coverage: true,
                    sequence: args.sequence,
                    draw: args.draw.as_deref(),
                    spent: if full.load(Ordering::Relaxed) { "memory" } else { "time" },
                };
                proofs::show(report, &shown);
            }
        }
        named |= reports
            .iter()
            .flat_map(|it| &it.verdicts)
            .any(|it| args.promise.as_ref().is_none_or(|wanted| it.says.contains(wanted.as_str())));
        if args.stage.is_none() {
            for it in proofs::unreached(reports.iter()) {
                failed = true;
                print::message(styled!("not shown: {it}"));
            }
        }
    }
    if args.json {
        print::json(&json!({ "stages": all }));
    }
    if played == 0 && !failed {
        print::message("no stage name contains this text");
        return exit::USAGE;
    }
    if !named && args.promise.is_some() && !failed {
        print::message("no promise contains this text");
        return exit::USAGE;
    }
    if failed { exit::REFUSED } else { exit::DONE }
}

/// Memory in use, in MiB, on systems that report it.
pub(crate) fn used() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    // Pages are 4 KiB wherever this file exists and we are built for.
    Some(resident / 256)
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
