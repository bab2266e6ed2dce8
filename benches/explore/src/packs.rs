//! Worlds per second of processor time on the stages of packs: `bench-explore packs FOLDER WORLDS THREADS`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{FileId, Problems, Sources};
use trackside_study::explore::report::{ExplorationReport, ExploreOptions, PromiseOutcome, explore};
use trackside_study::explore::search::SearchBound;
use trackside_study::explore::stage::{ExploreStage, default_stage, read_stage};
use trackside_study::explore::world::Reduce;

/// Explores every stage of every pack in a folder up to a number of worlds.
pub(crate) fn measure(folder: &Path, worlds: usize, threads: usize) -> Result<(), String> {
    println!(
        "{:<34} {:>8} {:>9} {:>6} {:>8} {:>9}  verdicts",
        "", "worlds", "moves", "depth", "seconds", "worlds/s"
    );
    let (mut all, mut took) = (0, 0.0);
    for pack in packs_in(folder)? {
        for stage in stages(&pack)? {
            let begun = crate::processor_seconds();
            let bound = SearchBound { worlds, depth: u32::MAX };
            let options = ExploreOptions { bound, threads, reduce: Reduce::Mirrors, go_on: &|_| true };
            let report = explore(&stage, &options);
            let seconds = crate::processor_seconds() - begun;
            let progress = report.progress;
            let name = pack.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            row(
                &format!("{name} {}", report.stage),
                progress.worlds,
                seconds,
                &format!("{:>9} {:>6}", progress.moves, progress.depth),
                &outcomes(&report),
            );
            all += progress.worlds;
            took += seconds;
        }
    }
    row("all", all, took, &" ".repeat(16), "");
    Ok(())
}

fn row(name: &str, worlds: usize, seconds: f64, between: &str, after: &str) {
    let rate = worlds as f64 / seconds.max(1e-9);
    println!("{name:<34} {worlds:>8} {between} {seconds:>8.3} {rate:>9.0}  {after}");
}

/// The number of verdicts of each kind, so that two versions of the search can be compared.
fn outcomes(report: &ExplorationReport) -> String {
    let count =
        |wanted: fn(&PromiseOutcome) -> bool| report.verdicts.iter().filter(|it| wanted(&it.outcome)).count();
    format!(
        "{} held, {} reached, {} broken, {} surprises, {} replayed",
        count(|it| matches!(it, PromiseOutcome::Held)),
        count(|it| matches!(it, PromiseOutcome::Reached { .. })),
        count(|it| matches!(it, PromiseOutcome::Broken { .. })),
        report.surprises.len(),
        report.restarts
    )
}

fn packs_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if folder.join("pack.yaml").is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder).map_err(|it| format!("{}: {it}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|it| it.path()).collect();
    found.retain(|it| it.join("pack.yaml").is_file());
    found.sort();
    Ok(found)
}

fn stages(pack: &Path) -> Result<Vec<ExploreStage>, String> {
    let mut sources = Sources::default();
    let files = PackFiles {
        pack: add(&mut sources, &pack.join("pack.yaml"))?,
        lifecycles: add_all(&mut sources, &pack.join("lifecycles"))?,
    };
    let compiled = match compile(&sources, &files) {
        Ok((compiled, _)) => compiled,
        Err(problems) => return Err(problems.render(&sources, false)),
    };
    let law = Arc::new(Law::new([compiled]));
    let mut problems = Problems::default();
    let files = add_all(&mut sources, &pack.join("stages"))?;
    if files.is_empty() {
        return Ok(law.packs().map(|it| default_stage(&law, it)).collect());
    }
    let stages = files.iter().filter_map(|file| read_stage(&law, &sources, *file, &mut problems)).collect();
    if problems.is_empty() { Ok(stages) } else { Err(problems.render(&sources, false)) }
}

fn add(sources: &mut Sources, path: &Path) -> Result<FileId, String> {
    let text = std::fs::read_to_string(path).map_err(|it| format!("{}: {it}", path.display()))?;
    Ok(sources.add(path.display().to_string(), text))
}

fn add_all(sources: &mut Sources, folder: &Path) -> Result<Vec<FileId>, String> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files.iter().map(|it| add(sources, it)).collect()
}
