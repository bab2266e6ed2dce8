//! Every way out of where an entity is, with each condition and what it saw: for whoever asks why it is not moving.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use trackside_lifecycle::model::{Arm, Check, Lifecycle};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::allowed::targets;
use super::fire::{plain_scope, spoken};
use super::lease::not_holding;
use super::request::Request;
use super::scope::Scope;
use super::{Decider, Stop};
use crate::actor::Actor;
use crate::entity::Entity;
use crate::fields::Fields;
use crate::law::Law;
use crate::view::View;

/// One rule that leaves the present state, or changes something in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The transition it belongs to.
    pub event: Name,
    pub about: String,
    /// Where it leads; empty where it stays.
    pub to: Vec<Name>,
    /// Who may, in words.
    pub who: String,
    /// Whether the actor is one of them.
    pub permitted: bool,
    /// Whether no gate keeps the actor out.
    pub heard: bool,
    /// What a request may bring, and whether it must.
    pub takes: Vec<(Name, bool)>,
    /// Whether it must say why.
    pub needs_reason: bool,
    /// Every condition, in the order in which they are asked.
    pub checks: Vec<Checked>,
}

/// A condition, asked of the entity as it is and of a request that brings nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The expression, the field that must be there, or the slot that must be held.
    pub rule: Name,
    pub passed: bool,
    /// What is told where it fails.
    pub message: Option<String>,
    /// The values it saw.
    pub saw: BTreeMap<Name, Json>,
}

/// All ways from where an entity is, in declared order. What a partial view does not hold is noted there.
pub fn ways(law: &Law, view: &View, entity: &Entity, actor: &Actor, now: Timestamp) -> Vec<Way> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Vec::new() };
    // Only being created again leads out of a final state.
    if life.state(&entity.state).is_some_and(|it| it.last) {
        return Vec::new();
    }
    let decider = Decider::new(law, view, now, false);
    let request = Request::by(actor.clone(), actor.subject.clone(), Fields::default(), None);
    let arms = life.arms().filter(|it| it.from.has(&entity.state));
    // What cannot be answered yet is asked again once it is loaded.
    arms.filter_map(|arm| decider.way(life, entity, arm, &request).ok()).collect()
}

impl Decider<'_> {
    fn way(&self, life: &Lifecycle, entity: &Entity, arm: &Arm, request: &Request) -> Result<Way, Stop> {
        let around = self.around();
        let scope = plain_scope(&around, life, entity, request);
        let to = targets(&scope, arm);
        let mut checks: Vec<Checked> = Vec::new();
        for gate in life.gates.iter().filter(|it| it.binds(&arm.transition) && !it.reads_request) {
            let shut = self.shut(&scope, gate)?;
            checks.push(Checked {
                rule: Name::new(gate.open.source()),
                passed: !shut,
                message: shut.then(|| said(&gate.says, &scope)),
                saw: scope.saw(&gate.open),
            });
        }
        let heard = checks.iter().all(|it| it.passed);
        if let Some(slot) = &arm.holding {
            let unheld = not_holding(entity, slot, request);
            let (passed, message) = (unheld.is_none(), unheld.map(|it| it.message));
            checks.push(Checked { rule: slot.clone(), passed, message, saw: BTreeMap::new() });
        }
        self.tried(&scope, &arm.checks, &mut checks)?;
        // What a state asks of those who enter it, where it is known which one that will be.
        if let [to] = to.as_slice()
            && let Some(state) = life.state(to)
        {
            for (name, message) in &state.require {
                let value = scope.field(name);
                let passed = !value.is_blank();
                let message = (!passed).then(|| message.clone());
                let saw = BTreeMap::from([(name.clone(), value.to_json())]);
                checks.push(Checked { rule: name.clone(), passed, message, saw });
            }
            self.tried(&scope, &state.checks, &mut checks)?;
        }
        Ok(Way {
            event: arm.transition.clone(),
            about: arm.about.clone(),
            to,
            who: spoken(arm.by.source()),
            permitted: self.permits(life, entity, &arm.by, request)?,
            heard,
            takes: arm.takes.iter().map(|it| (it.name.clone(), it.required.is_some())).collect(),
            needs_reason: arm.reason.is_some(),
            checks,
        })
    }

    fn tried(&self, scope: &Scope<'_>, from: &[Check], checks: &mut Vec<Checked>) -> Result<(), Stop> {
        for check in from {
            let (passed, message) = match self.test(scope, &check.guard)? {
                Ok(true) => (true, None),
                Ok(false) => (false, Some(said(&check.says, scope))),
                Err(fault) => (false, Some(format!("it cannot be answered: {fault}"))),
            };
            let rule = Name::new(check.guard.source());
            checks.push(Checked { rule, passed, message, saw: scope.saw(&check.guard) });
        }
        Ok(())
    }
}

fn said(says: &trackside_lifecycle::guard::Template, scope: &Scope<'_>) -> String {
    says.render(scope).unwrap_or_else(|_| says.source().to_owned())
}
