//! The search by breadth: level by level, block by block.

use std::collections::BTreeMap;

use super::bound::{Progress, SearchBound, Stopped};
use super::level::follow;
use super::path::{SearchStep, walk};
use super::visited::{VisitedWorlds, WorldId, WorldOrigin};
use super::{Model, Watch};

/// The number of worlds explored before results are merged and the watcher is asked whether to continue.
const BLOCK: usize = 64;

/// The result of a search.
#[derive(Clone, Debug, Default)]
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

    /// Whether a mark was seen.
    pub fn has(&self, mark: u32) -> bool {
        self.hits.contains_key(&mark)
    }

    /// The number of moves to a mark.
    pub fn moves_to(&self, mark: u32) -> Option<usize> {
        self.hits.get(&mark).map(|it| it.len().saturating_sub(1))
    }

    /// The run that shows a mark: where it starts, and every step.
    pub fn path<M: Model>(&self, model: &M, mark: u32) -> Option<(M::World, Vec<SearchStep<M>>)> {
        walk(model, self.hits.get(&mark)?)
    }

    pub(super) fn hit(&mut self, mark: u32, way: impl FnOnce() -> Vec<u32>) {
        self.hits.entry(mark).or_insert_with(way);
    }
}

/// A search by breadth that can be continued. The first way to a mark is the shortest.
#[derive(Debug)]
pub struct BreadthSearch<M: Model> {
    result: SearchResult,
    seen: VisitedWorlds,
    /// The worlds of the present level that are not followed yet, the last one first.
    rest: Vec<(WorldId, M::World)>,
    next: Vec<(WorldId, M::World)>,
}

impl<M: Model> BreadthSearch<M> {
    /// A search that has seen the start worlds.
    pub fn new<W: Watch<M>>(model: &M, watch: &W) -> Self {
        let mut search = Self {
            result: SearchResult::default(),
            seen: VisitedWorlds::default(),
            rest: Vec::new(),
            next: Vec::new(),
        };
        for (nth, world) in model.starts().into_iter().enumerate() {
            let nth = u32::try_from(nth).unwrap_or(u32::MAX);
            let Some(id) = search.seen.add(model.key(&world), WorldOrigin { parent: None, nth }) else {
                continue;
            };
            for mark in watch.start(&world) {
                search.result.hit(mark, || vec![nth]);
            }
            search.rest.push((id, world));
        }
        search.rest.reverse();
        search.result.progress.worlds = search.seen.len();
        search
    }

    /// The findings so far.
    pub fn result(&self) -> &SearchResult {
        &self.result
    }

    /// Whether every reachable world was explored.
    pub fn is_done(&self) -> bool {
        self.result.stopped == Stopped::Exhausted
    }

    /// Continues to the bound, or until the watcher ends it.
    pub fn advance<W: Watch<M>>(
        &mut self,
        model: &M,
        watch: &W,
        bound: &SearchBound,
        threads: usize,
    ) -> Stopped {
        let stopped = self.run(model, watch, bound, threads);
        self.result.progress.worlds = self.seen.len();
        self.result.stopped = stopped;
        stopped
    }

    fn run<W: Watch<M>>(&mut self, model: &M, watch: &W, bound: &SearchBound, threads: usize) -> Stopped {
        loop {
            if self.rest.is_empty() {
                if self.next.is_empty() {
                    return Stopped::Exhausted;
                }
                self.result.progress.depth += 1;
                self.rest = std::mem::take(&mut self.next);
                self.rest.reverse();
            }
            if self.result.progress.depth >= bound.depth {
                return Stopped::Depth;
            }
            if self.seen.len() >= bound.worlds && self.result.progress.followed > 0 {
                return Stopped::Worlds;
            }
            let block = self.rest.split_off(self.rest.len().saturating_sub(BLOCK));
            let (ids, worlds): (Vec<WorldId>, Vec<M::World>) = block.into_iter().rev().unzip();
            let followed = follow(model, watch, &worlds, &self.seen, threads);
            let mut merged = 0;
            for (id, moves) in ids.iter().zip(followed) {
                merged += 1;
                let progress = &mut self.result.progress;
                progress.followed += 1;
                progress.moves += moves.len() as u64;
                for it in moves {
                    for mark in it.marks {
                        self.result.hit(mark, || {
                            let mut way = self.seen.moves_to(*id);
                            way.push(it.nth);
                            way
                        });
                    }
                    let origin = WorldOrigin { parent: Some(*id), nth: it.nth };
                    if let Some((_, world)) = it.world
                        && let Some(new) = self.seen.add(it.key, origin)
                    {
                        self.next.push((new, world));
                    }
                }
                if self.seen.len() >= bound.worlds {
                    break;
                }
            }
            // Those that were followed beyond the bound are followed again when the search continues.
            let left = ids.into_iter().zip(worlds).skip(merged).collect::<Vec<_>>();
            self.rest.extend(left.into_iter().rev());
            self.result.progress.worlds = self.seen.len();
            if self.seen.len() >= bound.worlds && !(self.rest.is_empty() && self.next.is_empty()) {
                return Stopped::Worlds;
            }
            if !watch.go_on(&self.result.progress) {
                return Stopped::Asked;
            }
        }
    }
}

/// All worlds that can be reached within the bound, nearest first.
pub fn search<M: Model, W: Watch<M>>(
    model: &M,
    watch: &W,
    bound: &SearchBound,
    threads: usize,
) -> SearchResult {
    let mut search = BreadthSearch::new(model, watch);
    search.advance(model, watch, bound, threads);
    search.result
}
