//! Decisions per second on one core: three commands of the packs, a bare `match` and, where Node
//! has it, XState beside them in the same run. Ratios count; the machine is noisy.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench talks, and stops at the first surprise"
)]

/// Decisions are many small allocations, which the system allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod control;
mod populations;
mod worlds;

use std::time::{Duration, Instant};

use trackside_engine::command::Command;
use trackside_engine::view::View;
use trackside_engine::{Decision, Law, apply, decide};
use trackside_lifecycle::time::Timestamp;

use worlds::BenchCase;

fn main() {
    let json = std::env::args().any(|it| it == "--json");
    if std::env::args().any(|it| it == "--profile") {
        // Decides the same command repeatedly, for a profiler.
        let case = worlds::cases().remove(0);
        let (law, view, commands, now) = case.prepare();
        let begun = Instant::now();
        let mut decided = 0_usize;
        while begun.elapsed() < Duration::from_secs(4) {
            for command in &commands {
                std::hint::black_box(decide(&law, &view, command, now).ok());
                decided += 1;
            }
        }
        println!("{:.0} decisions a second", per_second(decided, begun.elapsed()));
        return;
    }
    let mut rows = Vec::new();
    let only = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    for case in worlds::cases() {
        if only.as_ref().is_some_and(|it| !case.name().contains(it.as_str())) {
            continue;
        }
        let rate = best_of(
            if case.entities() > 10_000 { 2 } else { 5 },
            || case.prepare(),
            |(law, view, commands, now)| run(&law, view, &commands, now),
        );
        rows.push((case.name().to_owned(), rate));
    }
    rows.push(("control: a bare Rust match".to_owned(), control::bare_match()));
    if let Some(rate) = control::xstate() {
        rows.push(("control: XState in memory, no guard, artifact or journal".to_owned(), rate));
    }
    if json {
        let all: Vec<_> =
            rows.iter().map(|(name, rate)| serde_json::json!({ "name": name, "perSecond": rate })).collect();
        println!("{:#}", serde_json::Value::Array(all));
        return;
    }
    println!("{:<72} {:>14} {:>10}", "decide + apply, one core, best of five", "per second", "µs each");
    for (name, rate) in rows {
        println!("{name:<72} {rate:>14.0} {:>10.3}", 1e6 / rate);
    }
}

/// Decides and applies every command; how many a second.
fn run(law: &Law, mut view: View, commands: &[Command], now: Timestamp) -> f64 {
    let begun = Instant::now();
    for command in commands {
        match decide(law, &view, command, now) {
            Ok(Decision::Accepted(accepted)) => {
                for entry in &accepted.entries {
                    apply(&mut view, entry);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    per_second(commands.len(), begun.elapsed())
}

fn best_of<T>(times: u32, prepare: impl Fn() -> T, run: impl Fn(T) -> f64) -> f64 {
    (0..times).map(|_| run(prepare())).fold(0.0, f64::max)
}

fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

impl BenchCase {
    fn prepare(&self) -> (Law, View, Vec<Command>, Timestamp) {
        worlds::build(self)
    }
}
