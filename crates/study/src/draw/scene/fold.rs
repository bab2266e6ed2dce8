//! Chooses the moves that share a line, and those that share a box of several states.

use std::collections::BTreeSet;

use trackside_lifecycle::name::Name;

use trackside_protocol::diagram::{DiagramRule, Edge, Graph, RuleKind};

/// Pairs of states for each state, beyond which ways are drawn together.
const DENSE: f64 = 1.75;
/// The fewest states that share a box.
const SEVERAL: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Folded<'a> {
    pub pairs: Vec<Pair<'a>>,
    pub groups: Vec<FoldedGroup<'a>>,
    loops: Vec<Pair<'a>>,
}

/// All ways from one state to another.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub from: Name,
    pub to: Name,
    pub edges: Vec<&'a Edge>,
}

/// Ways between several states and one.
#[derive(Debug)]
pub(super) struct FoldedGroup<'a> {
    pub one: Name,
    pub inwards: bool,
    /// In declared order.
    pub others: Vec<Name>,
    pub edges: Vec<&'a Edge>,
}

/// The kind of a line, if time or people can take it.
fn kind(edges: &[&Edge]) -> RuleKind {
    edges.iter().map(|it| it.rule.kind).min().unwrap_or(RuleKind::Engine)
}

impl<'a> Pair<'a> {
    pub fn rules(&self) -> Vec<&'a DiagramRule> {
        self.edges.iter().map(|it| &it.rule).collect()
    }

    pub fn kind(&self) -> RuleKind {
        kind(&self.edges)
    }
}

impl FoldedGroup<'_> {
    pub fn kind(&self) -> RuleKind {
        kind(&self.edges)
    }

    /// The states in few words.
    pub fn states_text(&self, graph: &Graph) -> String {
        let open = graph.nodes.iter().filter(|it| !it.last && it.name != self.one).map(|it| &it.name);
        let missing: Vec<&str> = open.filter(|it| !self.others.contains(it)).map(|it| it.as_str()).collect();
        let only_open = self.others.iter().all(|name| graph.node(name).is_some_and(|it| !it.last));
        if missing.is_empty() && only_open {
            return "any open state".to_owned();
        }
        if only_open && missing.len() <= 2 && self.others.len() > 2 * missing.len() + 1 {
            return format!("any open state but {}", missing.join(", "));
        }
        let names: Vec<&str> = self.others.iter().map(|it| it.as_str()).collect();
        names.join(", ")
    }
}

impl<'a> Folded<'a> {
    /// The rules that lead from a state to itself.
    pub fn self_loops(&self, state: &Name) -> Option<Vec<&'a DiagramRule>> {
        self.loops.iter().find(|it| it.from == *state).map(Pair::rules)
    }
}

/// Merges only moves that more than half of the open states have in common.
pub(super) fn fold_common(graph: &Graph) -> Folded<'_> {
    let open = graph.nodes.iter().filter(|it| !it.last).count();
    fold_from(graph, &BTreeSet::new(), SEVERAL.max(open / 2 + 1))
}

/// Pairs on the main path keep their own line.
pub(super) fn fold<'a>(graph: &'a Graph, main: &BTreeSet<(usize, usize)>) -> Folded<'a> {
    fold_from(graph, main, SEVERAL)
}

fn fold_from<'a>(graph: &'a Graph, main: &BTreeSet<(usize, usize)>, least: usize) -> Folded<'a> {
    let mut folded = Folded::default();
    let pairs: BTreeSet<(&Name, &Name)> =
        graph.edges.iter().filter(|it| it.from != it.to).map(|it| (&it.from, &it.to)).collect();
    let dense = pairs.len() as f64 > graph.nodes.len() as f64 * DENSE;
    let mut taken: Vec<bool> = vec![false; graph.edges.len()];
    let place = |name: &Name| graph.nodes.iter().position(|it| it.name == *name).unwrap_or(0);
    let on_main = |it: &Edge| main.contains(&(place(&it.from), place(&it.to)));
    if dense {
        // First edges to many states, as the definition has them; then edges from many states.
        gather(graph, false, least, &on_main, &mut taken, &mut folded.groups);
        gather(graph, true, least, &on_main, &mut taken, &mut folded.groups);
    }
    for (edge, taken) in graph.edges.iter().zip(&taken) {
        if *taken {
            continue;
        }
        let list = if edge.from == edge.to { &mut folded.loops } else { &mut folded.pairs };
        match list.iter_mut().find(|it| it.from == edge.from && it.to == edge.to) {
            Some(pair) => pair.edges.push(edge),
            None => {
                list.push(Pair { from: edge.from.clone(), to: edge.to.clone(), edges: vec![edge] });
            }
        }
    }
    folded
}

/// Merges the moves of one transition between a state and several others.
fn gather<'a>(
    graph: &'a Graph,
    inwards: bool,
    least: usize,
    on_main: &dyn Fn(&Edge) -> bool,
    taken: &mut [bool],
    groups: &mut Vec<FoldedGroup<'a>>,
) {
    let one = |it: &Edge| if inwards { it.to.clone() } else { it.from.clone() };
    let other = |it: &Edge| if inwards { it.from.clone() } else { it.to.clone() };
    let mut keys: Vec<(Name, &str)> = Vec::new();
    for edge in graph.edges.iter().filter(|it| it.from != it.to && (inwards || it.free.is_some())) {
        let key = (one(edge), edge.rule.label());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    for (state, label) in keys {
        let mut mine: Vec<usize> = graph
            .edges
            .iter()
            .enumerate()
            .filter(|(n, it)| {
                one(it) == state
                    && it.from != it.to
                    && it.rule.label() == label
                    && (inwards || it.free.is_some())
                    && taken.get(*n) == Some(&false)
            })
            .map(|(n, _)| n)
            .collect();
        let states = |mine: &[usize]| -> Vec<Name> {
            let names: Vec<Name> = mine.iter().filter_map(|it| graph.edges.get(*it)).map(other).collect();
            graph.nodes.iter().map(|it| it.name.clone()).filter(|it| names.contains(it)).collect()
        };
        if states(&mine).len() < least {
            continue;
        }
        mine.retain(|it| graph.edges.get(*it).is_some_and(|it| !on_main(it)));
        let others = states(&mine);
        if others.len() < 2 {
            continue;
        }
        let edges: Vec<&Edge> = mine.iter().filter_map(|it| graph.edges.get(*it)).collect();
        for n in mine {
            if let Some(it) = taken.get_mut(n) {
                *it = true;
            }
        }
        // Incoming edges share one box; outgoing edges have separate boxes.
        let same = |it: &&mut FoldedGroup<'_>| {
            it.one == state && it.inwards == inwards && (inwards || it.others == others)
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.edges.extend(edges);
                let either = |it: &Name| others.contains(it) || group.others.contains(it);
                group.others = graph.nodes.iter().map(|it| it.name.clone()).filter(|it| either(it)).collect();
            }
            None => groups.push(FoldedGroup { one: state, inwards, others, edges }),
        }
    }
}
