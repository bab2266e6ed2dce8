//! Every pack, simulated a few times; with `TRACKSIDE_SIM_SECONDS` for as long, with `TRACKSIDE_SIM_SEED` once.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first broken promise and tells the story"
)]

use std::time::{Duration, Instant};

use trackside_simulation::{Figures, Scene, packs, simulate};

/// How often each pack is simulated.
const SEEDS: u64 = 10;
/// Steps of one simulation.
const STEPS: usize = 300;

fn wish(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|it| it.parse().ok())
}

fn keeps_its_promises(pack: &str, scene: &Scene, seed: u64) -> Figures {
    match simulate(scene, seed) {
        Ok(figures) => figures,
        Err(failed) => {
            let (promise, what, story) = (failed.promise, failed.what, failed.story.join("\n  "));
            panic!(
                "{pack}: {promise} is broken with seed {seed}: {what}\n  {story}\n{pack}, seed {seed}: {promise}"
            );
        }
    }
}

fn pack(name: &str) {
    let scene = Scene::of(name, STEPS);
    let mut all = Figures::default();
    let seeds = match wish("TRACKSIDE_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..SEEDS + 1,
    };
    for seed in seeds {
        all.add(&keeps_its_promises(name, &scene, seed));
    }
    println!("{name}: {all:?}");
    if wish("TRACKSIDE_SIM_SEED").is_none() {
        assert!(all.accepted > 60, "{name}: hardly anything happened, {all:?}");
        assert!(
            all.crashes > 5 && all.recoveries > 2 && all.timers > 5,
            "{name}: nothing went wrong, {all:?}"
        );
    }
}

#[test]
fn mission() {
    pack("mission");
}

#[test]
fn build() {
    pack("build");
}

#[test]
fn coding() {
    pack("coding");
}

#[test]
fn turns() {
    pack("turns");
}

#[test]
fn research() {
    pack("research");
}

#[test]
#[ignore = "long: TRACKSIDE_SIM_SECONDS says how long"]
fn for_long() {
    let length = Duration::from_secs(wish("TRACKSIDE_SIM_SECONDS").unwrap_or(60));
    let first = wish("TRACKSIDE_SIM_SEED").unwrap_or(1_000);
    let began = Instant::now();
    let scenes: Vec<(String, Scene)> =
        packs().into_iter().map(|it| (it.clone(), Scene::of(&it, STEPS * 2))).collect();
    let mut all = Figures::default();
    let mut seed = first;
    while began.elapsed() < length {
        for (name, scene) in &scenes {
            all.add(&keeps_its_promises(name, scene, seed));
        }
        seed += 1;
    }
    println!("seeds {first} to {}, each for {} packs: {all:?}", seed - 1, scenes.len());
}
