//! The search towards goals: worlds that look nearest to a goal are followed first.

use std::collections::BTreeSet;

use super::bound::Progress;
use super::level::follow;
use super::run::SearchResult;
use super::visited::{VisitedWorlds, WorldId, WorldOrigin};
use super::{Model, Stopped, Watch};

/// Estimates how near a world is to each of several goals. A goal is a mark that the search should find.
pub trait Guide<M: Model>: Sync {
    /// The marks of the goals.
    fn goals(&self) -> &[u32];

    /// What a move costs on the way to each goal: `into` has one number for each.
    fn costs(&self, before: &M::World, by: &M::Move, after: &M::World, into: &mut [u32]);

    /// The estimated cost that is left from a world to each goal, and a number for the values that the goal reads.
    fn estimates(&self, world: &M::World, into: &mut [(u32, u64)]);
}

/// The number of worlds that one goal contributes to a block.
const EACH: usize = 2;

/// The most that a world pays for values of the goal that were seen before.
const FAMILIAR: u32 = 6;

/// A search towards goals that can be continued. The way to a mark need not be the shortest.
#[derive(Debug)]
pub struct DirectedSearch<M: Model> {
    result: SearchResult,
    seen: VisitedWorlds,
    /// The worlds that are not followed yet, by number.
    pending: Vec<Option<M::World>>,
    /// The cost of the way to each world, for each goal.
    spent: Vec<u32>,
    queues: Vec<Queue>,
    is_done: bool,
}

/// The worlds to follow for one goal, the most promising first.
#[derive(Debug, Default)]
struct Queue {
    open: BTreeSet<(u32, u32)>,
    /// How often the values that the goal reads were seen.
    familiar: std::collections::BTreeMap<u64, u32>,
    is_closed: bool,
}

impl<M: Model> DirectedSearch<M> {
    /// A search towards the goals that are not in `found`.
    pub fn new<W: Watch<M>, G: Guide<M>>(model: &M, watch: &W, guide: &G, found: &SearchResult) -> Self {
        let queues = guide.goals().iter().map(|it| Queue { is_closed: found.has(*it), ..Queue::default() });
        let mut search = Self {
            result: SearchResult::default(),
            seen: VisitedWorlds::default(),
            pending: Vec::new(),
            spent: Vec::new(),
            queues: queues.collect(),
            is_done: false,
        };
        let nothing = vec![0; guide.goals().len()];
        for (nth, world) in model.starts().into_iter().enumerate() {
            let nth = u32::try_from(nth).unwrap_or(u32::MAX);
            let origin = WorldOrigin { parent: None, nth };
            if let Some(id) = search.seen.add(model.key(&world), origin) {
                for mark in watch.start(&world) {
                    search.result.hit(mark, || vec![nth]);
                }
                search.put(guide, id, world, &nothing);
            }
        }
        search
    }

    /// The findings so far.
    pub fn result(&self) -> &SearchResult {
        &self.result
    }

    /// Whether nothing is left to do: every goal was found, or every reachable world was explored.
    pub fn is_done(&self) -> bool {
        self.is_done || self.queues.iter().all(|it| it.is_closed)
    }

    /// Whether every reachable world was explored.
    pub fn is_exhausted(&self) -> bool {
        self.is_done
    }

    /// Gives up the search towards a goal: it was found elsewhere.
    pub fn close(&mut self, goal: usize) {
        if let Some(queue) = self.queues.get_mut(goal) {
            *queue = Queue { is_closed: true, ..Queue::default() };
        }
    }

    /// Continues until so many worlds are known, or until the watcher ends it.
    pub fn advance<W: Watch<M>, G: Guide<M>>(
        &mut self,
        model: &M,
        watch: &W,
        guide: &G,
        worlds: usize,
        threads: usize,
    ) -> Stopped {
        let goals = guide.goals().len();
        let mut costs = vec![0; goals];
        loop {
            if self.is_done() {
                return Stopped::Exhausted;
            }
            if self.seen.len() >= worlds {
                return Stopped::Worlds;
            }
            let block = self.next_block();
            if block.is_empty() {
                self.is_done = true;
                return Stopped::Exhausted;
            }
            let (ids, worlds): (Vec<WorldId>, Vec<M::World>) = block.into_iter().unzip();
            let followed = follow(model, watch, &worlds, &self.seen, threads);
            for ((id, before), moves) in ids.iter().zip(&worlds).zip(followed) {
                self.result.progress.followed += 1;
                self.result.progress.moves += moves.len() as u64;
                for it in moves {
                    for mark in it.marks {
                        self.result.hit(mark, || {
                            let mut way = self.seen.moves_to(*id);
                            way.push(it.nth);
                            way
                        });
                        if let Some(goal) = guide.goals().iter().position(|it| *it == mark) {
                            self.close(goal);
                        }
                    }
                    let origin = WorldOrigin { parent: Some(*id), nth: it.nth };
                    if let Some((by, after)) = it.world
                        && let Some(new) = self.seen.add(it.key, origin)
                    {
                        guide.costs(before, &by, &after, &mut costs);
                        let first = id.0 as usize * goals;
                        for (cost, before) in
                            costs.iter_mut().zip(self.spent.get(first..).unwrap_or_default())
                        {
                            *cost = cost.saturating_add(*before);
                        }
                        self.put(guide, new, after, &costs);
                    }
                }
            }
            self.result.progress.worlds = self.seen.len();
            if !watch.go_on(&self.result.progress) {
                return Stopped::Asked;
            }
        }
    }

    /// The progress so far. Its depth says nothing: no level is complete.
    pub fn progress(&self) -> Progress {
        self.result.progress
    }

    fn put<G: Guide<M>>(&mut self, guide: &G, id: WorldId, world: M::World, spent: &[u32]) {
        let mut estimates = vec![(0, 0); self.queues.len()];
        guide.estimates(&world, &mut estimates);
        for ((queue, spent), (left, values)) in self.queues.iter_mut().zip(spent).zip(estimates) {
            if queue.is_closed {
                continue;
            }
            let times = queue.familiar.entry(values).or_default();
            let familiar = (*times).min(FAMILIAR);
            *times = times.saturating_add(1);
            queue.open.insert((spent.saturating_add(left).saturating_add(familiar), id.0));
        }
        self.spent.extend_from_slice(spent);
        self.pending.push(Some(world));
    }

    /// The most promising worlds of every goal, each once.
    fn next_block(&mut self) -> Vec<(WorldId, M::World)> {
        let mut block = Vec::new();
        for queue in self.queues.iter_mut().filter(|it| !it.is_closed) {
            let mut taken = 0;
            while taken < EACH
                && let Some((_, number)) = queue.open.pop_first()
            {
                // Another goal may have followed it.
                if let Some(world) = self.pending.get_mut(number as usize).and_then(Option::take) {
                    block.push((WorldId(number), world));
                    taken += 1;
                }
            }
        }
        block
    }
}
