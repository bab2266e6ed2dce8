//! Definitions to compare: from texts, and from the packs that ship.

use std::path::{Path, PathBuf};

use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::Sources;

pub(crate) const PACKS: [&str; 5] = ["build", "coding", "mission", "research", "turns"];

/// The texts of a pack: its own, and those of its lifecycles.
#[derive(Clone)]
pub(crate) struct Texts {
    pub(crate) pack: String,
    pub(crate) lifecycles: Vec<String>,
}

impl Texts {
    pub(crate) fn compiled(&self) -> Result<Pack, String> {
        let mut sources = Sources::default();
        let pack = sources.add("pack.yaml".to_owned(), self.pack.clone());
        let names = 1..=self.lifecycles.len();
        let lifecycles = self
            .lifecycles
            .iter()
            .zip(names)
            .map(|(it, n)| sources.add(format!("{n}.yaml"), it.clone()))
            .collect();
        match compile(&sources, &PackFiles { pack, lifecycles }) {
            Ok((pack, _)) => Ok(pack),
            Err(problems) => Err(problems.render(&sources, false)),
        }
    }

    pub(crate) fn shipped_pack(name: &str) -> Self {
        let folder = shipped_pack(name);
        let lifecycles =
            yaml_in(&folder.join("lifecycles")).into_iter().map(|it| std::fs::read_to_string(it).unwrap());
        Self {
            pack: std::fs::read_to_string(folder.join("pack.yaml")).unwrap(),
            lifecycles: lifecycles.collect(),
        }
    }
}

pub(crate) fn shipped_pack(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name)
}

pub(crate) fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files
}
