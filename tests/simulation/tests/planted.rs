//! A simulation that finds nothing proves nothing: every mistake that can be planted is found, as what it is, and the same
//! scene with the same seed keeps all its promises without it.

#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what found the mistake")]

use trackside_runtime::simulation::Bug;
use trackside_simulation::{DiskBug, Scene, simulate};

/// How many seeds are tried with each pack.
const SEEDS: u64 = 12;
const STEPS: usize = 250;

const ASKED: &str = "everything in the journal was asked for, or due";
const FEED: &str = "a follower sees every entry once, in order";
const KNOWN: &str = "what is on disk is known again";
const LAW: &str = "what was asked for is decided by the law";
const PROJECTIONS: &str = "projections are what the journal says";
const READERS: &str = "readers see what is committed, all of it and nothing else";
const TIMERS: &str = "a due timer fires once, in due order, none is lost";
const TOLD: &str = "callers are told what happened";
const WHOLE: &str = "a commit is there as a whole, in its place";

/// Something was decided that should not have been, or otherwise: as an answer, or as an entry that nobody asked for.
const DECIDED: &[&str] = &[LAW, TOLD, ASKED];

/// Each with the promises that it breaks: whichever of them is looked at first.
const BUGS: &[(Bug, &[&str])] = &[
    (Bug::AnsweredEarly, &["nobody is told before it is on disk"]),
    (Bug::ShownEarly, &[READERS]),
    (Bug::MemoryKept, &[LAW, WHOLE, TOLD, ASKED, KNOWN]),
    (Bug::TailForgotten, &[KNOWN, READERS]),
    (Bug::GroupAsWritten, DECIDED),
    (Bug::RankingAsWritten, DECIDED),
    (Bug::UnwrittenEvicted, DECIDED),
    (Bug::KeyLetGo, DECIDED),
    (Bug::ValueForgotten, DECIDED),
];

/// Those of clocks, followers and what is kept for a time.
const LATER_BUGS: &[(Bug, &[&str])] = &[
    (Bug::TimerUnheard, &[TIMERS]),
    (Bug::TimersUnordered, &[TIMERS]),
    (Bug::TimeGoesBack, &["time never goes back"]),
    (Bug::NoGrace, &[LAW, TIMERS]),
    (Bug::NoTrail, &[WHOLE]),
    (Bug::FeedGap, &[FEED]),
    (Bug::FeedUnordered, &[FEED]),
    (Bug::ErasedKept, &["nothing is left of what was erased"]),
    (Bug::HalfOfAll, DECIDED),
    (Bug::EffectAgain, &["what is asked of the outside is open, each once"]),
    (Bug::FenceForgotten, &["a lease has one holder and fences grow", READERS, PROJECTIONS]),
    (Bug::KeysExpireEarly, &["a key is known until it expires", LAW]),
    (Bug::CacheUnbounded, &["memory is bounded"]),
];

/// Those of what people do to a project that runs.
const UPKEEP_BUGS: &[(Bug, &[&str])] = &[
    (Bug::OldVersionStays, DECIDED),
    (Bug::MigrationUnseen, DECIDED),
    (Bug::RedactedKept, &["nothing is left of what was redacted"]),
    (Bug::SweepSkips, &["the sweep looks at everything"]),
];

const DISK_BUGS: &[(DiskBug, &[&str])] = &[
    (DiskBug::CommitLost, &[WHOLE]),
    (DiskBug::CommitHalved, &[WHOLE]),
    (DiskBug::KeysUnwritten, DECIDED),
    (DiskBug::TimersUnchanged, &[TIMERS, READERS, PROJECTIONS]),
    (DiskBug::RowForgotten, &[PROJECTIONS]),
    (DiskBug::GroupsOlder, DECIDED),
];

/// Whether a mistake shows as a promise that it breaks, first in the pack in which it shows soonest. Where it does, the
/// same without it must be fine: or something else was found, which a promise of that name was not broken by.
fn found(what: &str, promises: &[&str], plain: impl Fn(&mut Scene), plant: impl Fn(&mut Scene)) -> bool {
    // Things are erased an hour after they were thrown away, which takes longer to come to.
    let mut scenes = [("coding", STEPS), ("turns", STEPS), ("research", 4 * STEPS)];
    if ["ErasedKept", "GroupsOlder"].contains(&what) {
        scenes.reverse();
    }
    // Only there is something that no two may share.
    if what == "ValueForgotten" {
        scenes = [("mission", 2 * STEPS), ("mission", 4 * STEPS), ("mission", 8 * STEPS)];
    }
    for (pack, steps) in scenes {
        let mut without = Scene::of(pack, steps);
        plain(&mut without);
        let mut with = without.clone();
        plant(&mut with);
        for seed in 1..=SEEDS {
            let Err(failed) = simulate(&with, seed) else { continue };
            println!("{what}: shows with {pack}, seed {seed}: {}", failed.promise);
            // What follows from it may show before it does itself.
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
    }
    println!("{what}: NOT FOUND");
    false
}

fn all_found<B: Copy + std::fmt::Debug>(bugs: &[(B, &[&str])], upkeep: bool, plant: impl Fn(&mut Scene, B)) {
    let plain = |it: &mut Scene| it.upkeep = upkeep;
    let is_missed =
        |(bug, promises): &&(B, &[&str])| !found(&format!("{bug:?}"), promises, plain, |it| plant(it, *bug));
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
