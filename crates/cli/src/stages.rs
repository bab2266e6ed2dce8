//! The stages of a pack on disk, or the one that is made up where it has none.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_explore::stage::{Stage, made_up, read_stage};
use trackside_lifecycle::source::{Problems, Sources};

use crate::packs::PackOnDisk;

/// Every stage of a pack. What is wrong with a stage file goes to `problems`.
pub(crate) fn of(
    pack: &PackOnDisk,
    law: &Arc<Law>,
    sources: &Sources,
    problems: &mut Problems,
) -> Vec<Stage> {
    if pack.stages.is_empty() {
        return law.packs().map(|it| made_up(law, it)).collect();
    }
    pack.stages.iter().filter_map(|file| read_stage(law, sources, *file, problems)).collect()
}
