//! Packs for tests: from texts, and from disk.

use std::path::{Path, PathBuf};

use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::{FileId, Problems, Sources};
use trackside_study::check::{Class, Finding, check, locate};

/// A compiled pack with its texts.
pub struct Loaded {
    pub pack: Pack,
    pub sources: Sources,
    pub files: Vec<FileId>,
}

impl Loaded {
    pub fn findings(&self) -> Vec<Finding> {
        check(&self.pack)
    }

    pub fn problems(&self) -> Problems {
        locate(&self.findings(), &self.sources, &self.files)
    }
}

/// A pack of these texts; the first is its `pack.yaml`.
pub fn pack(texts: &[&str]) -> Loaded {
    let mut sources = Sources::default();
    let files: Vec<FileId> =
        texts.iter().enumerate().map(|(n, text)| sources.add(format!("{n}.yaml"), *text)).collect();
    load(sources, files)
}

/// A pack on disk.
pub fn folder(path: &Path) -> Loaded {
    let mut sources = Sources::default();
    let mut paths = vec![path.join("pack.yaml")];
    let mut lifecycles: Vec<PathBuf> =
        std::fs::read_dir(path.join("lifecycles")).unwrap().map(|it| it.unwrap().path()).collect();
    lifecycles.sort();
    paths.extend(lifecycles);
    let files = paths
        .iter()
        .map(|it| {
            sources.add(it.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(it).unwrap())
        })
        .collect();
    load(sources, files)
}

fn load(sources: Sources, files: Vec<FileId>) -> Loaded {
    let pack = PackFiles { pack: files[0], lifecycles: files[1..].to_vec() };
    match compile(&sources, &pack) {
        Ok((pack, _)) => Loaded { pack, sources, files },
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn codes(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|it| it.class.code()).collect()
}

pub fn of_class(findings: &[Finding], class: Class) -> Vec<&Finding> {
    findings.iter().filter(|it| it.class == class).collect()
}
