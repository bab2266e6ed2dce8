//! Horizontal positions, after Brandes and Köpf: items are aligned with a neighbour above or below, four
//! times, once from each corner, and the median of the four is taken. Long lines become straight, the main
//! path first.

use std::collections::BTreeSet;

use super::padded_list::PaddedList;
use super::{Layers, LayoutPlan};

/// Reads layers from one of the four corners.
#[derive(Clone, Copy, Debug)]
struct Corner {
    downwards: bool,
    rightwards: bool,
}

const CORNERS: [Corner; 4] = [
    Corner { downwards: true, rightwards: true },
    Corner { downwards: true, rightwards: false },
    Corner { downwards: false, rightwards: true },
    Corner { downwards: false, rightwards: false },
];

pub(super) fn places(plan: &LayoutPlan, layers: &Layers) -> PaddedList<f64> {
    let look = Look::new(plan, layers);
    let all: Vec<PaddedList<f64>> = CORNERS.iter().map(|it| look.from(*it)).collect();
    let count = layers.items.len();
    let span = |xs: &PaddedList<f64>| {
        let left = (0..count).map(|it| xs.at(it) - layers.item(it).left).fold(f64::INFINITY, f64::min);
        let right = (0..count).map(|it| xs.at(it) + layers.item(it).right).fold(f64::NEG_INFINITY, f64::max);
        (left, right)
    };
    let spans: Vec<(f64, f64)> = all.iter().map(span).collect();
    let narrowest =
        spans.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0))).unwrap_or_default();
    let mut xs: PaddedList<f64> = PaddedList::filled(count, 0.0);
    for n in 0..count {
        let mut four: Vec<f64> = all
            .iter()
            .zip(&spans)
            .zip(&CORNERS)
            .map(|((xs, span), corner)| {
                let shift = if corner.rightwards { narrowest.0 - span.0 } else { narrowest.1 - span.1 };
                xs.at(n) + shift
            })
            .collect();
        four.sort_by(f64::total_cmp);
        if let [_, a, b, _] = four.as_slice() {
            xs.put(n, f64::midpoint(*a, *b));
        }
    }
    let left = span(&xs).0;
    for n in 0..count {
        xs.put(n, xs.at(n) - left);
    }
    xs
}

struct Look<'a> {
    layers: &'a Layers,
    place: PaddedList<usize>,
    /// Pairs that belong to the main way.
    main: BTreeSet<(usize, usize)>,
    /// Pairs that must not be aligned: they cross a more important line.
    conflicts: BTreeSet<(usize, usize)>,
}

impl<'a> Look<'a> {
    fn new(plan: &LayoutPlan, layers: &'a Layers) -> Self {
        let mut place = PaddedList::filled(layers.items.len(), 0);
        for row in &layers.rows {
            for (n, item) in row.iter().enumerate() {
                place.put(*item, n);
            }
        }
        let mut main = BTreeSet::new();
        for (chain, link) in layers.chains.iter().zip(&plan.links) {
            if link.main {
                main.extend(chain.windows(2).filter_map(|it| Some((*it.first()?, *it.last()?))));
            }
        }
        let mut look = Self { layers, place, main, conflicts: BTreeSet::new() };
        look.find_conflicts();
        look
    }

    /// The main way before long lines, long lines before the rest.
    fn weight(&self, above: usize, below: usize) -> u8 {
        let inner = |it: usize| self.layers.item(it).block.is_none();
        if self.main.contains(&(above, below)) { 2 } else { u8::from(inner(above) && inner(below)) }
    }

    fn find_conflicts(&mut self) {
        for row in &self.layers.rows {
            let mut lines: Vec<(usize, usize, u8)> = Vec::new();
            for above in row {
                for below in self.layers.down.row(*above) {
                    lines.push((*above, *below, self.weight(*above, *below)));
                }
            }
            // Only lines that outweigh others can forbid them, and they are few.
            for strong in lines.iter().filter(|it| it.2 > 0) {
                for weak in lines.iter().filter(|it| it.2 < strong.2) {
                    let top = self.place.at(strong.0).cmp(&self.place.at(weak.0));
                    let bottom = self.place.at(strong.1).cmp(&self.place.at(weak.1));
                    if top.is_ne() && bottom.is_ne() && top != bottom {
                        self.conflicts.insert((weak.0, weak.1));
                    }
                }
            }
        }
    }

    fn from(&self, corner: Corner) -> PaddedList<f64> {
        self.compact(&self.line_up(corner), corner)
    }

