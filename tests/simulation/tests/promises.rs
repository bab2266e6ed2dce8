//! Every pack, simulated a few times; with `TRACKSIDE_SIM_SECONDS` for as long, with `TRACKSIDE_SIM_SEED` once.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a test stops at the first broken promise and tells the story"
)]

use std::time::{Duration, Instant};

use trackside_simulation::{SimulationOptions, SimulationTotals, packs, simulate};

/// The number of runs per pack.
const SEEDS: u64 = 6;
/// Steps of one simulation, the same in every test: a seed gives the same run in all of them.
const STEPS: usize = 450;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|it| it.parse().ok())
}

fn keeps_its_promises(pack: &str, scene: &SimulationOptions, seed: u64) -> SimulationTotals {
    match simulate(scene, seed) {
        Ok(figures) => figures,
        Err(failed) => {
            let (promise, what, log) = (failed.promise, failed.what, failed.log.join("\n  "));
            panic!(
                "{pack}: {promise} is broken with seed {seed}: {what}\n  {log}\n{pack}, seed {seed}: {promise}; \
                 `just sim seed={seed}` repeats it"
            );
        }
    }
}

fn pack(name: &str) {
    let scene = SimulationOptions::of(name, STEPS);
    let mut all = SimulationTotals::default();
    let seeds = match setting("TRACKSIDE_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..SEEDS + 1,
    };
    for seed in seeds {
        all.add(&keeps_its_promises(name, &scene, seed));
    }
    println!("{name}: {all:?}");
    if setting("TRACKSIDE_SIM_SEED").is_none() {
        assert!(all.accepted > 60, "{name}: hardly anything happened, {all:?}");
        assert!(
            all.crashes > 5 && all.recoveries > 1 && all.timers > 5,
            "{name}: nothing went wrong, {all:?}"
        );
        assert!(all.clock_alerts > 2, "{name}: no clock failed, {all:?}");
        assert!(all.sweeps > 2, "{name}: no caller requested a sweep, {all:?}");
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
fn a_seed_gives_the_same_run_again() {
    let scene = SimulationOptions::of("coding", STEPS);
    let tells = || format!("{:?}", keeps_its_promises("coding", &scene, 7));
    assert_eq!(tells(), tells());
}

#[test]
#[ignore = "long: TRACKSIDE_SIM_SECONDS says how long"]
fn for_long() {
    let length = Duration::from_secs(setting("TRACKSIDE_SIM_SECONDS").unwrap_or(60));
    let first = setting("TRACKSIDE_SIM_SEED").unwrap_or(1_000);
    let began = Instant::now();
    let scenes: Vec<(String, SimulationOptions)> =
        packs().into_iter().map(|it| (it.clone(), SimulationOptions::of(&it, STEPS))).collect();
    let mut all = SimulationTotals::default();
    let mut seed = first;
    while began.elapsed() < length {
        for (name, scene) in &scenes {
            all.add(&keeps_its_promises(name, scene, seed));
        }
        seed += 1;
    }
    println!("seeds {first} to {}, each for {} packs: {all:?}", seed - 1, scenes.len());
}
