//! Packs on disk: which files belong to one, and reading them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trackside_lifecycle::compile::{PackFiles, compile as compile_pack};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::{DefinitionPath, FileId, Locator, Place, Problems, Sources};
use trackside_runtime::PackSource;
use trackside_server::reserved_name;

use crate::{builtin, exit, files, print};

/// A pack: its folder or its built-in texts, and the selected scenario files.
#[derive(Debug)]
pub(crate) struct PackOnDisk {
    pub(crate) name: String,
    pub(crate) files: PackFiles,
    pub(crate) scenarios: Vec<FileId>,
    pub(crate) stages: Vec<FileId>,
}

/// Why a path is no pack.
#[derive(Debug)]
pub(crate) struct NoPack(pub(crate) String);

/// The folders of a pack that hold definition files.
const FOLDERS: [&str; 3] = ["lifecycles", "scenarios", "stages"];

/// The definition files at these paths, each once.
pub(crate) fn definitions(paths: &[PathBuf]) -> Result<Vec<PathBuf>, NoPack> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_file() {
            files.push(path.clone());
            continue;
        }
        for folder in folders_of(path)? {
            files.push(folder.join("pack.yaml"));
            for inner in FOLDERS {
                files.extend(yaml_in(&folder.join(inner))?);
            }
        }
    }
    let mut seen = BTreeSet::new();
    files.retain(|it| seen.insert(it.clone()));
    Ok(files)
}

/// The pack folder at this path, or the pack folders in it.
fn folders_of(path: &Path) -> Result<Vec<PathBuf>, NoPack> {
    if path.join("pack.yaml").is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if path.is_file() {
        let why = "this is a file. Name the pack folder, which contains pack.yaml";
        return Err(NoPack(format!("{}: {why}", path.display())));
    }
    if !path.is_dir() {
        return Err(NoPack(format!("{}: no such file or folder", path.display())));
    }
    let inside: Vec<PathBuf> =
        fetch_list(path)?.into_iter().filter(|it| it.join("pack.yaml").is_file()).collect();
    if inside.is_empty() {
        return Err(NoPack(format!("{}: neither a pack (pack.yaml) nor a folder of packs", path.display())));
    }
    Ok(inside)
}

/// The pack folders in a folder, and in its folder `packs`, as people type them.
pub(crate) fn folders_below(folder: &Path) -> Vec<String> {
    let inside = [folder.to_owned(), folder.join("packs")];
    let found = inside.iter().filter_map(|it| fetch_list(it).ok()).flatten();
    let packs = found.filter(|it| it.join("pack.yaml").is_file());
    packs.map(|it| it.strip_prefix(".").unwrap_or(&it).display().to_string()).collect()
}

/// The texts that define these packs, as they are installed.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<PackSource>, NoPack> {
    let mut all = Vec::new();
    for path in paths {
        for folder in folders_of(path)? {
            let mut files = vec![("pack.yaml".to_owned(), text(&folder.join("pack.yaml"))?)];
            for file in yaml_in(&folder.join("lifecycles"))? {
                let name = file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
                files.push((format!("lifecycles/{name}"), text(&file)?));
            }
            all.push(PackSource { files });
        }
    }
    Ok(all)
}

/// The packs at these paths, with their texts read into `sources`.
pub(crate) fn find(paths: &[PathBuf], sources: &mut Sources) -> Result<Vec<PackOnDisk>, NoPack> {
    let mut folders: Vec<(PathBuf, Option<Vec<PathBuf>>)> = Vec::new();
    for path in paths {
        if path.is_file() {
            let folder = path.ancestors().find(|it| it.join("pack.yaml").is_file());
            let folder = folder
                .ok_or_else(|| NoPack(format!("{}: no folder above it has a pack.yaml", path.display())))?;
            match folders.iter_mut().find(|(it, _)| it == folder) {
                Some((_, Some(files))) => files.push(path.clone()),
                Some((_, None)) => {}
                None => folders.push((folder.to_owned(), Some(vec![path.clone()]))),
            }
        } else {
            folders.extend(folders_of(path)?.into_iter().map(|it| (it, None)));
        }
    }
    folders.into_iter().map(|(folder, only)| load(&folder, only, sources)).collect()
}

/// Finds packs; an unknown name may also be that of a built-in pack.
pub(crate) fn find_or_built_in(paths: &[PathBuf], sources: &mut Sources) -> Result<Vec<PackOnDisk>, NoPack> {
    let files_of = |path: &PathBuf| {
        let name = path.to_str().filter(|_| !path.exists())?;
        builtin::files(name).map(|files| (name.to_owned(), files))
    };
    let (named, there): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|it| files_of(it).is_some());
    let there: Vec<PathBuf> = there.into_iter().cloned().collect();
    let mut packs = find(&there, sources).map_err(|NoPack(why)| {
        let names: Vec<&str> = builtin::names().collect();
        let next = format!("Name a pack folder, or a built-in pack: {}", names.join(", "));
        NoPack(format!("{why}. {next}"))
    })?;
    packs.extend(named.into_iter().filter_map(files_of).map(|(name, files)| built_in(&name, files, sources)));
    Ok(packs)
}

