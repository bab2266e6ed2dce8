//! The definitions in force, and older versions that running entities still use.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::decide::is_reserved_pack;
use trackside_lifecycle::compile::{PackFiles, compile, compile_stored};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_store::Definition;
use trackside_store::rules::digest_of;

/// The texts of a pack: path within it and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackSource {
    pub files: Vec<(String, String)>,
}

/// Why a pack cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Its problems, as they are shown to people.
    #[error("{0}")]
    Broken(String),
    #[error(
        "{pack} version {version} is in use with other texts. Give the new one a higher `version:` in pack.yaml"
    )]
    SameVersion { pack: Name, version: u32 },
    /// A stored pack that this release cannot run.
    #[error(
        "{pack} version {version} is stored in the project, and this release cannot run it. Nothing was changed. Start \
         the project with the release that was used before, install a corrected version of the pack there, and upgrade \
         again\n{problems}"
    )]
    Unrunnable { pack: Name, version: u32, problems: String },
    #[error("{pack} version {version} is older than version {newest}, which is in use")]
    Older { pack: Name, version: u32, newest: u32 },
    #[error("{pack} is the name of a pack of the server itself. Choose another name for this pack")]
    Reserved { pack: Name },
    /// The project has its own pack under the name of one of the server's.
    #[error(
        "The project has a pack of its own named {pack}, and this release needs that name for a pack of the server. \
         Nothing was changed. Start the project with the release that was used before, export its entities with \
         `trackside export`, and import them into a pack of another name"
    )]
    Taken { pack: Name },
}

/// The origin of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackOrigin {
    /// It belongs to the server.
    Server,
    /// Anybody else.
    User,
}

/// Whether one of two packs of the same name is a version of the other: one has all lifecycles of the other.
pub fn is_version_of(one: &Pack, other: &Pack) -> bool {
    let has_all = |all: &Pack, some: &Pack| {
        some.lifecycles.iter().all(|it| all.lifecycles.iter().any(|other| other.name == it.name))
    };
    one.name == other.name && (has_all(one, other) || has_all(other, one))
}

impl PackSource {
    /// Reads the folder of a pack.
    pub fn read(folder: &Path) -> Result<Self, CatalogError> {
        let unread = |path: &Path| {
            let path = path.display().to_string();
            move |it: std::io::Error| CatalogError::Broken(format!("{path}: {it}"))
        };
        let text = |path: &Path| std::fs::read_to_string(path).map_err(unread(path));
        let mut files = vec![("pack.yaml".to_owned(), text(&folder.join("pack.yaml"))?)];
        let inside = folder.join("lifecycles");
        for entry in std::fs::read_dir(&inside).map_err(unread(&inside))? {
            let path = entry.map_err(unread(&inside))?.path();
            let yaml = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
            if let Some(name) = path.file_name().filter(|_| yaml) {
                files.push((format!("lifecycles/{}", name.to_string_lossy()), text(&path)?));
            }
        }
        files.sort();
        Ok(Self { files })
    }

    /// Compiles it, and returns the row to store.
    pub fn compile(&self) -> Result<(Pack, Definition), CatalogError> {
        let (pack, definition, _) = self.compile_by(compile)?;
        Ok((pack, definition))
    }

    /// Compiles the stored text of a pack. Returns the errors that refuse new packs only, as they are shown to people.
    pub fn compile_stored(&self) -> Result<(Pack, Definition, Vec<String>), CatalogError> {
        self.compile_by(compile_stored)
    }

