//! An entity moves to another version of its definition, and back.
//!
//! A plan is this decision with its entries thrown away, so that plan and deed cannot differ.

use std::sync::Arc;

use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Lifecycle, Severity};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::configure::not_admin;
use super::fire::plain_scope;
use super::regroup::{back, group_shifts};
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::apply::evolve;
use crate::command::Migrate;
use crate::entity::Entity;
use crate::event::{Changes, Entry, Event, TallyChange, UniqueClaim};
use crate::key::EntityKey;
use crate::ranking::{RankingKey, Reranked};
use crate::refusal::{Code, ConditionCode, Refusal, Stage, Unmet};
use crate::view::Found;

impl DecisionBuilder<'_> {
    /// Moves an entity to another version: only people with role admin, and the engine. An entity that has
    /// that version already is left unchanged.
    pub fn migrate(&mut self, migrate: &Migrate, request: &Request) -> Result<(), Stop> {
        let key = &migrate.entity;
        let (old, entity) = self.existing_entity(key)?;
        let before = entity.clone();
        if !(request.is_admin() || request.is_own()) {
            return Err(not_admin("move an entity to another version").into());
        }
        let new = self.version(key, migrate.to)?;
        if before.definition == new.version {
            return Ok(());
        }
        let mut unmet = Vec::new();
        let to = new_state(&new, &before, migrate, &mut unmet);
        let fields = new_fields(&old, &new, &before, migrate, &mut unmet);
        self.still_open(&new, &before, &mut unmet);
        let tallies = before.tallies.iter().filter(|it| new.counter(&it.counter).is_none());
        let tallies =
            tallies.map(|it| TallyChange { counter: it.counter.clone(), key: Name::new(""), tally: None });
        let mut changes = Changes { fields, tallies: tallies.collect(), ..Changes::default() };
        let make = |to: &Name, changes: Changes, undo: Option<Box<Changes>>| Event::Migrated {
            from: before.state.clone(),
            to: to.clone(),
            from_definition: before.definition,
            definition: new.version,
            changes,
            undo,
        };
        let Some(to) = to else { return Err(cannot(key, &new, unmet).into()) };
        let mut next = before.clone();
        evolve(&mut next, &make(&to, changes.clone(), None), self.now, before.version + 1);
        self.newly_required(&old, &new, &before, &next, request, &mut unmet)?;
        if !unmet.is_empty() {
            return Err(cannot(key, &new, unmet).into());
        }
        self.newly_broken(&old, &new, &before, &next, &mut unmet)?;
        if !unmet.is_empty() {
            return Err(cannot(key, &new, unmet).into());
        }
        {
            let around = self.surroundings();
            let scope = EntityScope { was: &before.fields, ..plain_scope(&around, &new, &next, request) };
            changes.timers = self.migrated_timers(&scope, &old, &before)?;
            changes.shifts = group_shifts(&old, &new, &before, &next);
            changes.same = self.same_change(&scope, before.same.as_ref())?;
        }
        let undo = Some(Box::new(back(&before, &changes)));
        let event = make(&to, changes, undo);
        self.write_migration(&old, &new, &before, request, "migrate", event)
    }

    /// Undoes a migration if the entity has not changed since. `migration` is its entry.
    pub fn undo_migration(
        &mut self,
        key: &EntityKey,
        migration: &Entry,
        request: &Request,
    ) -> Result<(), Stop> {
        let (present, entity) = self.existing_entity(key)?;
        let before = entity.clone();
        if !(request.is_admin() || request.is_own()) {
            return Err(not_admin("take a migration back").into());
        }
        let Event::Migrated { from, to, from_definition, definition, changes, undo: Some(undo) } =
            &migration.event
        else {
            let message = format!("Entry {} is no migration that can be undone", migration.seq);
            return Err(Refusal::one(Code::CannotMigrate, message).at(Stage::Edge).into());
        };
        let earlier = self.version(key, *from_definition)?;
        let mut unmet = Vec::new();
        if migration.entity != *key {
            let message = format!("Entry {} is about {}, not about {key}", migration.seq, migration.entity);
            unmet.push(Unmet::new(Code::CannotMigrate, message));
        } else if before.version != migration.version || !is_after(&before, changes) {
            let message = format!(
                "Something has happened to {key} since entry {}, last in entry {}: migrate it back with a mapping instead",
                migration.seq, before.seq
            );
            unmet.push(Unmet::new(Code::VersionMismatch, message));
        }
        self.still_open(&earlier, &before, &mut unmet);
        if let Some(UniqueClaim::Taken(value)) = &undo.same
            && let Found::Here(other) = self.draft.unique_holder(&key.lifecycle, value)
            && other != *key
        {
            let message = format!("{other} has by now what no two may have in common");
            unmet.push(Unmet::new(Code::AlreadyExists, message));
        }
        if !unmet.is_empty() {
            return Err(cannot(key, &earlier, unmet).into());
        }
        let event = Event::Migrated {
            from: to.clone(),
            to: from.clone(),
            from_definition: *definition,
            definition: *from_definition,
            changes: Changes::clone(undo),
            undo: Some(Box::new(changes.clone())),
        };
        self.write_migration(&present, &earlier, &before, request, "undo", event)
    }

    /// Writes the move, and removes the entity from rankings that the new version does not have.
    fn write_migration(
        &mut self,
        old: &Lifecycle,
        new: &Lifecycle,
        before: &Entity,
        request: &Request,
        trigger: &str,
        event: Event,
    ) -> Result<(), Stop> {
        self.count_move()?;
        let mut left = Vec::new();
        for ranking in old.rankings.iter().filter(|it| new.ranking(&it.name).is_none()) {
            let index = RankingKey { lifecycle: old.name.clone(), name: ranking.name.clone() };
            match self.draft.base().ranking(&index) {
                Found::Here(known) if known.place(&before.key.id).is_some() => {
                    let (ranking, entity) = (ranking.name.clone(), before.key.clone());
                    left.push(Reranked::Placed { ranking, entity, place: None });
                }
                Found::Unknown => return Err(Stop::NotLoaded),
                _ => {}
            }
        }
        for rule in before.broken.iter().filter(|it| !new.invariants.iter().any(|known| known.name == **it)) {
            self.record_repaired_invariant(&before.key, rule);
        }
        let seq = self.record(&before.key, request, &Name::new(trigger), event);
        if let Some(entry) = self.draft.entries.last_mut() {
            entry.reranked.extend(left);
        }
        self.root = Some(seq);
        Ok(())
    }

    /// Exactly this version of an entity's definition.
    fn version(&self, key: &EntityKey, version: u32) -> Result<Arc<Lifecycle>, Stop> {
        if let Some(life) = self.law.definition(&key.lifecycle, version) {
            return Ok(life.clone());
        }
        let known: Vec<String> = self.law.versions(&key.lifecycle).map(|it| it.to_string()).collect();
        let message = format!("{} has no version {version}; there is {}", key.lifecycle, known.join(", "));
        Err(Refusal::one(Code::UnknownVersion, message).into())
    }

    /// Timers, leases and effects that the new version does not have.
    fn still_open(&self, new: &Lifecycle, before: &Entity, unmet: &mut Vec<Unmet>) {
        for (slot, lease) in before.leases.iter().filter(|(slot, _)| new.slot(slot).is_none()) {
            if let Some(holder) = &lease.holder {
                let message = format!(
                    "{slot} is held by {holder}, and version {} has no such slot: have it released first",
                    new.version
                );
                unmet.push(Unmet::new(Code::LeaseHeld, message));
            }
        }
        for open in before.effects.iter().filter(|it| new.effect(&it.effect).is_none()) {
            let message = format!(
                "Effect {} ({}) is not answered yet, and version {} does not know it: wait for its answer",
                open.id, open.effect, new.version
            );
            unmet.push(Unmet::new(ConditionCode::EffectOpen, message));
        }
    }

    /// Fields that its state requires in the new version and did not require in the old one.
    fn newly_required(
        &self,
        old: &Lifecycle,
        new: &Lifecycle,
        before: &Entity,
        next: &Entity,
        request: &Request,
        unmet: &mut Vec<Unmet>,
    ) -> Result<(), Stop> {
        let Some(state) = new.state(&next.state) else { return Ok(()) };
        let was = old.state(&before.state);
        let around = self.surroundings();
        let scope = plain_scope(&around, new, next, request);
        let known = |name: &Name| was.is_some_and(|it| it.require.iter().any(|(known, _)| known == name));
        let require: Vec<_> = state.require.iter().filter(|(name, _)| !known(name)).cloned().collect();
        self.check_required(&scope, &require, "migrate", unmet);
        let known =
            |source: &str| was.is_some_and(|it| it.checks.iter().any(|it| it.guard.source() == source));
        let checks: Vec<_> = state.checks.iter().filter(|it| !known(it.guard.source())).cloned().collect();
        self.checks(&scope, &checks, "migrate", unmet)
    }

    /// Invariants of the new version that the old one satisfied or did not have.
    fn newly_broken(
        &self,
        old: &Lifecycle,
        new: &Lifecycle,
        before: &Entity,
        next: &Entity,
        unmet: &mut Vec<Unmet>,
    ) -> Result<(), Stop> {
        for invariant in new.invariants.iter().filter(|it| !it.needs_now && it.severity >= Severity::Error) {
            if self.holds(new, next, invariant)? {
                continue;
            }
            let known = old.invariants.iter().find(|it| it.name == invariant.name);
            let known_broken = match known {
                Some(known) => !self.holds(old, before, known)?,
                None => false,
            };
            if !known_broken {
                let (message, saw) = self.evidence(new, next, invariant)?;
                let mut reason = Unmet::new(Code::InvariantViolated, message);
                reason.rule = Some(Name::new(invariant.holds.source()));
                reason.saw = saw.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                unmet.push(reason);
            }
        }
        Ok(())
    }
}

