//! A pack from its folder, ready to be walked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::model::{Lifecycle, Pack};

use crate::hints::{self, PackHints};

/// The pack of a walk, with its law and hints.
#[derive(Debug)]
pub(crate) struct WalkPack {
    pub(crate) law: Arc<Law>,
    pub(crate) pack: Arc<Pack>,
    pub(crate) hints: &'static PackHints,
}

impl WalkPack {
    /// The pack of this name.
    pub(crate) fn load(name: &str) -> Self {
        let pack = Arc::new(crate::folder::pack(&folder().join(name)).0);
        let mut law = Law::default();
        law.add(pack.clone());
        Self { law: Arc::new(law), pack, hints: hints::of(name) }
    }

    pub(crate) fn life(&self, name: &str) -> Option<&Arc<Lifecycle>> {
        self.pack.lifecycles.iter().find(|it| it.name == *name)
    }
}

/// Every pack there is.
pub(crate) fn names() -> Vec<String> {
    let packs = std::fs::read_dir(folder()).unwrap().map(|it| it.unwrap().path());
    let packs = packs.filter(|it| it.join("pack.yaml").exists());
    let mut names: Vec<String> =
        packs.map(|it| it.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The folder of the packs; another one can be named, to walk changed copies.
pub(crate) fn folder() -> PathBuf {
    match std::env::var_os("TRACKSIDE_WALKS_PACKS") {
        Some(it) => PathBuf::from(it),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs"),
    }
}
