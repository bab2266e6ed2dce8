//! Flipped bits in the pages of `state.db`: in the headers, cell pointers and rows of every table and every index.

use std::collections::BTreeSet;

use trackside_random::Random;
use trackside_runtime::{Failure, Runtime, SweepReport};

use crate::pages::{Region, is_guarded, seed, some_bit, strata};
use crate::rot_rows::{Depot, healed, shape, told};

/// Questions about many rows. A damaged page can hide rows from these until the next full sweep.
const LISTS: &[&str] =
    &["claim", "states", "dwell times", "timers", "census", "effects", "notices", "members", "list"];

/// Samples of a region of one table or index.
fn samples(region: Region) -> usize {
    match region {
        Region::File => 4,
        Region::Cells => 2,
        Region::Header | Region::Pointers => 1,
    }
}

fn sweep(runtime: &Runtime) -> Result<SweepReport, Failure> {
    runtime.gateway()?.sweep()?.wait()
}

type Answers = [(String, Option<String>)];

/// A bit of the file flips: the project refuses to start and names the file, or says nothing wrong and recovers.
fn damaged_at(base: &Depot, wanted: &Answers, what: &str, (at, mask): (usize, u8)) {
    let copy = base.copy(&format!("page-{at}-{mask}"));
    let path = copy.0.join("state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at] ^= mask;
    std::fs::write(&path, bytes).unwrap();
    let runtime = match copy.try_start() {
        Ok(runtime) => runtime,
        Err(why) => {
            assert!(why.contains("state.db"), "{what}: {why}");
            // The message says: delete it, the next start rebuilds it.
            for file in ["state.db", "state.db-wal", "state.db-shm"] {
                std::fs::remove_file(copy.0.join(file)).ok();
            }
            copy.start()
        }
    };
    for ((question, said), (_, right)) in shape(&told(&runtime)).iter().zip(&shape(wanted)) {
        let is_list = LISTS.iter().any(|it| question.starts_with(it));
        assert!(is_list || said.is_none() || said == right, "{what}: {question}: {said:?}, not {right:?}");
    }
    for _ in 0..3 {
        for refused in [runtime.wait_until_written().err(), sweep(&runtime).err()].into_iter().flatten() {
            assert!(refused.to_string().contains("state.db is damaged"), "{what}: {refused}");
        }
    }
    runtime.stop();
    // What could not be repaired is rebuilt at the next start.
    let runtime = copy.start();
    let repaired = healed(&runtime);
    assert_eq!(runtime.problem(), None, "{what}, after a restart");
    assert_eq!(shape(&repaired), shape(wanted), "{what}, after a restart");
    runtime.stop();
}

#[test]
fn the_places_of_flipped_bits_in_pages_are_the_same_in_each_run() {
    let [one, other] = ["places-1", "places-2"].map(|name| strata(&Depot::filled(name).0.join("state.db")));
    assert_eq!(one, other);
}

#[test]
fn a_flipped_bit_in_any_region_of_state_db_is_refused_and_repaired() {
    let base = Depot::filled("pages");
    let control = base.copy("pages-control");
    let runtime = control.start();
    let wanted = told(&runtime);
    runtime.stop();
    let strata = strata(&base.0.join("state.db"));
    let mut random = Random::new(seed());
    let mut places = BTreeSet::new();
    for ((name, region), ranges) in strata.iter().filter(|it| is_guarded(it.0.1)) {
        for _ in 0..samples(*region) {
            let place = some_bit(&mut random, ranges);
            places.insert((format!("{region:?} of {name}, byte {} bit {:#04x}", place.0, place.1), place));
        }
    }
    // Every table has rows, so every table has all regions.
    let regions = |name: &str| strata.keys().filter(|it| it.0 == name).count();
    for table in [
        "meta",
        "name",
        "entity",
        "timer",
        "effect",
        "field",
        "group",
        "member",
        "place",
        "order",
        "same",
        "key",
        "notice",
        "stay",
        "state_count",
        "entity_by_state",
        "key_by_seq",
    ] {
        assert_eq!(regions(table), 3, "{table}");
    }
    let places: Vec<_> = places.into_iter().collect();
    std::thread::scope(|scope| {
        for some in places.chunks(places.len().div_ceil(4)) {
            let (base, wanted) = (&base, &wanted);
            scope.spawn(move || some.iter().for_each(|(what, at)| damaged_at(base, wanted, what, *at)));
        }
    });
}

#[test]
fn a_damaged_index_that_no_query_reads_is_repaired() {
    let base = Depot::filled("names");
    let path = base.0.join("state.db");
    let cells = &strata(&path)[&("sqlite_autoindex_name_1".to_owned(), Region::Cells)];
    let mut bytes = std::fs::read(&path).unwrap();
    // In the middle of a row is its text.
    bytes[cells[0].start.midpoint(cells[0].end)] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let checked = || -> String {
        base.file("state.db").query_row("PRAGMA integrity_check", [], |it| it.get(0)).unwrap()
    };
    assert_ne!(checked(), "ok");
    let runtime = base.start();
    sweep(&runtime).unwrap();
    runtime.wait_until_written().unwrap();
    assert_eq!(runtime.problem(), None);
    runtime.stop();
    assert_eq!(checked(), "ok");
}
