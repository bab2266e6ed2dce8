//! Builds and reads the nodes of a data file.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, FromNode, Json, Node, NodeValue, Place, Problems};

/// A key of a mapping with its value.
pub(super) type NodeEntry = (At<Name>, Node);

pub(super) fn entry(at: Place, key: &str, node: Node) -> NodeEntry {
    (At::new(Name::new(key), at), node)
}

pub(super) fn map(at: Place, entries: Vec<NodeEntry>) -> Node {
    Node::new(at, NodeValue::Map(entries))
}

pub(super) fn list(at: Place, items: Vec<Node>) -> Node {
    Node::new(at, NodeValue::List(items))
}

/// The mappings laid over each other; the last one wins.
pub(super) fn merged(maps: &[Option<&Node>]) -> Option<Node> {
    let maps: Vec<&Node> = maps.iter().copied().flatten().collect();
    let at = maps.first()?.at;
    let mut all: Vec<NodeEntry> = Vec::new();
    for (key, value) in maps.iter().filter_map(|it| it.entries()).flatten() {
        all.retain(|(known, _)| known.it != key.it);
        all.push((key.clone(), value.clone()));
    }
    Some(map(at, all))
}

/// The text of a key that must be there.
pub(super) fn text(node: &Node, key: &str) -> String {
    let text = node.get(key).and_then(Node::as_written);
    text.unwrap_or_else(|| panic!("no `{key}` in {}", shown(node)))
}

/// A mapping has no other keys.
pub(super) fn keys_are(node: &Node, known: &[&str]) {
    for (key, _) in node.entries().unwrap_or_default() {
        assert!(known.contains(&key.as_str()), "unknown key `{}` in {}", key.it, shown(node));
    }
}

/// A row on one line, without its scenario.
pub(super) fn shown(node: &Node) -> String {
    let row: Vec<String> = match node.entries() {
        Some(entries) => entries
            .iter()
            .filter(|(key, _)| !["line", "given", "steps", "enter", "fields"].contains(&key.as_str()))
            .map(|(key, it)| format!("{}: {}", key.it, value(it)))
            .collect(),
        None => vec![value(node)],
    };
    row.join(", ")
}

fn value(node: &Node) -> String {
    match Json::from_node(node, &mut Problems::default()) {
        Some(Json(it)) => it.as_str().map_or_else(|| it.to_json().to_string(), str::to_owned),
        None => String::new(),
    }
}
