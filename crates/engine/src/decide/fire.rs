//! Takes a transition, requested by name or by target.

use trackside_lifecycle::guard::{Guard, did_you_mean_or_all, nearest};
use trackside_lifecycle::model::{Arm, Gate, Lifecycle};
use trackside_lifecycle::name::Name;

use super::allowed::{allowed_here, main_targets, possible_targets};
use super::callers::{describe_guard, is_engine_only};
use super::plan::{Rule, RulePlan, arm_label};
use super::protected::subject_of_run;
use super::request::{Request, names};
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop, unknown_entity};
use crate::command::TransitionRef;
use crate::entity::Entity;
use crate::key::EntityKey;
use crate::refusal::{Code, Refusal, Stage, Unmet};
use crate::trace::PointKind;
use crate::view::Found;

impl DecisionBuilder<'_> {
    pub fn fire(&mut self, key: &EntityKey, what: &TransitionRef, mut request: Request) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        if !self.may_read(&life, entity, &request)? {
            return Err(unknown_entity(key).into());
        }
        if let TransitionRef::To(state) = what {
            request.asked = Some(state.clone());
        }
        let (arm, plan) = self.choose(&life, entity, what, &request)?;
        let traced = self.is_traced();
        let rule = Rule::arm(arm, traced);
        if request.engine {
            return self.take(&life, key, &rule, plan, request);
        }
        let asked = request.clone();
        match self.take(&life, key, &rule, plan, request) {
            // A refusal by another entity is passed on to the caller, with the transitions allowed instead.
            Err(Stop::Refused(mut refusal)) if !self.brief => {
                let untouched = DecisionBuilder::new(self.law, self.draft.base(), self.now, false);
                if let Ok((life, entity)) = untouched.existing_entity(key) {
                    refusal.allowed = allowed_here(&untouched, &life, entity, &asked).unwrap_or_default();
                }
                refusal.who = Some(describe_guard(arm.by.source()));
                Err(Stop::Refused(refusal))
            }
            done => done,
        }
    }

    /// Carries out a rule with all its consequences.
    pub fn take(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        rule: &Rule<'_>,
        plan: RulePlan<'_>,
        request: Request,
    ) -> Result<(), Stop> {
        self.deeper(key, |it| it.take_here(life, key, rule, plan, request))
    }

    fn take_here(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        rule: &Rule<'_>,
        plan: RulePlan<'_>,
        mut request: Request,
    ) -> Result<(), Stop> {
        let (moved, parts) = self.carry(life, key, None, rule, plan, &mut request)?;
        self.follow_up(life, key, &parts, &rule.trigger, &request, &moved)
    }

    pub fn may_read(&self, life: &Lifecycle, entity: &Entity, request: &Request) -> Result<bool, Stop> {
        if request.engine {
            return Ok(true);
        }
        let around = self.surroundings();
        if !self.condition_holds(&plain_scope(&around, life, entity, request), life.read.as_ref())? {
            return Ok(false);
        }
        let Some(subject) = subject_of_run(entity, &request.actor) else { return Ok(true) };
        match self.draft.entity(&subject) {
            Found::Here(subject) => {
                let Some(life) = self.law.definition(&subject.key.lifecycle, subject.definition) else {
                    return Ok(false);
                };
                self.condition_holds(&plain_scope(&around, life, subject, request), life.read.as_ref())
            }
            Found::Absent => Ok(true),
            Found::Unknown => Err(Stop::NotLoaded),
        }
    }

    /// The arm to take and its plan, or a refusal with every unmet condition.
    pub fn choose<'l>(
        &self,
        life: &'l Lifecycle,
        entity: &Entity,
        what: &TransitionRef,
        request: &Request,
    ) -> Result<(&'l Arm, RulePlan<'l>), Stop> {
        let candidates = self.candidates(life, entity, what, request)?;
        if candidates.is_empty() {
            return Err(self.no_edge(life, entity, what, request)?.into());
        }
        let mut refusal: Option<Refusal> = None;
        let mut add = |stage: Stage, code: Code, reasons: Vec<Unmet>| match &mut refusal {
            Some(refusal) => refusal.errors.extend(reasons),
            None => refusal = Some(Refusal::with(code, reasons).at(stage)),
        };
        let trigger =
            candidates.first().map(|it| it.transition.clone()).unwrap_or_else(|| names::NONE.clone());
        let closed = self.gates(life, entity, &trigger, request)?;
        if !closed.is_empty() {
            add(Stage::Who, Code::GateClosed, closed);
        }
        let mut permitted = Vec::new();
        let mut faults = Vec::new();
        for arm in &candidates {
            match self.admits_caller(life, entity, &arm.by, request)? {
                Ok(true) => permitted.push(*arm),
                Ok(false) => self.record_point(life, PointKind::Refusal, || {
                    format!("{}.by", arm_label(&arm.transition, arm.index))
                }),
                Err(fault) => {
                    let message = format!("`{}` could not be answered: {fault}", arm.by.source());
                    faults.push(Unmet::new(Code::EvaluationFailed, message));
                }
            }
        }
        if permitted.is_empty() && !faults.is_empty() {
            add(Stage::Who, Code::EvaluationFailed, faults);
        } else if permitted.is_empty() {
            let message = match candidates.iter().all(|it| is_engine_only(&it.by)) {
                true => happens_by_itself(life, &trigger),
                false => format!(
                    "{} may not {}. Who may: {}",
                    request.subject_id(),
                    words_for(what),
                    who_may(&candidates)
                ),
            };
            add(Stage::Who, Code::NotPermitted, vec![Unmet::new(Code::NotPermitted, message)]);
        }
        if let Some(expected) = request.if_version
            && expected != entity.version
        {
            let message =
                format!("{} is at version {}, not {expected}: read it again", entity.key, entity.version);
            add(Stage::Version, Code::VersionMismatch, vec![Unmet::new(Code::VersionMismatch, message)]);
        }
        // The first arm that passes is taken; if none does, the refusal is about the nearest one.
        let mut nearest: Option<Vec<Unmet>> = None;
        let judged: &[&'l Arm] =
            if permitted.is_empty() { candidates.get(..1).unwrap_or_default() } else { &permitted };
        for arm in judged {
            let rule = Rule::arm(arm, self.is_traced());
            match self.assess(life, entity, &rule, request)? {
                Ok(plan) if refusal.is_none() => return Ok((arm, plan)),
                Ok(_) => {
                    nearest = None;
                    break;
                }
                Err(unmet) => {
                    if nearest.as_ref().is_none_or(|it| unmet.len() < it.len()) {
                        nearest = Some(unmet);
                    }
                }
            }
        }
        if let Some(unmet) = nearest {
            let code = code_of(&unmet);
            match &mut refusal {
                Some(refusal) => refusal.errors.extend(unmet),
                None => refusal = Some(Refusal::with(code, unmet)),
            }
        }
        let mut refusal = refusal.unwrap_or_else(|| Refusal::new(Code::NoSuchEdge, "Nothing fits"));
        if !self.brief {
            refusal.allowed = allowed_here(self, life, entity, request)?;
            refusal.who = Some(who_may(&candidates));
            if permitted.is_empty() {
                let rules: Vec<&Guard> = candidates.iter().map(|it| &it.by).collect();
                refusal.grant = self.missing_role(life, entity, &rules, request)?;
            }
        }
        Err(refusal.into())
    }

    pub fn candidates<'l>(
        &self,
        life: &'l Lifecycle,
        entity: &Entity,
        what: &TransitionRef,
        request: &Request,
    ) -> Result<Vec<&'l Arm>, Stop> {
        let ended = life.state(&entity.state).is_some_and(|it| it.last) && !request.again;
        let leaving = |arm: &&'l Arm| arm.from.has(&entity.state) && !ended;
        match what {
            TransitionRef::Event(name) => {
                Ok(life.transition(name).into_iter().flat_map(|it| &it.arms).filter(leaving).collect())
            }
            TransitionRef::To(state) => {
                let around = self.surroundings();
                let scope = plain_scope(&around, life, entity, request);
                let arms = || life.transitions.iter().flat_map(|it| &it.arms).filter(leaving);
                let main: Vec<&Arm> =
                    arms().filter(|arm| main_targets(&scope, arm).contains(state)).collect();
                // Other arms lead there if the condition of one of their choices is true.
                let leads = |arm: &&Arm| possible_targets(&scope, arm).contains(state);
                let others: Vec<&Arm> =
                    arms().filter(|arm| !main_targets(&scope, arm).contains(state)).filter(leads).collect();
                // The first that this actor may take, with its sisters of the same name.
                for all in [&main, &others] {
                    for arm in all {
                        if self.permits(life, entity, &arm.by, request)? {
                            let name = &arm.transition;
                            return Ok(all.iter().filter(|it| it.transition == *name).copied().collect());
                        }
                    }
                }
                Ok(if main.is_empty() { others } else { main })
            }
        }
    }

    /// Whether `by` admits the caller.
    fn admits_caller(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        by: &Guard,
        request: &Request,
    ) -> Result<Result<bool, String>, Stop> {
        let around = self.surroundings();
        self.test(&plain_scope(&around, life, entity, request), by)
    }

    pub fn permits(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        by: &Guard,
        request: &Request,
    ) -> Result<bool, Stop> {
        Ok(self.admits_caller(life, entity, by, request)?.unwrap_or(false))
    }

    /// Gates that are closed to this request.
    pub fn gates(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        trigger: &Name,
        request: &Request,
    ) -> Result<Vec<Unmet>, Stop> {
        self.gates_of(life, entity, trigger, request, &|_| true)
    }

    /// The unmet conditions of the gates that `is_meant` selects.
    pub fn gates_of(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        trigger: &Name,
        request: &Request,
        is_meant: &dyn Fn(&Gate) -> bool,
    ) -> Result<Vec<Unmet>, Stop> {
        let mut closed = Vec::new();
        if request.engine {
            return Ok(closed);
        }
        let around = self.surroundings();
        let scope = EntityScope { taken: &request.fields, ..plain_scope(&around, life, entity, request) };
        for gate in &life.gates {
            if !gate.binds(trigger) || !is_meant(gate) || !self.shut(&scope, gate)? {
                continue;
            }
            self.record_point(life, PointKind::Refusal, || format!("gates.{}", gate.name));
            let mut reason = Unmet::new(Code::GateClosed, self.render(&scope, &gate.says)?.to_string());
            reason.rule = Some(Name::new(gate.open.source()));
            reason.saw = scope.values_read(&gate.open);
            closed.push(reason);
        }
        Ok(closed)
    }

    /// Whether a gate is closed to the caller. A condition that cannot be evaluated closes it.
    pub fn shut(&self, scope: &EntityScope<'_>, gate: &Gate) -> Result<bool, Stop> {
        let applies = match &gate.applies {
            None => true,
            Some(guard) => self.test(scope, guard)?.unwrap_or(true),
        };
        Ok(applies && !self.test(scope, &gate.open)?.unwrap_or(false))
    }

    /// The refusal when no arm of that name, or towards that state, leaves the current state.
    fn no_edge(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        what: &TransitionRef,
        request: &Request,
    ) -> Result<Refusal, Stop> {
        let state = &entity.state;
        let ended = life.state(state).is_some_and(|it| it.last);
        let (code, message) = match what {
            TransitionRef::Event(name) if life.transition(name).is_none() => {
                let here = self.events_here(life, entity, request)?;
                let known = life.transitions.iter().map(|it| it.name.as_str());
                let near = nearest(name, here.iter().copied()).or_else(|| nearest(name, known));
                let hint = match (near, here.as_slice()) {
                    (Some(near), here) if here.contains(&near) => format!("Did you mean {near}?"),
                    (Some(near), _) => {
                        let arms =
                            life.transitions.iter().filter(|it| it.name == *near).flat_map(|it| &it.arms);
                        let from = states_of(life, arms);
                        format!("Did you mean {near}? {near} is possible in: {}", from.join(", "))
                    }
                    (None, []) => format!("No event is possible in {state}."),
                    (None, here) => format!("Possible in {state}: {}.", here.join(", ")),
                };
                (Code::UnknownEvent, format!("{} knows no event {name}. {hint}", life.name))
            }
            TransitionRef::To(to) if life.state(to).is_none() => {
                let known = life.states.iter().map(|it| it.name.as_str());
                let hint = did_you_mean_or_all(to, "Its states", known);
                (Code::UnknownState, format!("{} has no state {to}{hint}", life.name))
            }
            _ if ended => (Code::FinalState, format!("{} is {state}, which is final", entity.key)),
            TransitionRef::To(to) if to == state => {
                (Code::NoSuchEdge, format!("{} is already {state}", entity.key))
            }
            TransitionRef::Event(name) => {
                let arms = life.transition(name).into_iter().flat_map(|it| &it.arms);
                let from = states_of(life, arms);
                let why = format!("{name} is not possible in {state}, where {} is", entity.key);
                (Code::NoSuchEdge, format!("{why}. {name} is possible in: {}", from.join(", ")))
            }
            TransitionRef::To(to) => {
                let around = self.surroundings();
                let scope = plain_scope(&around, life, entity, request);
                let arms = life.transitions.iter().flat_map(|it| &it.arms);
                let from = states_of(life, arms.filter(|arm| possible_targets(&scope, arm).contains(to)));
                let mut message = format!("No transition leads from {state} to {to}");
                if !from.is_empty() {
                    message.push_str(&format!(". {to} can be reached from: {}", from.join(", ")));
                }
                (Code::NoSuchEdge, message)
            }
        };
        let mut refusal = Refusal::one(code, message);
        refusal.allowed = allowed_here(self, life, entity, request)?;
        Ok(refusal)
    }

    /// Events that a request can fire in the current state: those that admit the caller, else those of other callers.
    fn events_here<'l>(
        &self,
        life: &'l Lifecycle,
        entity: &Entity,
        request: &Request,
    ) -> Result<Vec<&'l str>, Stop> {
        let (mut own, mut all) = (Vec::new(), Vec::new());
        for transition in &life.transitions {
            let mut arms = transition.arms.iter().filter(|it| it.from.has(&entity.state));
            let Some(first) = arms.next() else { continue };
            let arms: Vec<&Arm> = std::iter::once(first).chain(arms).collect();
            if arms.iter().all(|it| is_engine_only(&it.by)) {
                continue;
            }
            all.push(transition.name.as_str());
            for arm in arms {
                if self.permits(life, entity, &arm.by, request)? {
                    own.push(transition.name.as_str());
                    break;
                }
            }
        }
        Ok(if own.is_empty() { all } else { own })
    }
}

