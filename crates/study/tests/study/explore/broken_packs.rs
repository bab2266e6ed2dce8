//! The search towards the promises finds planted faults within few worlds.

#[path = "../../../../../testkit/broken-packs/mod.rs"]
mod plants;

use std::path::{Path, PathBuf};

use trackside_study::explore::report::{
    CheckBound, CheckOptions, ExplorationReport, PromiseOutcome, check_stages,
};

use plants::{FILES, Plant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The reports of the stages with the fault, within a bound that does not depend on the machine.
fn checked(plant: &Plant, worlds: usize) -> Vec<ExplorationReport> {
    let stages = plant.stages(&root()).unwrap_or_else(|problems| panic!("{}: {problems}", plant.says));
    let options = CheckOptions {
        bound: CheckBound::Worlds(worlds),
        depth: None,
        threads: 2,
        until: Some(&plant.breaks),
        go_on: &|| true,
    };
    check_stages(&stages, &options)
}

fn is_found(reports: &[ExplorationReport], breaks: &str) -> bool {
    let broken =
        |it: &PromiseOutcome| matches!(it, PromiseOutcome::Broken { .. } | PromiseOutcome::NoAnswer { .. });
    reports.iter().flat_map(|it| &it.verdicts).any(|it| it.says.contains(breaks) && broken(&it.outcome))
        || reports.iter().flat_map(|it| &it.surprises).any(|it| it.code == breaks)
}

#[test]
fn every_planted_fault_fits_its_pack() {
    let mut all = Vec::new();
    for pack in FILES {
        all.extend(plants::plants(&root(), pack).unwrap_or_else(|problems| panic!("{problems}")));
    }
    assert!(all.len() >= 40, "{} faults", all.len());
    let outdated = all.iter().filter(|it| !it.is_current(&root()));
    let outdated: Vec<String> = outdated.map(|it| format!("{}: {}", it.pack, it.says)).collect();
    assert!(outdated.is_empty(), "the packs have no longer what these replace: {outdated:#?}");
}

/// The packs with few stages. `just broken-packs` checks all.
#[test]
fn planted_faults_are_found_within_few_worlds() {
    let mut all: Vec<Plant> = Vec::new();
    for pack in ["build", "starter", "turns"] {
        all.extend(plants::plants(&root(), pack).unwrap_or_else(|problems| panic!("{problems}")));
    }
    let missed = all.iter().filter(|it| !is_found(&checked(it, 60), &it.breaks));
    let missed: Vec<&str> = missed.map(|it| it.says.as_str()).collect();
    // At least nine in ten.
    assert!(10 * missed.len() <= all.len(), "not found: {missed:#?}");
}
