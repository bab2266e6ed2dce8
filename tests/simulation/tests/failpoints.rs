//! A simulation that finds nothing proves nothing: with every failpoint it must find the broken promise, and without
//! the failpoint the same scene and seed must pass.

#![expect(clippy::panic, clippy::print_stdout, reason = "a test says what found the mistake")]

use trackside_runtime::simulation::Failpoint;
use trackside_simulation::{DiskBug, SimulationOptions, simulate};
use trackside_store::failpoints::StoreFailpoint;

/// The number of seeds per pack.
const SEEDS: u64 = 12;
const STEPS: usize = 250;

const ASKED: &str = "everything in the journal was asked for, or due";
const FEED: &str = "a follower sees every entry once, in order";
const KNOWN: &str = "what is on disk is known again";
const LAW: &str = "what was asked for is decided by the law";
const PROJECTIONS: &str = "projections are what the journal says";
const READERS: &str = "readers see what is committed, all of it and nothing else";
const TIME: &str = "project time follows elapsed time";
const TIMERS: &str = "a due timer fires once, in due order, none is lost";
const TOLD: &str = "callers are told what happened";
const WHOLE: &str = "a commit is there as a whole, in its place";

/// A wrong decision: as an answer, or as an entry that no request explains.
const DECIDED: &[&str] = &[LAW, TOLD, ASKED];

/// Each with the promises that it breaks: any of them may be checked first.
const BUGS: &[(Failpoint, &[&str])] = &[
    (Failpoint::AnsweredEarly, &["nobody is told before it is on disk"]),
    (Failpoint::ShownEarly, &[READERS]),
    (Failpoint::MemoryKept, &[LAW, WHOLE, TOLD, ASKED, KNOWN]),
    (Failpoint::TailForgotten, &[KNOWN, READERS]),
    (Failpoint::GroupAsWritten, DECIDED),
    (Failpoint::RankingAsWritten, DECIDED),
    (Failpoint::UnwrittenEvicted, DECIDED),
    (Failpoint::KeyEvictedEarly, DECIDED),
    (Failpoint::ValueForgotten, DECIDED),
];

/// Failpoints of timers, followers and expiring keys.
const LATER_BUGS: &[(Failpoint, &[&str])] = &[
    (Failpoint::UnflushedTimerIgnored, &[TIMERS]),
    (Failpoint::TimersUnordered, &[TIMERS]),
    (Failpoint::TimeGoesBack, &[TIME]),
    (Failpoint::JumpFollowed, &[TIME, "a jump of the clock is journalled"]),
    (Failpoint::StepBackFollowed, &[TIME, TIMERS, "a jump of the clock is journalled"]),
    (Failpoint::PauseCounted, &[LAW, TIMERS, TOLD]),
    (Failpoint::NoGrace, &[LAW, TIMERS]),
    (Failpoint::PreviousRecordMissing, &[WHOLE]),
    (Failpoint::FeedGap, &[FEED]),
    (Failpoint::FeedUnordered, &[FEED]),
    (Failpoint::ErasedKept, &["nothing is left of what was erased"]),
    (Failpoint::BatchPartlyApplied, DECIDED),
    (Failpoint::AnsweredEffectRepeated, &["what is asked of the outside is open, each once"]),
    (Failpoint::FenceForgotten, &["a lease has one holder and fences grow", READERS, PROJECTIONS]),
    (Failpoint::KeysExpireEarly, &["a key is known until it expires", LAW]),
    (Failpoint::CacheUnbounded, &["memory is bounded"]),
];

/// Failpoints of maintenance on a running project.
const UPKEEP_BUGS: &[(Failpoint, &[&str])] = &[
    (Failpoint::OldVersionStays, DECIDED),
    (Failpoint::MigrationUnseen, DECIDED),
    (Failpoint::RedactedKept, &["nothing is left of what was redacted"]),
    (Failpoint::SweepSkips, &["the sweep looks at everything"]),
];

const DISK_BUGS: &[(DiskBug, &[&str])] = &[
    (DiskBug::CommitLost, &[WHOLE]),
    (DiskBug::CommitHalved, &[WHOLE]),
    (DiskBug::KeysUnwritten, DECIDED),
    (DiskBug::TimersUnchanged, &[TIMERS, READERS, PROJECTIONS]),
    (DiskBug::RowForgotten, &[PROJECTIONS]),
    (DiskBug::GroupsOlder, DECIDED),
];

