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
        assert!(all.waits > 2, "{name}: the decider never waited for more requests, {all:?}");
        assert!(all.clock_alerts > 0, "{name}: no clock failed, {all:?}");
        assert!(all.sweeps > 1, "{name}: no caller requested a sweep, {all:?}");
    }
}

/// The number of runs with flipping bits, per pack.
const ROT_SEEDS: u64 = 2;

fn pack_that_rots(name: &str) {
    let mut scene = SimulationOptions::of(name, STEPS);
    scene.rot = true;
    let mut all = SimulationTotals::default();
    let seeds = match setting("TRACKSIDE_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..ROT_SEEDS + 1,
    };
    for seed in seeds {
        all.add(&keeps_its_promises(&format!("{name} (bits flip)"), &scene, seed));
    }
    println!("{name}, bits flip: {all:?}");
    if setting("TRACKSIDE_SIM_SEED").is_none() {
        assert!(all.flips > 10 && all.accepted > 20, "{name}: hardly anything happened, {all:?}");
    }
}

#[test]
fn bits_flip_in_mission() {
    pack_that_rots("mission");
}

#[test]
fn bits_flip_in_build() {
    pack_that_rots("build");
}

#[test]
fn bits_flip_in_coding() {
    pack_that_rots("coding");
}

#[test]
fn bits_flip_in_turns() {
    pack_that_rots("turns");
}

#[test]
fn bits_flip_in_research() {
    pack_that_rots("research");
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
            let mut rots = scene.clone();
            rots.rot = true;
            all.add(&keeps_its_promises(&format!("{name} (bits flip)"), &rots, seed));
        }
        seed += 1;
    }
    println!(
        "seeds {first} to {}, each for {} packs, without and with flipping bits: {all:?}",
        seed - 1,
        scenes.len()
    );
}

/// A project that was in 2248: its time, timers and idempotency keys after a reset.
#[test]
fn a_reset_brings_a_project_back_from_a_wrong_future() {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use trackside_engine::actor::{Actor, ActorKind};
    use trackside_engine::command::{Ask, Command};
    use trackside_engine::event::{Entry, Event};
    use trackside_engine::fields::Fields;
    use trackside_engine::key::EntityKey;
    use trackside_lifecycle::time::Timestamp;
    use trackside_runtime::simulation::SimulatedMachine;
    use trackside_runtime::{
        ClockCorrection, ClockDirection, CommandAnswer, Options, PackSource, ProjectClock, Runtime,
    };
    use trackside_store::MemoryStore;

    let machine = Arc::new(SimulatedMachine::default());
    // Advances elapsed time. The decider waits for it when it collects more requests for a commit.
    let ticking = Arc::downgrade(&machine);
    std::thread::spawn(move || {
        while let Some(machine) = ticking.upgrade() {
            machine.monotonic.fetch_add(1, Ordering::AcqRel);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let set = |text: &str| machine.wall.store(Timestamp::parse(text).unwrap().0, Ordering::Release);
    let options = || Options { clock: ProjectClock::Simulated(machine.clone()), ..Options::default() };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/turns");
    let (pack, store) = (PackSource::read(&folder).unwrap(), MemoryStore::new());
    let start = || Runtime::start(Arc::new(store.reopen()), std::slice::from_ref(&pack), options()).unwrap();
    let admin = Actor::new("ann", ActorKind::Human).with_roles(["admin"]);
    let channel = |name: &str| {
        let entity = EntityKey::new("turns.channel", name);
        let mut command = Command::new(admin.clone(), Ask::Create { entity, fields: Fields::default() });
        command.idempotency_key = Some(trackside_lifecycle::name::Name::new(name));
        command
    };
    set("2248-06-01T00:00:00Z");
    let runtime = start();
    let made = runtime.gateway().unwrap().ask(channel("c-1")).unwrap();
    assert!(matches!(made, CommandAnswer::Accepted(_)), "{made:?}");
    runtime.stop();

    set("2026-06-01T00:00:00Z");
    let runtime = start();
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait("the alarm is raised", &|| runtime.clock_alarm().is_some());
    let correct = |direction| {
        let gateway = runtime.gateway().unwrap();
        gateway.correct_clock(direction, admin.clone().into(), None).unwrap().wait().unwrap()
    };
    assert!(matches!(correct(ClockDirection::Forward), ClockCorrection::Refused(_)));
    let corrected = correct(ClockDirection::Back);
    assert!(matches!(corrected, ClockCorrection::Moved { unmoved: 0, .. }), "{corrected:?}");
    let now = || runtime.reads().unwrap().now().to_string();
    assert!(now().starts_with("2026-06-01T00:00"), "{}", now());
    wait("the alarm ends", &|| runtime.clock_alarm().is_none());
    // The flusher expires old keys every second, by the new time.
    runtime.gateway().unwrap().ask(channel("c-2")).unwrap();
    runtime.wait_until_written().unwrap();
    std::thread::sleep(Duration::from_millis(2_200));
    runtime.stop();
    let runtime = start();
    let again = runtime.gateway().unwrap().ask(channel("c-2")).unwrap();
    assert!(matches!(again, CommandAnswer::Replayed { .. }), "{again:?}");
    assert!(runtime.clock_alarm().is_none());
    let records = runtime.store().reader().unwrap().records(0, usize::MAX).unwrap();
    let entries: Vec<Entry> = records.iter().map(|it| it.entry().unwrap()).collect();
    let count = |is_it: fn(&Event) -> bool| entries.iter().filter(|it| is_it(&it.event)).count();
    assert_eq!(count(|it| matches!(it, Event::AlertRaised { kind, .. } if kind == "clock")), 1);
    assert_eq!(count(|it| matches!(it, Event::AlertResolved { .. })), 1);
}