/// Whether the fields and clocks that a migration changed are still as it left them. Timers fire and leases
/// are renewed without a new version.
fn is_after(entity: &Entity, changes: &Changes) -> bool {
    changes.fields.iter().all(|(name, value)| entity.fields.value(name) == *value)
        && changes.timers.iter().all(|(name, state)| entity.timer(name) == state.as_ref())
}

/// The state it will be in, if there is one.
fn new_state(new: &Lifecycle, before: &Entity, migrate: &Migrate, unmet: &mut Vec<Unmet>) -> Option<Name> {
    let to = migrate.states.get(&before.state).unwrap_or(&before.state);
    if new.state(to).is_some() {
        return Some(to.clone());
    }
    let known: Vec<&str> = new.states.iter().map(|it| it.name.as_str()).collect();
    let near =
        nearest(to, known.iter().copied()).map(|it| format!(" Did you mean {it}?")).unwrap_or_default();
    let message = format!(
        "Version {} of {} has no state {to}: map {} to one of {}.{near}",
        new.version,
        new.name,
        before.state,
        known.join(", ")
    );
    unmet.push(Unmet::new(Code::UnknownState, message).of("states"));
    None
}

/// The changes to the stored fields. Values that fit stay; the request names the others.
fn new_fields(
    old: &Lifecycle,
    new: &Lifecycle,
    before: &Entity,
    migrate: &Migrate,
    unmet: &mut Vec<Unmet>,
) -> Vec<(Name, Value)> {
    let mut changes = Vec::new();
    let stored = |name: &Name| new.field(name).filter(|it| it.is.is_none());
    for (name, value) in before.fields.iter() {
        let Some(field) = stored(name) else {
            match migrate.fields.get(name) {
                Some(Value::Null) => changes.push((name.clone(), Value::Null)),
                _ => unmet.push(unknown_field(new, name)),
            }
            continue;
        };
        match (field.fits.accept(name, value), migrate.fields.get(name)) {
            (Ok(kept), _) if kept == *value => {}
            (Ok(kept), _) => changes.push((name.clone(), kept)),
            (Err(_), Some(Value::Null)) => changes.push((name.clone(), field.default.clone())),
            (Err(_), Some(given)) => given_value(field, given, &mut changes, unmet),
            (Err(misfits), None) => {
                unmet.extend(misfits.into_iter().map(|it| Unmet::new(it.code, it.message).of(&it.path)));
            }
        }
    }
    for field in new.fields.values().filter(|it| it.is.is_none()) {
        if before.fields.get(&field.name).is_some() {
            continue;
        }
        match migrate.fields.get(&field.name).filter(|it| !it.is_null()) {
            Some(given) => given_value(field, given, &mut changes, unmet),
            // A field that the old version had and that is not set stays empty.
            None if old.field(&field.name).is_some_and(|it| it.is.is_none()) => {}
            None if field.default.is_null() => {}
            None => changes.push((field.name.clone(), field.default.clone())),
        }
    }
    for (name, value) in migrate.fields.iter() {
        if stored(name).is_none() && before.fields.get(name).is_none() && !value.is_null() {
            unmet.push(unknown_field(new, name));
        }
    }
    changes
}

fn given_value(
    field: &trackside_lifecycle::model::Field,
    given: &Value,
    changes: &mut Vec<(Name, Value)>,
    unmet: &mut Vec<Unmet>,
) {
    match field.fits.accept(&field.name, given) {
        Ok(value) => changes.push((field.name.clone(), value)),
        Err(misfits) => {
            unmet.extend(misfits.into_iter().map(|it| Unmet::new(it.code, it.message).of(&it.path)));
        }
    }
}

fn unknown_field(new: &Lifecycle, name: &Name) -> Unmet {
    let message = format!(
        "Version {} of {} has no field {name}: say null for it, and it is dropped",
        new.version, new.name
    );
    Unmet::new(ConditionCode::UnknownField, message).of(name)
}

fn cannot(key: &EntityKey, new: &Lifecycle, unmet: Vec<Unmet>) -> Refusal {
    let message = format!("{key} cannot move to version {} of {}", new.version, new.name);
    let mut refusal = Refusal::new(Code::CannotMigrate, message);
    refusal.errors = unmet;
    refusal
}
