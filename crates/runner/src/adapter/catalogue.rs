//! Finds adapter files: the user's own, then those that ship with Trackside.

use std::fs;
use std::path::{Path, PathBuf};

use super::definition::{AdapterDefinition, AdapterError};

/// The adapters that ship with Trackside.
const BUILT_IN: [(&str, &str); 4] = [
    ("claude", include_str!("../../../../adapters/claude.yaml")),
    ("codex", include_str!("../../../../adapters/codex.yaml")),
    ("codex-exec", include_str!("../../../../adapters/codex-exec.yaml")),
    ("command", include_str!("../../../../adapters/command.yaml")),
];

/// An adapter file that was read.
#[derive(Clone, Debug)]
pub struct FoundAdapter {
    pub name: String,
    /// `None` if it ships with Trackside.
    pub file: Option<PathBuf>,
    pub text: String,
    pub definition: AdapterDefinition,
}

/// Where adapters come from: folders with files `NAME.yaml`, the first wins, then the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct AdapterCatalogue {
    pub folders: Vec<PathBuf>,
}

impl AdapterCatalogue {
    /// An adapter by its name, or by the path of its file.
    pub fn find(&self, name: &str) -> Result<FoundAdapter, AdapterError> {
        let is_path = name.contains('/') || Path::new(name).extension().is_some_and(|it| it == "yaml");
        if is_path {
            return read(PathBuf::from(name));
        }
        let own = self.folders.iter().map(|it| it.join(format!("{name}.yaml"))).find(|it| it.is_file());
        if let Some(file) = own {
            return read(file);
        }
        match BUILT_IN.iter().find(|(it, _)| *it == name) {
            Some((_, text)) => found(name, None, (*text).to_owned()),
            None => Err(AdapterError::Syntax(format!(
                "unknown adapter {name}. Adapters: {}. Your own is a file NAME.yaml in {}",
                self.names().join(", "),
                self.folders.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" or ")
            ))),
        }
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        for entry in self.folders.iter().filter_map(|it| fs::read_dir(it).ok()).flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|it| it == "yaml")
                && let Some(name) = path.file_stem().and_then(|it| it.to_str())
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names.dedup();
        names
    }
}

fn read(file: PathBuf) -> Result<FoundAdapter, AdapterError> {
    let text = fs::read_to_string(&file)
        .map_err(|error| AdapterError::Syntax(format!("{}: {error}", file.display())))?;
    let name = file.file_stem().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
    found(&name, Some(file), text)
}

fn found(name: &str, file: Option<PathBuf>, text: String) -> Result<FoundAdapter, AdapterError> {
    let definition = AdapterDefinition::parse(&text)?;
    Ok(FoundAdapter { name: name.to_owned(), file, text, definition })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_adapter_is_valid_and_a_file_of_the_user_comes_first() {
        let catalogue = AdapterCatalogue::default();
        for name in catalogue.names() {
            assert_eq!(catalogue.find(&name).unwrap().definition.adapter, name);
        }
        let folder = std::env::temp_dir().join(format!("trackside-adapters-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let own = BUILT_IN[3].1.replace("A command of your own", "mine");
        fs::write(folder.join("command.yaml"), own).unwrap();
        let catalogue = AdapterCatalogue { folders: vec![folder.clone()] };
        assert_eq!(catalogue.find("command").unwrap().definition.about, "mine");
        let why = catalogue.find("cluade").unwrap_err().to_string();
        assert!(why.contains("claude, codex"), "{why}");
        fs::remove_dir_all(folder).unwrap();
    }
}
