//! Leases count only time in which the server's loop ran.
//!
//! A holder could not renew its lease while the server was away or its loop stood still. After a short pause the lease
//! lasts longer by the length of the pause. After a longer absence it gets one full period from the moment the server
//! is back. Deadlines and other timers get no such extension: they fire late, in due order.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::apply::lease_timer;
use crate::entity::{Entity, Lease};
use crate::key::EntityKey;

/// A lease that lasts longer because the server's loop did not run.
pub(super) struct ExtendedLease {
    pub until: Timestamp,
    why: String,
    /// How long the holder may take to be heard again.
    allows: String,
}

impl DecisionBuilder<'_> {
    /// The later end of a lease whose holder has not been heard since the server's loop stood still.
    pub fn extended_lease(
        &self,
        entity: &Entity,
        slot: &Name,
        lease: &Lease,
        lasts: Span,
    ) -> Option<ExtendedLease> {
        let base = self.draft.base();
        // The timer of a lease restarts with every grant and every renewal.
        let heard = entity.timer(&lease_timer(slot))?.started_at;
        if let Some(since) = base.resumed_at.filter(|it| heard < *it) {
            let until = since.plus(lasts).plus(base.pauses.since(since));
            let why = format!("The server was away until {since}");
            return Some(ExtendedLease { until, why, allows: "one full period".to_owned() });
        }
        let paused = base.pauses.since(heard);
        let until = lease.expires_at.plus(paused);
        let why = format!("The server's loop stood still for {paused}, which does not count");
        (paused.0 > 0).then_some(ExtendedLease { until, why, allows: format!("{paused} more") })
    }

    /// Renews a lease that would be lost for no other reason than that the server's loop did not run.
    pub fn spare(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        slot: &Name,
        lease: &Lease,
        request: &Request,
    ) -> Result<bool, Stop> {
        let (lasts, grace) = self.lease_spans(key, request, slot)?;
        let extended = self.extended_lease(self.existing_entity(key)?.1, slot, lease, lasts);
        let (Some(ExtendedLease { until, why, allows }), Some(holder)) = (extended, &lease.holder) else {
            return Ok(false);
        };
        if self.now >= until.plus(grace) {
            return Ok(false);
        }
        let lease = Lease { expires_at: until, ..lease.clone() };
        let mut request = request.clone();
        request.condition = Some(Name::new("resumed"));
        request.reason = Some(Arc::from(format!("{why}: {holder} has {allows} to be heard again")));
        let until = life.slot(slot).and_then(|it| it.until.clone());
        self.renew(key, slot, until, lease, grace, &request, &lease_timer(slot));
        Ok(true)
    }
}
