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

pub use filter::Filter;

use crate::model::Pack;
use crate::source::{FileId, FromNode, ProblemSeverity, Problems, Sources, read};
use crate::syntax::{LifecycleFile, PackFile};

/// The files of one pack.
#[derive(Clone, Debug)]
pub struct PackFiles {
    pub pack: FileId,
    pub lifecycles: Vec<FileId>,
}

/// Reads, checks and compiles a pack. Warnings are returned with the pack.
pub fn compile(sources: &Sources, files: &PackFiles) -> Result<(Pack, Problems), Problems> {
    compile_with(sources, files, ProblemSeverity::Error)
}

/// Compiles a pack that a project already uses. Rules about names that were added since are only warnings: the project
/// must start.
pub fn compile_stored(sources: &Sources, files: &PackFiles) -> Result<(Pack, Problems), Problems> {
    compile_with(sources, files, ProblemSeverity::Warning)
}

fn compile_with(
    sources: &Sources,
    files: &PackFiles,
    illegal_names: ProblemSeverity,
) -> Result<(Pack, Problems), Problems> {
    let mut problems = Problems::default();
    let pack: Option<PackFile> = parsed(sources, files.pack, &mut problems);
    let lifecycles: Vec<LifecycleFile> =
        files.lifecycles.iter().filter_map(|file| parsed(sources, *file, &mut problems)).collect();
    if let Some(pack) = &pack {
        legal_names::check(pack, &lifecycles, illegal_names, &mut problems);
    }
    let pack = pack.and_then(|pack| pack::compile(&pack, &lifecycles, &mut problems));
    match pack {
        Some(pack) if !problems.has_errors() => Ok((pack, problems)),
        _ => Err(problems),
    }
}

fn parsed<T: FromNode>(sources: &Sources, file: FileId, problems: &mut Problems) -> Option<T> {
    let node = read(sources, file, problems)?;
    T::from_node(&node, problems)
}
