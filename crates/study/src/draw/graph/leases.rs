//! The leases that may be held in each state, followed along every move from grant to release.

use std::collections::BTreeMap;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;

use super::build::DrawnMove;

/// The leases that may be held in each state.
#[derive(Default)]
pub(super) struct LeasesByState {
    moves: Vec<(Name, Name, Vec<Name>, Vec<Name>)>,
    found: BTreeMap<Name, Vec<Name>>,
}

impl LeasesByState {
    pub fn pass(&mut self, it: &DrawnMove) {
        let to = it.to.as_ref().unwrap_or(&it.from).clone();
        self.moves.push((it.from.clone(), to, it.grants.clone(), it.releases.clone()));
    }

    /// Follows every move until nothing changes. Leases end in final states.
    pub fn settle(&mut self, life: &Lifecycle) {
        let granted = life.create.then.lease.iter().map(|it| it.slot.clone());
        self.found.entry(life.initial.clone()).or_default().extend(granted);
        let mut changed = true;
        while changed {
            changed = false;
            for (from, to, grants, releases) in &self.moves {
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
