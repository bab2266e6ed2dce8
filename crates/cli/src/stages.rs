//! The stages of a pack on disk, or a generated one if it has none.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::explore::stage::{ExploreStage, default_stage, read_stage};

use crate::packs::PackOnDisk;

/// Every stage of a pack. Problems in stage files go to `problems`.
pub(crate) fn of(
    pack: &PackOnDisk,
    law: &Arc<Law>,
    sources: &Sources,
    problems: &mut Problems,
) -> Vec<ExploreStage> {
    if pack.stages.is_empty() {
        return law.packs().map(|it| default_stage(law, it)).collect();
    }
    pack.stages.iter().filter_map(|file| read_stage(law, sources, *file, problems)).collect()
}
