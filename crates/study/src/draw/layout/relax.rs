//! Moves items towards the items they are linked with; items in one line move together, as far as their neighbours
//! allow.

use super::padded_list::PaddedList;
use super::route::CORNER;
use super::{Layers, LayoutPlan};

const ROUNDS: usize = 60;
/// Beyond this many items fewer rounds must do.
const MANY: usize = 2500;
/// Lines that are this close to straight are made straight.
const NEARLY: f64 = 18.0;

pub(super) fn relax(plan: &LayoutPlan, layers: &Layers, across: &mut PaddedList<f64>) {
    let mut relaxing = Relaxing::new(plan, layers);
    let rounds = if layers.items.len() > MANY { ROUNDS / 10 } else { ROUNDS };
    for round in 0..rounds {
        relaxing.line_up(across);
        relaxing.pull(across, round % 2 == 0);
    }
    relaxing.line_up(across);
    relaxing.straighten(across);
    let count = layers.items.len();
    let left = (0..count).map(|it| across.at(it) - layers.item(it).left).fold(f64::INFINITY, f64::min);
    for n in 0..count {
        across.put(n, across.at(n) - left);
    }
}

struct Relaxing<'a> {
    layers: &'a Layers,
    /// Half the width of a box that lines may end on; none for pieces of links.
    reach: PaddedList<Option<f64>>,
    /// Neighbours on both sides and how hard each pulls.
    joined: PaddedList<Vec<(usize, f64)>>,
    left: PaddedList<Option<usize>>,
    right: PaddedList<Option<usize>>,
    /// Items that move as one.
    groups: Vec<Vec<usize>>,
    /// The group of each item.
    member: PaddedList<usize>,
}

impl<'a> Relaxing<'a> {
    fn new(plan: &LayoutPlan, layers: &'a Layers) -> Self {
        let count = layers.items.len();
        let mut reach = PaddedList::filled(count, None);
        for (n, it) in plan.boxes.iter().enumerate() {
            reach.put(n, Some((it.width / 2.0 - CORNER).max(0.0)));
        }
        let mut joined = PaddedList::filled(count, Vec::new());
        for (chain, link) in layers.chains.iter().zip(&plan.links) {
            for pair in chain.windows(2) {
                let [above, below] = pair else { continue };
                let inner = layers.item(*above).block.is_none() && layers.item(*below).block.is_none();
                let weight = if link.main {
                    12.0
                } else if inner {
                    4.0
                } else {
                    1.0
                };
                joined.push(*above, (*below, weight));
                joined.push(*below, (*above, weight));
            }
        }
        let mut left = PaddedList::filled(count, None);
        let mut right = PaddedList::filled(count, None);
        for row in &layers.rows {
            for pair in row.windows(2) {
                let [a, b] = pair else { continue };
                right.put(*a, Some(*b));
                left.put(*b, Some(*a));
            }
        }
        Self { layers, reach, joined, left, right, groups: Vec::new(), member: PaddedList::filled(count, 0) }
    }

    /// Groups items that straight lines connect.
    fn line_up(&mut self, across: &PaddedList<f64>) {
        let count = self.layers.items.len();
        let mut seen: PaddedList<bool> = PaddedList::filled(count, false);
        self.groups.clear();
        for start in 0..count {
            if seen.at(start) {
                continue;
            }
            seen.put(start, true);
            let mut group = vec![start];
            let mut next = 0;
            while let Some(n) = group.get(next).copied() {
                next += 1;
                for (other, _) in self.joined.row(n) {
                    if !seen.at(*other) && (across.at(*other) - across.at(n)).abs() < 0.01 {
                        seen.put(*other, true);
                        group.push(*other);
                    }
                }
            }
            for n in &group {
                self.member.put(*n, self.groups.len());
            }
            self.groups.push(group);
        }
    }

    /// The space by which a group may move to the left and to the right.
    fn room(&self, group: usize, across: &PaddedList<f64>) -> (f64, f64) {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for n in self.groups.get(group).into_iter().flatten() {
            if let Some(left) = self.left.at(*n)
                && self.member.at(left) != group
            {
                low = low.max(across.at(left) + self.layers.apart(left, *n) - across.at(*n));
            }
            if let Some(right) = self.right.at(*n)
                && self.member.at(right) != group
            {
                high = high.min(across.at(right) - self.layers.apart(*n, right) - across.at(*n));
            }
        }
        (low.min(0.0), high.max(0.0))
    }

    /// The distance of the line between two items from straight; zero while it can end on the box above or
    /// below it.
    fn bend(&self, n: usize, other: usize, across: &PaddedList<f64>) -> f64 {
        let reach = self.reach.at(n).unwrap_or(0.0) + self.reach.at(other).unwrap_or(0.0);
        let far = across.at(other) - across.at(n);
        far - far.clamp(-reach, reach)
    }

    fn pull(&self, across: &mut PaddedList<f64>, rightwards: bool) {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        let place =
            |it: &usize| self.groups.get(*it).and_then(|it| it.first()).map_or(0.0, |it| across.at(*it));
        order.sort_by(|a, b| place(a).total_cmp(&place(b)));
        if !rightwards {
            order.reverse();
        }
        for group in order {
            let (mut sum, mut weights) = (0.0, 0.0);
            for n in self.groups.get(group).into_iter().flatten() {
                for (other, weight) in self.joined.row(*n) {
                    if self.member.at(*other) != group {
                        let far = across.at(*other) - across.at(*n);
                        // Mostly straight lines, a little balance.
                        sum += weight * (self.bend(*n, *other, across) + 0.12 * far);
                        weights += weight * 1.12;
                    }
                }
            }
            if weights > 0.0 {
                self.shift(group, sum / weights, across);
            }
        }
    }

    /// Moves a group as far as its neighbours allow.
    fn shift(&self, group: usize, by: f64, across: &mut PaddedList<f64>) {
        let (low, high) = self.room(group, across);
        let by = by.clamp(low, high);
        for n in self.groups.get(group).into_iter().flatten() {
            across.put(*n, across.at(*n) + by);
        }
    }

    /// Straightens nearly straight lines if nothing is in the way.
    fn straighten(&self, across: &mut PaddedList<f64>) {
        for group in 0..self.groups.len() {
            let members = self.groups.get(group).into_iter().flatten();
            let boxed = members.clone().any(|it| self.reach.at(*it).is_some());
            let mut wanted: Vec<f64> = Vec::new();
            for n in members {
                for (other, _) in self.joined.row(*n).iter().filter(|(it, _)| self.member.at(*it) != group) {
                    let bend = self.bend(*n, *other, across);
                    if bend != 0.0 && bend.abs() < NEARLY {
                        wanted.push(bend);
                    }
                }
            }
            let (low, high) = self.room(group, across);
            if !boxed && let Some(by) = wanted.into_iter().find(|it| *it >= low && *it <= high) {
                self.shift(group, by, across);
            }
        }
    }
}
