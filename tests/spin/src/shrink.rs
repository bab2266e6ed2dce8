//! Shrinks a model until it is small enough: by a stated rule, with a list of the parts left out.

use std::collections::BTreeSet;

use trackside_lifecycle::model::{Lifecycle, Pack};

use super::build::build;
use super::explore::verdicts;
use super::model::AbstractModel;
use super::shape::{EntityShape, SETTINGS, part};

/// The size limit of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelSize {
    /// Most worlds, all entities together and without symmetry.
    pub worlds: usize,
    /// Most moves of one entity.
    pub moves: usize,
}

impl Default for ModelSize {
    fn default() -> Self {
        Self { worlds: 60_000, moves: 900 }
    }
}

/// The models of a lifecycle: two entities, as far as they stay small enough; and if parts had to be left
/// out for that, also one entity, for which fewer parts are left out.
pub fn abstractions(pack: &Pack, life: &Lifecycle, size: ModelSize) -> Vec<AbstractModel> {
    let idle = idle(pack, life);
    if life.one {
        return vec![fitting(pack, life, size, &idle, 1)];
    }
    let pair = fitting(pack, life, size, &idle, 2);
    if pair.left_out.is_empty() {
        return vec![pair];
    }
    let alone = fitting(pack, life, size, &idle, 1);
    vec![pair, alone]
}

/// The coarsest model: only states, for any settings.
pub fn coarsest(pack: &Pack, life: &Lifecycle) -> AbstractModel {
    let settings = BTreeSet::from([SETTINGS.to_owned()]);
    let parts = EntityShape::new(life, &settings).least_first();
    build(pack, life, &parts.into_iter().chain(settings).collect(), 1)
}

/// A model with all reads of conditions, or without the fewest of the least important parts.
fn fitting(
    pack: &Pack,
    life: &Lifecycle,
    size: ModelSize,
    idle: &BTreeSet<String>,
    entities: usize,
) -> AbstractModel {
    let order = EntityShape::new(life, idle).least_first();
    let each = if entities == 2 { size.worlds.isqrt() } else { size.worlds };
    // The entities share nothing, so the worlds of one of them give the total.
    let without = |many: usize| -> (AbstractModel, bool) {
        let left_out = idle.iter().chain(order.iter().take(many)).cloned().collect();
        let mut model = build(pack, life, &left_out, entities);
        model.left_out = order.iter().take(many).cloned().collect();
        let one = AbstractModel { entities: 1, ..model.clone() };
        let fits = model.moves.len() <= size.moves && verdicts(&one, false, each + 1, 2, None).worlds <= each;
        (model, fits)
    };
    let (mut too_few, mut enough) = (0, order.len());
    let (mut best, fits) = without(0);
    if fits {
        return best;
    }
    (best, _) = without(enough);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        let (model, fits) = without(middle);
        if fits {
            (enough, best) = (middle, model);
        } else {
            too_few = middle;
        }
    }
    best
}

/// The parts that decide nothing: no move and no claim depends on them.
fn idle(pack: &Pack, life: &Lifecycle) -> BTreeSet<String> {
    let mut idle = BTreeSet::new();
    loop {
        let model = build(pack, life, &idle, 1);
        let read = model.read();
        let decides = |name: &String| {
            let variables = model.variables.iter().enumerate().filter(|(_, it)| part(&it.name) == *name);
            variables.into_iter().any(|(number, _)| read.contains(&number))
        };
        let parts = EntityShape::new(life, &idle).least_first();
        let more: Vec<String> = parts.into_iter().filter(|it| !decides(it)).collect();
        if more.is_empty() {
            return idle;
        }
        idle.extend(more);
    }
}
