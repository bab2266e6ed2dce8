//! Searches over all moves, by breadth and towards goals: on several cores, with the same result on any number of them.

mod bound;
mod directed;
mod level;
mod path;
mod run;
#[cfg(test)]
mod tests;
mod visited;

pub use bound::{Progress, SearchBound, Stopped};
pub use directed::{DirectedSearch, Guide};
pub use path::SearchStep;
pub use run::{BreadthSearch, SearchResult, search};

/// A state space that can be explored.
pub trait Model: Sync {
    type World: Clone + Send + Sync;
    type Move: Clone + Send + Sync;

    /// The start worlds.
    fn starts(&self) -> Vec<Self::World>;

    /// Worlds with the same key are the same, or mirror images of each other.
    fn key(&self, world: &Self::World) -> u128;

    /// All possible moves, always in the same order.
    fn moves(&self, world: &Self::World, into: &mut Vec<(Self::Move, Self::World)>);
}

/// Observes the moves and worlds that the search finds. Marks are numbers; the shortest way to each is kept.
pub trait Watch<M: Model>: Sync {
    /// The marks of a start world.
    fn start(&self, world: &M::World) -> Vec<u32>;

    /// The marks of a move. `new`: the world after it was not known before.
    fn marks(&self, before: &M::World, by: &M::Move, after: &M::World, new: bool) -> Vec<u32>;

    /// Called now and then; false ends the search.
    fn go_on(&self, _so_far: &Progress) -> bool {
        true
    }
}
