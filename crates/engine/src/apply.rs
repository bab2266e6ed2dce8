//! Applies events to a view. Evaluates no expression and reads no definition: events carry the changes.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use crate::entity::{Entity, KeptOf, Lease, OpenAlert, OpenEffect, Stay, Tallies, TimerState, is_first_life};
use crate::event::{Changes, Entry, Event, TallyChange};
use crate::view::{Ledger, View};

/// Applies an entry to a view.
pub fn apply(view: &mut View, entry: &Entry) {
    apply_to(view, entry);
    if let Event::ProjectChanged { change } = &entry.event {
        change.apply(&mut view.project);
    }
    for change in &entry.reranked {
        view.rankings.change(change, view.partial);
    }
    view.seq = entry.seq;
    if let Some(record) = &entry.key {
        view.remember(entry.seq, record);
    }
}

pub(crate) fn apply_to(ledger: &mut impl Ledger, entry: &Entry) {
    if let Some(changes) = entry.event.changes() {
        for shift in &changes.shifts {
            ledger.shift(&entry.entity, shift, entry.at);
        }
        if let Some(same) = &changes.same {
            let before = ledger.entity_mut(&entry.entity).and_then(|it| it.same.take());
            ledger.set_unique(&entry.entity, before.as_ref(), same.value());
        }
    }
    match ledger.entity_mut(&entry.entity) {
        Some(entity) => live(entity, entry),
        None => {
            if let Some(mut entity) = created_entity(entry) {
                live(&mut entity, entry);
                ledger.put(entity);
            }
        }
    }
}

/// Applies one entry to its entity.
fn live(entity: &mut Entity, entry: &Entry) {
    evolve(entity, &entry.event, entry.at, entry.version);
    entity.seq = entry.seq;
    match &entry.event {
        Event::AlertRaised { rule, cause, .. } => {
            let (rule, cause) = (rule.clone(), cause.clone());
            entity.alerts.push(OpenAlert { seq: entry.seq, acknowledged: None, rule, cause });
        }
        Event::AlertAcknowledged { alert } => {
            if let Some(open) = entity.alerts.iter_mut().find(|it| it.seq == *alert) {
                open.acknowledged.get_or_insert_with(|| (entry.actor.clone(), entry.at));
            }
        }
        Event::AlertResolved { alert } => entity.alerts.retain(|it| it.seq != *alert),
        Event::EvidenceKept { admitted: Some(admitted), .. } => {
            let actor = entry.on_behalf_of.as_ref().unwrap_or(&entry.actor);
            keep_of(entity, actor, *admitted);
        }
        _ => {}
    }
}

/// Counts a refused request that was stored as evidence.
fn keep_of(entity: &mut Entity, actor: &Name, admitted: bool) {
    let at = entity.kept_of.iter().position(|it| it.actor == *actor).unwrap_or_else(|| {
        entity.kept_of.push(KeptOf { actor: actor.clone(), admitted: 0, outside: 0 });
        entity.kept_of.len() - 1
    });
    if let Some(of) = entity.kept_of.get_mut(at) {
        let count = if admitted { &mut of.admitted } else { &mut of.outside };
        *count = count.saturating_add(1);
    }
}

/// The entity that an event creates, before its changes.
fn created_entity(entry: &Entry) -> Option<Entity> {
    let (definition, state) = match &entry.event {
        Event::Created { definition, state, .. } => (*definition, state),
        Event::Corrected { from: None, to, definition, .. } => (*definition, to),
        _ => return None,
    };
    Some(Entity::new(entry.entity.clone(), definition, state.clone(), entry.at))
}

/// Applies one event to its entity, apart from the data that only its entry has.
pub(crate) fn evolve(entity: &mut Entity, event: &Event, at: Timestamp, version: u64) {
    match event {
        Event::Created { definition, state, generation, changes } => {
            if !is_first_life(generation) {
                *entity = entity.next_life(*generation, at);
            }
            entity.definition = *definition;
            enter(entity, state, at);
            entity.previous_state = None;
            change(entity, changes, at);
        }
        Event::Transitioned { to, changes, .. } => {
            leave(entity, at);
            enter(entity, to, at);
            change(entity, changes, at);
        }
        Event::Corrected { from, to, definition, changes } => {
            entity.definition = *definition;
            if from.is_none() {
                enter(entity, to, at);
                entity.previous_state = None;
            } else if entity.state != *to {
                leave(entity, at);
                enter(entity, to, at);
            }
            change(entity, changes, at);
        }
        Event::Migrated { to, definition, changes, .. } => {
            entity.definition = *definition;
            rename(entity, to);
            change(entity, changes, at);
        }
        Event::FieldsChanged { changes }
        | Event::Redacted { changes, .. }
        | Event::TimeoutWarned { changes, .. }
        | Event::TimerFired { changes, .. }
        | Event::LimitWarned { changes, .. } => change(entity, changes, at),
        Event::FailureCounted { counter, key, tally } => {
            set_tally(
                entity,
                &TallyChange { counter: counter.clone(), key: key.clone(), tally: Some(tally.clone()) },
            );
        }
        Event::LeaseGranted { slot, lease, timer } => {
            set_lease(entity, slot, lease, Some(at));
            set_timer(entity, &lease_timer(slot), Some(*timer));
        }
        Event::LeaseRenewed { slot, lease, timer, changes } => {
            let granted_at = entity.lease(slot).and_then(|it| it.granted_at);
            set_lease(entity, slot, lease, granted_at);
            set_timer(entity, &lease_timer(slot), Some(*timer));
            for (name, value) in &changes.fields {
                entity.fields.set(name, value.clone());
            }
        }
        Event::LeaseReleased { slot, lease } => {
            set_lease(entity, slot, lease, None);
            set_timer(entity, &lease_timer(slot), None);
        }
        Event::LeaseLost { slot, lease, changes, .. } => {
            set_lease(entity, slot, lease, None);
            set_timer(entity, &lease_timer(slot), None);
            change(entity, changes, at);
        }
        Event::EffectRequested { id, effect, .. } => {
            entity.effects.push(OpenEffect { id: *id, effect: effect.clone() });
        }
        Event::EffectSettled { id, .. } => entity.effects.retain(|it| it.id != *id),
        Event::EvidenceKept { .. } => entity.kept = entity.kept.saturating_add(1),
        Event::Erased { kept } => {
            entity.fields = kept.clone();
            entity.kept_of.clear();
            entity.tallies.clear();
            entity.effects.clear();
        }
        Event::Assigned { .. }
        | Event::MessagePosted { .. }
        | Event::Notified { .. }
        | Event::AlertRaised { .. }
        | Event::AlertAcknowledged { .. }
        | Event::AlertResolved { .. }
        | Event::ProjectChanged { .. }
        | Event::PackInstalled { .. } => {}
        Event::ViolationFound { rule, .. } => {
            if !entity.broken.contains(rule) {
                entity.broken.push(rule.clone());
            }
        }
        Event::ViolationCleared { rule } => entity.broken.retain(|it| it != rule),
    }
    entity.version = version;
}

