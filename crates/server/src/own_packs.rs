//! The packs of the server itself. They are always in force, and no other pack can have their names.

use trackside_engine::actor::Actor;
use trackside_engine::decide::{ACCESS, FLEET};
use trackside_lifecycle::model::Pack;
use trackside_runtime::{
    CatalogError, Failure, Migration, MigrationRange, PackSource, Runtime, StartError, is_version_of,
};

/// Name, and the texts with their paths inside the pack, stages included.
type OwnPack = (&'static str, &'static [(&'static str, &'static str)]);

const PACKS: &[OwnPack] = &[
    (
        ACCESS,
        &[
            ("pack.yaml", include_str!("../access/pack.yaml")),
            ("lifecycles/audience.yaml", include_str!("../access/lifecycles/audience.yaml")),
            ("lifecycles/delivery.yaml", include_str!("../access/lifecycles/delivery.yaml")),
            ("lifecycles/failure.yaml", include_str!("../access/lifecycles/failure.yaml")),
            ("lifecycles/link.yaml", include_str!("../access/lifecycles/link.yaml")),
            ("lifecycles/token.yaml", include_str!("../access/lifecycles/token.yaml")),
            ("lifecycles/webhook.yaml", include_str!("../access/lifecycles/webhook.yaml")),
        ],
    ),
    (
        FLEET,
        &[
            ("pack.yaml", include_str!("../fleet/pack.yaml")),
            ("lifecycles/account.yaml", include_str!("../fleet/lifecycles/account.yaml")),
            ("lifecycles/change.yaml", include_str!("../fleet/lifecycles/change.yaml")),
            ("lifecycles/run.yaml", include_str!("../fleet/lifecycles/run.yaml")),
            ("lifecycles/runner.yaml", include_str!("../fleet/lifecycles/runner.yaml")),
            ("lifecycles/work.yaml", include_str!("../fleet/lifecycles/work.yaml")),
            ("lifecycles/worktree.yaml", include_str!("../fleet/lifecycles/worktree.yaml")),
            ("stages/limits.yaml", include_str!("../fleet/stages/limits.yaml")),
            ("stages/lost.yaml", include_str!("../fleet/stages/lost.yaml")),
            ("stages/runs.yaml", include_str!("../fleet/stages/runs.yaml")),
        ],
    ),
];

/// The names of the packs of the server itself.
pub fn own_pack_names() -> impl Iterator<Item = &'static str> {
    PACKS.iter().map(|(name, _)| *name)
}

/// The files of one of them, stages too, each with its path inside the pack.
pub fn own_pack_files(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    PACKS.iter().find(|(it, _)| *it == name).map(|(_, files)| *files)
}

fn sources() -> Vec<PackSource> {
    PACKS.iter().map(|(_, files)| source(files)).collect()
}

fn source(files: &[(&str, &str)]) -> PackSource {
    let defining = files.iter().filter(|(path, _)| !path.starts_with("stages/"));
    PackSource { files: defining.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
}

/// The error for a pack that has the name of one of the server's and is no version of it.
pub fn reserved_name(pack: &Pack) -> Option<String> {
    let own = own_pack_files(&pack.name)?;
    let is_own = source(own).compile().is_ok_and(|(own, _)| is_version_of(&own, pack));
    (!is_own).then(|| CatalogError::Reserved { pack: pack.name.clone() }.to_string())
}

/// Puts them into force. Records of earlier releases are moved to the present version, whose rules then apply to them.
pub(crate) fn install(runtime: &Runtime) -> Result<(), StartError> {
    runtime.install_own(&sources())?;
    Ok(migrate_records(runtime)?)
}

/// Puts them into force at the start. Without space, the project runs with those that it has.
pub(crate) fn install_if_space(runtime: &Runtime) -> Result<(), StartError> {
    runtime.install_own_if_space(&sources())?;
    match runtime.space() {
        trackside_runtime::SpaceStatus::Out(_) => Ok(()),
        _ => Ok(migrate_records(runtime)?),
    }
}

fn migrate_records(runtime: &Runtime) -> Result<(), Failure> {
    let law = runtime.law();
    for life in own_pack_names().filter_map(|it| law.pack(it)).flat_map(|it| &it.lifecycles) {
        if law.versions(&life.name).any(|it| it < life.version) {
            let (states, fields) = Default::default();
            let migration = Migration { lifecycle: life.name.clone(), to: life.version, states, fields };
            // One that does not fit keeps the rules that it had.
            runtime.apply_migration(Actor::engine(), &migration, &MigrationRange::default(), &mut |_| {})?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_own_packs_is_here() {
        for (name, files) in PACKS {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            for inner in ["lifecycles", "stages"] {
                let entries = std::fs::read_dir(folder.join(inner)).into_iter().flatten().flatten();
                let mut there: Vec<String> =
                    entries.map(|it| format!("{inner}/{}", it.file_name().to_string_lossy())).collect();
                there.sort();
                let here: Vec<&str> =
                    files.iter().map(|(path, _)| *path).filter(|it| it.starts_with(inner)).collect();
                assert_eq!(there, here, "{name}");
            }
        }
    }
}
