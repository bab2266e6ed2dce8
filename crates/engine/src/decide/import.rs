//! Imports entities from elsewhere.
//!
//! Entities are stored as given, without the transitions that led to their state, so no reaction fires.
//! Every rule of the definition is checked, for all of them together.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::configure::not_admin;
use super::correct::valid_fields;
use super::create::invalid_id;
use super::fire::plain_scope;
use super::request::Request;
use super::{DecisionBuilder, Stop, unknown_lifecycle};
use crate::command::ImportedEntity;
use crate::key::EntityKey;
use crate::refusal::{Code, ConditionCode, Refusal, Stage, Unmet};
use crate::view::Found;

impl DecisionBuilder<'_> {
    /// Imports all entities, or reports every problem of each. Only for people with role admin, and the engine.
    pub fn import(&mut self, entities: &[ImportedEntity], request: &Request) -> Result<(), Stop> {
        if !(request.is_admin() || request.is_own()) {
            return Err(not_admin("import entities").into());
        }
        let (mut unmet, mut missing) = (Vec::new(), false);
        for it in entities {
            self.count_move()?;
            match self.import_one(it, request) {
                Ok(wrong) => unmet.extend(wrong.into_iter().map(|wrong| with_position(it, wrong))),
                // Keeps checking the others, so that one round loads the missing data of all of them.
                Err(Stop::NotLoaded) => missing = true,
                Err(stop) => return Err(stop),
            }
        }
        if missing {
            return Err(Stop::NotLoaded);
        }
        if unmet.is_empty() {
            let places: BTreeMap<&EntityKey, &ImportedEntity> =
                entities.iter().map(|it| (&it.entity, it)).collect();
            for (key, broken) in self.broken_of()? {
                unmet.push(match places.get(&key) {
                    Some(it) => with_position(it, broken),
                    None => Unmet { message: format!("{key}: {}", broken.message), ..broken },
                });
            }
        }
        if let Some(first) = unmet.first() {
            let broken = first.code.refusal().stage() == Stage::Invariants;
            let stage = if broken { Stage::Invariants } else { Stage::Requirements };
            return Err(Refusal::with(Code::CannotImport, unmet).at(stage).into());
        }
        self.invariants()
    }

    /// Imports one entity, or returns all problems with it.
    fn import_one(&mut self, it: &ImportedEntity, request: &Request) -> Result<Vec<Unmet>, Stop> {
        let key = &it.entity;
        let Some(life) = self.law.newest(&key.lifecycle) else {
            let unknown = unknown_lifecycle(self.law, &key.lifecycle);
            return Ok(vec![Unmet::new(unknown.code, unknown.detail).of("lifecycle")]);
        };
        let life: Arc<Lifecycle> = life.clone();
        let mut unmet = Vec::new();
        if let Some(message) = invalid_id(&life, key) {
            unmet.push(Unmet::new(Code::InvalidId, message).of("id"));
        }
        match self.draft.entity(key) {
            Found::Absent => {}
            Found::Unknown => return Err(Stop::NotLoaded),
            Found::Here(entity) => {
                let message = format!("{key} exists already and is {}. Give it another id", entity.state);
                unmet.push(Unmet::new(Code::AlreadyExists, message).of("id"));
            }
        }
        if it.origin.name.trim().is_empty() {
            unmet.push(
                Unmet::new(ConditionCode::Missing, "Say where it comes from, for the journal").of("origin"),
            );
        }
        let to = it.state.as_ref().unwrap_or(&life.initial);
        if life.state(to).is_none() {
            unmet.push(unknown_state(&life, to, "state"));
        }
        let mut misfits = Vec::new();
        let sent = valid_fields(&life, &it.fields, &mut misfits);
        unmet.extend(misfits.into_iter().map(|it| {
            let path = it.field.as_ref().map_or_else(|| "fields".to_owned(), |name| format!("fields.{name}"));
            it.of(&path)
        }));
        for (counter, _, _) in it.tallies.iter().filter(|(name, _, _)| life.counter(name).is_none()) {
            let message = format!("{} has no counter {counter}", life.name);
            unmet.push(Unmet::new(ConditionCode::UnknownCounter, message).of("counts"));
        }
        for (slot, _) in it.leases.iter().filter(|(name, _)| life.slot(name).is_none()) {
            let message = format!("{} has no slot {slot}", life.name);
            unmet.push(Unmet::new(Code::UnknownSlot, message).of("leases"));
        }
        if !unmet.is_empty() {
            return Ok(unmet);
        }
        let blank = self.blank(&life, key);
        let defaults = blank.fields.iter().filter(|(name, _)| !sent.iter().any(|(it, _)| it == *name));
        let mut fields: Vec<(Name, Value)> =
            defaults.map(|(name, value)| (name.clone(), value.clone())).collect();
        fields.extend(sent);
        for (slot, holder) in &it.leases {
            if let Some(field) = life.slot(slot).and_then(|it| it.holder.clone()) {
                fields.retain(|(name, _)| *name != field);
                fields.push((field, Value::from(holder)));
            }
        }
        let request = Request { reason: Some(Arc::from(it.origin.reason())), ..request.clone() };
        let with_origin = Request { origin: Some(Arc::new(it.origin.clone())), ..request.clone() };
        let tallies = self.tally_changes(&life, &it.tallies);
        self.write_correction(&life, key, &blank, None, to, fields, tallies, &with_origin, "import")?;
        self.grant_leases(key, &it.leases, &request, "import")?;
        self.twin_of(key, &request)
    }

    /// Refuses the import if another open entity already has this entity's unique value.
    fn twin_of(&self, key: &EntityKey, request: &Request) -> Result<Vec<Unmet>, Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let around = self.surroundings();
        let scope = plain_scope(&around, &life, entity, request);
        let Some(value) = self.same_value(&scope)?.filter(|it| entity.same.as_ref() != Some(it)) else {
            return Ok(Vec::new());
        };
        match self.draft.unique_holder(&life.name, &value) {
            Found::Unknown => Err(Stop::NotLoaded),
            Found::Absent => Ok(Vec::new()),
            Found::Here(twin) => {
                let message = format!("{twin} is open and has {value}, which no two may have in common");
                Ok(vec![Unmet::new(Code::AlreadyExists, message)])
            }
        }
    }
}

/// The condition for an unknown state, with a suggestion. `field` is the field that named it.
pub(super) fn unknown_state(life: &Lifecycle, state: &Name, field: &str) -> Unmet {
    let hint = did_you_mean_or_all(state, "Its states", life.states.iter().map(|it| it.name.as_str()));
    Unmet::new(Code::UnknownState, format!("{} has no state {state}{hint}", life.name)).of(field)
}

/// The entity's position, before the field name.
fn with_position(it: &ImportedEntity, unmet: Unmet) -> Unmet {
    let path = match &unmet.field {
        Some(field) => format!("entities.{}.{field}", it.place),
        None => format!("entities.{}", it.place),
    };
    unmet.of(&path)
}