/// The timer behind a lease.
pub fn lease_timer(slot: &Name) -> Name {
    Name::from(format!("lease.{slot}"))
}

fn leave(entity: &mut Entity, at: Timestamp) {
    let spent = at.since(entity.state_entered_at);
    if let Some(stay) = entity.stays.iter_mut().find(|it| it.state == entity.state) {
        stay.spent.0 = stay.spent.0.saturating_add(spent.0);
    }
    entity.previous_state = Some(entity.state.clone());
}

fn enter(entity: &mut Entity, state: &Name, at: Timestamp) {
    entity.state_entered_at = at;
    visit(entity, state);
}

fn visit(entity: &mut Entity, state: &Name) {
    entity.state = state.clone();
    match entity.stays.iter_mut().find(|it| it.state == *state) {
        Some(stay) => stay.visits = stay.visits.saturating_add(1),
        None => entity.stays.push(Stay { state: state.clone(), visits: 1, spent: Default::default() }),
    }
}

/// Its state was renamed: the present visit and its time continue under the new name.
fn rename(entity: &mut Entity, state: &Name) {
    if entity.state == *state {
        return;
    }
    let other = entity.stays.iter().any(|it| it.state == *state);
    if let Some(stay) = entity.stays.iter_mut().find(|it| it.state == entity.state) {
        if stay.visits <= 1 && stay.spent.0 == 0 && !other {
            stay.state = state.clone();
            entity.state = state.clone();
            return;
        }
        stay.visits = stay.visits.saturating_sub(1);
    }
    entity.stays.retain(|it| it.visits > 0 || it.spent.0 > 0);
    visit(entity, state);
}

fn change(entity: &mut Entity, changes: &Changes, at: Timestamp) {
    for (name, value) in &changes.fields {
        entity.fields.set(name, value.clone());
    }
    for tally in &changes.tallies {
        set_tally(entity, tally);
    }
    for (name, timer) in &changes.timers {
        set_timer(entity, name, *timer);
    }
    if let Some(same) = &changes.same {
        entity.same = same.value().cloned();
    }
    entity.updated_at = at;
}

fn set_timer(entity: &mut Entity, name: &Name, timer: Option<TimerState>) {
    match (entity.timers.iter().position(|(it, _)| it == name), timer) {
        (Some(place), Some(timer)) => {
            if let Some(slot) = entity.timers.get_mut(place) {
                slot.1 = timer;
            }
        }
        (Some(place), None) => {
            entity.timers.remove(place);
        }
        (None, Some(timer)) => entity.timers.push((name.clone(), timer)),
        (None, None) => {}
    }
}

fn set_lease(entity: &mut Entity, slot: &Name, lease: &Lease, granted_at: Option<Timestamp>) {
    let lease = Lease { granted_at, ..lease.clone() };
    match entity.leases.iter_mut().find(|(it, _)| it == slot) {
        Some((_, held)) => *held = lease,
        None => entity.leases.push((slot.clone(), lease)),
    }
}

/// Most keys of a counter; beyond that, the key that was counted longest ago is dropped.
const KEYS: usize = 256;

fn set_tally(entity: &mut Entity, change: &TallyChange) {
    let place = entity.tallies.iter().position(|it| it.counter == change.counter);
    let Some(tally) = &change.tally else {
        if let Some(place) = place {
            if change.key.is_empty() {
                entity.tallies.remove(place);
            } else if let Some(tallies) = entity.tallies.get_mut(place) {
                tallies.by_key.retain(|(key, _)| *key != change.key);
            }
        }
        return;
    };
    if place.is_none() {
        entity.tallies.push(Tallies { counter: change.counter.clone(), by_key: Vec::new() });
    }
    if let Some(tallies) = entity.tallies.iter_mut().find(|it| it.counter == change.counter) {
        tallies.by_key.retain(|(key, _)| *key != change.key);
        tallies.by_key.push((change.key.clone(), tally.clone()));
        if tallies.by_key.len() > KEYS {
            tallies.by_key.remove(0);
        }
    }
}
