//! Heartbeats: a holder renews its lease.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use super::lease::{lost_timer, not_holding};
use super::request::Request;
use super::{DecisionBuilder, Stop, unknown_entity};
use crate::entity::Lease;
use crate::event::{Changes, Event};
use crate::key::EntityKey;
use crate::refusal::{Code, ConditionCode, Refusal, Unmet};

impl DecisionBuilder<'_> {
    pub fn heartbeat(&mut self, key: &EntityKey, slot: &Name, request: &Request) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        // A caller who may not see the entity gets unknown-entity, unless they hold its lease.
        if not_holding(entity, slot, request).is_some() && !self.may_read(&life, entity, request)? {
            return Err(unknown_entity(key).into());
        }
        let Some(decl) = life.slot(slot) else {
            let known: Vec<&str> = life.slots.iter().map(|it| it.name.as_str()).collect();
            let message = format!("{} has no slot {slot}; it has {}", life.name, known.join(", "));
            return Err(Refusal::one(Code::UnknownSlot, message).into());
        };
        if request.fence.is_none() {
            let message = format!(
                "A heartbeat needs the fence of its lease: send `fence`, as the grant of {slot} showed it"
            );
            let unmet = Unmet::new(ConditionCode::Missing, message).of("fence");
            return Err(Refusal::with(Code::RequirementMissing, vec![unmet]).into());
        }
        if let Some(reason) = not_holding(entity, slot, request) {
            return Err(Refusal::with(Code::StaleFence, vec![reason]).into());
        }
        let fence = entity.lease(slot).map_or(1, |it| it.fence);
        let until = decl.until.clone();
        let (lasts, grace) = self.lease_spans(key, request, slot)?;
        let lease = Lease {
            holder: Some(request.subject_id().clone()),
            fence,
            expires_at: self.now.plus(lasts),
            granted_at: None,
        };
        self.renew(key, slot, until, lease, grace, request, &Name::new("heartbeat"));
        Ok(())
    }

    /// Renews a lease; `until` is the field that shows how long.
    #[expect(clippy::too_many_arguments, reason = "everything a renewal tells")]
    pub fn renew(
        &mut self,
        key: &EntityKey,
        slot: &Name,
        until: Option<Name>,
        lease: Lease,
        grace: Span,
        request: &Request,
        trigger: &Name,
    ) {
        let timer = lost_timer(lease.expires_at, grace, self.now);
        let fields = until.map(|it| (it, Value::Time(lease.expires_at))).into_iter().collect();
        let changes = Changes { fields, ..Changes::default() };
        let lease = Lease { granted_at: None, ..lease };
        let event = Event::LeaseRenewed { slot: slot.clone(), lease, timer, changes };
        let seq = self.record(key, request, trigger, event);
        self.root.get_or_insert(seq);
    }
}