/// All built-in packs.
pub(crate) fn all_built_in(sources: &mut Sources) -> Vec<PackOnDisk> {
    let all = builtin::names().filter_map(|name| Some((name, builtin::files(name)?)));
    all.map(|(name, files)| built_in(name, files, sources)).collect()
}

fn built_in(name: &str, files: &[(&str, &str)], sources: &mut Sources) -> PackOnDisk {
    let text = files.iter().find(|(path, _)| *path == "pack.yaml").map_or("", |(_, text)| *text);
    let pack = sources.add(format!("{name}/pack.yaml"), text.to_owned());
    let mut in_folder = |folder: &str| -> Vec<FileId> {
        let inside = files.iter().filter(|(path, _)| path.starts_with(folder));
        inside.map(|(path, text)| sources.add(format!("{name}/{path}"), (*text).to_owned())).collect()
    };
    let (lifecycles, stages) = (in_folder("lifecycles/"), in_folder("stages/"));
    let files = PackFiles { pack, lifecycles };
    PackOnDisk { name: name.to_owned(), files, scenarios: Vec::new(), stages }
}

/// Compiles a pack. One that takes a name of the server's own packs has an error.
pub(crate) fn compile(sources: &Sources, files: &PackFiles) -> Result<(Pack, Problems), Problems> {
    let (pack, mut problems) = compile_pack(sources, files)?;
    let Some(why) = reserved_name(&pack) else { return Ok((pack, problems)) };
    let key = Locator::new(sources, [files.pack]).place(&pack.name, &DefinitionPath::of(["pack"]));
    problems.error("reserved-pack", key.unwrap_or(Place::top(files.pack)), why);
    Err(problems)
}

/// The packs at these paths; prints an error if there is none.
pub(crate) fn find_or_report(paths: &[PathBuf], sources: &mut Sources) -> Result<Vec<PackOnDisk>, u8> {
    find(paths, sources).map_err(|NoPack(why)| {
        print::message(styled!(
            "{why}. Name a pack folder, a folder of packs, or a file inside a pack; trackside init creates one"
        ));
        exit::USAGE
    })
}

/// Finds packs by name, the built-in ones included.
pub(crate) fn find_or_built_in_or_report(
    paths: &[PathBuf],
    sources: &mut Sources,
) -> Result<Vec<PackOnDisk>, u8> {
    find_or_built_in(paths, sources).map_err(|NoPack(why)| {
        print::message(&why);
        exit::USAGE
    })
}

fn load(folder: &Path, only: Option<Vec<PathBuf>>, sources: &mut Sources) -> Result<PackOnDisk, NoPack> {
    let pack = add(&folder.join("pack.yaml"), sources)?;
    let lifecycles = yaml_in(&folder.join("lifecycles"))?;
    let lifecycles = lifecycles.iter().map(|it| add(it, sources)).collect::<Result<_, _>>()?;
    let scenarios = match only {
        Some(files) => {
            files.into_iter().filter(|it| it.parent().is_some_and(|it| it.ends_with("scenarios"))).collect()
        }
        None => yaml_in(&folder.join("scenarios"))?,
    };
    let scenarios = scenarios.iter().map(|it| add(it, sources)).collect::<Result<_, _>>()?;
    let stages = yaml_in(&folder.join("stages"))?;
    let stages = stages.iter().map(|it| add(it, sources)).collect::<Result<_, _>>()?;
    let name = folder.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(PackOnDisk { name, files: PackFiles { pack, lifecycles }, scenarios, stages })
}

/// Reads one file.
pub(crate) fn add(path: &Path, sources: &mut Sources) -> Result<FileId, NoPack> {
    Ok(sources.add(path.display().to_string(), text(path)?))
}

fn text(path: &Path) -> Result<String, NoPack> {
    let bytes = std::fs::read(path).map_err(|it| NoPack(files::unread(path, &it)))?;
    String::from_utf8(bytes).map_err(|_| NoPack(format!("{}: is not UTF-8 text", path.display())))
}

/// YAML files of a folder in order; none if there is no such folder.
fn yaml_in(folder: &Path) -> Result<Vec<PathBuf>, NoPack> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let is_yaml = |it: &PathBuf| it.extension().is_some_and(|it| it == "yaml" || it == "yml");
    Ok(fetch_list(folder)?.into_iter().filter(is_yaml).collect())
}

fn fetch_list(folder: &Path) -> Result<Vec<PathBuf>, NoPack> {
    let problem = |it: std::io::Error| NoPack(files::unread(folder, &it));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        all.push(entry.map_err(problem)?.path());
    }
    all.sort();
    Ok(all)
}
