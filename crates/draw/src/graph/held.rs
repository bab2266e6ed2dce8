//! Which leases may be held where: followed along every way from where they are granted to where they end.

use std::collections::BTreeMap;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;

use super::build::Way;

/// Which leases may be held in which states.
#[derive(Default)]
pub(super) struct Held {
    ways: Vec<(Name, Name, Vec<Name>, Vec<Name>)>,
    found: BTreeMap<Name, Vec<Name>>,
}

impl Held {
    pub fn pass(&mut self, way: &Way) {
        let to = way.goal.to.as_ref().unwrap_or(&way.from).clone();
        self.ways.push((way.from.clone(), to, way.grants.clone(), way.releases.clone()));
    }

    /// Follows every way until nothing more is learnt. Leases end where a state is final.
    pub fn settle(&mut self, life: &Lifecycle) {
        let granted = life.create.then.lease.iter().map(|it| it.slot.clone());
        self.found.entry(life.initial.clone()).or_default().extend(granted);
        let mut changed = true;
        while changed {
            changed = false;
            for (from, to, grants, releases) in &self.ways {
                let (Some(left), Some(entered)) = (life.state(from), life.state(to)) else { continue };
                if entered.last {
                    continue;
                }
                let moved = from != to;
                let ended = |it: &&Name| {
                    releases.contains(it)
                        || (moved && (left.exit.release.contains(it) || entered.enter.release.contains(it)))
                };
                let before = self.found.get(from).cloned().unwrap_or_default();
                let mut after: Vec<Name> = before.iter().filter(|it| !ended(it)).cloned().collect();
                after.extend(grants.iter().cloned());
                if moved {
                    after.extend(entered.enter.lease.iter().map(|it| it.slot.clone()));
                }
                let here = self.found.entry(to.clone()).or_default();
                for slot in after {
                    if !here.contains(&slot) {
                        here.push(slot);
                        changed = true;
                    }
                }
            }
        }
    }

    pub fn has(&self, state: &Name, slot: &Name) -> bool {
        self.found.get(state).is_some_and(|it| it.contains(slot))
    }
}
