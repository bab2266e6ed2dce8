//! What leads from one state to another as one arrow: for pictures.

use crate::graph::{ClockKind, Edge, Graph, Kind, Node, Rule};
use trackside_lifecycle::name::Name;

/// How wide a line of a label may be, in characters.
const WIDTH: usize = 34;
/// A timer that runs in more states than these is told where it moves something, not in each of them.
const FEW: usize = 3;

/// Everything that leads from one state to another.
#[derive(Debug)]
pub(super) struct Arrow<'a> {
    pub from: &'a Name,
    pub to: &'a Name,
    /// What people and agents can do outweighs time, and time the engine.
    pub kind: Kind,
    /// Out of a state that is final.
    pub again: bool,
    /// Its label, none of them wide.
    pub lines: Vec<String>,
}

/// The arrows of a graph, in the order of its edges.
pub(super) fn arrows(graph: &Graph) -> Vec<Arrow<'_>> {
    let mut found: Vec<Arrow<'_>> = Vec::new();
    for edge in &graph.edges {
        let place = found.iter().position(|it| *it.from == edge.from && *it.to == edge.to);
        let place = place.unwrap_or_else(|| {
            let again = graph.node(&edge.from).is_some_and(|it| it.last);
            let Edge { from, to, rule, .. } = edge;
            found.push(Arrow { from, to, kind: rule.kind, again, lines: Vec::new() });
            found.len() - 1
        });
        let Some(arrow) = found.get_mut(place) else { continue };
        arrow.kind = arrow.kind.min(edge.rule.kind);
        let line = told(&edge.rule, arrow.again);
        if !arrow.lines.contains(&line) {
            arrow.lines.push(line);
        }
    }
    for arrow in &mut found {
        arrow.lines = arrow.lines.iter().flat_map(|it| wrapped(it)).collect();
    }
    found
}

/// How it is created.
pub(super) fn created(graph: &Graph) -> Vec<String> {
    wrapped(&format!("create · {}", graph.created_by))
}

/// What a state says of time, a line each.
pub(super) fn clocks(graph: &Graph, node: &Node) -> Vec<String> {
    let runs =
        |name: &Name| graph.nodes.iter().filter(|it| it.clocks.iter().any(|it| it.name == *name)).count();
    let shown = node.clocks.iter().filter(|it| it.kind != ClockKind::Timer || runs(&it.name) <= FEW);
    let told = shown.map(|it| match it.kind {
        ClockKind::Deadline => format!("deadline {}", it.words),
        ClockKind::Retain => format!("kept {}", it.words),
        ClockKind::Timer => format!("{} {}", it.name, it.words),
    });
    told.flat_map(|it| wrapped(&it)).collect()
}

/// The event, when, and who or what does it.
fn told(rule: &Rule, again: bool) -> String {
    let mut line = rule.label().to_owned();
    if let Some(when) = &rule.when {
        line.push_str(&format!(" [{when}]"));
    }
    match (rule.kind, &rule.span) {
        (Kind::Timed, Some(span)) => line.push_str(&format!(" · after {span}")),
        _ if again => line.push_str(" · created again"),
        _ => line.push_str(&format!(" · {}", rule.who)),
    }
    line.replace("after at ", "at ").replace("after every ", "every ").replace("after daily ", "daily ")
}

/// Broken between words into lines that are not too wide.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
