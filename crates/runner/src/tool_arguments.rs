//! The arguments of tool calls, as policies know them.

use serde_json::{Map, Value};

/// The arguments that hold a shell command.
const COMMANDS: [&str; 2] = ["command", "cmd"];

/// The arguments, with paths inside the folder relative to it, as policies write them.
pub fn relative_to(arguments: Value, folder: &str) -> Value {
    let Value::Object(given) = arguments else { return arguments };
    let root = folder.trim_end_matches('/');
    let relative = given.into_iter().map(|(name, value)| match value.as_str() {
        Some(command) if !root.is_empty() && COMMANDS.contains(&name.as_str()) => {
            let command = relative_command(command, root);
            (name, Value::from(command))
        }
        Some(text) if !root.is_empty() => {
            let inside = text.strip_prefix(root).and_then(|it| it.strip_prefix('/')).map(Value::from);
            (name, inside.unwrap_or(value))
        }
        _ => (name, value),
    });
    Value::Object(relative.collect::<Map<_, _>>())
}

/// A shell command with the folder's own path, where a word begins or ends with it, written as `.`.
fn relative_command(command: &str, root: &str) -> String {
    let begins = |before: &str| before.chars().next_back().is_none_or(|it| " \t\n;&|'\"=".contains(it));
    let ends = |after: &str| after.chars().next().is_none_or(|it| "/ \t\n;&|'\"".contains(it));
    let mut relative = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find(root) {
        let (before, found) = rest.split_at(at);
        let after = found.get(root.len()..).unwrap_or_default();
        relative.push_str(before);
        relative.push_str(if begins(&relative) && ends(after) { "." } else { root });
        rest = after;
    }
    relative.push_str(rest);
    relative
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_inside_the_folder_are_relative() {
        let given = json!({ "file_path": "/w/src/a.rs", "other": "/v/a", "content": 5 });
        let expected = json!({ "file_path": "src/a.rs", "other": "/v/a", "content": 5 });
        assert_eq!(relative_to(given.clone(), "/w/"), expected);
        assert_eq!(relative_to(given.clone(), ""), given);
        for (command, expected) in [
            ("cd /w && cat /w/src/a.rs '/w/b'", "cd . && cat ./src/a.rs './b'"),
            ("make DIR=/w/out", "make DIR=./out"),
            ("cat /w/../etc/passwd /w//x", "cat ./../etc/passwd .//x"),
            ("cat /wide/a x/w/a /v/w /w", "cat /wide/a x/w/a /v/w ."),
            ("rg é/w/ \"/w\"", "rg é/w/ \".\""),
        ] {
            assert_eq!(relative_to(json!({ "command": command }), "/w"), json!({ "command": expected }));
        }
    }
}
