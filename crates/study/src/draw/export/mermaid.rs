//! Mermaid, a `stateDiagram-v2`: code hosts draw it inside a page.

use super::arrows::{ArrowLabel, arrows, clocks, created};
use super::ids::{IdentifierMap, is_word};
use trackside_lifecycle::printable::{escape_json, is_printable};
use trackside_protocol::diagram::Graph;

/// Reserved words of Mermaid that cannot be a state's name.
const TAKEN: &[&str] = &[
    "accdescr",
    "acctitle",
    "as",
    "bt",
    "choice",
    "class",
    "classdef",
    "click",
    "default",
    "direction",
    "end",
    "fork",
    "hide",
    "href",
    "join",
    "left",
    "lr",
    "note",
    "of",
    "right",
    "rl",
    "root",
    "root_end",
    "root_start",
    "scale",
    "state",
    "statediagram",
    "style",
    "tb",
];

/// Mermaid breaks lines that are much longer by itself, and not as nicely.
const WIDTH: usize = 26;

/// A lifecycle as a Mermaid state diagram.
pub fn mermaid(graph: &Graph) -> String {
    let fit = |name: &str| is_word(name) && !TAKEN.contains(&name.to_ascii_lowercase().as_str());
    let ids = IdentifierMap::new(graph.nodes.iter().map(|it| it.name.as_str()), "s_", fit);
    let mut text = format!("---\ntitle: {}\n---\nstateDiagram-v2\n", quoted(&graph.name));
    for node in &graph.nodes {
        let id = ids.get(&node.name);
        if id != node.name.as_str() {
            text.push_str(&format!("    state \"{}\" as {id}\n", escaped(&node.name)));
        }
    }
    text.push_str(&format!("    [*] --> {} : {}\n", ids.get(&graph.initial), labels(&[created(graph)])));
    for arrow in arrows(graph) {
        let (from, to) = (ids.get(arrow.from), ids.get(arrow.to));
        text.push_str(&format!("    {from} --> {to} : {}\n", labels(&arrow.labels)));
    }
    for node in graph.nodes.iter().filter(|it| it.last) {
        text.push_str(&format!("    {} --> [*]\n", ids.get(&node.name)));
    }
    for node in &graph.nodes {
        let told = clocks(graph, node, WIDTH);
        if !told.is_empty() {
            text.push_str(&format!("    note right of {} : {}\n", ids.get(&node.name), lines(&told)));
        }
    }
    text
}

fn labels(labels: &[ArrowLabel]) -> String {
    lines(&labels.iter().flat_map(|it| it.lines(WIDTH)).collect::<Vec<_>>())
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|it| escaped(it)).collect::<Vec<_>>().join("<br/>")
}

/// Escapes every character that is special in Mermaid.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for it in text.chars() {
        match it {
            '#' | ':' | ';' | '"' | '<' | '>' | '&' | '%' | '{' | '}' | '`' | '\\' => {
                out.push_str(&format!("#{};", u32::from(it)));
            }
            it if it.is_control() => out.push(' '),
            it if !is_printable(it) => out.push_str(&format!("#{};", u32::from(it))),
            it => out.push(it),
        }
    }
    out
}

/// A title for the head of the diagram, which is YAML.
fn quoted(text: &str) -> String {
    escape_json(&serde_json::Value::from(text).to_string()).into_owned()
}
