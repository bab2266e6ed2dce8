//! The results of a move: further moves of its entity and of others, new entities, limits and reactions.

use std::sync::Arc;

use trackside_lifecycle::model::{
    Also, Consequences, FollowUp, Lifecycle, RankingShare, ShareAmount, ShareRange, Spawn, Warn,
};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::carry::{MoveResult, alert, shifts};
use super::plan::Rule;
use super::request::Request;
use super::scope::{EntityScope, kind_of};
use super::{DecisionBuilder, EACH, REACTIONS, Stop};
use crate::actor::ActorKind;
use crate::apply::evolve;
use crate::command::TransitionRef;
use crate::entity::ids_in;
use crate::event::{Changes, Event};
use crate::fields::Fields;
use crate::key::{EntityKey, GroupKey, is_valid_id};
use crate::ranking::{Key, RankingKey};
use crate::refusal::{Code, Refusal, Stage};
use crate::trace::PointKind;
use crate::view::Found;

impl DecisionBuilder<'_> {
    /// Carries out all consequences of a rule, in declared order.
    pub fn follow_up(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        parts: &[&Consequences],
        trigger: &Name,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        for part in parts {
            for then in &part.then {
                self.fire_follow_up(life, key, then, trigger, request, moved, ActorKind::System)?;
            }
        }
        if moved.entered {
            self.always(life, key, request)?;
        }
        for part in parts {
            for also in &part.also {
                self.move_others(life, key, also, trigger, request, moved)?;
            }
            for birth in &part.create {
                self.create_child(life, key, birth, trigger, request, moved)?;
            }
        }
        self.limits(life, key, request, moved)
    }

    /// A further move of the same entity.
    #[expect(clippy::too_many_arguments, reason = "a move, its cause and who asks")]
    pub fn fire_follow_up(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        then: &FollowUp,
        condition: &Name,
        request: &Request,
        moved: &MoveResult<'_>,
        kind: ActorKind,
    ) -> Result<bool, Stop> {
        let (fields, subject) = {
            let (_, entity) = self.existing_entity(key)?;
            let around = self.surroundings();
            let scope = moved.scope(&around, life, entity, request);
            if !self.condition_holds(&scope, then.when.as_ref())? {
                return Ok(false);
            }
            let subject = match &then.subject {
                Some(guard) => ids_in(Some(&self.value(&scope, guard)?)).into_iter().next(),
                None => None,
            };
            (self.fields_from(&scope, &then.with)?, subject)
        };
        let mut next = Request::engine(kind, fields, condition.clone(), self.root);
        next.subject = subject;
        next.reason.clone_from(&request.reason);
        self.fire(key, &TransitionRef::Event(then.fire.clone()), next)?;
        Ok(true)
    }

    fn fields_from(
        &self,
        scope: &EntityScope<'_>,
        with: &[(Name, trackside_lifecycle::guard::Guard)],
    ) -> Result<Fields, Stop> {
        let mut fields = Fields::default();
        for (name, guard) in with {
            let value = self.value(scope, guard)?;
            if !value.is_null() {
                fields.put(name, value);
            }
        }
        Ok(fields)
    }

    /// A state that moves on by itself.
    fn always(&mut self, life: &Lifecycle, key: &EntityKey, request: &Request) -> Result<(), Stop> {
        let (_, entity) = self.existing_entity(key)?;
        let Some(state) = life.state(&entity.state).filter(|it| !it.always.is_empty()) else { return Ok(()) };
        let none = Consequences::default();
        let rule = Rule::always(state, &none);
        let mut next = Request::engine(ActorKind::System, Fields::default(), state.name.clone(), self.root);
        next.reason.clone_from(&request.reason);
        let plan = match self.assess(life, entity, &rule, &next)? {
            Ok(plan) => plan,
            Err(unmet) => {
                let mut refusal =
                    Refusal::new(Code::AlwaysRefused, format!("{key} cannot move on from {}", state.name));
                refusal.errors = unmet;
                return Err(refusal.into());
            }
        };
        let idle = rule.choice(&plan).is_none_or(|it| it.then.is_empty());
        if plan.to.is_none() && plan.fields.is_empty() && idle {
            self.hit_edge(life, &rule, &plan, &state.name);
            return Ok(());
        }
        self.take(life, key, &rule, plan, next)
    }

    /// Moves of others.
    fn move_others(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        also: &Also,
        trigger: &Name,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        let (targets, fields) = {
            let (_, entity) = self.existing_entity(key)?;
            let around = self.surroundings();
            let scope = moved.scope(&around, life, entity, request);
            if !self.condition_holds(&scope, also.when.as_ref())? {
                return Ok(());
            }
            let targets: Vec<EntityKey> = match life.reference(&also.on) {
                Some(reference) => {
                    let ids = match &reference.by {
                        Some(field) => ids_in(Some(&scope.field(field))),
                        None => vec![kind_of(&reference.to)],
                    };
                    ids.into_iter().map(|id| EntityKey { lifecycle: reference.to.clone(), id }).collect()
                }
                None => match &also.share {
                    Some(share) => self.share(&scope, also, share)?,
                    None => {
                        let group = GroupKey { of: key.clone(), name: also.on.clone() };
                        let within = |state: &Name| also.within.as_ref().is_none_or(|it| it.has(state));
                        match self.draft.members(&group, EACH, within) {
                            Found::Here(members) => members,
                            Found::Absent => Vec::new(),
                            Found::Unknown => return Err(Stop::NotLoaded),
                        }
                    }
                },
            };
            (targets, self.fields_from(&scope, &also.with)?)
        };
        if targets.len() > EACH {
            let message =
                format!("{trigger} would move {} entities at once; {EACH} is the most", targets.len());
            return Err(Refusal::one(Code::TooManyMoves, message).into());
        }
        for target in targets {
            let state = match self.draft.entity(&target) {
                Found::Here(it) => it.state.clone(),
                Found::Absent => continue,
                Found::Unknown => return Err(Stop::NotLoaded),
            };
            if also.within.as_ref().is_some_and(|it| !it.has(&state)) {
                continue;
            }
            let mut next = Request::engine(ActorKind::System, fields.clone(), trigger.clone(), self.root);
            next.reason.clone_from(&request.reason);
            let what = TransitionRef::Event(also.fire.clone());
            if also.willing && !self.willing(&target, &what, &next)? {
                continue;
            }
            if also.soft {
                self.try_or_alert(&target, trigger, |it| it.fire(&target, &what, next))?;
            } else {
                self.fire(&target, &what, next).map_err(|stop| because_of(stop, &target, &also.fire))?;
            }
        }
        Ok(())
    }

    /// Whether the checks of the target allow the move.
    fn willing(&self, target: &EntityKey, what: &TransitionRef, request: &Request) -> Result<bool, Stop> {
        let (life, entity) = self.existing_entity(target)?;
        let mark = self.hits.borrow().open.len();
        match self.choose(&life, entity, what, request) {
            Ok(_) => {
                self.hits.borrow_mut().open.truncate(mark);
                Ok(true)
            }
            // A rule that does not admit the engine is a mistake, not an unwilling entity.
            Err(Stop::Refused(refusal))
                if refusal.stage != Stage::Who && refusal.code != Code::EvaluationFailed =>
            {
                self.hits.borrow_mut().settle(mark, false);
                Ok(false)
            }
            Err(stop) => Err(stop),
        }
    }

    /// The selected share of a ranking, in its order before the command.
    fn share(
        &self,
        scope: &EntityScope<'_>,
        also: &Also,
        share: &RankingShare,
    ) -> Result<Vec<EntityKey>, Stop> {
        let index = RankingKey { lifecycle: also.to.clone(), name: share.ranking.clone() };
        let ranking = match self.draft.base().ranking(&index) {
            Found::Here(ranking) => ranking,
            Found::Absent => return Ok(Vec::new()),
            Found::Unknown => return Err(Stop::NotLoaded),
        };
        let within = vec![scope.entity.key.id.clone()];
        let size = ranking.size(&within);
        let many = |much: &ShareAmount| -> Result<usize, Stop> {
            Ok(match much {
                ShareAmount::Percent(percent) => (size * *percent as usize).div_ceil(100).max(1),
                ShareAmount::Number(guard) => {
                    let number = self.value(scope, guard)?.as_float().unwrap_or(0.0);
                    // An invalid number, or one below one, takes none.
                    number.max(0.0) as usize
                }
            })
        };
        let ids: Vec<Name> = match &share.range {
            ShareRange::First(much) => ranking.ascending(&within).take(many(much)?).cloned().collect(),
            ShareRange::Last(much) => ranking.descending(&within).take(many(much)?).cloned().collect(),
            ShareRange::Below(guard) => {
                let key = Key::from(&self.value(scope, guard)?);
                ranking.below(&within, &key).cloned().collect()
            }
        };
        let keys = ids.into_iter().map(|id| EntityKey { lifecycle: also.to.clone(), id });
        let there = |key: &EntityKey| match (self.draft.entity(key), &also.within) {
            (Found::Here(entity), Some(within)) => within.has(&entity.state),
            _ => true,
        };
        Ok(keys.filter(there).collect())
    }

    /// Tries a move. If it is refused, nothing of it stays but an alert.
    pub fn try_or_alert(
        &mut self,
        key: &EntityKey,
        condition: &Name,
        work: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let Some(refusal) = self.try_or_rollback(work)? else { return Ok(true) };
        self.drop_with_alert(key, condition, &refusal);
        Ok(false)
    }

    /// Tries a move. If it is refused, nothing of it stays, and the refusal is returned.
    pub fn try_or_rollback(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<Option<Box<Refusal>>, Stop> {
        let bad = self.broken_invariants()?;
        let mark = self.hits.borrow().open.len();
        let before = self.draft.clone();
        let (root, touched, depth) = (self.root, self.touched.clone(), self.depth);
        let mut done = work(self);
        if done.is_ok()
            && let Some(reason) = self.broken_invariants()?.into_iter().find(|it| !bad.contains(it))
        {
            // A reaction that would refuse the whole command is dropped instead.
            done = Err(Refusal::one(reason.code.refusal(), reason.message).into());
        }
        match done {
            Ok(()) => Ok(None),
            Err(Stop::Refused(refusal)) if refusal.code != Code::TooManyMoves => {
                self.hits.borrow_mut().settle(mark, false);
                self.depth = depth;
                self.draft = before;
                self.root = root;
                self.touched = touched;
                Ok(Some(refusal))
            }
            Err(stop) => Err(stop),
        }
    }

    fn create_child(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        birth: &Spawn,
        trigger: &Name,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        let (id, fields) = {
            let (_, entity) = self.existing_entity(key)?;
            let around = self.surroundings();
            let scope = moved.scope(&around, life, entity, request);
            if !self.condition_holds(&scope, birth.when.as_ref())? {
                return Ok(());
            }
            (self.value(&scope, &birth.id)?, self.fields_from(&scope, &birth.fields)?)
        };
        let Some(id) = id.as_str().map(|it| self.id_of(&birth.lifecycle, it)).filter(|it| is_valid_id(it))
        else {
            let message = format!("`{}` gives no id for a new {}", birth.id.source(), birth.lifecycle);
            let refusal = Refusal::one(Code::InvalidId, message).at(Stage::Follow);
            if birth.soft {
                self.drop_with_alert(key, trigger, &refusal);
                return Ok(());
            }
            return Err(refusal.into());
        };
        let mut next = Request::engine(ActorKind::System, fields, trigger.clone(), self.root);
        next.reason.clone_from(&request.reason);
        let target = EntityKey { lifecycle: birth.lifecycle.clone(), id: Name::from(id) };
        if birth.soft {
            return self.try_or_alert(key, trigger, |it| it.create(&target, next)).map(|_| ());
        }
        self.create(&target, next).map_err(|stop| because_of(stop, &target, &Name::new("create")))
    }

    /// Warnings and consequences of counters that were counted.
    fn limits(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        for it in &moved.counted {
            let name = &it.counter.name;
            for warn in it.counter.warn.get(it.warned.clone()).unwrap_or_default() {
                self.record_point(life, PointKind::Counter, || {
                    format!("counters.{name}.warn.{}%", warn.percent)
                });
                let changes = self.warned_changes(life, key, warn, request, moved)?;
                let engine = Request::engine(ActorKind::System, Fields::default(), name.clone(), self.root);
                let event = Event::LimitWarned { counter: name.clone(), percent: warn.percent, changes };
                self.record(key, &engine, name, event);
                if let Some(severity) = warn.severity {
                    let message = format!("{key}: {}", it.nearing(warn.percent));
                    self.record(key, &engine, name, alert("limit", severity, message));
                }
                self.tell_people(life, key, name, &warn.then, request, moved)?;
                self.follow_up(life, key, &[&warn.then], name, request, &moved.calm())?;
            }
            if it.reached {
                self.record_point(life, PointKind::Counter, || format!("counters.{name}.limit"));
                if let Some(then) = &it.counter.then {
                    self.fire_follow_up(life, key, then, name, request, moved, ActorKind::System)?;
                }
            }
        }
        Ok(())
    }

    /// The field changes of a `warn`. A field that is frozen, or whose new value does not fit, keeps its
    /// value.
    pub fn warned_changes(
        &self,
        life: &Lifecycle,
        key: &EntityKey,
        warn: &Warn,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<Changes, Stop> {
        let (_, entity) = self.existing_entity(key)?;
        let around = self.surroundings();
        let scope = moved.scope(&around, life, entity, request);
        let mut fields: Vec<(Name, Value)> = Vec::new();
        for assign in &warn.then.set {
            if let trackside_lifecycle::model::AssignTarget::Field(name) = &assign.target {
                let value = self.reference_ids(life, name, self.value(&scope, &assign.value)?);
                fields.extend(
                    life.field(name)
                        .and_then(|it| it.fits.accept(name, &value).ok())
                        .map(|it| (name.clone(), it)),
                );
            }
        }
        fields.extend(warn.then.clear.iter().map(|it| (it.clone(), Value::Null)));
        let frozen = life.state(&entity.state).map(|it| it.frozen.as_slice()).unwrap_or_default();
        fields.retain(|(name, value)| !frozen.contains(name) && entity.fields.value(name) != *value);
        let mut changes = Changes { fields, ..Changes::default() };
        if changes.fields.is_empty() {
            return Ok(changes);
        }
        let mut next = entity.clone();
        evolve(&mut next, &Event::FieldsChanged { changes: changes.clone() }, self.now, entity.version);
        let after = moved.scope(&around, life, &next, request);
        changes.timers = self.timer_changes(&after, Some(entity), &request.actor.id, false)?;
        changes.shifts = shifts(life, Some(entity), &next);
        Ok(changes)
    }

    /// Fires the reactions of all touched entities until none is left.
    pub fn react(&mut self) -> Result<(), Stop> {
        let mut dropped: Vec<(EntityKey, Name)> = Vec::new();
        let mut fired = 0;
        loop {
            let mut quiet = true;
            let moved = self.moved_ones();
            let mut keys = moved.clone();
            self.add_watchers(&moved, false, &mut keys)?;
            for key in keys {
                let Found::Here(entity) = self.draft.entity(&key) else { continue };
                let Some(life) = self.law.definition(&key.lifecycle, entity.definition) else { continue };
                if life.reactions.is_empty() {
                    continue;
                }
                let life: Arc<Lifecycle> = life.clone();
                for reaction in &life.reactions {
                    if dropped.iter().any(|(it, name)| *it == key && *name == reaction.name) {
                        continue;
                    }
                    let ready = {
                        let (_, entity) = self.existing_entity(&key)?;
                        let leaves = life
                            .transition(&reaction.fire)
                            .is_some_and(|it| it.arms.iter().any(|arm| arm.from.has(&entity.state)));
                        if !leaves || reaction.within.as_ref().is_some_and(|it| !it.has(&entity.state)) {
                            None
                        } else {
                            let around = self.surroundings();
                            let request = Request::engine(
                                ActorKind::System,
                                Fields::default(),
                                reaction.name.clone(),
                                self.root,
                            );
                            let moved = MoveResult::nothing(entity);
                            let scope = moved.scope(&around, &life, entity, &request);
                            if self.test(&scope, &reaction.when)?.unwrap_or(false) {
                                Some(self.fields_from(&scope, &reaction.with)?)
                            } else {
                                None
                            }
                        }
                    };
                    let Some(fields) = ready else { continue };
                    let condition = Name::from(format!("reactions.{}", reaction.name));
                    self.record_point(&life, PointKind::Reaction, || format!("reactions.{}", reaction.name));
                    let request = Request::engine(ActorKind::System, fields, condition.clone(), self.root);
                    let what = TransitionRef::Event(reaction.fire.clone());
                    if self.try_or_alert(&key, &condition, |it| it.fire(&key, &what, request))? {
                        quiet = false;
                        fired += 1;
                        if fired > REACTIONS {
                            let message = format!(
                                "{condition} of {key} does not end: one command can trigger at most {REACTIONS} reactions"
                            );
                            return Err(Refusal::one(Code::TooManyMoves, message).into());
                        }
                    } else {
                        dropped.push((key.clone(), reaction.name.clone()));
                    }
                }
            }
            if quiet {
                return Ok(());
            }
        }
    }
}

impl<'l> MoveResult<'l> {
    /// The result of a rule that moved nothing.
    pub fn nothing(entity: &crate::entity::Entity) -> Self {
        Self { taken: Fields::default(), was: entity.fields.clone(), counted: Vec::new(), entered: false }
    }

    /// A copy without its counts.
    fn calm(&self) -> Self {
        Self { taken: self.taken.clone(), was: self.was.clone(), counted: Vec::new(), entered: false }
    }
}

fn because_of(stop: Stop, key: &EntityKey, fire: &Name) -> Stop {
    match stop {
        Stop::Refused(mut refusal) => {
            refusal.detail = format!("{fire} of {key}, which belongs to it, was refused: {}", refusal.detail);
            Stop::Refused(refusal)
        }
        stop => stop,
    }
}
