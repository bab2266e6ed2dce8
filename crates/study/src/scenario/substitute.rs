//! Replaces `<name>` in a scenario with rows.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, Named, Node, NodeValue};

/// Replaces every `<name>` by the value of the row. A text that is exactly `<name>` becomes the value itself.
pub(super) fn substitute(node: &Node, row: &Named<Node>) -> Node {
    let value = match &node.value {
        NodeValue::Text(text) => {
            if let Some(name) = text.strip_prefix('<').and_then(|it| it.strip_suffix('>'))
                && let Some(value) = row.get(name)
            {
                return Node::new(node.at, value.value.clone());
            }
            NodeValue::Text(substitute_row(text, row))
        }
        NodeValue::List(items) => NodeValue::List(items.iter().map(|it| substitute(it, row)).collect()),
        NodeValue::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, it)| {
                (At::new(Name::from(substitute_row(&key.it, row)), key.at), substitute(it, row))
            });
            NodeValue::Map(entries.collect())
        }
        other => other.clone(),
    };
    Node::new(node.at, value)
}

fn substitute_row(text: &str, row: &Named<Node>) -> String {
    let mut text = text.to_owned();
    for (name, value) in row.iter() {
        let hole = format!("<{}>", name.it);
        if text.contains(&hole) {
            text = text.replace(&hole, &value.as_written().unwrap_or_default());
        }
    }
    text
}