    fn compile_by(&self, compile: Compiler) -> Result<(Pack, Definition, Vec<String>), CatalogError> {
        let mut sources = Sources::default();
        let mut pack = None;
        let mut lifecycles = Vec::new();
        let mut files = self.files.clone();
        files.sort();
        for (path, text) in &files {
            let id = sources.add(path.clone(), text.clone());
            match path.as_str() {
                "pack.yaml" => pack = Some(id),
                path if path.starts_with("lifecycles/") => lifecycles.push(id),
                _ => {}
            }
        }
        let Some(pack) = pack else { return Err(CatalogError::Broken("there is no pack.yaml".to_owned())) };
        let (pack, problems) = compile(&sources, &PackFiles { pack, lifecycles })
            .map_err(|problems| CatalogError::Broken(problems.render(&sources, false)))?;
        let spared = problems.sorted().into_iter().filter(|it| it.only_new);
        let spared = spared.map(|it| format!("{}: {}", sources.show(it.at), it.message)).collect();
        let digest = digest_of(&files);
        let definition = Definition { pack: pack.name.clone(), version: pack.version, digest, files };
        Ok((pack, definition, spared))
    }
}

type Compiler = fn(&Sources, &PackFiles) -> Result<(Pack, Problems), Problems>;

/// The packs that a project knows, compiled, every version of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    packs: BTreeMap<(Name, u32), (Arc<Pack>, Arc<Definition>)>,
    /// Stored packs that this release would not install, and why.
    outdated: Vec<String>,
}

impl Catalog {
    /// The catalog of a store's definitions. Packs that this release would refuse as new ones keep running if they are
    /// complete.
    pub fn of(known: Vec<Definition>) -> Result<Self, CatalogError> {
        let mut catalog = Self::default();
        for Definition { pack, version, files, .. } in known {
            let compiled = PackSource { files }.compile_stored();
            let (pack, definition, spared) = compiled.map_err(|error| match error {
                CatalogError::Broken(problems) => CatalogError::Unrunnable { pack, version, problems },
                error => error,
            })?;
            if !spared.is_empty() {
                catalog.outdated.push(outdated(&pack.name, pack.version, &spared));
            }
            catalog.add(pack, definition);
        }
        Ok(catalog)
    }

    /// Warnings about stored packs that this release would not install.
    pub fn outdated(&self) -> &[String] {
        &self.outdated
    }

    /// Whether a version of a pack is stored with exactly these texts.
    pub fn knows(&self, source: &PackSource) -> bool {
        let mut files = source.files.clone();
        files.sort();
        let digest = digest_of(&files);
        self.packs.values().any(|(_, it)| it.digest == digest)
    }

    fn add(&mut self, pack: Pack, definition: Definition) {
        let key = (pack.name.clone(), pack.version);
        self.packs.insert(key, (Arc::new(pack), Arc::new(definition)));
    }

    /// A version of a pack.
    pub fn pack(&self, name: &Name, version: u32) -> Option<Arc<Pack>> {
        self.packs.get(&(name.clone(), version)).map(|(pack, _)| pack.clone())
    }

    /// The law of all packs, older versions first: running entities stay on theirs.
    pub fn law(&self) -> Law {
        let mut law = Law::default();
        for (pack, _) in self.packs.values() {
            law.add(pack.clone());
        }
        law
    }

    /// The part of this catalog that a store contains.
    #[cfg(feature = "simulation")]
    pub fn among(&self, known: &[Definition]) -> Self {
        let is_known = |it: &Definition| known.iter().any(|other| other.digest == it.digest);
        let packs = self.packs.iter().filter(|(_, (_, it))| is_known(it));
        Self { packs: packs.map(|(key, it)| (key.clone(), it.clone())).collect(), outdated: Vec::new() }
    }

    /// The stored rows of the packs.
    #[cfg(feature = "simulation")]
    pub fn definitions(&self) -> Vec<Definition> {
        self.packs.values().map(|(_, it)| Definition::clone(it)).collect()
    }

