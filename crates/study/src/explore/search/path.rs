//! The way to a world, walked again.

use super::Model;

/// A move and the world after it.
#[derive(Clone, Debug)]
pub struct SearchStep<M: Model> {
    pub by: M::Move,
    pub world: M::World,
}

/// The start, and every step of a path given by move numbers. Moves have the same order every time.
pub(super) fn walk<M: Model>(model: &M, way: &[u32]) -> Option<(M::World, Vec<SearchStep<M>>)> {
    let (first, rest) = way.split_first()?;
    let start = model.starts().into_iter().nth(*first as usize)?;
    let mut world = start.clone();
    let mut steps = Vec::new();
    for nth in rest {
        let mut next = Vec::new();
        model.moves(&world, &mut next);
        let (by, after) = next.into_iter().nth(*nth as usize)?;
        world = after.clone();
        steps.push(SearchStep { by, world: after });
    }
    Some((start, steps))
}
