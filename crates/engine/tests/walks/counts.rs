//! Group counts equal a recount.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::view::View;
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;

/// Members of a group by state.
type Members = BTreeMap<Name, BTreeSet<EntityKey>>;

/// Every group that ever had a member.
#[derive(Debug, Default)]
pub(crate) struct GroupCounts {
    known: BTreeSet<GroupKey>,
}

impl GroupCounts {
    pub(crate) fn agree(&mut self, ground: &WalkPack, view: &View) -> Result<(), BrokenPromise> {
        let broken = |what| Err(BrokenPromise::new("counts are what a recount gives", what));
        let recounted = recount(ground, view);
        self.known.extend(recounted.keys().cloned());
        for key in &self.known {
            let none = Members::new();
            let expected = recounted.get(key).unwrap_or(&none);
            let group = view.group(key).here().cloned().unwrap_or_default();
            if group.members != *expected {
                return broken(format!(
                    "members of {key:?} are {:?}, a recount gives {expected:?}",
                    group.members
                ));
            }
            let counts: BTreeMap<Name, u64> =
                expected.iter().map(|(state, all)| (state.clone(), all.len() as u64)).collect();
            if group.counts != counts {
                return broken(format!(
                    "counts of {key:?} are {:?}, a recount gives {counts:?}",
                    group.counts
                ));
            }
        }
        Ok(())
    }
}

fn recount(ground: &WalkPack, view: &View) -> BTreeMap<GroupKey, Members> {
    let mut groups: BTreeMap<GroupKey, Members> = BTreeMap::new();
    for entity in view.entities() {
        let Some(life) = ground.life(&entity.key.lifecycle) else { continue };
        for reference in &life.refs {
            let Some(inverse) = &reference.inverse else { continue };
            let ids = match &reference.by {
                Some(field) => entity.ids(field),
                None => ground.life(&reference.to).map(|it| it.kind.clone()).into_iter().collect(),
            };
            for id in ids {
                let of = EntityKey { lifecycle: reference.to.clone(), id };
                let group = groups.entry(GroupKey { of, name: inverse.clone() }).or_default();
                group.entry(entity.state.clone()).or_default().insert(entity.key.clone());
            }
        }
    }
    groups
}
