//! A simulation that finds nothing proves nothing: every mistake that can be planted is found.

#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what found the mistake")]

use trackside_runtime::simulation::Bug;
use trackside_simulation::{DiskBug, Scene, simulate};

/// How many seeds are tried with each pack.
const SEEDS: u64 = 12;
const STEPS: usize = 250;

const BUGS: &[Bug] = &[
    Bug::AnsweredEarly,
    Bug::ShownEarly,
    Bug::MemoryKept,
    Bug::TailForgotten,
    Bug::GroupAsWritten,
    Bug::RankingAsWritten,
    Bug::UnwrittenEvicted,
    Bug::KeyLetGo,
    Bug::ValueForgotten,
    Bug::TimerUnheard,
    Bug::TimersUnordered,
    Bug::TimeGoesBack,
    Bug::NoGrace,
    Bug::NoTrail,
    Bug::FeedGap,
    Bug::ErasedKept,
    Bug::HalfOfAll,
];

/// Those of what people do to a project that runs.
const UPKEEP_BUGS: &[Bug] = &[Bug::OldVersionStays, Bug::MigrationUnseen, Bug::RedactedKept, Bug::SweepSkips];

const DISK_BUGS: &[DiskBug] = &[
    DiskBug::CommitLost,
    DiskBug::CommitHalved,
    DiskBug::KeysUnwritten,
    DiskBug::TimersUnchanged,
    DiskBug::RowForgotten,
    DiskBug::GroupsOlder,
];

/// Whether a mistake shows: first in the pack in which it shows soonest.
fn found(what: &str, plant: impl Fn(&mut Scene)) -> bool {
    // Things are erased an hour after they were thrown away, which takes longer to come to.
    let mut scenes = [("coding", STEPS), ("turns", STEPS), ("research", 4 * STEPS)];
    if ["ErasedKept", "GroupsOlder"].contains(&what) {
        scenes.reverse();
    }
    // Only there is something that no two may share.
    if what == "ValueForgotten" {
        scenes = [("mission", 2 * STEPS), ("research", 2 * STEPS), ("mission", 8 * STEPS)];
    }
    for (pack, steps) in scenes {
        let mut scene = Scene::of(pack, steps);
        scene.upkeep = false;
        plant(&mut scene);
        for seed in 1..=SEEDS {
            if let Err(failed) = simulate(&scene, seed) {
                println!("{what}: found with {pack}, seed {seed}: {}", failed.promise);
                return true;
            }
        }
    }
    println!("{what}: NOT FOUND");
    false
}

#[test]
fn mistakes_of_the_workers_are_found() {
    let missed: Vec<_> =
        BUGS.iter().filter(|bug| !found(&format!("{bug:?}"), |it| it.bug = Some(**bug))).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn mistakes_of_upkeep_are_found() {
    let plant = |bug: Bug| move |it: &mut Scene| (it.bug, it.upkeep) = (Some(bug), true);
    let missed: Vec<_> = UPKEEP_BUGS.iter().filter(|bug| !found(&format!("{bug:?}"), plant(**bug))).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn mistakes_of_a_store_are_found() {
    let missed: Vec<_> =
        DISK_BUGS.iter().filter(|bug| !found(&format!("{bug:?}"), |it| it.disk_bug = Some(**bug))).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
