//! From the path to a part of a definition back to its position in the text.

use std::fmt;

use super::node::{Node, NodeValue};
use super::place::{FileId, Place, Sources};
use super::problem::Problems;
use super::read::read;
use crate::name::Name;

/// One key further in, or one item of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    Key(Name),
    Item(usize),
}

/// The path to a part of a definition: `transitions`, `approve`, `by`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionPath(pub Vec<PathStep>);

impl DefinitionPath {
    pub fn of<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self(keys.into_iter().map(|it| PathStep::Key(Name::new(it))).collect())
    }

    /// One key further in.
    pub fn key(mut self, key: &str) -> Self {
        self.0.push(PathStep::Key(Name::new(key)));
        self
    }

    /// One item further in, counted from 0.
    pub fn item(mut self, index: usize) -> Self {
        self.0.push(PathStep::Item(index));
        self
    }
}

impl fmt::Display for DefinitionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if n == 0 => write!(f, "{key}")?,
                PathStep::Key(key) => write!(f, ".{key}")?,
                PathStep::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The texts of a pack, parsed again to find positions in them.
#[derive(Debug)]
pub struct Locator {
    /// The full name of a lifecycle, or the name of the pack, and its text.
    files: Vec<(Name, FileId, Node)>,
}

impl Locator {
    pub fn new(sources: &Sources, files: impl IntoIterator<Item = FileId>) -> Self {
        let mut found = Vec::new();
        for file in files {
            let Some(node) = read(sources, file, &mut Problems::default()) else { continue };
            let name = node.get("lifecycle").or_else(|| node.get("pack")).and_then(Node::text);
            if let Some(name) = name.map(Name::new) {
                found.push((name, file, node));
            }
        }
        Self { files: found }
    }

    /// Whether the text contains the whole path; a single item may stand for a list.
    pub fn reaches(&self, of: &str, way: &DefinitionPath) -> bool {
        let Some((_, _, root)) = self.files.iter().find(|(name, ..)| name == of) else { return false };
        let inner = way.0.iter().try_fold(root, |node, step| match (step, &node.value) {
            (PathStep::Key(key), NodeValue::Map(_)) => node.get(key),
            (PathStep::Item(index), NodeValue::List(items)) => items.get(*index),
            (PathStep::Item(_), _) => Some(node),
            (PathStep::Key(_), _) => None,
        });
        inner.is_some()
    }

    /// The names of its files, in the order they were given.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.files.iter().map(|(name, ..)| name)
    }

    /// The place of a path: as far along it as the text goes, which may be shorter than the model (one arm
    /// need not be a list of arms, a key may be left out).
    pub fn place(&self, of: &str, way: &DefinitionPath) -> Option<Place> {
        let (_, _, root) = self.files.iter().find(|(name, ..)| name == of)?;
        let (mut node, mut place) = (root, Place { end: root.at.start, ..root.at });
        for step in &way.0 {
            match (step, &node.value) {
                (PathStep::Key(key), NodeValue::Map(entries)) => {
                    let Some((name, inner)) = entries.iter().find(|(name, _)| name.it == *key) else { break };
                    (node, place) = (inner, name.at);
                }
                (PathStep::Item(index), NodeValue::List(items)) => {
                    let Some(item) = items.get(*index) else { break };
                    (node, place) = (item, item.at);
                }
                // One where a list could have been.
                (PathStep::Item(_), _) => {}
                (PathStep::Key(_), _) => break,
            }
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_located_as_far_as_the_text_goes() {
        let mut sources = Sources::new();
        let text = "lifecycle: a.b\ntransitions:\n  go: { from: A, to: B }\n  stop:\n    - { from: B }\n    - { from: C, by: human }\n";
        let file = sources.add("b.yaml", text);
        let locator = Locator::new(&sources, [file]);
        let at = |way: DefinitionPath| {
            let place = locator.place("a.b", &way).unwrap();
            (place.line, place.column)
        };
        assert_eq!(at(DefinitionPath::of(["transitions", "go"]).item(0).key("to")), (3, 18));
        assert_eq!(at(DefinitionPath::of(["transitions", "go"]).item(0).key("by")), (3, 3));
        assert_eq!(at(DefinitionPath::of(["transitions", "stop"]).item(1).key("by")), (6, 18));
        assert_eq!(at(DefinitionPath::of(["nowhere"])), (1, 1));
        assert!(locator.place("a.c", &DefinitionPath::default()).is_none());
        assert!(locator.reaches("a.b", &DefinitionPath::of(["transitions", "go"]).item(0).key("to")));
        assert!(!locator.reaches("a.b", &DefinitionPath::of(["transitions", "go"]).item(0).key("by")));
        assert!(!locator.reaches("a.c", &DefinitionPath::default()));
        assert_eq!(locator.names().map(Name::as_str).collect::<Vec<_>>(), ["a.b"]);
        assert_eq!(DefinitionPath::of(["a", "b"]).item(2).key("c").to_string(), "a.b[2].c");
    }
}
