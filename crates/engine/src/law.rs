//! The definitions in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_lifecycle::model::{Lifecycle, Pack, Query};
use trackside_lifecycle::name::Name;

use crate::index::Index;

/// Every lifecycle of every pack, by name and version.
#[derive(Debug, Default)]
pub struct Law {
    packs: BTreeMap<Name, Arc<Pack>>,
    lifecycles: Index<Name, Vec<Arc<Lifecycle>>>,
    names: Vec<Name>,
}

impl Law {
    pub fn new(packs: impl IntoIterator<Item = Pack>) -> Self {
        let mut law = Self::default();
        for pack in packs {
            law.add(Arc::new(pack));
        }
        law
    }

    /// Adds a pack, or a newer version beside an older one.
    pub fn add(&mut self, pack: Arc<Pack>) {
        for lifecycle in &pack.lifecycles {
            let versions = self.lifecycles.entry(lifecycle.name.clone());
            if versions.is_empty() {
                self.names.push(lifecycle.name.clone());
            }
            versions.push(lifecycle.clone());
        }
        self.packs.insert(pack.name.clone(), pack);
    }

    /// The newest version, by which new entities live.
    pub fn newest(&self, lifecycle: &Name) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.get(lifecycle)?.last()
    }

    /// All versions of a lifecycle that are in force, the newest last.
    pub fn definitions(&self, lifecycle: &Name) -> &[Arc<Lifecycle>] {
        self.lifecycles.get(lifecycle).map(Vec::as_slice).unwrap_or_default()
    }

    /// The version of an entity. If it is missing, no other version takes its place.
    pub fn definition(&self, lifecycle: &Name, version: u32) -> Option<&Arc<Lifecycle>> {
        self.lifecycles.get(lifecycle)?.iter().rfind(|it| it.version == version)
    }

    /// The versions there are, in the order they were added.
    pub fn versions(&self, lifecycle: &Name) -> impl Iterator<Item = u32> {
        self.lifecycles.get(lifecycle).into_iter().flatten().map(|it| it.version)
    }

    pub fn pack(&self, name: &str) -> Option<&Arc<Pack>> {
        self.packs.get(name)
    }

    pub fn packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        self.packs.values()
    }

    /// Names of all lifecycles, in the order they were added.
    pub fn lifecycle_names(&self) -> &[Name] {
        &self.names
    }

    pub fn query(&self, pack: &str, name: &str) -> Option<&Query> {
        self.pack(pack)?.queries.iter().find(|it| it.name == *name)
    }
}
