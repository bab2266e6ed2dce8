//! A new entity.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;

use super::callers::describe_guard;
use super::fire::code_of;
use super::plan::Rule;
use super::request::Request;
use super::{DecisionBuilder, Stop, unknown_lifecycle};
use crate::command::TransitionRef;
use crate::entity::Entity;
use crate::event::UniqueClaim;
use crate::key::{EntityKey, is_valid_id};
use crate::refusal::{Code, Refusal, Unmet};
use crate::trace::PointKind;
use crate::view::Found;

impl DecisionBuilder<'_> {
    pub fn create(&mut self, key: &EntityKey, request: Request) -> Result<(), Stop> {
        self.deeper(key, |it| it.create_here(key, request))
    }

    fn create_here(&mut self, key: &EntityKey, mut request: Request) -> Result<(), Stop> {
        let Some(life) = self.law.newest(&key.lifecycle) else {
            return Err(unknown_lifecycle(self.law, &key.lifecycle).into());
        };
        let life: Arc<Lifecycle> = life.clone();
        if let Some(message) = invalid_id(&life, key) {
            return Err(Refusal::one(Code::InvalidId, message).into());
        }
        let blank = match self.draft.entity(key) {
            Found::Here(ended) if self.may_live_again(&life, ended, &request)? => {
                let fresh = ended.next_life(ended.generation.saturating_add(1), self.now);
                Entity {
                    definition: life.version,
                    state: life.initial.clone(),
                    ..with_defaults(&life, fresh)
                }
            }
            Found::Here(_) => return self.create_existing(&life, key, request),
            Found::Unknown => return Err(Stop::NotLoaded),
            Found::Absent => self.blank(&life, key),
        };
        let closed = self.gates(&life, &blank, &Name::new("create"), &request)?;
        let mut refusal = (!closed.is_empty()).then(|| Refusal::with(Code::GateClosed, closed));
        let rule = Rule::create(&life.create);
        // Fields are set before `by` is evaluated: who may create an entity can depend on them.
        let permitted = {
            let around = self.surroundings();
            let plain = super::fire::plain_scope(&around, &life, &blank, &request);
            let sent: Vec<_> = request.fields.iter().map(|(name, it)| (name.clone(), it.clone())).collect();
            let scope = super::scope::EntityScope { taken: &request.fields, base: &sent, ..plain };
            // A lifecycle with a single entity is set up by the engine alone.
            (life.one && request.engine) || self.condition_holds(&scope, Some(&life.create.by))?
        };
        if !permitted {
            self.record_point(&life, PointKind::Refusal, || "create.by".to_owned());
            let who = describe_guard(life.create.by.source());
            let message = format!("{} may not create a {}. Who may: {who}", request.subject_id(), life.name);
            let refusal = refusal.get_or_insert(Refusal::new(Code::NotPermitted, message.clone()));
            refusal.errors.push(Unmet::new(Code::NotPermitted, message));
            refusal.who = Some(who);
            refusal.grant = self.missing_role(&life, &blank, &[&life.create.by], &request)?;
        }
        let plan = match self.assess(&life, &blank, &rule, &request)? {
            Ok(plan) => Some(plan),
            Err(unmet) => {
                let first = unmet.first().map(|it| it.message.clone()).unwrap_or_default();
                let code = code_of(&unmet);
                let refusal = refusal.get_or_insert(Refusal::new(code, first));
                refusal.errors.extend(unmet);
                None
            }
        };
        let plan = match (refusal, plan) {
            (Some(refusal), _) => return Err(refusal.into()),
            (None, Some(plan)) => plan,
            (None, None) => return Err(Stop::NotLoaded),
        };
        if let Some(twin) = self.twin(&life, &blank, &plan, &request)? {
            return self.create_existing(&life, &twin, request);
        }
        let (moved, parts) = self.carry(&life, key, Some(blank), &rule, plan, &mut request)?;
        self.follow_up(&life, key, &parts, &rule.trigger, &request, &moved)
    }

    /// Whether an ended id may be created again, by a caller that may read its earlier life.
    fn may_live_again(&self, life: &Lifecycle, ended: &Entity, request: &Request) -> Result<bool, Stop> {
        if !life.create.anew {
            return Ok(false);
        }
        let (old, ended) = self.existing_entity(&ended.key)?;
        Ok(old.state(&ended.state).is_some_and(|it| it.last) && self.may_read(&old, ended, request)?)
    }

    /// The open entity that already has this entity's unique value.
    fn twin(
        &self,
        life: &Lifecycle,
        blank: &Entity,
        plan: &super::plan::RulePlan<'_>,
        request: &Request,
    ) -> Result<Option<EntityKey>, Stop> {
        let around = self.surroundings();
        let plain = super::fire::plain_scope(&around, life, blank, request);
        let scope = super::scope::EntityScope { taken: &plan.taken, base: &plan.fields, ..plain };
        let value = self.same_value(&scope)?;
        match value.map(|it| self.draft.unique_holder(&life.name, &it)) {
            Some(Found::Here(twin)) => Ok(Some(twin)),
            Some(Found::Unknown) => Err(Stop::NotLoaded),
            Some(Found::Absent) | None => Ok(None),
        }
    }

    /// The entity's unique value within its lifecycle. None if the entity is closed.
    pub(super) fn same_value(&self, scope: &super::scope::EntityScope<'_>) -> Result<Option<Name>, Stop> {
        let Some(guard) = &scope.life.create.same else { return Ok(None) };
        let state = scope.life.state(&scope.entity.state);
        if state.is_some_and(|it| it.last || it.outcome.is_some()) {
            return Ok(None);
        }
        let value = self.value(scope, guard)?;
        Ok((!value.is_null()).then(|| Name::from(value.to_json().to_string())))
    }

    /// The change of the unique value by an event. A value that another open entity holds is not taken
    /// over.
    pub fn same_change(
        &self,
        scope: &super::scope::EntityScope<'_>,
        before: Option<&Name>,
    ) -> Result<Option<UniqueClaim>, Stop> {
        let value =
            self.same_value(scope)?.filter(|it| match self.draft.unique_holder(&scope.life.name, it) {
                Found::Here(holder) => holder == scope.entity.key,
                Found::Absent | Found::Unknown => true,
            });
        Ok((value.as_ref() != before).then(|| UniqueClaim::new(value)))
    }

    /// Handles an existing id: some lifecycles declare a transition for it, others refuse.
    fn create_existing(&mut self, life: &Lifecycle, key: &EntityKey, request: Request) -> Result<(), Stop> {
        let (_, entity) = self.existing_entity(key)?;
        if !self.may_read(life, entity, &request)? {
            let message = format!("{key} exists already. Choose another id.");
            return Err(Refusal::one(Code::AlreadyExists, message).into());
        }
        let message =
            format!("{key} exists already and is {}. Choose another id, or use that one.", entity.state);
        let mut refusal = Refusal::one(Code::AlreadyExists, message);
        if let Some(again) = &life.create.again {
            let leaves = life
                .transition(again)
                .is_some_and(|it| it.arms.iter().any(|arm| arm.from.has(&entity.state)));
            if leaves {
                let request = Request { again: true, ..request };
                match self.fire(key, &TransitionRef::Event(again.clone()), request) {
                    Err(Stop::Refused(why)) => refusal.errors.extend(why.errors),
                    done => return done,
                }
            }
        }
        Err(refusal.into())
    }

    /// A new entity with default values only.
    pub fn blank(&self, life: &Lifecycle, key: &EntityKey) -> Entity {
        with_defaults(life, Entity::new(key.clone(), life.version, life.initial.clone(), self.now))
    }
}

/// Sets the default of every field.
fn with_defaults(life: &Lifecycle, mut entity: Entity) -> Entity {
    for field in life.fields.values() {
        entity.fields.set(&field.name, field.default.clone());
    }
    entity
}

/// Ids that collide with URL routes: no request could reach such an entity.
const TAKEN: &[&str] = &["claim", ".", ".."];

/// The problem with an entity's id, if any.
pub(super) fn invalid_id(life: &Lifecycle, key: &EntityKey) -> Option<String> {
    if TAKEN.contains(&key.id.as_str()) {
        return Some(format!(
            "`{}` cannot be an id, because a route of the HTTP API has this name. Choose another",
            key.id
        ));
    }
    let fits = is_valid_id(&key.id) && (life.joins_ids() || !key.id.contains(':'));
    if fits && (!life.one || key.id == life.kind) {
        return None;
    }
    if life.one {
        return Some(format!("There is only one {}, and its id is {}", life.name, life.kind));
    }
    let joined = if life.joins_ids() { ", two of them joined by :" } else { "" };
    Some(format!(
        "`{}` cannot be an id of {}: use 1 to 128 of A-Z a-z 0-9 . _ @ -{joined}",
        key.id, life.name
    ))
}