    /// Aligns items vertically: for each item, the first one of its column.
    fn line_up(&self, corner: Corner) -> PaddedList<usize> {
        let count = self.layers.items.len();
        let mut root: PaddedList<usize> = PaddedList::filled(count, 0);
        let mut lined_up: PaddedList<bool> = PaddedList::filled(count, false);
        let mut followed: PaddedList<bool> = PaddedList::filled(count, false);
        for n in 0..count {
            root.put(n, n);
        }
        let depth = self.layers.rows.len();
        for step in 0..depth {
            let layer = if corner.downwards { step } else { depth - 1 - step };
            let Some(row) = self.layers.rows.get(layer) else { continue };
            // The positions of the layer before that are already taken.
            let mut reached: i64 = -1;
            for step in 0..row.len() {
                let at = if corner.rightwards { step } else { row.len() - 1 - step };
                let Some(item) = row.get(at).copied() else { continue };
                for neighbour in self.candidates(item, corner) {
                    let pair = if corner.downwards { (neighbour, item) } else { (item, neighbour) };
                    let spot = self.spot(neighbour, corner);
                    if !lined_up.at(item)
                        && !self.spoken_for(neighbour, item, corner)
                        && !followed.at(neighbour)
                        && reached < spot
                        && !self.conflicts.contains(&pair)
                    {
                        root.put(item, root.at(neighbour));
                        lined_up.put(item, true);
                        followed.put(neighbour, true);
                        reached = spot;
                    }
                }
            }
        }
        root
    }

    /// The neighbours an item may be lined up with, the best first.
    fn candidates(&self, item: usize, corner: Corner) -> Vec<usize> {
        let side = if corner.downwards { &self.layers.up } else { &self.layers.down };
        let mut all: Vec<usize> = side.row(item).to_vec();
        all.sort_by_key(|it| self.spot(*it, corner));
        let weight = |it: usize| if corner.downwards { self.weight(it, item) } else { self.weight(item, it) };
        if let Some(main) = all.iter().copied().find(|it| weight(*it) == 2) {
            return vec![main];
        }
        let low = all.len().saturating_sub(1) / 2;
        let high = all.len() / 2;
        let mut middle: Vec<usize> = all.get(low..=high).map(<[usize]>::to_vec).unwrap_or_default();
        middle.dedup();
        middle
    }

    /// Whether the main path continues from it to another item of this layer.
    fn spoken_for(&self, neighbour: usize, item: usize, corner: Corner) -> bool {
        let side = if corner.downwards { &self.layers.down } else { &self.layers.up };
        let main = |it: usize| {
            let pair = if corner.downwards { (neighbour, it) } else { (it, neighbour) };
            self.main.contains(&pair)
        };
        !main(item) && side.row(neighbour).iter().any(|it| main(*it))
    }

    fn spot(&self, item: usize, corner: Corner) -> i64 {
        let place = self.place.at(item);
        let length = self.layers.rows.get(self.layers.item(item).layer).map_or(0, Vec::len);
        let place = if corner.rightwards { place } else { length.saturating_sub(place + 1) };
        i64::try_from(place).unwrap_or(i64::MAX)
    }

    /// Moves the columns together as far as possible.
    fn compact(&self, root: &PaddedList<usize>, corner: Corner) -> PaddedList<f64> {
        let count = self.layers.items.len();
        let mut after: PaddedList<Vec<(usize, f64)>> = PaddedList::filled(count, Vec::new());
        let mut waiting: PaddedList<usize> = PaddedList::filled(count, 0);
        for row in &self.layers.rows {
            for pair in row.windows(2) {
                let [left, right] = pair else { continue };
                let apart = self.layers.apart(*left, *right);
                let (a, b) = if corner.rightwards { (*left, *right) } else { (*right, *left) };
                after.push(root.at(a), (root.at(b), apart));
                waiting.put(root.at(b), waiting.at(root.at(b)) + 1);
            }
        }
        let mut sorted: Vec<usize> =
            (0..count).filter(|it| root.at(*it) == *it && waiting.at(*it) == 0).collect();
        let mut xs: PaddedList<f64> = PaddedList::filled(count, 0.0);
        let mut next = 0;
        while let Some(n) = sorted.get(next).copied() {
            next += 1;
            for (other, apart) in after.row(n) {
                xs.put(*other, xs.at(*other).max(xs.at(n) + apart));
                waiting.put(*other, waiting.at(*other) - 1);
                if waiting.at(*other) == 0 {
                    sorted.push(*other);
                }
            }
        }
        // An item with followers only moves up to them.
        for n in sorted.iter().rev() {
            let room = after
                .row(*n)
                .iter()
                .map(|(other, apart)| xs.at(*other) - apart)
                .fold(f64::INFINITY, f64::min);
            if room.is_finite() {
                xs.put(*n, xs.at(*n).max(room));
            }
        }
        let sign = if corner.rightwards { 1.0 } else { -1.0 };
        let mut all: PaddedList<f64> = PaddedList::filled(count, 0.0);
        for n in 0..count {
            all.put(n, sign * xs.at(root.at(n)));
        }
        all
    }
}
