//! What must hold after every decision.

use std::sync::Arc;

use trackside_lifecycle::model::{Invariant, Lifecycle, Severity};
use trackside_lifecycle::name::Name;

use super::carry::alert;
use super::draft::Draft;
use super::fire::plain_scope;
use super::request::{Request, names};
use super::scope::Surroundings;
use super::{Decider, Stop};
use crate::actor::ActorKind;
use crate::entity::Entity;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Refusal, Stage, Unmet};
use crate::trace::PointKind;
use crate::view::Found;

impl Decider<'_> {
    /// Refuses what the decision would newly break; notes what it newly bends.
    pub fn invariants(&mut self) -> Result<(), Stop> {
        let mut broken: Vec<Unmet> = Vec::new();
        let mut bent: Vec<(EntityKey, Name, String, Fields)> = Vec::new();
        for key in &self.touched {
            let Found::Here(after) = self.draft.entity(key) else { continue };
            let Some(life) = self.law.definition(&key.lifecycle, after.definition) else { continue };
            for invariant in life.invariants.iter().filter(|it| !it.needs_now) {
                if self.holds(life, after, invariant)? || self.was_broken(life, key, invariant)? {
                    continue;
                }
                self.hit(life, PointKind::Invariant, || format!("invariants.{}", invariant.name));
                let (message, saw) = self.evidence(life, after, invariant)?;
                match invariant.severity {
                    Severity::Error | Severity::Critical => {
                        let mut reason = Unmet::new("invariant-violated", message);
                        reason.rule = Some(Name::new(invariant.holds.source()));
                        reason.saw =
                            saw.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
                        broken.push(reason);
                    }
                    Severity::Info | Severity::Warning if !after.broken.contains(&invariant.name) => {
                        bent.push((key.clone(), invariant.name.clone(), message, saw));
                    }
                    Severity::Info | Severity::Warning => {}
                }
            }
        }
        if let Some(first) = broken.first() {
            let mut refusal = Refusal::new(Stage::Invariants, "invariant-violated", first.message.clone());
            refusal.errors = broken;
            return Err(refusal.into());
        }
        for (key, rule, message, evidence) in bent {
            self.violation(&key, &rule, Severity::Warning, message, evidence);
        }
        Ok(())
    }

    /// Journals a violation, once, and asks people to look.
    pub fn violation(
        &mut self,
        key: &EntityKey,
        rule: &Name,
        severity: Severity,
        message: String,
        evidence: Fields,
    ) {
        let condition = Name::from(format!("invariants.{rule}"));
        let request = Request::engine(ActorKind::System, Fields::default(), condition.clone(), self.root);
        let event = Event::ViolationFound {
            rule: rule.clone(),
            severity,
            message: Arc::from(message.as_str()),
            evidence,
        };
        let seq = self.record(key, &request, &condition, event);
        self.root.get_or_insert(seq);
        self.record(key, &request, &condition, alert("violation", severity, format!("{key}: {message}")));
    }

    /// An invariant that cannot be answered does not hold.
    pub fn holds(&self, life: &Lifecycle, entity: &Entity, invariant: &Invariant) -> Result<bool, Stop> {
        if invariant.within.as_ref().is_some_and(|it| !it.has(&entity.state)) {
            return Ok(true);
        }
        let request = onlooker();
        let around = self.around();
        self.met(&plain_scope(&around, life, entity, &request), Some(&invariant.holds))
    }

    /// Whether it was broken before this command.
    fn was_broken(&self, life: &Lifecycle, key: &EntityKey, invariant: &Invariant) -> Result<bool, Stop> {
        let base = self.draft.base();
        let Found::Here(before) = base.entity(key) else { return Ok(false) };
        if invariant.within.as_ref().is_some_and(|it| !it.has(&before.state)) {
            return Ok(false);
        }
        let request = onlooker();
        let untouched = Draft::new(base);
        let around = Surroundings { draft: &untouched, ..self.around() };
        Ok(!self.met(&plain_scope(&around, life, before, &request), Some(&invariant.holds))?)
    }

    pub fn evidence(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        invariant: &Invariant,
    ) -> Result<(String, Fields), Stop> {
        let request = onlooker();
        let around = self.around();
        let scope = plain_scope(&around, life, entity, &request);
        let saw = scope.saw(&invariant.holds);
        let saw = saw
            .iter()
            .map(|(name, value)| (name.clone(), trackside_lifecycle::value::Value::from_json(value)));
        Ok((self.render(&scope, &invariant.says)?.to_string(), saw.collect()))
    }
}

/// Nobody in particular, looking.
fn onlooker() -> Request {
    Request::engine(ActorKind::System, Fields::default(), names::ENGINE.clone(), None)
}
