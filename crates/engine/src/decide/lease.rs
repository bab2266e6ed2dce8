//! Leases: granted, renewed, released, lost.

use trackside_lifecycle::model::{Consequences, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::assess::put;
use super::fire::plain_scope;
use super::plan::Rule;
use super::request::Request;
use super::scope::EntityScope;
use super::timers::fixed;
use super::{DecisionBuilder, Stop};
use crate::entity::{Entity, Lease, TimerState};
use crate::event::Event;
use crate::key::EntityKey;
use crate::refusal::{Code, ConditionCode, Unmet};
use crate::trace::PointKind;

impl DecisionBuilder<'_> {
    /// Checks that the caller holds the lease that the rule requires, under its current fence.
    pub fn holding(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        rule: &Rule<'_>,
        request: &Request,
        unmet: &mut Vec<Unmet>,
    ) {
        let Some(slot) = rule.holding else { return };
        if request.engine {
            return;
        }
        if let Some(reason) = not_holding(entity, slot, request) {
            self.record_point(life, PointKind::Refusal, || format!("{}.holding", rule.label));
            unmet.push(reason);
        }
    }

    /// Leases that a rule ends: the fields that show them are empty then.
    pub fn releases(
        &self,
        life: &Lifecycle,
        from: &Consequences,
        fields: &mut Vec<(Name, Value)>,
        released: &mut Vec<Name>,
    ) {
        for slot in &from.release {
            let Some(decl) = life.slot(slot) else { continue };
            for field in [&decl.holder, &decl.until].into_iter().flatten() {
                put(fields, field, Value::Null);
            }
            released.push(slot.clone());
        }
    }

    /// The leases that a rule grants: their holders, and the fields that show them.
    pub fn grants(
        &self,
        scope: &EntityScope<'_>,
        from: &Consequences,
        released: &[Name],
        fields: &mut Vec<(Name, Value)>,
        grants: &mut Vec<(Name, Name)>,
        faults: &mut Vec<Unmet>,
    ) -> Result<(), Stop> {
        let Some(grant) = &from.lease else { return Ok(()) };
        let Some(slot) = scope.life.slot(&grant.slot) else { return Ok(()) };
        let holder = match &grant.to {
            None => scope.request.subject_id().clone(),
            Some(to) => match self.eval(scope, to)? {
                Ok(Value::Text(id)) => id,
                _ => {
                    faults.push(Unmet::new(
                        ConditionCode::NoHolder,
                        format!("`{}` gives no actor to hold {}", to.source(), slot.name),
                    ));
                    return Ok(());
                }
            },
        };
        let now = scope.around.now;
        let lasts = scope.span(&slot.lasts);
        if let Some(lease) = scope.entity.lease(&slot.name)
            && let Some(present) = &lease.holder
            && !released.contains(&slot.name)
        {
            // The holder could not renew it while the server was away.
            let lasts = lasts.as_ref().ok();
            let spared = lasts.and_then(|it| self.extended_lease(scope.entity, &slot.name, lease, *it));
            let until = spared.map_or(lease.expires_at, |it| it.until.max(lease.expires_at));
            if now < until {
                let message = format!(
                    "{} is held by {present} until {until}. Wait, or ask an actor who may release it.",
                    slot.name
                );
                faults.push(Unmet::new(Code::LeaseHeld, message));
                return Ok(());
            }
        }
        let until = match lasts {
            Ok(lasts) => now.plus(lasts),
            Err(fault) => {
                faults.push(Unmet::new(Code::EvaluationFailed, fault.to_string()));
                return Ok(());
            }
        };
        if let Some(field) = &slot.holder {
            put(fields, field, Value::from(&holder));
        }
        if let Some(field) = &slot.until {
            put(fields, field, Value::Time(until));
        }
        grants.push((slot.name.clone(), holder));
        Ok(())
    }

    /// Writes the grants and releases of a rule that was taken.
    pub fn lease_events(
        &mut self,
        key: &EntityKey,
        request: &Request,
        trigger: &Name,
        grants: &[(Name, Name)],
        releases: &[Name],
    ) -> Result<(), Stop> {
        for slot in releases {
            let (_, entity) = self.existing_entity(key)?;
            let Some(lease) = entity.lease(slot).filter(|it| it.holder.is_some()) else { continue };
            let lease = Lease { holder: None, fence: lease.fence, expires_at: self.now, granted_at: None };
            self.record(key, request, trigger, Event::LeaseReleased { slot: slot.clone(), lease });
        }
        for (slot, holder) in grants {
            let (lasts, grace) = self.lease_spans(key, request, slot)?;
            let (_, entity) = self.existing_entity(key)?;
            let fence = entity.lease(slot).map_or(0, |it| it.fence) + 1;
            let expires_at = self.now.plus(lasts);
            let lease = Lease { holder: Some(holder.clone()), fence, expires_at, granted_at: None };
            let timer = lost_timer(lease.expires_at, grace, self.now);
            self.record(key, request, trigger, Event::LeaseGranted { slot: slot.clone(), lease, timer });
        }
        Ok(())
    }

    /// The length of a lease of this slot, and its grace.
    pub fn lease_spans(&self, key: &EntityKey, request: &Request, slot: &Name) -> Result<(Span, Span), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let around = self.surroundings();
        let scope = EntityScope { taken: &request.fields, ..plain_scope(&around, &life, entity, request) };
        let Some(slot) = life.slot(slot) else { return Ok((Span(0), Span(0))) };
        let lasts = scope.span(&slot.lasts).unwrap_or_default();
        let grace = slot.grace.as_ref().map_or(Span(0), |it| scope.span(it).unwrap_or_default());
        Ok((lasts, grace))
    }
}

/// The timer at whose end a lease counts as lost.
pub(super) fn lost_timer(expires_at: Timestamp, grace: Span, now: Timestamp) -> TimerState {
    fixed(expires_at.plus(grace), now)
}

/// Why this caller does not hold the slot.
pub(super) fn not_holding(entity: &Entity, slot: &Name, request: &Request) -> Option<Unmet> {
    let lease = entity.lease(slot);
    let Some((lease, holder)) = lease.and_then(|it| it.holder.as_ref().map(|holder| (it, holder))) else {
        return Some(Unmet::new(
            Code::StaleFence,
            format!("The lease {slot} of {} has no holder: it was released or lost", entity.key),
        ));
    };
    if holder != request.subject_id() {
        let message = format!("{slot} of {} is held by {holder} until {}", entity.key, lease.expires_at);
        return Some(Unmet::new(Code::StaleFence, message));
    }
    if request.fence.is_some_and(|it| it != lease.fence) {
        let message = format!(
            "The fence is outdated: the lease {slot} of {} was granted again since. Read the entity for the current fence",
            entity.key
        );
        return Some(Unmet::new(Code::StaleFence, message).of("fence"));
    }
    None
}
