//! The definitions in force, and those that running entities still live by.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_store::Definition;

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
    #[error("{pack} version {version} is older than version {newest}, which is in use")]
    Older { pack: Name, version: u32, newest: u32 },
}

impl PackSource {
    /// Compiles it, with the row that keeps it.
    pub fn compile(&self) -> Result<(Pack, Definition), CatalogError> {
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
        let (pack, _) = compile(&sources, &PackFiles { pack, lifecycles })
            .map_err(|problems| CatalogError::Broken(problems.render(&sources, false)))?;
        let definition =
            Definition { pack: pack.name.clone(), version: pack.version, digest: digest(&files), files };
        Ok((pack, definition))
    }
}

/// Paths and texts, each with its length.
fn digest(files: &[(String, String)]) -> String {
    let mut digest = Sha256::new();
    for text in files.iter().flat_map(|(path, text)| [path, text]) {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All definitions that a store knows, compiled, older versions first.
pub(crate) fn law_of(known: &[Definition]) -> Result<Law, CatalogError> {
    let mut by_version: BTreeMap<(Name, u32), &Definition> = BTreeMap::new();
    for definition in known {
        by_version.insert((definition.pack.clone(), definition.version), definition);
    }
    let mut law = Law::default();
    for definition in by_version.values() {
        let (pack, _) = PackSource { files: definition.files.clone() }.compile()?;
        law.add(Arc::new(pack));
    }
    Ok(law)
}

/// What must be added to what is known so that these packs are in force.
pub(crate) fn newcomers(known: &[Definition], packs: &[PackSource]) -> Result<Vec<Definition>, CatalogError> {
    let mut new = Vec::new();
    for source in packs {
        let (_, definition) = source.compile()?;
        let versions = known.iter().filter(|it| it.pack == definition.pack);
        let newest = versions.clone().map(|it| it.version).max();
        let same = versions.clone().find(|it| it.version == definition.version);
        match (same, newest) {
            (Some(same), _) if same.digest == definition.digest => {}
            (Some(_), _) => {
                return Err(CatalogError::SameVersion { pack: definition.pack, version: definition.version });
            }
            (None, Some(newest)) if definition.version < newest => {
                let Definition { pack, version, .. } = definition;
                return Err(CatalogError::Older { pack, version, newest });
            }
            (None, _) => new.push(definition),
        }
    }
    Ok(new)
}
