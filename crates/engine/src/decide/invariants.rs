//! Invariants, checked after every decision.

use std::sync::{Arc, LazyLock};

use trackside_lifecycle::model::{Invariant, Lifecycle, Severity};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::carry::alert;
use super::draft::DecisionDraft;
use super::fire::plain_scope;
use super::request::Request;
use super::scope::{EntityScope, Surroundings};
use super::{DecisionBuilder, Stop, unanswered};
use crate::actor::{ActorKind, ENGINE};
use crate::command::AlertAction;
use crate::entity::Entity;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Code, Refusal, Unmet};
use crate::trace::PointKind;
use crate::view::Found;

impl DecisionBuilder<'_> {
    /// Refuses a decision that would newly break an invariant; journals soft violations that begin or end.
    pub fn invariants(&mut self) -> Result<(), Stop> {
        let broken = self.broken_invariants()?;
        if let Some(first) = broken.first() {
            return Err(Refusal::with(first.code.refusal(), broken).into());
        }
        let mut bent: Vec<(EntityKey, Name, Option<Name>, String, Fields)> = Vec::new();
        let mut mended: Vec<(EntityKey, Name)> = Vec::new();
        for key in self.looked_at() {
            let Found::Here(after) = self.draft.entity(&key) else { continue };
            let Some(life) = self.law.definition(&key.lifecycle, after.definition) else { continue };
            for invariant in
                life.invariants.iter().filter(|it| !it.needs_now && it.severity < Severity::Error)
            {
                let known = after.broken.contains(&invariant.name);
                match (self.holds(life, after, invariant)?, known) {
                    (true, true) => mended.push((key.clone(), invariant.name.clone())),
                    (false, false) if !self.was_broken(life, &key, invariant)? => {
                        self.record_point(life, PointKind::Invariant, || {
                            format!("invariants.{}", invariant.name)
                        });
                        let (message, saw) = self.evidence(life, after, invariant)?;
                        let kind = invariant.alert.clone();
                        bent.push((key.clone(), invariant.name.clone(), kind, message, saw));
                    }
                    _ => {}
                }
            }
        }
        for (key, rule, kind, message, evidence) in bent {
            self.violation(&key, &rule, kind, Severity::Warning, message, evidence);
        }
        for (key, rule) in mended {
            self.record_repaired_invariant(&key, &rule);
        }
        Ok(())
    }

    /// Journals that a broken invariant holds again, and resolves the alerts that it declares.
    pub fn record_repaired_invariant(&mut self, key: &EntityKey, rule: &Name) {
        let condition = Name::from(format!("invariants.{rule}"));
        let mut request = Request::engine(ActorKind::System, Fields::default(), condition.clone(), self.root);
        self.record(key, &request, &condition, Event::ViolationCleared { rule: rule.clone() });
        let Found::Here(entity) = self.draft.entity(key) else { return };
        let of_rule = entity.alerts.iter().filter(|it| it.rule.as_ref() == Some(rule));
        let open: Vec<u64> = of_rule.map(|it| it.seq).collect();
        request.reason = Some(Arc::from("The rule holds again"));
        for alert in open {
            let trigger = Name::new(AlertAction::Resolve.as_str());
            self.record(key, &request, &trigger, Event::AlertResolved { alert });
        }
    }

    /// The entities that the decision moved, and those whose counts it changed.
    pub(super) fn looked_at(&self) -> Vec<EntityKey> {
        let mut keys = self.touched.clone();
        for owner in self.draft.owners_of_changed_groups() {
            if !keys.contains(&owner) {
                keys.push(owner);
            }
        }
        keys
    }

    /// Circles of references, and error-level invariants that hold no more and did before.
    pub fn broken_invariants(&self) -> Result<Vec<Unmet>, Stop> {
        Ok(self.broken_of()?.into_iter().map(|(_, it)| it).collect())
    }

    /// The circles and broken invariants, each with its entity.
    pub fn broken_of(&self) -> Result<Vec<(EntityKey, Unmet)>, Stop> {
        let mut broken = self.circles()?;
        for key in self.looked_at() {
            let Found::Here(after) = self.draft.entity(&key) else { continue };
            let Some(life) = self.law.definition(&key.lifecycle, after.definition) else { continue };
            for invariant in
                life.invariants.iter().filter(|it| !it.needs_now && it.severity >= Severity::Error)
            {
                if self.holds(life, after, invariant)? || self.was_broken(life, &key, invariant)? {
                    continue;
                }
                self.record_point(life, PointKind::Invariant, || format!("invariants.{}", invariant.name));
                let (message, saw) = self.evidence(life, after, invariant)?;
                let mut reason = Unmet::new(Code::InvariantViolated, message);
                reason.rule = Some(Name::new(invariant.holds.source()));
                reason.saw = saw.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                broken.push((key.clone(), reason));
            }
        }
        Ok(broken)
    }

    /// Journals a violation once, and raises an alert: of the declared kind, or of kind `violation`.
    pub fn violation(
        &mut self,
        key: &EntityKey,
        rule: &Name,
        declared: Option<Name>,
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
        let raised = match declared {
            Some(kind) => Event::AlertRaised {
                kind,
                severity,
                message: Arc::from(message),
                rule: Some(rule.clone()),
                cause: None,
            },
            None => alert("violation", severity, format!("{key}: {message}")),
        };
        self.record(key, &request, &condition, raised);
    }

    /// An invariant that cannot be answered does not hold.
    pub fn holds(&self, life: &Lifecycle, entity: &Entity, invariant: &Invariant) -> Result<bool, Stop> {
        if invariant.within.as_ref().is_some_and(|it| !it.has(&entity.state)) {
            return Ok(true);
        }
        let around = self.surroundings();
        Ok(self
            .test(&plain_scope(&around, life, entity, engine_request()), &invariant.holds)?
            .unwrap_or(false))
    }

    /// Refuses a command after which an invariant of an entity can no longer be evaluated.
    pub fn still_answered(&self, life: &Lifecycle, before: &Entity) -> Result<(), Stop> {
        let (_, after) = self.existing_entity(&before.key)?;
        let untouched = DecisionDraft::new(self.draft.base());
        let (then, around) = (Surroundings { draft: &untouched, ..self.surroundings() }, self.surroundings());
        for invariant in &life.invariants {
            if invariant.within.as_ref().is_some_and(|it| !it.has(&after.state)) {
                continue;
            }
            let now = self.test(&plain_scope(&around, life, after, engine_request()), &invariant.holds)?;
            let Err(fault) = now else { continue };
            if self.test(&plain_scope(&then, life, before, engine_request()), &invariant.holds)?.is_ok() {
                return Err(unanswered(invariant.holds.source(), &fault));
            }
        }
        Ok(())
    }

    /// Whether it was broken before this command.
    fn was_broken(&self, life: &Lifecycle, key: &EntityKey, invariant: &Invariant) -> Result<bool, Stop> {
        let base = self.draft.base();
        let Found::Here(before) = base.entity(key) else { return Ok(false) };
        if invariant.within.as_ref().is_some_and(|it| !it.has(&before.state)) {
            return Ok(false);
        }
        let untouched = DecisionDraft::new(base);
        let around = Surroundings { draft: &untouched, ..self.surroundings() };
        Ok(!self
            .test(&plain_scope(&around, life, before, engine_request()), &invariant.holds)?
            .unwrap_or(false))
    }

    /// The rule's message, and the values it read.
    pub fn evidence(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        invariant: &Invariant,
    ) -> Result<(String, Fields), Stop> {
        let around = self.surroundings();
        let scope = plain_scope(&around, life, entity, engine_request());
        Ok((self.render(&scope, &invariant.says)?.to_string(), values_read(&scope, invariant)))
    }

    /// The finding for the sweep. The sweep must not stop, so a message that cannot be rendered is
    /// replaced.
    pub fn finding(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        invariant: &Invariant,
    ) -> Result<(String, Fields), Stop> {
        match self.evidence(life, entity, invariant) {
            Err(Stop::Refused(refusal)) => {
                let around = self.surroundings();
                let scope = plain_scope(&around, life, entity, engine_request());
                let message = format!("{} of {}: {}", invariant.name, entity.key, refusal.detail);
                Ok((message, values_read(&scope, invariant)))
            }
            told => told,
        }
    }
}

fn values_read(scope: &EntityScope<'_>, invariant: &Invariant) -> Fields {
    let saw = scope.values_read(&invariant.holds);
    // Evidence is stored in its JSON form: times and spans as text.
    saw.iter().map(|(name, value)| (name.clone(), Value::from_json(&value.to_json()))).collect()
}

/// The engine as reader.
pub(super) fn engine_request() -> &'static Request {
    static ONLOOKER: LazyLock<Request> =
        LazyLock::new(|| Request::engine(ActorKind::System, Fields::default(), Name::new(ENGINE), None));
    &ONLOOKER
}
