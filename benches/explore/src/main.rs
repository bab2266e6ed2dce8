//! Worlds explored per second: ours, which runs the real law on a definition, and `stateright`, on the same model
//! written by hand in Rust. Both must find the same number of worlds.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

mod broken;
mod by_hand;
mod definition;
mod packs;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use stateright::{Checker, Model};
use trackside_study::explore::report::{ExploreOptions, explore};
use trackside_study::explore::search::SearchBound;
use trackside_study::explore::world::Reduce;

/// Decisions are many small allocations, which the system allocator is slow at. Both sides use it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("packs", rest)) => exit(on_packs(rest)),
        Some(("broken", rest)) => exit(on_broken_packs(rest)),
        _ => beside_stateright(),
    }
}

fn exit(result: Result<bool, String>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn on_packs(arguments: &[String]) -> Result<bool, String> {
    let folder = arguments.first().map_or("packs", String::as_str);
    let number = |at: usize, otherwise| arguments.get(at).and_then(|it| it.parse().ok()).unwrap_or(otherwise);
    packs::measure(Path::new(folder), number(1, 2_000), number(2, 1)).map(|()| true)
}

fn on_broken_packs(arguments: &[String]) -> Result<bool, String> {
    let first = arguments.first().map_or("10", String::as_str);
    let only = arguments.get(1).map_or("", String::as_str);
    let wrong = || format!("{first}: expected seconds, or worlds=N");
    match first.strip_prefix("worlds=") {
        Some(worlds) => {
            broken::measure(Path::new("."), f64::INFINITY, Some(worlds.parse().map_err(|_| wrong())?), only)
        }
        None => broken::measure(Path::new("."), first.parse().map_err(|_| wrong())?, None, only),
    }
}

/// The processor time of this process. Other programs on the machine change it less than the time of the clock.
pub(crate) fn processor_seconds() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time, in hundredths of a second, are the 14th and 15th field.
    fields.skip(11).take(2).filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn beside_stateright() -> ExitCode {
    let tasks = std::env::args().nth(1).and_then(|it| it.parse().ok()).unwrap_or(2_usize);
    println!("{tasks} tasks, two coders and a person; no clock, so that both sides have the same worlds");
    println!("{:<44} {:>9} {:>10} {:>9} {:>12}", "", "worlds", "moves", "seconds", "worlds/s");
    let mut counts = Vec::new();
    for (name, reduce, threads) in [
        ("ours, one core", Reduce::Cone, 1),
        ("ours, two cores", Reduce::Cone, 2),
        ("ours, two cores, mirror images once", Reduce::Mirrors, 2),
    ] {
        let stage = definition::stage(tasks);
        let begun = Instant::now();
        let bound = SearchBound { worlds: usize::MAX, depth: u32::MAX };
        let report = explore(&stage, &ExploreOptions { bound, threads, reduce, go_on: &|_| true });
        let seconds = begun.elapsed().as_secs_f64();
        row(name, report.progress.worlds, report.progress.moves as usize, seconds);
        if reduce == Reduce::Cone {
            counts.push(report.progress.worlds);
        }
    }
    for threads in [1, 2] {
        let begun = Instant::now();
        let checker = by_hand::StaterightModel { tasks }.checker().threads(threads).spawn_bfs().join();
        let seconds = begun.elapsed().as_secs_f64();
        let name = format!("stateright 0.31, by hand, {threads} thread(s)");
        row(&name, checker.unique_state_count(), checker.state_count(), seconds);
        counts.push(checker.unique_state_count());
    }
    counts.dedup();
    match counts.as_slice() {
        [same] => {
            println!("all agree: {same} worlds");
            ExitCode::SUCCESS
        }
        _ => {
            println!("they do not agree: {counts:?}");
            ExitCode::FAILURE
        }
    }
}

fn row(name: &str, worlds: usize, moves: usize, seconds: f64) {
    println!("{name:<44} {worlds:>9} {moves:>10} {seconds:>9.3} {:>12.0}", worlds as f64 / seconds.max(1e-9));
}
