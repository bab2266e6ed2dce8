//! The five packs on their stages: what is left out makes no difference there either.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackside_engine::Law;
use trackside_explore::report::{How, Report, explore};
use trackside_explore::search::Bound;
use trackside_explore::stage::{Stage, read_stage};
use trackside_explore::world::Reduce;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{FileId, Problems, Sources};

fn stages(pack: &str) -> Vec<Stage> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(pack);
    let mut sources = Sources::default();
    let file = add(&mut sources, &folder.join("pack.yaml"));
    let lifecycles = all(&mut sources, &folder.join("lifecycles"));
    let files = all(&mut sources, &folder.join("stages"));
    let law = match compile(&sources, &PackFiles { pack: file, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    };
    let mut problems = Problems::default();
    let stages: Vec<Stage> =
        files.iter().filter_map(|file| read_stage(&law, &sources, *file, &mut problems)).collect();
    assert!(problems.is_empty(), "{}", problems.render(&sources, false));
    assert!(!stages.is_empty(), "{pack} has no stage");
    stages
}

fn all(sources: &mut Sources, folder: &Path) -> Vec<FileId> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|it| add(sources, it)).collect()
}

fn add(sources: &mut Sources, path: &Path) -> FileId {
    sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap())
}

fn explored(stage: &Stage, reduce: Reduce) -> Report {
    let bound = Bound { worlds: 100_000, depth: 2 };
    explore(stage, &How { bound, threads: 2, reduce, go_on: &|_| true })
}

#[test]
fn what_is_left_out_makes_no_difference() {
    for pack in ["build", "coding", "mission", "research", "turns"] {
        for stage in stages(pack) {
            let (all, few) = (explored(&stage, Reduce::Nothing), explored(&stage, Reduce::Mirrors));
            let said = |it: &Report| {
                let verdicts = it.verdicts.iter().map(|it| std::mem::discriminant(&it.outcome));
                let surprises: Vec<&str> = it.surprises.iter().map(|it| it.code).collect();
                (verdicts.collect::<Vec<_>>(), surprises.join(" "), format!("{:?}", it.covered))
            };
            assert_eq!(said(&all), said(&few), "{pack} {}", stage.name);
            assert!(few.progress.worlds <= all.progress.worlds);
            println!(
                "{pack} {}: {} worlds stand for {}",
                stage.name, few.progress.worlds, all.progress.worlds
            );
        }
    }
}
