//! DOT, the language of Graphviz: for `dot -Tsvg` and other readers.

use super::arrows::{Arrow, ArrowLabel, arrows, clocks, created};
use super::ids::IdentifierMap;
use trackside_lifecycle::printable::{escape, is_printable};
use trackside_protocol::diagram::{Graph, RuleKind, StateNode};

const WIDTH: usize = 34;

/// A lifecycle as a directed graph. Moves by time are dashed, moves of the engine dotted.
pub fn dot(graph: &Graph) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&graph.name));
    text.push_str(concat!(
        "  graph [rankdir=TB, nodesep=0.5, ranksep=0.6, bgcolor=transparent, fontname=\"Helvetica\"]\n",
        "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f8fa\", color=\"#8c959f\", ",
        "fontcolor=\"#1f2328\", fontname=\"Helvetica\", fontsize=12, margin=\"0.16,0.08\"]\n",
        "  edge [color=\"#6e7781\", fontcolor=\"#57606a\", fontname=\"Helvetica\", fontsize=9, arrowsize=0.7]\n",
    ));
    // Graphviz has names of its own, which begin like this.
    let ids =
        IdentifierMap::new(graph.nodes.iter().map(|it| it.name.as_str()), "s_", |it| !it.starts_with('%'));
    for node in &graph.nodes {
        let id = ids.get(&node.name);
        text.push_str(&format!("  {} [{}]\n", quoted(id), attributes(graph, node, id)));
    }
    let start = start(graph);
    text.push_str(&format!("  {start} [shape=circle, label=\"\", width=0.15, fillcolor=\"#6e7781\"]\n"));
    let initial = quoted(ids.get(&graph.initial));
    text.push_str(&format!("  {start} -> {initial} [label=<{}>]\n", labels(&[created(graph)])));
    for arrow in arrows(graph) {
        let (from, to) = (quoted(ids.get(arrow.from)), quoted(ids.get(arrow.to)));
        text.push_str(&format!("  {from} -> {to} [label=<{}>{}]\n", labels(&arrow.labels), style(&arrow)));
    }
    text.push_str("}\n");
    text
}

fn attributes(graph: &Graph, node: &StateNode, id: &str) -> String {
    let mut label = format!("<b>{}</b>", escaped(&node.name));
    for line in clocks(graph, node, WIDTH) {
        label.push_str(&format!("<br/><font point-size=\"9\" color=\"#9a6700\">{}</font>", escaped(&line)));
    }
    let mut told = format!("label=<{label}>");
    if id != node.name.as_str() {
        told.push_str(&format!(", comment={}", quoted(&node.name)));
    }
    if node.last {
        told.push_str(", peripheries=2");
    }
    if !node.about.is_empty() {
        told.push_str(&format!(", tooltip={}", quoted(&node.about)));
    }
    told
}

fn style(arrow: &Arrow<'_>) -> &'static str {
    match arrow.kind {
        _ if arrow.again => ", style=dotted, constraint=false",
        RuleKind::Asked => "",
        RuleKind::Timed => ", style=dashed",
        RuleKind::Engine => ", style=dotted",
    }
}

/// The point from which it is created, by a name that no state has.
fn start(graph: &Graph) -> String {
    let mut name = "start".to_owned();
    while graph.node(&name).is_some() {
        name.push('_');
    }
    quoted(&name)
}

/// Each starts at the left; continuation lines are indented.
fn labels(labels: &[ArrowLabel]) -> String {
    let mut text = String::new();
    for label in labels {
        for (n, line) in label.lines(WIDTH).iter().enumerate() {
            let space = if n == 0 { "" } else { "&#160;&#160;" };
            text.push_str(&format!("{space}{}<br align=\"left\"/>", escaped(line)));
        }
    }
    text
}

/// For labels, which are like HTML.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    // An empty label would be no label.
    let text = if text.is_empty() { " ".to_owned() } else { text };
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let entity = |it: char| if is_printable(it) { it.to_string() } else { format!("&#{};", u32::from(it)) };
    text.chars().map(entity).collect()
}

/// For names: a backslash is written twice, or it would start an escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text).replace('\\', "\\\\").replace('"', "\\\""))
}
