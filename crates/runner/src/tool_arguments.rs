//! The arguments of tool calls, as policies know them.

use serde_json::{Map, Value};

/// The arguments, with paths inside the folder relative to it, as policies write them.
pub fn relative_to(arguments: Value, folder: &str) -> Value {
    let Value::Object(given) = arguments else { return arguments };
    let root = format!("{}/", folder.trim_end_matches('/'));
    let relative = given.into_iter().map(|(name, value)| match value.as_str() {
        Some(text) if root.len() > 1 => {
            let inside = text.strip_prefix(&root).map(Value::from);
            (name, inside.unwrap_or(value))
        }
        _ => (name, value),
    });
    Value::Object(relative.collect::<Map<_, _>>())
}
