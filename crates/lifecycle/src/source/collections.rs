//! Several values under one key.

use std::ops::Deref;

use super::from_node::FromNode;
use super::node::{At, Node};
use super::problem::{Problems, quote};
use crate::name::Name;

/// Items that cannot be read are reported and left out.
impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        let Some(items) = node.items() else {
            let hint =
                node.as_written().map(|it| format!("for a list of one, write {}", quote(&format!("[{it}]"))));
            problems.expected_with("a list", node, hint);
            return None;
        };
        let read = |(index, item): (usize, &Node)| {
            problems.within_item(index, |problems| T::from_node(item, problems))
        };
        Some(items.iter().enumerate().filter_map(read).collect())
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// One item, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T: FromNode> FromNode for OneOrMany<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        if node.items().is_some() {
            Vec::from_node(node, problems).map(Self)
        } else {
            T::from_node(node, problems).map(|it| Self(vec![it]))
        }
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> IntoIterator for OneOrMany<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a OneOrMany<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// A mapping from names that the author chooses, in the order written.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(At<Name>, T)>);

impl<T> Named<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(key, _)| key.as_str() == name).map(|(_, it)| it)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, (At<Name>, T)> {
        self.0.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &At<Name>> {
        self.iter().map(|(name, _)| name)
    }

    /// The names of those for which it is true.
    pub fn names_where<B: FromIterator<Name>>(&self, is_meant: impl Fn(&T) -> bool) -> B {
        self.iter().filter(|(_, it)| is_meant(it)).map(|(name, _)| name.it.clone()).collect()
    }

    /// A value for each name.
    pub fn map_each<U, B: FromIterator<(Name, U)>>(&self, value: impl Fn(&T) -> U) -> B {
        self.iter().map(|(name, it)| (name.it.clone(), value(it))).collect()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> IntoIterator for Named<T> {
    type Item = (At<Name>, T);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Named<T> {
    type Item = &'a (At<Name>, T);
    type IntoIter = std::slice::Iter<'a, (At<Name>, T)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Entries that cannot be read are reported and left out.
impl<T: FromNode> FromNode for Named<T> {
    fn from_node(node: &Node, problems: &mut Problems) -> Option<Self> {
        let Some(entries) = node.entries() else {
            let hint = node.is_null().then(|| "write `{}` for none".to_owned());
            problems.expected_with("a mapping from names", node, hint);
            return None;
        };
        let read = |(name, node): &(At<Name>, Node)| {
            problems.within(name, |problems| T::from_node(node, problems)).map(|it| (name.clone(), it))
        };
        Some(Self(entries.iter().filter_map(read).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}
