//! From syntax to model: names resolved, types checked, expressions compiled, every problem collected.

mod arms;
mod consequences;
mod context;
mod dependencies;
mod face;
mod filter;
mod journal_entry;
mod legal_names;
mod lifecycle;
mod names;
mod pack;
mod policy;
mod presentation;
mod properties;
mod queries;
mod rankings;
mod reachability;
mod reserved_names;
mod rules;
mod settings;
mod shape;
mod types;
mod value_names;
mod work;

pub use filter::{Filter, FilterCounter};

use crate::model::Pack;
use crate::source::{FileId, FromNode, Problems, Sources, read};
use crate::syntax::{LifecycleFile, PackFile};

/// The files of one pack.
#[derive(Clone, Debug)]
pub struct PackFiles {
    pub pack: FileId,
    pub lifecycles: Vec<FileId>,
}

/// Reads, checks and compiles a pack. Warnings are returned with the pack.
pub fn compile(sources: &Sources, files: &PackFiles) -> Result<(Pack, Problems), Problems> {
    let mut problems = Problems::default();
    let pack = compile_files(sources, files, &mut problems);
    with_pack(pack, problems)
}

/// Compiles a pack that a project already uses. Errors that refuse new packs only are warnings: the project must start.
pub fn compile_stored(sources: &Sources, files: &PackFiles) -> Result<(Pack, Problems), Problems> {
    let mut problems = Problems::default();
    let pack = compile_files(sources, files, &mut problems);
    problems.spare_stored();
    with_pack(pack, problems)
}

fn compile_files(sources: &Sources, files: &PackFiles, problems: &mut Problems) -> Option<Pack> {
    let pack: Option<PackFile> = parsed(sources, files.pack, problems);
    let lifecycles: Vec<LifecycleFile> =
        files.lifecycles.iter().filter_map(|file| parsed(sources, *file, problems)).collect();
    if let Some(pack) = &pack {
        legal_names::check(pack, &lifecycles, problems);
    }
    pack.and_then(|pack| pack::compile(&pack, &lifecycles, problems))
}

fn with_pack(pack: Option<Pack>, problems: Problems) -> Result<(Pack, Problems), Problems> {
    match pack {
        Some(pack) if !problems.has_errors() => Ok((pack, problems)),
        _ => Err(problems),
    }
}

fn parsed<T: FromNode>(sources: &Sources, file: FileId, problems: &mut Problems) -> Option<T> {
    let node = read(sources, file, problems)?;
    T::from_node(&node, problems)
}
