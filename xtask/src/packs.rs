//! The packs as plain YAML: just enough to look things up in them.

use serde_json::Value;

use crate::tree::Tree;

/// A YAML file of a pack.
#[derive(Clone, Debug)]
pub struct PackYaml {
    pub path: String,
    /// Its name without folder and ending.
    pub stem: String,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub struct PackFolder {
    pub name: String,
    pub pack: PackYaml,
    pub lifecycles: Vec<PackYaml>,
    pub scenarios: Vec<PackYaml>,
}

/// The folders of the packs of the server itself.
pub const OWN_PACKS: [&str; 2] = ["crates/server/access", "crates/server/fleet"];

/// Every pack of the tree, without the server's own.
pub fn packs(tree: &Tree) -> Vec<PackFolder> {
    tree.folders("packs").into_iter().map(|it| folder(tree, &format!("packs/{it}"))).collect()
}

/// The packs of the server itself.
pub fn own_packs(tree: &Tree) -> Vec<PackFolder> {
    let there = OWN_PACKS.iter().filter(|it| tree.exists(&format!("{it}/pack.yaml")));
    there.map(|it| folder(tree, it)).collect()
}

fn folder(tree: &Tree, at: &str) -> PackFolder {
    let under = |kind: &str| -> Vec<PackYaml> {
        let begin = format!("{at}/{kind}/");
        tree.files(&begin, ".yaml").map(|(path, text)| file(path, text)).collect()
    };
    let path = format!("{at}/pack.yaml");
    let text = tree.text(&path).unwrap_or_default();
    PackFolder {
        name: at.rsplit('/').next().unwrap_or(at).to_owned(),
        pack: file(&path, text),
        lifecycles: under("lifecycles"),
        scenarios: under("scenarios"),
    }
}

/// A file that cannot be read is null here: `trackside check` reports the reason.
fn file(path: &str, text: &str) -> PackYaml {
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".yaml").to_owned();
    PackYaml { path: path.to_owned(), stem, value: serde_saphyr::from_str(text).unwrap_or(Value::Null) }
}

impl PackFolder {
    /// Names of all states of all lifecycles.
    pub fn states(&self) -> Vec<String> {
        let named =
            |it: &PackYaml| it.value.get("states").and_then(Value::as_object).cloned().unwrap_or_default();
        self.lifecycles.iter().flat_map(|it| named(it).into_iter().map(|(name, _)| name)).collect()
    }

    /// The definitions: `pack.yaml` first.
    pub fn definitions(&self) -> impl Iterator<Item = &PackYaml> {
        std::iter::once(&self.pack).chain(&self.lifecycles)
    }
}

/// Whether a path of keys exists.
///
/// `*` is any key, `[1]` an item. A key of a list is searched in each of its items, as for the arms of a
/// transition.
pub fn path_exists(value: &Value, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    let (key, index) = match key.split_once('[') {
        Some((key, index)) => (key, index.trim_end_matches(']').parse::<usize>().ok()),
        None => (*key, None),
    };
    let go_on = |it: &Value| match index {
        None => path_exists(it, rest),
        Some(index) => it.get(index).is_some_and(|it| path_exists(it, rest)),
    };
    match value {
        Value::Object(map) if key == "*" => map.values().any(go_on),
        Value::Object(map) => map.get(key).is_some_and(go_on),
        Value::Array(items) => items.iter().any(|it| path_exists(it, path)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_through_maps_arms_and_choices() {
        let task = json!({ "transitions": {
            "start": { "by": "human" },
            "block": [ { "by": "human" }, { "by": "agent", "to": [ { "state": "A" }, { "set": {} } ] } ],
        } });
        for (path, there) in [
            ("transitions.start.by", true),
            ("transitions.start.to", false),
            ("transitions.block.to", true),
            ("transitions.block[0].to", false),
            ("transitions.block[1].to[1].set", true),
            ("transitions.block[2]", false),
            ("transitions.*.to", true),
            ("states", false),
        ] {
            let keys: Vec<&str> = path.split('.').collect();
            assert_eq!(path_exists(&task, &keys), there, "{path}");
        }
    }
}