/// The states that these arms leave, in their declared order.
fn states_of<'l>(life: &'l Lifecycle, arms: impl Iterator<Item = &'l Arm>) -> Vec<&'l str> {
    let arms: Vec<&Arm> = arms.collect();
    let left =
        life.states.iter().filter(|state| !state.last && arms.iter().any(|it| it.from.has(&state.name)));
    left.map(|it| it.name.as_str()).collect()
}

/// The message for an event that only the engine fires, with its cause where the lifecycle declares one.
fn happens_by_itself(life: &Lifecycle, event: &Name) -> String {
    let fires = |then: Option<&Name>| then == Some(event);
    let timer = life.timers.iter().find(|it| fires(it.then.as_ref().map(|it| &it.fire)));
    let slot = life.slots.iter().find(|it| fires(it.lost.as_ref()));
    let when = match (timer, slot) {
        (Some(timer), _) => format!("when the timer {} ends", timer.name),
        (None, Some(slot)) => format!("when the lease {} is lost", slot.name),
        (None, None) => "when its rules apply".to_owned(),
    };
    format!("{event} happens by itself, {when}: no request can fire it")
}

pub(super) fn plain_scope<'s>(
    around: &'s super::scope::Surroundings<'s>,
    life: &'s Lifecycle,
    entity: &'s Entity,
    request: &'s Request,
) -> EntityScope<'s> {
    EntityScope {
        around,
        life,
        entity,
        taken: super::scope::NO_FIELDS.get(),
        base: &[],
        changed: &[],
        counted: &[],
        was: &entity.fields,
        request,
        ask: None,
        it: None,
    }
}

/// The code of a refusal for several unmet conditions: the first of these that one of them implies.
pub(super) fn code_of(unmet: &[Unmet]) -> Code {
    let order = [
        Code::StaleFence,
        Code::LeaseHeld,
        Code::UnexpectedField,
        Code::RequirementMissing,
        Code::GuardFailed,
        Code::Frozen,
        Code::EvaluationFailed,
    ];
    let implied = |code: &Code| unmet.iter().any(|it| it.code.refusal() == *code);
    order.into_iter().find(implied).unwrap_or(Code::InvalidField)
}

fn words_for(what: &TransitionRef) -> String {
    match what {
        TransitionRef::Event(name) => name.to_string(),
        TransitionRef::To(state) => format!("move it to {state}"),
    }
}

/// Who may take one of these arms, as text.
pub(super) fn who_may(arms: &[&Arm]) -> String {
    let mut words: Vec<String> = Vec::new();
    let others = arms.iter().any(|it| !is_engine_only(&it.by));
    for arm in arms.iter().filter(|it| !others || !is_engine_only(&it.by)) {
        let text = describe_guard(arm.by.source());
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.join("; or ")
}
