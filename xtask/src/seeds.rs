//! First inputs and words for the fuzzers, made from the packs.

use std::collections::BTreeSet;
use std::{fs, io};

use serde_json::{Map, Value};

use crate::packs::packs;
use crate::tree::Tree;

/// Between `pack.yaml` and a lifecycle in one input of the target `definition`.
const BETWEEN: &str = "\n%%%%\n";
/// Larger inputs are compiled too slowly to be changed often.
const LARGEST: usize = 4_096;

/// Writes `fuzz/corpus/TARGET` and `fuzz/corpus/TARGET.dict` for both targets; returns a summary.
pub fn write(tree: &Tree) -> io::Result<String> {
    let mut definitions = Seeds::default();
    let mut expressions = Seeds::default();
    for pack in packs(tree) {
        let whole = tree.text(&pack.pack.path).unwrap_or_default();
        definitions.add(whole);
        let small = format!("pack: {}\nversion: 1\nroles: {}", pack.name, section(&pack.pack.value, "roles"));
        for part in parts(&pack.pack.value, &["pack", "version", "roles"]) {
            definitions.add(&part);
        }
        for lifecycle in &pack.lifecycles {
            for part in parts(&lifecycle.value, &["lifecycle", "states"]) {
                definitions.add(&format!("{small}{BETWEEN}{part}"));
            }
        }
        for file in pack.definitions() {
            gather(&file.value, &mut expressions, &mut definitions.words);
        }
    }
    let root = tree.root().join("fuzz/corpus");
    for (target, seeds) in [("definition", &definitions), ("expression", &expressions)] {
        let folder = root.join(target);
        fs::create_dir_all(&folder)?;
        for (number, seed) in seeds.texts.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
        let words: String = seeds.words.iter().map(|it| format!("\"{it}\"\n")).collect();
        fs::write(root.join(format!("{target}.dict")), words)?;
    }
    Ok(format!("seeds: {}, {}", definitions.summary("definitions"), expressions.summary("expressions")))
}

#[derive(Default)]
struct Seeds {
    texts: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Seeds {
    fn add(&mut self, text: &str) {
        if text.len() <= LARGEST {
            self.texts.insert(text.to_owned());
        }
    }

    fn summary(&self, what: &str) -> String {
        format!("{} {what} and {} words", self.texts.len(), self.words.len())
    }
}

/// A file cut into small ones: these keys, with one entry of one other section each. JSON is YAML too.
fn parts(value: &Value, kept: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let Some(file) = value.as_object() else { return found };
    let base: Map<String, Value> = file
        .iter()
        .filter(|(key, _)| kept.contains(&key.as_str()))
        .map(|(key, it)| (key.clone(), it.clone()))
        .collect();
    let mut add = |key: &str, section: Value| {
        let mut part = base.clone();
        part.insert(key.to_owned(), section);
        found.push(Value::Object(part).to_string());
    };
    for (key, section) in file.iter().filter(|(key, _)| !kept.contains(&key.as_str())) {
        match section {
            Value::Object(entries) => {
                for (name, entry) in entries {
                    add(key, Value::Object([(name.clone(), entry.clone())].into_iter().collect()));
                }
            }
            other => add(key, other.clone()),
        }
    }
    found
}

fn section<'a>(file: &'a Value, key: &str) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    file.get(key).unwrap_or(NOTHING)
}

/// Every text of a definition: most are expressions, and the others do no harm. Keys are words.
fn gather(value: &Value, expressions: &mut Seeds, keys: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            expressions.add(text);
            let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
            expressions.words.extend(words.filter(|it| it.len() > 1).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|it| gather(it, expressions, keys)),
        Value::Object(map) => {
            let plain = |it: &&String| it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
            keys.extend(map.keys().filter(plain).cloned());
            map.values().for_each(|it| gather(it, expressions, keys));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_are_cut_into_entries() {
        let file = json!({ "lifecycle": "a.b", "path": ["X"], "transitions": { "go": {}, "stop": {} } });
        let found = parts(&file, &["lifecycle"]);
        assert_eq!(
            found,
            [
                r#"{"lifecycle":"a.b","path":["X"]}"#,
                r#"{"lifecycle":"a.b","transitions":{"go":{}}}"#,
                r#"{"lifecycle":"a.b","transitions":{"stop":{}}}"#,
            ]
        );
    }
}
