//! The administrator's override of an entity, and entities created in a given state.

use std::sync::Arc;

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Lifecycle, Severity};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::carry::{alert, shifts};
use super::fire::plain_scope;
use super::import::unknown_state;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop, unknown_lifecycle};
use crate::actor::ActorKind;
use crate::apply::evolve;
use crate::command::Seed;
use crate::entity::{Entity, Tally};
use crate::event::{Changes, Event, TallyChange};
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Code, ConditionCode, Refusal, Stage, Unmet};
use crate::view::Found;

/// The trigger of a creation.
const CREATE: &str = "create";

impl DecisionBuilder<'_> {
    /// Sets the state or fields of an entity without a transition. Needs role admin and a reason, and raises an alert.
    pub fn correct(&mut self, key: &EntityKey, to: Option<&Name>, request: Request) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let mut refusal =
            Refusal::new(Code::NotPermitted, "Only a person with role admin may correct an entity");
        let permitted =
            request.engine || (request.actor.kind == ActorKind::Human && request.actor.has_role("admin"));
        if !permitted {
            refusal.errors.push(Unmet::new(Code::NotPermitted, refusal.detail.clone()));
            refusal.who = Some("human and admin".to_owned());
        }
        if request.reason.as_ref().is_none_or(|it| it.trim().is_empty()) {
            refusal
                .errors
                .push(Unmet::new(ConditionCode::Missing, "A correction needs a reason").of("reason"));
        }
        let fields = valid_fields(&life, &request.fields, &mut refusal.errors);
        if let Some(to) = to.filter(|it| life.state(it).is_none()) {
            refusal.errors.push(unknown_state(&life, to, "to"));
        }
        // A correction that changes neither the state nor a field is a mistake, or aims at another entity.
        let is_empty = !request.engine
            && to.is_none_or(|it| *it == entity.state)
            && fields.iter().all(|(name, value)| entity.fields.value(name) == *value);
        if is_empty && refusal.errors.is_empty() {
            let message = match to {
                None => {
                    format!("Nothing of {key} would change: say what to correct, with `to` or with `fields`")
                }
                Some(to) => format!(
                    "Nothing of {key} would change: it is {to} already. Name another state, or what to correct with `fields`"
                ),
            };
            return Err(Refusal::one(Code::RequirementMissing, message).into());
        }
        if let Some(first) = refusal.errors.first() {
            if permitted {
                refusal.stage = Stage::Requirements;
                refusal.code =
                    if first.code == Code::UnknownState { Code::UnknownState } else { Code::InvalidField };
                refusal.detail = first.message.clone();
            }
            return Err(refusal.into());
        }
        let to = to.unwrap_or(&entity.state).clone();
        let before = entity.clone();
        self.write_correction(
            &life,
            key,
            &before,
            Some(before.state.clone()),
            &to,
            fields,
            Vec::new(),
            &request,
            "correct",
        )?;
        let message = format!(
            "{} corrected {key} to {to}: {}",
            request.actor.id,
            request.reason.as_deref().unwrap_or_default()
        );
        self.record(key, &request, &Name::new("correct"), alert("corrected", Severity::Critical, message));
        Ok(())
    }

    /// Creates an entity in a state, with its timers started.
    pub fn seed(&mut self, seed: &Seed, request: Request) -> Result<(), Stop> {
        let (key, state, tallies) = (&seed.entity, seed.state.as_ref(), &seed.tallies);
        let Some(life) = self.law.newest(&key.lifecycle) else {
            return Err(unknown_lifecycle(self.law, &key.lifecycle).into());
        };
        let life: Arc<Lifecycle> = life.clone();
        let mut unmet = Vec::new();
        let sent = valid_fields(&life, &request.fields, &mut unmet);
        if !unmet.is_empty() {
            return Err(Refusal::with(Code::InvalidField, unmet).into());
        }
        let (before, from) = match self.draft.entity(key) {
            Found::Here(entity) => (entity.clone(), Some(entity.state.clone())),
            _ => (self.blank(&life, key), None),
        };
        let mut fields: Vec<(Name, Value)> = Vec::new();
        if from.is_none() {
            fields.extend(before.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        for (name, value) in sent {
            fields.retain(|(it, _)| *it != name);
            fields.push((name, value));
        }
        let to = state.unwrap_or(&before.state).clone();
        for (slot, holder) in &seed.leases {
            let Some(decl) = life.slot(slot) else {
                return Err(
                    Refusal::one(Code::UnknownSlot, format!("{} has no slot {slot}", life.name)).into()
                );
            };
            fields.extend(decl.holder.iter().map(|it| (it.clone(), Value::from(holder))));
        }
        // The entity that its lifecycle has from the start is created, not corrected.
        let trigger = if from.is_none() && life.one && seed.is_plain() { CREATE } else { "given" };
        let tallies = self.tally_changes(&life, tallies);
        self.write_correction(&life, key, &before, from, &to, fields, tallies, &request, trigger)?;
        self.grant_leases(key, &seed.leases, &request, trigger)
    }

    /// Grants leases to their holders, as of now.
    pub(super) fn grant_leases(
        &mut self,
        key: &EntityKey,
        leases: &[(Name, Name)],
        request: &Request,
        trigger: &str,
    ) -> Result<(), Stop> {
        let trigger = Name::new(trigger);
        self.lease_events(key, request, &trigger, leases, &[])?;
        // The field that shows the end of a lease is written by a heartbeat; here by hand.
        for (slot, _) in leases {
            let (life, entity) = self.existing_entity(key)?;
            let (Some(field), Some(lease)) =
                (life.slot(slot).and_then(|it| it.until.clone()), entity.lease(slot))
            else {
                continue;
            };
            let fields = vec![(field, Value::Time(lease.expires_at))];
            let changes = Changes { fields, ..Changes::default() };
            self.record(key, request, &trigger, Event::FieldsChanged { changes });
        }
        Ok(())
    }

    /// Counters at these values.
    pub(super) fn tally_changes(&self, life: &Lifecycle, tallies: &[(Name, Name, f64)]) -> Vec<TallyChange> {
        let tallies = tallies.iter().map(|(counter, key, value)| {
            let window = life.counter(counter).is_some_and(|it| it.within.is_some() || it.last.is_some());
            let marks = if window { vec![(self.now, *value)] } else { Vec::new() };
            let tally = Some(Tally { value: *value, marks, warned: 0 });
            TallyChange { counter: counter.clone(), key: key.clone(), tally }
        });
        tallies.collect()
    }

    #[expect(clippy::too_many_arguments, reason = "everything a correction sets")]
    pub(super) fn write_correction(
        &mut self,
        life: &Arc<Lifecycle>,
        key: &EntityKey,
        before: &Entity,
        from: Option<Name>,
        to: &Name,
        fields: Vec<(Name, Value)>,
        tallies: Vec<TallyChange>,
        request: &Request,
        trigger: &str,
    ) -> Result<(), Stop> {
        let trigger = Name::new(trigger);
        let mut changes = Changes { fields, tallies, ..Changes::default() };
        let definition = before.definition;
        let is_creation = *trigger == *CREATE;
        let make = |changes: Changes| match is_creation {
            true => Event::Created { definition, state: to.clone(), changes, generation: before.generation },
            false => Event::Corrected { from: from.clone(), to: to.clone(), definition, changes },
        };
        let mut next = before.clone();
        if from.is_none() {
            next.fields = Fields::default();
        }
        evolve(&mut next, &make(changes.clone()), self.now, before.version + 1);
        let entered = from.as_ref() != Some(to);
        {
            let around = self.surroundings();
            let scope = EntityScope { was: &before.fields, ..plain_scope(&around, life, &next, request) };
            let known = from.as_ref().map(|_| before);
            changes.timers = self.timer_changes(&scope, known, &trigger, entered)?;
            changes.shifts = shifts(life, known, &next);
            changes.same = self.same_change(&scope, before.same.as_ref())?;
        }
        let event = make(changes);
        let seq = self.record(key, request, &trigger, event);
        self.root.get_or_insert(seq);
        Ok(())
    }
}

/// The fields of the correction that fit, including those that only the engine writes.
pub(super) fn valid_fields(life: &Lifecycle, sent: &Fields, unmet: &mut Vec<Unmet>) -> Vec<(Name, Value)> {
    let mut fields = Vec::new();
    for (name, value) in sent.iter() {
        match life.field(name).filter(|it| it.is.is_none()) {
            None => {
                let known = life.fields.values().filter(|it| it.is.is_none()).map(|it| it.name.as_str());
                let hint = match (life.field(name), nearest(name, known)) {
                    (Some(_), _) => format!("{name} of {} is computed and cannot be set", life.name),
                    (None, Some(near)) => format!("{} has no field {name}; did you mean {near}?", life.name),
                    (None, None) => format!("{} has no field {name}", life.name),
                };
                unmet.push(Unmet::new(ConditionCode::UnknownField, hint).of(name));
            }
            Some(field) => match field.fits.accept(name, value) {
                Ok(value) => fields.push((name.clone(), value)),
                Err(misfits) => {
                    unmet.extend(misfits.into_iter().map(|it| Unmet::new(it.code, it.message).of(&it.path)));
                }
            },
        }
    }
    fields
}
