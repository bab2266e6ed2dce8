//! Many walks over a pack, and the shortest one that breaks a promise.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use trackside_engine::trace::Trace;
use trackside_random::Random;

use crate::broken::BrokenPromise;
use crate::depth::WalkDepth;
use crate::findings::RULES;
use crate::packs::WalkPack;
use crate::setup::WalkSetup;
use crate::steps::WalkStep;
use crate::walk::{RandomWalk, WalkResult};

/// Steps of a walk: between the two.
const STEPS: (usize, usize) = (40, 200);

/// Walks over a pack. A walk that breaks a promise is shortened and printed.
pub(crate) fn over(name: &str, walks: u64, seed: u64) -> WalkDepth {
    let ground = WalkPack::load(name);
    let trace = Arc::new(Trace::default());
    let mut depth = WalkDepth::default();
    for walk in 0..walks {
        let mut dice = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(walk));
        let setup = WalkSetup::random(&ground, &mut dice);
        let many = STEPS.0 + dice.below(STEPS.1 - STEPS.0);
        let mut steps = Vec::new();
        let outcome = catch_panic(|| {
            let mut walk = RandomWalk::new(&ground, &trace, &setup);
            let opening = walk.opening();
            let rest = many.saturating_sub(opening.len());
            for step in opening {
                steps.push(step.clone());
                check_step(&mut walk, &step)?;
            }
            for _ in 0..rest {
                let step = walk.think(&mut dice);
                steps.push(step.clone());
                check_step(&mut walk, &step)?;
            }
            finish_walk(walk)
        });
        match outcome {
            Ok(walked) => {
                if std::env::var("TRACKSIDE_WALKS_STORY").is_ok_and(|it| it == walk.to_string()) {
                    println!("{name}, seed {seed}, walk {walk}:\n  {}", walked.story.join("\n  "));
                }
                depth.add(walked);
            }
            Err(broken) => {
                let story = shortest(&ground, setup, steps, &broken);
                panic!("{name}, seed {seed}, walk {walk}: {broken}\n  {}", story.join("\n  "));
            }
        }
    }
    depth.finish(name, &ground, &trace);
    depth
}

/// Walks only the opening of a pack: all of it must be accepted.
pub(crate) fn opens(name: &str) {
    let ground = WalkPack::load(name);
    let mut walk = RandomWalk::new(&ground, &Arc::default(), &WalkSetup::usual());
    for step in walk.opening() {
        check_step(&mut walk, &step).unwrap_or_else(|broken| panic!("{name}: {broken}"));
        assert_eq!(walk.walked.accepted, walk.walked.asked, "{name}: {:?}", walk.walked.story.last());
    }
}

/// Whether faults of packs are only counted, to see all of them at once.
pub(crate) fn tolerant() -> bool {
    std::env::var_os("TRACKSIDE_WALKS_TOLERANT").is_some()
}

fn check_step(walk: &mut RandomWalk<'_>, step: &WalkStep) -> Result<(), BrokenPromise> {
    walk.take(step)?;
    if tolerant() { Ok(()) } else { walk.walked.findings.mistake() }
}

fn finish_walk(walk: RandomWalk<'_>) -> Result<WalkResult, BrokenPromise> {
    let walked = walk.end()?;
    if !tolerant() {
        walked.findings.mistake()?;
    }
    Ok(walked)
}

/// A panic of the engine is a broken promise too.
fn catch_panic(
    work: impl FnOnce() -> Result<WalkResult, BrokenPromise>,
) -> Result<WalkResult, BrokenPromise> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        Err(BrokenPromise::new("nothing panics", text.unwrap_or_default()))
    })
}

/// The story of a walk that breaks the same promise with as few steps as can be found.
fn shortest(
    ground: &WalkPack,
    mut setup: WalkSetup,
    mut steps: Vec<WalkStep>,
    broken: &BrokenPromise,
) -> Vec<String> {
    let breaks = |setup: &WalkSetup, steps: &[WalkStep]| {
        let outcome = catch_panic(|| again(ground, setup, steps, &mut Vec::new()));
        // A pack has many faults; the shortened walk must show this one.
        outcome
            .is_err_and(|it| it.promise == broken.promise && (it.promise != RULES || it.what == broken.what))
    };
    for name in setup.settings.keys().cloned().collect::<Vec<_>>() {
        let mut fewer = setup.clone();
        fewer.settings.remove(&name);
        if breaks(&fewer, &steps) {
            setup = fewer;
        }
    }
    let mut part = steps.len().div_ceil(2);
    loop {
        let before = steps.len();
        let mut place = 0;
        while place < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(place..(place + part).min(steps.len()));
            if breaks(&setup, &fewer) {
                steps = fewer;
            } else {
                place += part;
            }
        }
        if part == 1 && steps.len() == before {
            break;
        }
        part = part.div_ceil(2).max(1);
    }
    let mut story = Vec::new();
    let last = catch_panic(|| again(ground, &setup, &steps, &mut story));
    story.extend(last.err().map(|it| it.to_string()));
    story
}

/// Repeats the steps.
fn again(
    ground: &WalkPack,
    setup: &WalkSetup,
    steps: &[WalkStep],
    story: &mut Vec<String>,
) -> Result<WalkResult, BrokenPromise> {
    let mut walk = RandomWalk::new(ground, &Arc::default(), setup);
    for step in steps {
        let outcome = check_step(&mut walk, step);
        story.clone_from(&walk.walked.story);
        outcome?;
    }
    finish_walk(walk)
}
