//! The search itself: level by level, block by block.

use std::collections::BTreeMap;

use super::bound::{Progress, SearchBound, Stopped};
use super::level::follow;
use super::path::{SearchStep, walk};
use super::visited::{VisitedWorlds, WorldId, WorldOrigin};
use super::{Model, Watch};

/// The number of worlds explored before results are merged and the watcher is asked whether to continue.
const BLOCK: usize = 256;

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    pub progress: Progress,
    pub stopped: Stopped,
    /// Mark to the shortest way that shows it.
    hits: BTreeMap<u32, Vec<u32>>,
}

impl SearchResult {
    /// The marks that were seen.
    pub fn marks(&self) -> impl Iterator<Item = u32> {
        self.hits.keys().copied()
    }

    /// The shortest run that shows a mark: where it starts, and every step.
    pub fn path<M: Model>(&self, model: &M, mark: u32) -> Option<(M::World, Vec<SearchStep<M>>)> {
        walk(model, self.hits.get(&mark)?)
    }
}

/// All worlds that can be reached within the bound, nearest first.
pub fn search<M: Model, W: Watch<M>>(
    model: &M,
    watch: &W,
    bound: &SearchBound,
    threads: usize,
) -> SearchResult {
    let mut seen = VisitedWorlds::default();
    let mut hits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut progress = Progress::default();
    let mut level: Vec<(WorldId, M::World)> = Vec::new();
    for (nth, world) in model.starts().into_iter().enumerate() {
        let nth = u32::try_from(nth).unwrap_or(u32::MAX);
        let Some(node) = seen.add(model.key(&world), WorldOrigin { parent: None, nth }) else { continue };
        for mark in watch.start(&world) {
            hits.entry(mark).or_insert_with(|| vec![nth]);
        }
        level.push((node, world));
    }
    let mut stopped = Stopped::Exhausted;
    'levels: while !level.is_empty() {
        if progress.depth >= bound.depth {
            stopped = Stopped::Depth;
            break;
        }
        let mut next: Vec<(WorldId, M::World)> = Vec::new();
        let mut rest = level;
        while !rest.is_empty() {
            let later = rest.split_off(rest.len().min(BLOCK));
            let (nodes, worlds): (Vec<WorldId>, Vec<M::World>) = rest.into_iter().unzip();
            rest = later;
            let followed = follow(model, watch, &worlds, &seen, threads);
            for (node, moves) in nodes.iter().zip(followed) {
                progress.followed += 1;
                for it in moves {
                    progress.moves += 1;
                    for mark in it.marks {
                        hits.entry(mark).or_insert_with(|| {
                            let mut way = seen.moves_to(*node);
                            way.push(it.nth);
                            way
                        });
                    }
                    let origin = WorldOrigin { parent: Some(*node), nth: it.nth };
                    if let Some(world) = it.world
                        && let Some(new) = seen.add(it.key, origin)
                    {
                        next.push((new, world));
                    }
                }
                progress.worlds = seen.len();
                if progress.worlds >= bound.worlds {
                    stopped = Stopped::Worlds;
                    break 'levels;
                }
            }
            progress.worlds = seen.len();
            if !watch.go_on(&progress) {
                stopped = Stopped::Asked;
                break 'levels;
            }
        }
        if !next.is_empty() {
            progress.depth += 1;
        }
        level = next;
    }
    progress.worlds = seen.len();
    SearchResult { progress, stopped, hits }
}
