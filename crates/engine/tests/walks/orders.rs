//! Rankings equal a recount.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::decide::reindex;
use trackside_engine::key::EntityKey;
use trackside_engine::ranking::{RankPlace, RankingKey, Rankings, Reranked};
use trackside_engine::world::World;
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;

pub(crate) fn agree(ground: &WalkPack, world: &World) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("rankings are what a recount gives", what));
    if ground.pack.lifecycles.iter().all(|it| it.rankings.is_empty()) {
        return Ok(());
    }
    let wrong = reindex(&world.law, &world.view, world.now);
    if !wrong.is_empty() {
        return broken(format!("{wrong:?}"));
    }
    // Once more from an empty index, so that no difference can be missed.
    let mut bare = world.view.clone();
    bare.rankings = Rankings::default();
    let mut places: BTreeMap<(EntityKey, Name), RankPlace> = BTreeMap::new();
    let mut closed: BTreeSet<(RankingKey, Vec<Name>)> = BTreeSet::new();
    for change in reindex(&world.law, &bare, world.now) {
        match change {
            Reranked::Placed { ranking, entity, place } => {
                places.extend(place.map(|it| ((entity, ranking), it)));
            }
            Reranked::Opened { ranking, within, open } => {
                if !open {
                    closed.insert((ranking, within));
                }
            }
        }
    }
    for entity in world.view.entities() {
        for ranking in ground.life(&entity.key.lifecycle).into_iter().flat_map(|it| &it.rankings) {
            let key = RankingKey { lifecycle: entity.key.lifecycle.clone(), name: ranking.name.clone() };
            let kept = world.view.rankings.get(&key);
            let place = places.get(&(entity.key.clone(), ranking.name.clone()));
            if kept.and_then(|it| it.place(&entity.key.id)) != place {
                return broken(format!("{} in {}: a recount gives {place:?}", entity.key, ranking.name));
            }
            let Some((place, kept)) = place.zip(kept) else { continue };
            let open = !closed.contains(&(key, place.within.clone()));
            if kept.is_open(&place.within) != Some(open) {
                return broken(format!(
                    "{} within {:?} is {}",
                    ranking.name,
                    place.within,
                    if open { "open" } else { "closed" }
                ));
            }
            let order: Vec<&Name> = kept.ascending(&place.within).collect();
            let rank = kept.rank(&entity.key.id).and_then(|it| order.get(it - 1).copied());
            if rank != Some(&entity.key.id) || order.len() != kept.size(&place.within) {
                return broken(format!("{} does not stand in {} where it says", entity.key, ranking.name));
            }
        }
    }
    Ok(())
}
