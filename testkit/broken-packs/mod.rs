//! Packs with one planted fault each. The faults are the files beside this one.

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{FileId, Node, Problems, Sources, read};
use trackside_study::explore::stage::{ExploreStage, default_stage, read_stage};

/// The files of plants, one for each pack and one for the template of `trackside init`.
pub(crate) const FILES: [&str; 6] = ["build", "coding", "mission", "research", "starter", "turns"];

/// A fault in a pack.
#[derive(Clone, Debug)]
pub(crate) struct Plant {
    /// The name of its file, without the ending.
    pub(crate) pack: String,
    /// The fault in one sentence.
    pub(crate) says: String,
    /// The promise that it breaks, by a part of its sentence, or the code of a surprise.
    pub(crate) breaks: String,
    folder: String,
    file: String,
    replace: String,
    by: String,
}

/// The plants of one file.
pub(crate) fn plants(root: &Path, pack: &str) -> Result<Vec<Plant>, String> {
    let path = root.join("testkit/broken-packs").join(format!("{pack}.yaml"));
    let mut sources = Sources::default();
    let file = add(&mut sources, &path, None)?;
    let mut problems = Problems::default();
    let Some(data) = read(&sources, file, &mut problems) else {
        return Err(problems.render(&sources, false));
    };
    let text = |node: &Node, key: &str| {
        let value = node.get(key).and_then(Node::as_written);
        value.ok_or_else(|| format!("{}: a plant has no `{key}`", path.display()))
    };
    let folder = text(&data, "folder")?;
    let list = data.get("plants").and_then(Node::items).unwrap_or_default();
    let plant = |node: &Node| {
        Ok(Plant {
            pack: pack.to_owned(),
            says: text(node, "plant")?,
            breaks: text(node, "breaks")?,
            folder: folder.clone(),
            file: text(node, "file")?,
            replace: text(node, "replace")?,
            by: text(node, "by")?,
        })
    };
    list.iter().map(plant).collect()
}

impl Plant {
    /// Whether the pack still has the text that the fault replaces.
    #[allow(dead_code, reason = "a test asks, the bench does not")]
    pub(crate) fn is_current(&self, root: &Path) -> bool {
        let text = std::fs::read_to_string(root.join(&self.folder).join(&self.file));
        text.is_ok_and(|it| it.contains(&self.replace))
    }

    /// The stages of the pack with the fault.
    pub(crate) fn stages(&self, root: &Path) -> Result<Vec<ExploreStage>, String> {
        stages_of(&root.join(&self.folder), self)
    }
}

fn stages_of(folder: &Path, plant: &Plant) -> Result<Vec<ExploreStage>, String> {
    let mut sources = Sources::default();
    let pack = add(&mut sources, &folder.join("pack.yaml"), Some(plant))?;
    let lifecycles = match folder.join("lifecycles").is_dir() {
        true => add_all(&mut sources, folder, "lifecycles", Some(plant))?,
        // The template has its only lifecycle beside its pack.
        false => vec![add(&mut sources, &folder.join("task.yaml"), Some(plant))?],
    };
    let compiled = match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((compiled, _)) => compiled,
        Err(problems) => return Err(problems.render(&sources, false)),
    };
    let law = Arc::new(Law::new([compiled]));
    let files = add_all(&mut sources, folder, "stages", None)?;
    if files.is_empty() {
        return Ok(law.packs().map(|it| default_stage(&law, it)).collect());
    }
    let mut problems = Problems::default();
    let stages = files.iter().filter_map(|file| read_stage(&law, &sources, *file, &mut problems)).collect();
    if problems.is_empty() { Ok(stages) } else { Err(problems.render(&sources, false)) }
}

fn add_all(
    sources: &mut Sources,
    folder: &Path,
    within: &str,
    plant: Option<&Plant>,
) -> Result<Vec<FileId>, String> {
    let entries = std::fs::read_dir(folder.join(within)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|it| it.path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files.iter().map(|it| add(sources, it, plant)).collect()
}

/// Adds a file, with the fault if it belongs there.
fn add(sources: &mut Sources, path: &Path, plant: Option<&Plant>) -> Result<FileId, String> {
    let name = path.display().to_string();
    let mut text = std::fs::read_to_string(path).map_err(|it| format!("{name}: {it}"))?;
    if let Some(plant) = plant.filter(|it| path.ends_with(&it.file)) {
        if !text.contains(&plant.replace) {
            return Err(format!("{name} does not contain what \"{}\" replaces", plant.says));
        }
        text = text.replacen(&plant.replace, &plant.by, 1);
    }
    Ok(sources.add(name, text))
}
