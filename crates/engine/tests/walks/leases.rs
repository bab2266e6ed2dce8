//! At most one holder per lease, and fences that only grow.

use std::collections::BTreeMap;

use trackside_engine::entity::Lease;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;

/// The leases, according to the journal.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    known: BTreeMap<(EntityKey, Name), Lease>,
}

impl Leases {
    pub(crate) fn follow(&mut self, entry: &Entry) -> Result<(), BrokenPromise> {
        let (slot, lease) = match &entry.event {
            Event::LeaseGranted { slot, lease, .. }
            | Event::LeaseRenewed { slot, lease, .. }
            | Event::LeaseReleased { slot, lease }
            | Event::LeaseLost { slot, lease, .. } => (slot, lease),
            _ => return Ok(()),
        };
        let before = self.known.insert((entry.entity.clone(), slot.clone()), lease.clone());
        let held = before.as_ref().filter(|it| it.holder.is_some());
        let fence = before.as_ref().map_or(0, |it| it.fence);
        let wrong = match &entry.event {
            Event::LeaseGranted { .. } => {
                let live = held.is_some_and(|it| it.expires_at > entry.at);
                (live, "granted while somebody holds it")
                    .or((lease.fence <= fence, "granted with an old fence"))
            }
            Event::LeaseRenewed { .. } => {
                let other = held.is_none_or(|it| it.holder != lease.holder || it.fence != lease.fence);
                (other, "renewed by somebody who does not hold it")
                    .or((lease.expires_at <= entry.at, "renewed for nothing"))
            }
            Event::LeaseLost { .. } => {
                let early = held.is_none_or(|it| it.expires_at > entry.at);
                (early, "lost before it ran out").or((lease.fence != fence, "lost with another fence"))
            }
            _ => (lease.fence != fence, "released with another fence")
                .or((held.is_none(), "released by nobody")),
        };
        match wrong {
            Some(what) => {
                let what = format!("{slot} of {} was {what}: {before:?}, then {lease:?}", entry.entity);
                Err(BrokenPromise::new("a lease has one holder and fences grow", what))
            }
            None => Ok(()),
        }
    }
}

/// The first of two complaints that is justified.
trait Complaint {
    fn or(self, other: (bool, &'static str)) -> Option<&'static str>;
}

impl Complaint for (bool, &'static str) {
    fn or(self, other: (bool, &'static str)) -> Option<&'static str> {
        [self, other].into_iter().find(|(justified, _)| *justified).map(|(_, what)| what)
    }
}
