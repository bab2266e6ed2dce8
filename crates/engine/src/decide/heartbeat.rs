//! A holder says that it is still there.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use super::lease::{lost_timer, not_holding};
use super::request::Request;
use super::{Decider, Stop, unknown_entity};
use crate::entity::Lease;
use crate::event::{Changes, Event};
use crate::key::EntityKey;
use crate::refusal::{Refusal, Stage, Unmet};

impl Decider<'_> {
    pub fn heartbeat(&mut self, key: &EntityKey, slot: &Name, request: &Request) -> Result<(), Stop> {
        let (life, entity) = self.here(key)?;
        // Whoever may not see it does not learn that it is there, but for its holder.
        if not_holding(entity, slot, request).is_some() && !self.may_read(&life, entity, request)? {
            return Err(unknown_entity(key).into());
        }
        let Some(decl) = life.slot(slot) else {
            let known: Vec<&str> = life.slots.iter().map(|it| it.name.as_str()).collect();
            let message = format!("{} has no slot {slot}; it has {}", life.name, known.join(", "));
            return Err(Refusal::one(Stage::Edge, "unknown-slot", message).into());
        };
        if request.fence.is_none() {
            let message = format!(
                "A heartbeat carries the fence of its lease: send the one that {slot} was granted with"
            );
            let mut refusal = Refusal::new(Stage::Requirements, "requirement-missing", message.clone());
            refusal.errors.push(Unmet::new("missing", message).of("fence"));
            return Err(refusal.into());
        }
        if let Some(reason) = not_holding(entity, slot, request) {
            let mut refusal = Refusal::new(Stage::Version, "stale-fence", reason.message.clone());
            refusal.errors.push(reason);
            return Err(refusal.into());
        }
        let fence = entity.lease(slot).map_or(1, |it| it.fence);
        let until = decl.until.clone();
        let (lasts, grace) = self.lease_spans(key, request, slot)?;
        let lease =
            Lease { holder: Some(request.subject_id().clone()), fence, expires_at: self.now.plus(lasts) };
        self.renew(key, slot, until, lease, grace, request, &Name::new("heartbeat"));
        Ok(())
    }

    /// Writes that a lease goes on; `until` is the field that shows how long.
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
        let event = Event::LeaseRenewed { slot: slot.clone(), lease, timer, changes };
        let seq = self.record(key, request, trigger, event);
        self.root.get_or_insert(seq);
    }
}
