//! First inputs for the fuzzers, made from the packs.

use std::collections::BTreeSet;
use std::{fs, io};

use serde_json::Value;

use crate::packs::packs;
use crate::tree::Tree;

/// Between `pack.yaml` and a lifecycle in one input of the target `definition`.
const BETWEEN: &str = "\n%%%%\n";

/// Writes `fuzz/corpus/definition` and `fuzz/corpus/expression`; says how many.
pub fn write(tree: &Tree) -> io::Result<String> {
    let mut definitions = BTreeSet::new();
    let mut expressions = BTreeSet::new();
    for pack in packs(tree) {
        let text = |path: &str| tree.text(path).unwrap_or_default();
        definitions.insert(text(&pack.pack.path).to_owned());
        for lifecycle in &pack.lifecycles {
            definitions.insert(format!("{}{BETWEEN}{}", text(&pack.pack.path), text(&lifecycle.path)));
        }
        for file in pack.definitions() {
            gather(&file.value, &mut expressions);
        }
    }
    let root = tree.root().join("fuzz/corpus");
    for (target, seeds) in [("definition", &definitions), ("expression", &expressions)] {
        let folder = root.join(target);
        fs::create_dir_all(&folder)?;
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
    }
    Ok(format!("seeds: {} definitions, {} expressions", definitions.len(), expressions.len()))
}

/// Every text of a definition: most are expressions, and the others do no harm.
fn gather(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|it| gather(it, found)),
        Value::Object(map) => map.values().for_each(|it| gather(it, found)),
        _ => {}
    }
}
