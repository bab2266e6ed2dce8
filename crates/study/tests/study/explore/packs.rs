//! The five packs on their stages: the reductions change no result there either.

use std::path::Path;
use std::sync::Arc;

use crate::folder;
use trackside_engine::Law;
use trackside_lifecycle::source::{FileId, Problems};
use trackside_study::explore::report::{ExplorationReport, ExploreOptions, explore};
use trackside_study::explore::search::SearchBound;
use trackside_study::explore::stage::{ExploreStage, read_stage};
use trackside_study::explore::world::Reduce;

fn stages(pack: &str) -> Vec<ExploreStage> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(pack);
    let (compiled, mut sources) = folder::pack(&root);
    let law = Arc::new(Law::new([compiled]));
    let files: Vec<FileId> =
        folder::yaml_in(&root.join("stages")).iter().map(|it| folder::add(&mut sources, it)).collect();
    let mut problems = Problems::default();
    let stages: Vec<ExploreStage> =
        files.iter().filter_map(|file| read_stage(&law, &sources, *file, &mut problems)).collect();
    assert!(problems.is_empty(), "{}", problems.render(&sources, false));
    assert!(!stages.is_empty(), "{pack} has no stage");
    stages
}

fn explored(stage: &ExploreStage, reduce: Reduce) -> ExplorationReport {
    let bound = SearchBound { worlds: 100_000, depth: 2 };
    explore(stage, &ExploreOptions { bound, threads: 2, reduce, go_on: &|_| true })
}

#[test]
fn the_reductions_change_no_result() {
    for pack in ["build", "coding", "mission", "research", "turns"] {
        for stage in stages(pack) {
            let (all, few) = (explored(&stage, Reduce::Nothing), explored(&stage, Reduce::Mirrors));
            let said = |it: &ExplorationReport| {
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
