//! The cost of the same move without a law.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Three states and a guard in plain Rust: the floor.
pub(crate) fn bare_match() -> f64 {
    #[derive(Clone, Copy)]
    enum State {
        Assigned,
        InProgress,
        Review,
    }
    const MOVES: usize = 20_000_000;
    let mut state = State::Assigned;
    let mut moves = 0_u64;
    let begun = Instant::now();
    for n in 0..MOVES {
        state = match black_box(state) {
            State::Assigned if black_box(n) % 7 != 8 => State::InProgress,
            State::Assigned => State::Assigned,
            State::InProgress => State::Review,
            State::Review => State::Assigned,
        };
        moves += 1;
    }
    black_box((state, moves));
    MOVES as f64 / begun.elapsed().as_secs_f64()
}

/// XState's own `send`, if Node and the package are there.
pub(crate) fn xstate() -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/xstate.mjs");
    let output = Command::new("node").arg(script).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
