//! How soon `check` finds planted faults: `bench-explore broken SECONDS`, or `bench-explore broken worlds=N` for a bound that
//! does not depend on the machine.

#[path = "../../../testkit/broken-packs/mod.rs"]
mod broken_packs;

use std::path::Path;

use broken_packs::{FILES, Plant};
use trackside_study::explore::report::{
    CheckBound, CheckOptions, ExampleRun, ExplorationReport, PromiseOutcome, check_stages,
};

use crate::processor_seconds;

/// The share of plants that must be found.
const WANTED: f64 = 0.9;

/// Checks every plant whose pack or sentence contains `only`. Returns whether enough are found.
pub(crate) fn measure(root: &Path, seconds: f64, worlds: Option<usize>, only: &str) -> Result<bool, String> {
    println!("{:<9} {:>8} {:>6} {:>9}  plant", "pack", "seconds", "moves", "shortest");
    let (mut all, mut found, mut within_one, mut shortest) = (0_usize, 0_usize, 0_usize, 0_usize);
    for file in FILES {
        let plants = broken_packs::plants(root, file)?;
        for plant in plants.iter().filter(|it| it.pack.contains(only) || it.says.contains(only)) {
            all += 1;
            let begun = processor_seconds();
            let story = check(plant, root, seconds, worlds)?;
            let took = processor_seconds() - begun;
            match story {
                Some((story, is_shortest)) => {
                    found += 1;
                    within_one += usize::from(took <= 1.0);
                    shortest += usize::from(is_shortest);
                    let word = if is_shortest { "yes" } else { "not known" };
                    println!("{file:<9} {took:>8.2} {:>6} {word:>9}  {}", story.steps.len(), plant.says);
                }
                None => println!("{file:<9} {took:>8.2} {:>6} {:>9}  {}", "-", "NOT FOUND", plant.says),
            }
        }
    }
    let share = |many: usize| 100.0 * many as f64 / all.max(1) as f64;
    println!(
        "{all} plants: {found} found ({:.0} %), {within_one} within 1 s ({:.0} %); {shortest} with a story that is known to be the shortest",
        share(found),
        share(within_one)
    );
    Ok(found as f64 >= WANTED * all as f64)
}

/// The story of the broken promise, and whether every shorter one was explored.
fn check(
    plant: &Plant,
    root: &Path,
    seconds: f64,
    worlds: Option<usize>,
) -> Result<Option<(ExampleRun, bool)>, String> {
    let begun = processor_seconds();
    let stages = plant.stages(root)?;
    let options = CheckOptions {
        bound: worlds.map_or(CheckBound::Open, CheckBound::Worlds),
        depth: None,
        threads: 1,
        until: Some(&plant.breaks),
        go_on: &|| processor_seconds() - begun < seconds,
    };
    let reports = check_stages(&stages, &options);
    Ok(story(&reports, &plant.breaks))
}

/// The shortest story of the promise with this sentence, or of a surprise with this code.
fn story(reports: &[ExplorationReport], breaks: &str) -> Option<(ExampleRun, bool)> {
    let promises = reports.iter().flat_map(|it| &it.verdicts).filter(|it| it.says.contains(breaks));
    let broken = promises.filter_map(|it| match &it.outcome {
        PromiseOutcome::Broken { story, shortest } | PromiseOutcome::NoAnswer { story, shortest } => {
            Some((story.clone(), *shortest))
        }
        _ => None,
    });
    let surprises = reports.iter().flat_map(|it| &it.surprises).filter(|it| it.code == breaks);
    let all = broken.chain(surprises.map(|it| (it.story.clone(), it.shortest)));
    all.min_by_key(|(story, _)| story.steps.len())
}
