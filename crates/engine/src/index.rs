//! A map without iteration, so that no result can depend on its order.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use foldhash::fast::FixedState;

/// Looks things up by key in constant time. Its hash is fixed: the same everywhere.
#[derive(Clone)]
pub struct Index<K, V>(HashMap<K, V, FixedState>);

impl<K: Hash + Eq, V> Index<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    /// Keeps the wanted items. The order is unspecified, so `wanted` must not depend on it.
    pub fn retain(&mut self, wanted: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain(wanted);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All items in key order: slow, for exports and comparisons.
    pub fn sorted(&self) -> Vec<(&K, &V)>
    where
        K: Ord,
    {
        let mut all: Vec<(&K, &V)> = self.0.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Hash + Eq + Ord, V: PartialEq> PartialEq for Index<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K, V> fmt::Debug for Index<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index of {}", self.0.len())
    }
}
