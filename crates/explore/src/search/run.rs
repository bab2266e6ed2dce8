//! The search itself: level by level, block by block.

use std::collections::BTreeMap;

use super::bound::{Bound, Progress, Stopped};
use super::level::follow;
use super::path::{Step, walk};
use super::seen::{Node, Origin, Seen};
use super::{Model, Watch};

/// Worlds followed before results are gathered and the watcher is asked whether to go on.
const BLOCK: usize = 256;

/// What a search came to.
#[derive(Debug)]
pub struct Found {
    pub progress: Progress,
    pub stopped: Stopped,
    /// Mark to the shortest way that shows it.
    hits: BTreeMap<u32, Vec<u32>>,
}

impl Found {
    /// The marks that were seen.
    pub fn marks(&self) -> impl Iterator<Item = u32> {
        self.hits.keys().copied()
    }

    /// The shortest run that shows a mark: where it starts, and every step.
    pub fn path<M: Model>(&self, model: &M, mark: u32) -> Option<(M::World, Vec<Step<M>>)> {
        walk(model, self.hits.get(&mark)?)
    }
}

/// Everything that can be reached within the bound, nearest first.
pub fn search<M: Model, W: Watch<M>>(model: &M, watch: &W, bound: &Bound, threads: usize) -> Found {
    let mut seen = Seen::default();
    let mut hits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut progress = Progress::default();
    let mut level: Vec<(Node, M::World)> = Vec::new();
    for (nth, world) in model.starts().into_iter().enumerate() {
        let nth = u32::try_from(nth).unwrap_or(u32::MAX);
        let Some(node) = seen.add(model.key(&world), Origin { parent: None, nth }) else { continue };
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
        let mut next: Vec<(Node, M::World)> = Vec::new();
        let mut rest = level;
        while !rest.is_empty() {
            let later = rest.split_off(rest.len().min(BLOCK));
            let (nodes, worlds): (Vec<Node>, Vec<M::World>) = rest.into_iter().unzip();
            rest = later;
            let followed = follow(model, watch, &worlds, &seen, threads);
            for (node, moves) in nodes.iter().zip(followed) {
                progress.followed += 1;
                for it in moves {
                    progress.moves += 1;
                    for mark in it.marks {
                        hits.entry(mark).or_insert_with(|| {
                            let mut way = seen.way(*node);
                            way.push(it.nth);
                            way
                        });
                    }
                    let origin = Origin { parent: Some(*node), nth: it.nth };
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
    Found { progress, stopped, hits }
}
