//! Every transition from the present state, with each condition and the values it read.

use std::collections::BTreeMap;

use super::allowed::{main_targets, possible_targets};
use super::caller::{may_admit_anyone, reads_caller};
use super::callers::describe_guard;
use super::fire::plain_scope;
use super::lease::not_holding;
use super::plan::Rule;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use trackside_lifecycle::model::{Arm, Check, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use crate::actor::Actor;
use crate::command::TransitionRef;
use crate::entity::Entity;
use crate::event::TallyChange;
use crate::fields::Fields;
use crate::law::Law;
use crate::refusal::{Code, Refusal, Unmet};
use crate::view::{Lookup, Needs, View};

/// A rule that leaves the present state, or changes fields in it.
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionOption {
    /// The transition it belongs to.
    pub event: Name,
    pub about: String,
    /// The possible target states; empty if it stays in its state.
    pub to: Vec<Name>,
    /// Who may take it, as text.
    pub who: String,
    /// Whether the actor is one of them.
    pub permitted: bool,
    /// Whether no gate is closed to the actor.
    pub gates_open: bool,
    /// Whether no actor can be admitted to the entity in its present state.
    pub for_no_actor: bool,
    /// The fields that a request may send, and whether each is required.
    pub takes: Vec<(Name, bool)>,
    /// Whether a request must give a reason.
    pub needs_reason: bool,
    /// Whether a request must name the target.
    pub needs_target: bool,
    /// Every condition, in the order of evaluation.
    pub checks: Vec<Checked>,
}

impl TransitionOption {
    /// Whether every visible condition passes, apart from the fields that a request must send.
    pub fn is_open(&self) -> bool {
        self.permitted && self.checks.iter().all(|it| it.passed)
    }

    /// Whether every condition that does not depend on the caller passes, apart from the fields that a
    /// request must send.
    pub fn is_open_to_others(&self) -> bool {
        !self.for_no_actor && self.checks.iter().all(|it| it.passed || it.of_caller)
    }

    /// What a request of the actor must still send: fields, `reason`, `to`. None if something else prevents it.
    pub fn missing(&self) -> Option<Vec<Name>> {
        if !self.permitted || !self.gates_open {
            return None;
        }
        let takes = |name: &Name| self.takes.iter().any(|(it, _)| it == name);
        let failed = || self.checks.iter().filter(|it| !it.passed);
        let mut missing: Vec<Name> =
            self.takes.iter().filter(|(_, required)| *required).map(|(name, _)| name.clone()).collect();
        for check in failed().filter(|it| takes(&it.rule)) {
            if !missing.contains(&check.rule) {
                missing.push(check.rule.clone());
            }
        }
        // A condition about a missing field fails with it.
        let reads = |it: &Checked| {
            let first = |name: &Name| Name::new(name.split(['.', '[']).next().unwrap_or_default());
            it.saw.keys().any(|name| missing.contains(&first(name)))
        };
        if !failed().all(|it| missing.contains(&it.rule) || reads(it)) {
            return None;
        }
        missing.extend(self.needs_reason.then(|| Name::new("reason")));
        missing.extend(self.needs_target.then(|| Name::new("to")));
        Some(missing)
    }

    /// Whether a request must send a field, a reason or a target.
    pub fn needs_anything(&self) -> bool {
        self.needs_reason || self.needs_target || self.takes.iter().any(|(_, required)| *required)
    }
}

/// A condition, evaluated for an empty request: on the entity as it is, or, for conditions of the target state, on
/// the entity after the move.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The expression, the field that must be there, or the slot that must be held.
    pub rule: Name,
    pub passed: bool,
    /// Whether it depends on the caller.
    pub of_caller: bool,
    /// The message if it fails.
    pub message: Option<String>,
    /// The values it saw.
    pub saw: BTreeMap<Name, Value>,
}

impl Checked {
    fn of(it: Unmet) -> Self {
        let rule = it.rule.or(it.field).unwrap_or_else(|| Name::new(it.code.as_str()));
        let of_caller = it.code == Code::StaleFence;
        Self { rule, passed: false, of_caller, message: Some(it.message), saw: it.saw }
    }
}

/// All options from where an entity is, in declared order.
pub fn transition_options(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<TransitionOption>, Needs> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Ok(Vec::new()) };
    // Only being created again leads out of a final state.
    if life.state(&entity.state).is_some_and(|it| it.last) {
        return Ok(Vec::new());
    }
    let lookup = Lookup::new(view);
    let builder = DecisionBuilder::new(law, &lookup, now, false);
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    let arms = life.arms().filter(|it| it.from.has(&entity.state));
    // A check that needs more data is repeated once the data is loaded.
    let mut options: Vec<TransitionOption> =
        arms.filter_map(|arm| builder.transition_option(life, entity, arm, &request).ok()).collect();
    let mut tried: Vec<Name> = Vec::new();
    for option in &mut options {
        if !option.is_open() || tried.contains(&option.event) {
            continue;
        }
        tried.push(option.event.clone());
        // Consequences and invariants are checked by making the move.
        if !option.needs_anything()
            && let Some(refusal) = refused_later(law, &lookup, entity, &option.event, &request, now)
        {
            option.checks.extend(refusal.errors.into_iter().map(Checked::of));
        }
    }
    lookup.finish(options)
}

