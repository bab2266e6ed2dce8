//! The files of the repository, or of a planted one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with generated files.
const SKIPPED: [&str; 8] =
    [".git", "target", "node_modules", "corpus", "artifacts", "coverage", "mutants.out", ".trackside"];
/// Endings of the files that are read.
const READ: [&str; 11] = ["rs", "md", "yaml", "yml", "toml", "json", "sql", "py", "mjs", "ts", "service"];
/// Names of files that are read although they have no ending; so are all scripts.
const READ_BY_NAME: [&str; 2] = ["justfile", "Dockerfile"];

/// Texts by their path from the root, `/` between folders.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    root: PathBuf,
    texts: BTreeMap<String, String>,
    /// All files with another ending, and all folders.
    others: Vec<String>,
}

impl Tree {
    /// This repository.
    pub fn here() -> Self {
        // The folder that cargo names at run time: the one at compile time may be that of another clone.
        let here =
            std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&here).parent().unwrap_or(Path::new(".")).to_path_buf();
        let mut tree = Self { root: root.clone(), ..Self::default() };
        tree.walk(&root, "");
        tree
    }

    /// A tree made for a test.
    #[cfg(test)]
    pub fn planted(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { texts, ..Self::default() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Files whose path has this prefix and suffix, in order.
    pub fn files<'a>(&'a self, begin: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fits = move |path: &str| path.starts_with(begin) && path.ends_with(end);
        self.texts
            .iter()
            .filter(move |(path, _)| fits(path))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.texts.contains_key(path)
            || self.others.iter().any(|it| it == path)
            || self.texts.keys().any(|it| it.starts_with(&folder))
    }

    /// Names of the folders right under one.
    pub fn folders(&self, under: &str) -> Vec<&str> {
        let mut found: Vec<&str> = self
            .texts
            .keys()
            .filter_map(|path| path.strip_prefix(under)?.strip_prefix('/')?.split_once('/'))
            .map(|(folder, _)| folder)
            .collect();
        found.dedup();
        found
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.iter().any(|it| *it == name) {
                continue;
            }
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if entry.path().is_dir() {
                self.walk(&entry.path(), &path);
                self.others.push(path);
            } else if is_read(&path) {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                self.texts.insert(path, text);
            } else {
                self.others.push(path);
            }
        }
    }
}

fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, ending)) => READ.contains(&ending),
        None => READ_BY_NAME.contains(&name) || path.starts_with("scripts/") || path.starts_with(".ci/"),
    }
}
