//! The five packs on their stages: what is left out makes no difference there either.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "../../engine/tests/folder/mod.rs"]
mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_explore::report::{How, Report, explore};
use trackside_explore::search::Bound;
use trackside_explore::stage::{Stage, read_stage};
use trackside_explore::world::Reduce;
use trackside_lifecycle::source::{FileId, Problems};

fn stages(pack: &str) -> Vec<Stage> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(pack);
    let (compiled, mut sources) = folder::pack(&root);
    let law = Arc::new(Law::new([compiled]));
    let files: Vec<FileId> =
        folder::yaml_in(&root.join("stages")).iter().map(|it| folder::add(&mut sources, it)).collect();
    let mut problems = Problems::default();
    let stages: Vec<Stage> =
        files.iter().filter_map(|file| read_stage(&law, &sources, *file, &mut problems)).collect();
    assert!(problems.is_empty(), "{}", problems.render(&sources, false));
    assert!(!stages.is_empty(), "{pack} has no stage");
    stages
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