    /// Adds packs. Returns those that were not known and must be stored.
    pub fn take(
        &mut self,
        packs: &[PackSource],
        origin: PackOrigin,
    ) -> Result<Vec<Definition>, CatalogError> {
        let mut new = Vec::new();
        for source in packs {
            let mut files = source.files.clone();
            files.sort();
            let digest = digest_of(&files);
            if self.packs.values().any(|(_, it)| it.digest == digest) {
                continue;
            }
            let (pack, definition) = source.compile()?;
            let of_it = || self.packs.iter().filter(|((name, _), _)| *name == pack.name);
            match origin {
                PackOrigin::User if is_reserved_pack(&pack.name) => {
                    return Err(CatalogError::Reserved { pack: pack.name });
                }
                PackOrigin::Server if of_it().any(|(_, (it, _))| !is_version_of(it, &pack)) => {
                    return Err(CatalogError::Taken { pack: pack.name });
                }
                PackOrigin::Server | PackOrigin::User => {}
            }
            let newest = of_it().map(|((_, version), _)| *version).max();
            let same = self.packs.get(&(pack.name.clone(), pack.version)).map(|(_, it)| it);
            match (same, newest) {
                (Some(_), _) => {
                    return Err(CatalogError::SameVersion { pack: pack.name, version: pack.version });
                }
                (None, Some(newest)) if pack.version < newest => {
                    return Err(CatalogError::Older { version: pack.version, pack: pack.name, newest });
                }
                (None, _) => {
                    new.push(definition.clone());
                    self.add(pack, definition);
                }
            }
        }
        Ok(new)
    }
}

/// The warning about a stored pack that this release would not install.
pub(crate) fn outdated(pack: &Name, version: u32, why: &[String]) -> String {
    format!(
        "the stored pack {pack} {version} keeps running, but this release would not install it: {}. Correct it, raise its \
         `version:` and install it with: trackside pack add DIR",
        why.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_pack_with_an_illegal_name_keeps_running_with_a_warning() {
        let life = "lifecycle: old.task\ncreate: { by: human }\nstates: { OPEN: { initial: true }, DONE: { final: true } }\n\
            transitions: { end: { from: OPEN, to: DONE, by: human } }\n";
        let pack = "pack: old\nversion: 1\nroles: { \"a:b\": {} }\n";
        let files = [("lifecycles/task.yaml", life), ("pack.yaml", pack)];
        let source =
            PackSource { files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).into() };
        assert!(source.compile().is_err(), "it would not be installed today");
        let (_, definition, _) = source.compile_stored().unwrap();
        let mut catalog = Catalog::of(vec![definition]).unwrap();
        let [warning] = catalog.outdated.as_slice() else { panic!("{:?}", catalog.outdated) };
        assert!(warning.contains("`a:b` is not a legal name of a role"), "{warning}");
        assert_eq!(
            catalog.take(&[source], PackOrigin::User).unwrap(),
            [],
            "the same texts again are nothing new"
        );
    }

    #[test]
    fn only_the_server_defines_packs_under_its_own_names() {
        let pack = |lifecycle: &str, version: u32| {
            let life = format!(
                "lifecycle: fleet.{lifecycle}\ncreate: {{ by: human }}\nstates: {{ OPEN: {{ initial: true }}, DONE: {{ final: true }} }}\n\
                transitions: {{ close: {{ from: OPEN, to: DONE, by: human }} }}\n"
            );
            let files =
                [("pack.yaml", format!("pack: fleet\nversion: {version}\n")), ("lifecycles/it.yaml", life)];
            PackSource { files: files.map(|(name, text)| (name.to_owned(), text)).to_vec() }
        };
        let mut catalog = Catalog::default();
        let refused = catalog.take(&[pack("truck", 1)], PackOrigin::User).unwrap_err();
        assert!(matches!(refused, CatalogError::Reserved { .. }), "{refused}");
        let stored = pack("truck", 1).compile().unwrap().1;
        let mut taken = Catalog::of(vec![stored]).unwrap();
        let refused = taken.take(&[pack("run", 2)], PackOrigin::Server).unwrap_err();
        assert!(matches!(refused, CatalogError::Taken { .. }), "{refused}");
        assert_eq!(catalog.take(&[pack("run", 1)], PackOrigin::Server).unwrap().len(), 1);
        assert_eq!(catalog.take(&[pack("run", 2)], PackOrigin::Server).unwrap().len(), 1);
    }
}
