//! Assigns each box to a layer: below its predecessors and close to its neighbours.

use std::collections::BTreeSet;

use super::LayoutPlan;
use super::padded_list::PaddedList;

/// Rounds of pulling boxes towards their neighbours. It settles long before.
const ROUNDS: usize = 64;
/// Beyond this many links only single boxes are moved, not the boxes attached to them.
const MANY: usize = 1500;

pub(super) fn ranks(plan: &LayoutPlan) -> PaddedList<usize> {
    let mut ranking = Ranking::new(plan);
    ranking.stack();
    for _ in 0..ROUNDS {
        let pulled = ranking.pull_each();
        let moved = ranking.joints.len() <= MANY && ranking.pull_together();
        if !pulled && !moved {
            break;
        }
    }
    ranking.set_islands(plan);
    ranking.numbered()
}

/// A link from an upper to a lower box, and how much it wants to be short.
#[derive(Clone, Copy, Debug)]
struct Joint {
    top: usize,
    bottom: usize,
    weight: i64,
}

struct Ranking {
    joints: Vec<Joint>,
    /// The joints of each box.
    above: PaddedList<Vec<usize>>,
    below: PaddedList<Vec<usize>>,
    order: Vec<usize>,
    ranks: PaddedList<i64>,
}

impl Ranking {
    fn new(plan: &LayoutPlan) -> Self {
        let count = plan.boxes.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|it| (plan.before(*it), *it));
        let mut above = PaddedList::filled(count, Vec::new());
        let mut below = PaddedList::filled(count, Vec::new());
        let mut joints = Vec::new();
        for link in &plan.links {
            let (top, bottom, rising) = plan.ends(link);
            // Upward links may be long; the main path should be short.
            let weight = if link.main {
                8
            } else if rising {
                1
            } else {
                2
            };
            above.push(bottom, joints.len());
            below.push(top, joints.len());
            joints.push(Joint { top, bottom, weight });
        }
        Self { joints, above, below, order, ranks: PaddedList::filled(count, 0) }
    }

    fn on(&self, list: &[usize]) -> Vec<Joint> {
        list.iter().filter_map(|it| self.joints.get(*it)).copied().collect()
    }

    /// Ranks each box below all boxes that lead to it.
    fn stack(&mut self) {
        for n in self.order.clone() {
            let above = self.on(self.above.row(n));
            self.ranks.put(n, above.iter().map(|it| self.ranks.at(it.top) + 1).max().unwrap_or(0));
        }
    }

    /// Moves single boxes to where their links are shortest.
    fn pull_each(&mut self) -> bool {
        let mut moved = false;
        for n in self.order.iter().rev().chain(&self.order).copied().collect::<Vec<_>>() {
            let (above, below) = (self.on(self.above.row(n)), self.on(self.below.row(n)));
            let highest = above.iter().map(|it| self.ranks.at(it.top) + 1).max();
            let lowest = below.iter().map(|it| self.ranks.at(it.bottom) - 1).min();
            let pull = |all: &[Joint]| all.iter().map(|it| it.weight).sum::<i64>();
            let best = match (highest, lowest) {
                (Some(_), Some(lowest)) if pull(&below) > pull(&above) => lowest,
                (None, Some(lowest)) => lowest,
                (Some(highest), _) => highest,
                (None, None) => self.ranks.at(n),
            };
            moved |= best != self.ranks.at(n);
            self.ranks.put(n, best);
        }
        moved
    }

    fn slack(&self, joint: &Joint) -> i64 {
        self.ranks.at(joint.bottom) - self.ranks.at(joint.top) - 1
    }

    /// Moves boxes that are closely joined, all at once, where that makes links shorter.
    fn pull_together(&mut self) -> bool {
        let mut moved = false;
        for n in 0..self.joints.len() {
            let Some(joint) = self.joints.get(n).copied() else { continue };
            for (end, down) in [(joint.top, true), (joint.bottom, false)] {
                if self.slack(&joint) <= 0 {
                    break;
                }
                let group = self.closely_joined(end);
                let mut gain = 0;
                let mut room = i64::MAX;
                for other in &self.joints {
                    let (top, bottom) = (group.contains(&other.top), group.contains(&other.bottom));
                    if top == bottom {
                        continue;
                    }
                    if top == down {
                        gain += other.weight;
                        room = room.min(self.slack(other));
                    } else {
                        gain -= other.weight;
                    }
                }
                if gain > 0 && room > 0 && room < i64::MAX {
                    for it in group {
                        self.ranks.put(it, self.ranks.at(it) + if down { room } else { -room });
                    }
                    moved = true;
                }
            }
        }
        moved
    }

    /// All boxes connected to a box by links of minimum length.
    fn closely_joined(&self, start: usize) -> BTreeSet<usize> {
        self.reached(start, |it| self.slack(it) == 0)
    }

    fn reached(&self, start: usize, follow: impl Fn(&Joint) -> bool) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(n) = open.pop() {
            for joint in self.on(self.above.row(n)).iter().chain(&self.on(self.below.row(n))) {
                let other = if joint.top == n { joint.bottom } else { joint.top };
                if follow(joint) && seen.insert(other) {
                    open.push(other);
                }
            }
        }
        seen
    }

    /// Ranks items without links: final states at the bottom, notes beside the state they describe.
    fn set_islands(&mut self, plan: &LayoutPlan) {
        let Some(first) = self.order.first().copied() else { return };
        let mainland = self.reached(first, |_| true);
        let top = mainland.iter().map(|it| self.ranks.at(*it)).min().unwrap_or(0);
        let bottom = mainland.iter().map(|it| self.ranks.at(*it)).max().unwrap_or(0);
        let mut done = mainland.clone();
        for n in self.order.clone() {
            if done.contains(&n) {
                continue;
            }
            let island = self.reached(n, |_| true);
            let near: Vec<i64> = island
                .iter()
                .flat_map(|it| plan.boxes.get(*it).map(|it| it.near.clone()).unwrap_or_default())
                .filter(|it| mainland.contains(it))
                .map(|it| self.ranks.at(it))
                .collect();
            let sinks = island.iter().any(|it| plan.boxes.get(*it).is_some_and(|it| it.sinks));
            let (high, low) = island
                .iter()
                .map(|it| self.ranks.at(*it))
                .fold((i64::MAX, i64::MIN), |(high, low), it| (high.min(it), low.max(it)));
            let mean = near.iter().sum::<i64>().checked_div(i64::try_from(near.len()).unwrap_or(1));
            let shift = match mean {
                _ if sinks => bottom - low,
                Some(mean) => (mean - high).min(bottom - low).max(top - high),
                None => top - high,
            };
            for it in &island {
                self.ranks.put(*it, self.ranks.at(*it) + shift);
            }
            done.extend(island);
        }
    }

    /// Counted from the top.
    fn numbered(&self) -> PaddedList<usize> {
        let least = (0..self.ranks.len()).map(|it| self.ranks.at(it)).min().unwrap_or(0);
        let mut numbers = PaddedList::filled(self.ranks.len(), 0);
        for n in 0..self.ranks.len() {
            numbers.put(n, usize::try_from(self.ranks.at(n) - least).unwrap_or(0));
        }
        numbers
    }
}
