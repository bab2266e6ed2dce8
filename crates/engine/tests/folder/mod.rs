//! A pack from its folder.

use std::path::{Path, PathBuf};

use trackside_lifecycle::compile::{PackFiles, compile, compile_stored};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::{FileId, Sources};

/// Compiles it, or stops with its problems. The sources it was read from stay open for more.
pub(crate) fn pack(folder: &Path) -> (Pack, Sources) {
    let mut sources = Sources::default();
    let file = add(&mut sources, &folder.join("pack.yaml"));
    let lifecycles = yaml_in(&folder.join("lifecycles")).iter().map(|it| add(&mut sources, it)).collect();
    match compile(&sources, &PackFiles { pack: file, lifecycles }) {
        Ok((pack, _)) => (pack, sources),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

/// Compiles a pack that a project already uses.
#[allow(dead_code, reason = "not every test program has such a pack")]
pub(crate) fn stored_pack(folder: &Path) -> Pack {
    let mut sources = Sources::default();
    let file = add(&mut sources, &folder.join("pack.yaml"));
    let lifecycles = yaml_in(&folder.join("lifecycles")).iter().map(|it| add(&mut sources, it)).collect();
    match compile_stored(&sources, &PackFiles { pack: file, lifecycles }) {
        Ok((pack, _)) => pack,
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}

pub(crate) fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files
}

pub(crate) fn add(sources: &mut Sources, path: &Path) -> FileId {
    sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap())
}
