//! One block of worlds followed on several cores. The results are in the order of the block.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::visited::VisitedWorlds;
use super::{Model, Watch};

/// A move that was followed.
pub(super) struct Followed<M: Model> {
    pub(super) nth: u32,
    pub(super) key: u128,
    /// None if the world was known before this block.
    pub(super) world: Option<(M::Move, M::World)>,
    /// The marks of the move.
    pub(super) marks: Vec<u32>,
}

/// Follows every move of every world of a block.
pub(super) fn follow<M: Model, W: Watch<M>>(
    model: &M,
    watch: &W,
    block: &[M::World],
    seen: &VisitedWorlds,
    threads: usize,
) -> Vec<Vec<Followed<M>>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Vec<Followed<M>>)>> = Mutex::new(Vec::with_capacity(block.len()));
    let work = || {
        let mut mine = Vec::new();
        let mut moves = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(world) = block.get(at) else { break };
            moves.clear();
            model.moves(world, &mut moves);
            let followed = moves.drain(..).enumerate().map(|(nth, (by, after))| {
                let key = model.key(&after);
                let known = seen.has(key);
                let marks = watch.marks(world, &by, &after, !known);
                let nth = u32::try_from(nth).unwrap_or(u32::MAX);
                Followed { nth, key, world: (!known).then_some((by, after)), marks }
            });
            mine.push((at, followed.collect()));
        }
        if let Ok(mut results) = results.lock() {
            results.extend(mine);
        }
    };
    if threads <= 1 || block.len() < 2 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, followed)| followed).collect()
}
