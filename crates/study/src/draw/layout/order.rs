//! The order within each layer: sweeps by the median of the neighbours, then swaps of neighbours that
//! remove crossings. The best order found is kept.

use super::Layers;
use super::padded_list::PaddedList;

const SWEEPS: usize = 24;
/// Beyond this many items fewer sweeps must do.
const MANY: usize = 2500;

pub(super) fn sort(layers: &mut Layers) {
    start(layers);
    let mut place = places(layers);
    let mut best = layers.rows.clone();
    let mut fewest = crossings(layers, &place);
    let sweeps = if layers.items.len() > MANY { SWEEPS / 4 } else { SWEEPS };
    for sweep in 0..sweeps {
        by_middles(layers, &mut place, sweep % 2 == 0);
        swap(layers, &mut place);
        let now = crossings(layers, &place);
        if now < fewest {
            fewest = now;
            best = layers.rows.clone();
        }
        if fewest == 0 {
            break;
        }
    }
    layers.rows = best;
}

/// Depth first from the top, so that connected items start together.
fn start(layers: &mut Layers) {
    let mut seen: PaddedList<bool> = PaddedList::filled(layers.items.len(), false);
    let mut roots: Vec<usize> = (0..layers.items.len()).collect();
    roots.sort_by_key(|it| layers.item(*it).layer);
    for root in roots {
        let mut open = vec![root];
        while let Some(n) = open.pop() {
            if seen.at(n) {
                continue;
            }
            seen.put(n, true);
            if let Some(row) = layers.rows.get_mut(layers.items.get(n).map_or(0, |it| it.layer)) {
                row.push(n);
            }
            open.extend(layers.down.row(n).iter().rev());
        }
    }
}

/// The position of each item in its layer.
fn places(layers: &Layers) -> PaddedList<usize> {
    let mut place = PaddedList::filled(layers.items.len(), 0);
    for row in &layers.rows {
        for (n, item) in row.iter().enumerate() {
            place.put(*item, n);
        }
    }
    place
}

fn by_middles(layers: &mut Layers, place: &mut PaddedList<usize>, downwards: bool) {
    let count = layers.rows.len();
    for step in 0..count {
        let layer = if downwards { step } else { count - 1 - step };
        let Some(row) = layers.rows.get(layer) else { continue };
        let side = if downwards { &layers.up } else { &layers.down };
        let mut sorted: Vec<(f64, usize)> = row
            .iter()
            .map(|it| (middle(side.row(*it), place).unwrap_or(place.at(*it) as f64), *it))
            .collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(place.at(a.1).cmp(&place.at(b.1))));
        let row: Vec<usize> = sorted.into_iter().map(|(_, it)| it).collect();
        for (n, item) in row.iter().enumerate() {
            place.put(*item, n);
        }
        if let Some(old) = layers.rows.get_mut(layer) {
            *old = row;
        }
    }
}

/// The weighted median of the neighbours' places.
fn middle(neighbours: &[usize], place: &PaddedList<usize>) -> Option<f64> {
    let mut all: Vec<f64> = neighbours.iter().map(|it| place.at(*it) as f64).collect();
    all.sort_by(f64::total_cmp);
    let half = all.len() / 2;
    match all.as_slice() {
        [] => None,
        _ if all.len() % 2 == 1 => all.get(half).copied(),
        [a, b] => Some(f64::midpoint(*a, *b)),
        [only] => Some(*only),
        [first, .., last] => {
            let (a, b) = (*all.get(half - 1)?, *all.get(half)?);
            let (left, right) = (a - first, last - b);
            let sum = left + right;
            Some(if sum == 0.0 { f64::midpoint(a, b) } else { (a * right + b * left) / sum })
        }
    }
}

/// Swaps neighbours while that removes crossings.
fn swap(layers: &mut Layers, place: &mut PaddedList<usize>) {
    let rounds = if layers.items.len() > MANY { 2 } else { 8 };
    for _ in 0..rounds {
        let mut better = false;
        for layer in 0..layers.rows.len() {
            let length = layers.rows.get(layer).map_or(0, Vec::len);
            for n in 1..length {
                let Some(row) = layers.rows.get(layer) else { continue };
                let (Some(a), Some(b)) = (row.get(n - 1).copied(), row.get(n).copied()) else { continue };
                let gain: i64 = [&layers.up, &layers.down]
                    .iter()
                    .map(|side| {
                        let (one, two) = (side.row(a), side.row(b));
                        pairwise(one, two, place) - pairwise(two, one, place)
                    })
                    .sum();
                if gain > 0 {
                    better = true;
                    place.put(a, n);
                    place.put(b, n - 1);
                    if let Some(row) = layers.rows.get_mut(layer) {
                        row.swap(n - 1, n);
                    }
                }
            }
        }
        if !better {
            break;
        }
    }
}

/// Crossings between the lines of two items if the first is left of the second.
fn pairwise(left: &[usize], right: &[usize], place: &PaddedList<usize>) -> i64 {
    let crossed = |a: &usize| right.iter().filter(|b| place.at(**b) < place.at(*a)).count();
    i64::try_from(left.iter().map(crossed).sum::<usize>()).unwrap_or(i64::MAX)
}

/// All crossings, counted from layer to layer with a tree of sums.
pub(super) fn crossings(layers: &Layers, place: &PaddedList<usize>) -> usize {
    let mut total = 0;
    for (n, row) in layers.rows.iter().enumerate() {
        let below = layers.rows.get(n + 1).map_or(0, Vec::len);
        let mut sums: PaddedList<usize> = PaddedList::filled(below + 1, 0);
        let mut counted = 0;
        for item in row {
            let mut ends: Vec<usize> = layers.down.row(*item).iter().map(|it| place.at(*it)).collect();
            ends.sort_unstable();
            for end in &ends {
                let mut up_to = 0;
                let mut at = end + 1;
                while at > 0 {
                    up_to += sums.at(at);
                    at &= at - 1;
                }
                total += counted - up_to;
            }
            for end in ends {
                counted += 1;
                let mut at = end + 1;
                while at <= below {
                    sums.put(at, sums.at(at) + 1);
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    total
}
