//! Every scenario of every pack passes, and every rule of a pack is exercised.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::coverage::points_of;
use trackside_engine::trace::Trace;
use trackside_lifecycle::source::Problems;
use trackside_study::scenario;

use folder::{add, pack, yaml_in};

/// Checks that every scenario of the pack in this folder passes, and that every rule is exercised.
fn holds(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (compiled, mut sources) = pack(&folder);
    let wanted = points_of(&compiled);
    let law = Arc::new(Law::new([compiled]));
    let trace = Arc::new(Trace::default());
    let mut problems = Problems::default();
    let mut passed = 0;
    for path in yaml_in(&folder.join("scenarios")) {
        let file = add(&mut sources, &path);
        let scenarios = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
        let report = scenario::run(&law, &scenarios, &trace, &mut problems);
        if let Some(failure) = report.failures.first() {
            panic!("{}: {:#}", sources.show(failure.at), failure.to_json(&path.display().to_string()));
        }
        passed += report.passed;
    }
    assert!(!problems.has_errors(), "{}", problems.render(&sources, false));
    assert!(passed > 50, "scenarios of {} ran", folder.display());
    let hit = trace.points();
    // The rules of the maze can only be refused.
    let missed = wanted.iter().filter(|it| !hit.contains(it) && it.lifecycle != "constructs.maze");
    let missed: Vec<_> = missed.collect();
    assert!(missed.is_empty(), "not exercised: {missed:#?}");
}

#[test]
fn every_construct_behaves_as_documented() {
    holds("tests/constructs");
}

#[test]
fn mission_scenarios_pass() {
    holds("../../packs/mission");
}

#[test]
fn build_scenarios_pass() {
    holds("../../packs/build");
}

#[test]
fn coding_scenarios_pass() {
    holds("../../packs/coding");
}

#[test]
fn turns_scenarios_pass() {
    holds("../../packs/turns");
}

#[test]
fn research_scenarios_pass() {
    holds("../../packs/research");
}
