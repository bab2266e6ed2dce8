//! Ids: few of each lifecycle, so that entities meet.

use trackside_engine::entity::Entity;
use trackside_engine::view::View;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_random::Random;

use crate::cast::WalkActors;
use crate::packs::WalkPack;

/// Entities of a lifecycle that are created in one walk, without those that rules create.
const MOST: usize = 12;

/// An id of this lifecycle: mostly of an existing entity that is not in a final state.
pub(crate) fn likely_actor(
    ground: &WalkPack,
    view: &View,
    cast: &WalkActors,
    lifecycle: &str,
    dice: &mut Random,
) -> Name {
    let open: Vec<Name> =
        of(view, lifecycle).filter(|it| goes_on(ground, it)).map(|it| it.key.id.clone()).collect();
    if dice.percent(88)
        && let Some(id) = dice.pick(&open)
    {
        return id.clone();
    }
    let all = pool(ground, view, cast, lifecycle);
    dice.pick(&all).cloned().unwrap_or_else(|| Name::new("nobody"))
}

/// An id for a new entity; sometimes one that exists.
pub(crate) fn fresh(
    ground: &WalkPack,
    view: &View,
    cast: &WalkActors,
    life: &Lifecycle,
    dice: &mut Random,
) -> Option<Name> {
    let pool = pool(ground, view, cast, &life.name);
    let free: Vec<Name> =
        pool.iter().filter(|id| !of(view, &life.name).any(|it| it.key.id == **id)).cloned().collect();
    if dice.percent(15) { dice.pick(&pool).cloned() } else { dice.pick(&free).or(dice.pick(&pool)).cloned() }
}

/// Every id that entities of this lifecycle may have.
fn pool(ground: &WalkPack, view: &View, cast: &WalkActors, lifecycle: &str) -> Vec<Name> {
    let mut pool: Vec<Name> = Vec::new();
    let further = ground.hints.ids.iter().filter(|(it, _)| *it == lifecycle).flat_map(|(_, ids)| ids.iter());
    pool.extend(further.map(|it| Name::new(it)));
    if let Some((_, left, right)) = ground.hints.pairs.iter().find(|(it, _, _)| *it == lifecycle) {
        for a in of(view, left) {
            for b in of(view, right) {
                pool.push(Name::from(format!("{}:{}", a.key.id, b.key.id)));
            }
        }
    } else if let Some((_, roles)) = ground.hints.selves.iter().find(|(it, _)| *it == lifecycle) {
        pool.extend(cast.agents_of(roles));
    } else {
        let kind = lifecycle.rsplit('.').next().unwrap_or_default();
        let initial = kind.chars().next().unwrap_or('x').to_ascii_uppercase();
        // One more than there are, so that a new one can be created.
        let there = of(view, lifecycle).count();
        pool.extend((1..=(there + 1).clamp(3, MOST)).map(|n| Name::from(format!("{initial}-{n}"))));
    }
    pool
}

fn of<'v>(view: &'v View, lifecycle: &str) -> impl Iterator<Item = &'v Entity> {
    view.entities().into_iter().filter(move |it| it.key.lifecycle == *lifecycle)
}

/// Whether a transition leaves its state.
pub(crate) fn goes_on(ground: &WalkPack, entity: &Entity) -> bool {
    let life = ground.life(&entity.key.lifecycle);
    life.and_then(|it| it.state(&entity.state)).is_some_and(|it| !it.last)
}
