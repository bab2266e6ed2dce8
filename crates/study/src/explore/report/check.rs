//! Explores several stages in turn, so that none waits until another one ends.

use super::{Exploration, ExplorationReport};
use crate::explore::search::SearchBound;
use crate::explore::stage::ExploreStage;
use crate::explore::world::Reduce;

/// How far stages are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckBound {
    /// Until the caller ends it, or everything is explored.
    Open,
    /// So many worlds by breadth, and as many towards the promises. The result is the same on every machine.
    Worlds(usize),
    /// As many worlds as each stage names, in the same way.
    Stage,
}

/// The options of a check.
pub struct CheckOptions<'a> {
    pub bound: CheckBound,
    /// Most moves from the start; none: as each stage says.
    pub depth: Option<u32>,
    pub threads: usize,
    /// Ends the check when a promise with this sentence, or a surprise with this code, was found broken.
    pub until: Option<&'a str>,
    /// Called regularly; returns whether to continue.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for CheckOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckOptions")
            .field("bound", &self.bound)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// The worlds of the first round of each stage. Each further round doubles them.
const FIRST_ROUND: usize = 150;

/// Explores stages and checks every promise of their pack on each.
pub fn check_stages(stages: &[ExploreStage], options: &CheckOptions<'_>) -> Vec<ExplorationReport> {
    let mut explorations: Vec<(Exploration<'_>, SearchBound)> = stages
        .iter()
        .map(|stage| {
            let worlds = match options.bound {
                CheckBound::Open => usize::MAX,
                CheckBound::Worlds(worlds) => worlds,
                CheckBound::Stage => stage.bound.worlds,
            };
            let depth = match options.bound {
                CheckBound::Open => u32::MAX,
                CheckBound::Worlds(_) | CheckBound::Stage => stage.bound.depth,
            };
            let bound = SearchBound { worlds, depth: options.depth.unwrap_or(depth) };
            (Exploration::new(stage, Reduce::Mirrors, options.threads), bound)
        })
        .collect();
    let go_on = |_: &_| (options.go_on)();
    let mut round = FIRST_ROUND;
    loop {
        let mut open = false;
        for (exploration, bound) in &mut explorations {
            if exploration.is_done() {
                continue;
            }
            let worlds = bound.worlds.min(round);
            let before = exploration.followed();
            exploration.advance_breadth(&SearchBound { worlds, depth: bound.depth }, &go_on);
            // With a bound on moves, only those are explored.
            if !exploration.is_done() && options.depth.is_none() {
                exploration.advance_directed(worlds, &go_on);
            }
            // At its most moves, and with every promise broken, nothing is left.
            let moved = exploration.followed() > before;
            open |= moved && !exploration.is_done() && worlds < bound.worlds;
            let found = options.until.is_some_and(|it| exploration.has_broken(it));
            if found || !(options.go_on)() {
                return explorations.iter().map(|(it, bound)| it.report(*bound)).collect();
            }
        }
        if !open {
            return explorations.iter().map(|(it, bound)| it.report(*bound)).collect();
        }
        round = round.saturating_mul(2);
    }
}
