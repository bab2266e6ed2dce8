//! Random walks over every pack: any actor sends any request, time passes, any actor may crash, and every
//! promise must hold.
//!
//! `TRACKSIDE_WALKS=10 cargo test -p trackside-engine --test walks -- --ignored --nocapture` walks ten
//! times as much, on other paths with `TRACKSIDE_WALKS_SEED=7`. `TRACKSIDE_WALKS_STORY=3` prints walk
//! number 3, `TRACKSIDE_WALKS_TOLERANT=1` only counts the mistakes of packs, `TRACKSIDE_WALKS_PACKS=folder`
//! walks other packs.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, and tells how deep it went"
)]

mod actor_choice;
mod broken;
mod cast;
mod counts;
mod depth;
mod describe;
mod effects;
mod findings;
#[path = "../folder/mod.rs"]
mod folder;
mod hints;
mod holds;
mod ids;
mod journal;
mod leases;
mod openings;
mod orders;
mod packs;
mod paths;
mod questions;
mod request_chooser;
mod runs;
mod setup;
mod steps;
mod values;
mod walk;

/// Walks per pack.
const WALKS: u64 = 50;
/// Walks per pack for the paths that other implementations replay.
const PATH_WALKS: u64 = 28;
/// Requests that are accepted and transitions that are taken, in percent: below this, walks are shallow.
const DEEP: (usize, usize) = (40, 60);

fn walk(pack: &str) {
    let depth = runs::over(pack, WALKS, 1);
    assert!(depth.accepted() > DEEP.0, "{pack}: {} % accepted", depth.accepted());
    assert!(depth.reached() > DEEP.1, "{pack}: {} % of the transitions reached", depth.reached());
}

#[test]
fn mission_keeps_its_promises() {
    walk("mission");
}

#[test]
fn build_keeps_its_promises() {
    walk("build");
}

#[test]
fn coding_keeps_its_promises() {
    walk("coding");
}

#[test]
fn turns_keeps_its_promises() {
    walk("turns");
}

#[test]
fn research_keeps_its_promises() {
    walk("research");
}

#[test]
fn no_pack_is_left_out() {
    assert_eq!(packs::names(), ["build", "coding", "mission", "research", "turns"]);
}

#[test]
fn openings_are_accepted() {
    for pack in packs::names() {
        runs::opens(&pack);
    }
}

#[test]
#[ignore = "long: TRACKSIDE_WALKS says how many times as much"]
fn all_packs_keep_their_promises_for_long() {
    let wish =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual);
    for pack in packs::names() {
        runs::over(&pack, WALKS * wish("TRACKSIDE_WALKS", 10), wish("TRACKSIDE_WALKS_SEED", 2));
    }
}

#[test]
#[ignore = "writes files: TRACKSIDE_PATHS names the folder"]
fn paths_for_foreign_tools() {
    let folder = std::env::var_os("TRACKSIDE_PATHS").expect("TRACKSIDE_PATHS names a folder");
    let written = |pack: &str| {
        let mut lives = paths::EntityPaths::from_walks(pack, PATH_WALKS);
        let walked = lives.count();
        lives.play(pack);
        lives.write(folder.as_ref());
        walked
    };
    let written = &written;
    let walked: usize = std::thread::scope(|threads| {
        let packs: Vec<_> =
            packs::names().into_iter().map(|it| threads.spawn(move || written(&it))).collect();
        packs.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert!(walked >= 2_000, "{walked} random paths are too few to say anything");
}