/// Missing checks of stored data, and a repair that is not made. They show when bits flip. Each with the pack and the
/// first seed to try, where it shows soonest.
const ROT_BUGS: &[(RotBug, &str, u64, &[&str])] = &[
    (RotBug::Store(StoreFailpoint::SumIgnored), "coding", 1, &[PROJECTIONS, READERS, LAW, TOLD, ASKED]),
    (RotBug::Store(StoreFailpoint::NeighbourUnchecked), "research", 9, &[LAW, TOLD, ASKED, READERS]),
    (RotBug::Store(StoreFailpoint::EntryUnverified), "coding", 1, &["a damaged entry is not served"]),
    (
        RotBug::Worker(Failpoint::RowNotHealed),
        "coding",
        1,
        &["the sweep looks at everything", "damaged rows are repaired"],
    ),
];

/// A bug that shows when bits flip.
#[derive(Clone, Copy, Debug)]
enum RotBug {
    Store(StoreFailpoint),
    Worker(Failpoint),
}

/// Whether a planted fault breaks one of the named promises, tried first in the pack that shows it soonest.
fn finds(
    what: &str,
    promises: &[&str],
    plain: impl Fn(&mut SimulationOptions),
    enable: impl Fn(&mut SimulationOptions),
) -> bool {
    // Entities are erased an hour after they were discarded, which takes more steps.
    let mut scenes = [("coding", STEPS), ("turns", STEPS), ("research", 4 * STEPS)];
    if ["ErasedKept", "GroupsOlder"].contains(&what) {
        scenes.reverse();
    }
    // Only this pack has a unique value.
    if what == "ValueForgotten" {
        scenes = [("mission", 2 * STEPS), ("mission", 4 * STEPS), ("mission", 8 * STEPS)];
    }
    let found =
        scenes.iter().any(|(pack, steps)| finds_in(what, promises, (pack, *steps), 1, &plain, &enable));
    if !found {
        println!("{what}: NOT FOUND");
    }
    found
}

/// Whether a planted fault breaks one of the named promises in one pack, with one of some seeds.
/// The same seed without the fault must pass; otherwise the fault is not the cause.
fn finds_in(
    what: &str,
    promises: &[&str],
    (pack, steps): (&str, usize),
    first_seed: u64,
    plain: impl Fn(&mut SimulationOptions),
    enable: impl Fn(&mut SimulationOptions),
) -> bool {
    let mut without = SimulationOptions::of(pack, steps);
    plain(&mut without);
    let mut with = without.clone();
    enable(&mut with);
    for seed in first_seed..first_seed + SEEDS {
        let Err(failed) = simulate(&with, seed) else { continue };
        println!("{what}: shows with {pack}, seed {seed}: {}", failed.promise);
        // A consequence may show before the cause.
        if !promises.contains(&failed.promise) {
            continue;
        }
        if let Err(failed) = simulate(&without, seed) {
            panic!(
                "{pack}, seed {seed}: `{}` is broken without {what}, too: {}",
                failed.promise, failed.what
            );
        }
        return true;
    }
    false
}

fn all_found<B: Copy + std::fmt::Debug>(
    bugs: &[(B, &[&str])],
    upkeep: bool,
    enable: impl Fn(&mut SimulationOptions, B),
) {
    let plain = |it: &mut SimulationOptions| it.upkeep = upkeep;
    let is_missed =
        |(bug, promises): &&(B, &[&str])| !finds(&format!("{bug:?}"), promises, plain, |it| enable(it, *bug));
    let missed: Vec<_> = bugs.iter().filter(is_missed).map(|(bug, _)| bug).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn mistakes_of_the_workers_are_found() {
    all_found(BUGS, false, |it, bug| it.bug = Some(bug));
}

#[test]
fn mistakes_with_clocks_and_followers_are_found() {
    all_found(LATER_BUGS, false, |it, bug| it.bug = Some(bug));
}

#[test]
fn mistakes_of_upkeep_are_found() {
    all_found(UPKEEP_BUGS, true, |it, bug| it.bug = Some(bug));
}

#[test]
fn mistakes_of_a_store_are_found() {
    all_found(DISK_BUGS, false, |it, bug| it.disk_bug = Some(bug));
}

#[test]
fn missing_checks_of_stored_data_are_found() {
    let plain = |it: &mut SimulationOptions| it.rot = true;
    let is_missed = |(bug, pack, first_seed, promises): &&(RotBug, &str, u64, &[&str])| {
        let steps = if *pack == "research" { 4 * STEPS } else { STEPS };
        let enable = |it: &mut SimulationOptions| match bug {
            RotBug::Store(bug) => it.store_bug = Some(*bug),
            RotBug::Worker(bug) => it.bug = Some(*bug),
        };
        !finds_in(&format!("{bug:?}"), promises, (pack, steps), *first_seed, plain, enable)
    };
    let missed: Vec<_> = ROT_BUGS.iter().filter(is_missed).map(|it| it.0).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