/// The refusal by a later stage of a move whose own conditions pass.
fn refused_later(
    law: &Law,
    lookup: &Lookup<'_>,
    entity: &Entity,
    event: &Name,
    request: &Request,
    now: Timestamp,
) -> Option<Box<Refusal>> {
    let mut builder = DecisionBuilder::new(law, lookup, now, false);
    let made = builder.fire(&entity.key, &TransitionRef::Event(event.clone()), request.clone());
    match made.and_then(|()| builder.conclude()) {
        Err(Stop::Refused(refusal)) => Some(refusal),
        Ok(()) | Err(Stop::NotLoaded) => None,
    }
}

impl DecisionBuilder<'_> {
    pub(super) fn transition_option(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        arm: &Arm,
        request: &Request,
    ) -> Result<TransitionOption, Stop> {
        let around = self.surroundings();
        let scope = plain_scope(&around, life, entity, request);
        let to = possible_targets(&scope, arm);
        let mut checks: Vec<Checked> = Vec::new();
        for gate in life.gates.iter().filter(|it| it.binds(&arm.transition) && !it.reads_request) {
            let shut = self.shut(&scope, gate)?;
            checks.push(Checked {
                rule: Name::new(gate.open.source()),
                passed: !shut,
                of_caller: gate.applies.iter().chain([&gate.open]).any(|it| reads_caller(life, it)),
                message: shut.then(|| render_or_source(&gate.says, &scope)),
                saw: scope.values_read(&gate.open),
            });
        }
        let gates_open = checks.iter().all(|it| it.passed);
        if let Some(slot) = &arm.holding {
            let unheld = not_holding(entity, slot, request);
            let (passed, message) = (unheld.is_none(), unheld.map(|it| it.message));
            let (rule, saw) = (slot.clone(), BTreeMap::new());
            checks.push(Checked { rule, passed, of_caller: true, message, saw });
        }
        self.add_checks(&scope, &arm.checks, &mut checks)?;
        let rule = Rule::arm(arm, false);
        let counts = self.count(life, &scope, rule.count).or_else(|stop| match stop {
            Stop::Refused(_) => Ok(Vec::new()),
            stop => Err(stop),
        })?;
        let counted: Vec<TallyChange> = counts.into_iter().map(|it| it.change).collect();
        let scope = EntityScope { counted: &counted, ..scope };
        let (mut needs_target, mut entered) = (false, None);
        match self.aim(&scope, &rule)? {
            Ok((choice, to)) => entered = to.map(|to| (choice, to)),
            Err(reason) => {
                needs_target = rule.asks() && reason.is_of("to");
                if let [to] = main_targets(&scope, arm).as_slice() {
                    entered = Some((None, to.clone()));
                }
            }
        }
        // Conditions of the target state, on the entity after the move.
        if let Some((choice, to)) = entered
            && let Some(state) = life.state(&to)
        {
            let outcome = self.outcome(&scope, &rule, choice, Some(&to))?;
            let after = EntityScope { changed: &outcome.fields, ..scope };
            for (name, message) in &state.require {
                let value = after.field(name);
                let passed = !value.is_blank();
                let message = (!passed).then(|| message.clone());
                let saw = BTreeMap::from([(name.clone(), value.clone())]);
                checks.push(Checked { rule: name.clone(), passed, of_caller: false, message, saw });
            }
            self.add_checks(&after, &state.checks, &mut checks)?;
        }
        // Other unmet conditions, apart from the fields that a request would send.
        if let Err(unmet) = self.assess(life, entity, &rule, request)? {
            let brought = |it: &Unmet| {
                let take = |name: &Name| arm.takes.iter().any(|it| it.required.is_some() && it.name == *name);
                it.field.as_ref().is_some_and(take)
                    || it.is_of("reason") && arm.reason.is_some()
                    || it.is_of("to") && needs_target
            };
            let told = |it: &Unmet, checks: &[Checked]| {
                let same = |known: &Checked| {
                    Some(&known.rule) == it.rule.as_ref()
                        || Some(&known.rule) == it.field.as_ref()
                        || known.message.as_ref() == Some(&it.message)
                };
                checks.iter().any(|known| !known.passed && same(known))
            };
            for it in unmet.into_iter().filter(|it| !brought(it)) {
                if !told(&it, &checks) {
                    checks.push(Checked::of(it));
                }
            }
        }
        Ok(TransitionOption {
            event: arm.transition.clone(),
            about: arm.about.clone(),
            to,
            who: describe_guard(arm.by.source()),
            permitted: super::run_scope::reaches(self.law, &request.actor, &entity.key)
                && self.permits(life, entity, &arm.by, request)?,
            gates_open,
            for_no_actor: !may_admit_anyone(&scope, &arm.by),
            takes: arm.takes.iter().map(|it| (it.name.clone(), it.required.is_some())).collect(),
            needs_reason: arm.reason.is_some(),
            needs_target,
            checks,
        })
    }

    fn add_checks(
        &self,
        scope: &EntityScope<'_>,
        from: &[Check],
        checks: &mut Vec<Checked>,
    ) -> Result<(), Stop> {
        for check in from {
            let (passed, message) = match self.test(scope, &check.guard)? {
                Ok(true) => (true, None),
                // A check that cannot be evaluated reads a value that is not there yet: its message says which.
                Ok(false) | Err(_) => (false, Some(render_or_source(&check.says, scope))),
            };
            let rule = Name::new(check.guard.source());
            let of_caller = reads_caller(scope.life, &check.guard);
            checks.push(Checked { rule, passed, of_caller, message, saw: scope.values_read(&check.guard) });
        }
        Ok(())
    }
}

fn render_or_source(says: &trackside_lifecycle::guard::Template, scope: &EntityScope<'_>) -> String {
    says.render(scope).unwrap_or_else(|_| says.source().to_owned())
}
