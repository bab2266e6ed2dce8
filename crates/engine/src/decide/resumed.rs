//! Grace after a gap: leases do not expire because the server was away.
//!
//! A holder could not renew its lease during the gap, so it gets one full period from the moment the server
//! is back. Deadlines and other timers get no grace: they fire late, in due order.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::apply::lease_timer;
use crate::entity::{Entity, Lease};
use crate::key::EntityKey;

impl DecisionBuilder<'_> {
    /// The time since which the holder of a lease can renew it again, if it has not done so since the gap.
    pub fn spared_from(&self, entity: &Entity, slot: &Name) -> Option<Timestamp> {
        let resumed_at = self.draft.base().resumed_at?;
        // The timer of a lease restarts with every grant and every renewal.
        let heard = entity.timer(&lease_timer(slot))?.started_at;
        (heard < resumed_at).then_some(resumed_at)
    }

    /// Renews a lease that would be lost for no other reason than that the server was away.
    pub fn spare(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        slot: &Name,
        lease: &Lease,
        request: &Request,
    ) -> Result<bool, Stop> {
        let since = self.spared_from(self.existing_entity(key)?.1, slot);
        let (Some(since), Some(holder)) = (since, &lease.holder) else { return Ok(false) };
        let (lasts, grace) = self.lease_spans(key, request, slot)?;
        let lease = Lease { expires_at: since.plus(lasts), ..lease.clone() };
        if self.now >= lease.expires_at.plus(grace) {
            return Ok(false);
        }
        let mut request = request.clone();
        request.condition = Some(Name::new("resumed"));
        request.reason = Some(Arc::from(format!(
            "The server was away until {since}: {holder} has one full period to be heard again"
        )));
        let until = life.slot(slot).and_then(|it| it.until.clone());
        self.renew(key, slot, until, lease, grace, &request, &lease_timer(slot));
        Ok(true)
    }
}
