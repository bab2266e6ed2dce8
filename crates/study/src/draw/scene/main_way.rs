//! The order in which states are drawn, and the way through them that the eye should follow.

use std::collections::BTreeSet;

use super::fold::{self, Folded};
use trackside_protocol::diagram::{Graph, RuleKind};

/// The states in the order in which they are drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// The numbers of the states, in that order.
    pub order: Vec<usize>,
    /// Pairs of states on the main way.
    pub main: BTreeSet<(usize, usize)>,
    places: Vec<usize>,
}

impl Flow {
    pub fn of(graph: &Graph) -> Self {
        let order = order(graph);
        let mut places = vec![0; order.len()];
        for (n, state) in order.iter().enumerate() {
            if let Some(it) = places.get_mut(*state) {
                *it = n;
            }
        }
        // Edges from everywhere are not part of the main path.
        let main = main(graph, &places, &fold::fold_common(graph));
        Self { order, main, places }
    }

    /// The position of a state in the order.
    pub fn place(&self, state: usize) -> usize {
        self.places.get(state).copied().unwrap_or(state)
    }

    pub fn on_main(&self, state: usize) -> bool {
        self.main.iter().any(|(from, to)| *from == state || *to == state)
    }
}

/// The declared order, the initial state first. Most definitions are written the way things go; where
/// they are not, an order found by walking from the initial state has far fewer ways back, and is taken.
fn order(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes.len();
    let place = |name: &str| graph.nodes.iter().position(|it| it.name == *name).unwrap_or(0);
    let first = place(&graph.initial);
    let pairs: BTreeSet<(usize, usize)> = graph
        .edges
        .iter()
        .filter(|it| it.free.is_none())
        .map(|it| (place(&it.from), place(&it.to)))
        .collect();
    let mut declared: Vec<usize> = (0..count).collect();
    declared.sort_by_key(|it| *it != first);
    let walked = finish_order(first, count, &pairs);
    let back = |order: &[usize]| {
        let at = |n: usize| order.iter().position(|it| *it == n).unwrap_or(0);
        pairs.iter().filter(|(a, b)| at(*b) < at(*a)).count()
    };
    if back(&walked) * 2 < back(&declared) { walked } else { declared }
}

/// States in the order in which a walk from the first is finished with them, reversed.
fn finish_order(first: usize, count: usize, pairs: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    fn visit(n: usize, pairs: &BTreeSet<(usize, usize)>, seen: &mut BTreeSet<usize>, done: &mut Vec<usize>) {
        if !seen.insert(n) {
            return;
        }
        for (_, to) in pairs.range((n, 0)..=(n, usize::MAX)).rev() {
            visit(*to, pairs, seen, done);
        }
        done.push(n);
    }
    let mut seen = BTreeSet::new();
    let mut done = Vec::new();
    // States that the first cannot reach come after it.
    let mut rest = Vec::new();
    visit(first, pairs, &mut seen, &mut done);
    for n in 0..count {
        visit(n, pairs, &mut seen, &mut rest);
    }
    done.reverse();
    rest.reverse();
    done.extend(rest);
    done
}

/// The state pairs of the main path: the declared path, or else the longest forward path of requests, preferably to
/// a success.
fn main(graph: &Graph, places: &[usize], folded: &Folded<'_>) -> BTreeSet<(usize, usize)> {
    let place = |name: &str| graph.nodes.iter().position(|it| it.name == *name).unwrap_or(0);
    let first = place(&graph.initial);
    if graph.path.len() > 1 {
        let steps = graph.path.windows(2).filter_map(|it| Some((place(it.first()?), place(it.last()?))));
        return steps.collect();
    }
    let at = |n: usize| places.get(n).copied().unwrap_or(0);
    let forward: BTreeSet<(usize, usize)> = folded
        .pairs
        .iter()
        .filter(|it| it.kind() != RuleKind::Timed)
        .map(|it| (place(&it.from), place(&it.to)))
        .filter(|(a, b)| at(*a) < at(*b))
        .collect();
    let worth = |n: usize| -> i64 {
        let outcome = graph.nodes.get(n).and_then(|it| it.outcome.as_ref());
        match outcome.map(|it| it.as_str()) {
            Some("success") => 100,
            Some(_) => -100,
            None => 1,
        }
    };
    // From the last state to the first: the best that can follow each.
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|it| std::cmp::Reverse(at(*it)));
    let mut best: Vec<(i64, Option<usize>)> = vec![(0, None); graph.nodes.len()];
    for n in order {
        // The path ends at a success.
        let arrived = worth(n) == 100;
        let next = forward.range((n, 0)..=(n, usize::MAX)).map(|(_, to)| *to).filter(|_| !arrived);
        let next = next.max_by_key(|it| (best.get(*it).map_or(0, |it| it.0), std::cmp::Reverse(at(*it))));
        let gained = next.and_then(|it| best.get(it)).map_or(0, |it| it.0);
        if let Some(it) = best.get_mut(n) {
            *it = (worth(n) + gained, next);
        }
    }
    let mut main = BTreeSet::new();
    let mut here = first;
    while let Some(next) = best.get(here).and_then(|it| it.1) {
        main.insert((here, next));
        here = next;
    }
    main
}
