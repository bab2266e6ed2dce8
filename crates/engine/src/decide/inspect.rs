//! The sweep inspects one entity: violations are journalled and, if a repair is declared, repaired.

use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::plan::sample_scope;
use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::actor::{Actor, ActorKind};
use crate::command::TransitionRef;
use crate::entity::Entity;
use crate::event::{Changes, Event, EventKind};
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::trace::PointKind;
use crate::view::{Needs, View};

/// The condition of repairs for an invariant begins so.
const INVARIANT: &str = "invariants.";
/// The condition of repairs of stored rows.
const RECORD: &str = "record";
/// The condition of repairs of an unknown state.
const KNOWN_STATE: &str = "known-state";

/// Whether an entry of this kind, with this condition, is a repair by the sweep.
pub fn is_repair(kind: EventKind, condition: &str) -> bool {
    let changes = [EventKind::Transitioned, EventKind::FieldsChanged, EventKind::Corrected].contains(&kind);
    changes && (condition.starts_with(INVARIANT) || [RECORD, KNOWN_STATE].contains(&condition))
}

impl DecisionBuilder<'_> {
    pub fn inspect(&mut self, key: &EntityKey) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        if life.state(&entity.state).is_none() {
            return self.revert(key);
        }
        let known = entity.broken.clone();
        for invariant in &life.invariants {
            let fine = self.holds(&life, self.existing_entity(key)?.1, invariant)?;
            let was_known = known.contains(&invariant.name);
            if fine && was_known {
                self.record_repaired_invariant(key, &invariant.name);
            }
            if fine {
                continue;
            }
            self.record_point(&life, PointKind::Invariant, || format!("invariants.{}", invariant.name));
            let (message, evidence) = self.finding(&life, self.existing_entity(key)?.1, invariant)?;
            let why = std::sync::Arc::from(format!("Repair: {message}"));
            if !was_known {
                let kind = invariant.alert.clone();
                self.violation(key, &invariant.name, kind, invariant.severity, message, evidence);
            }
            let Some(repair) = &invariant.repair else { continue };
            let condition = Name::from(format!("{INVARIANT}{}", invariant.name));
            let mut request =
                Request::engine(ActorKind::System, Fields::default(), condition.clone(), self.root);
            request.reason = Some(why);
            let what = TransitionRef::Event(repair.clone());
            match self.try_or_rollback(|it| it.fire(key, &what, request))? {
                None => {
                    self.record_point(&life, PointKind::Invariant, || {
                        format!("invariants.{}.repair", invariant.name)
                    });
                }
                Some(refusal) if !was_known => self.drop_with_alert(key, &condition, &refusal),
                // Every sweep retries the repair; only the first failure raises an alert.
                Some(_) => {}
            }
        }
        self.follow_zone(key)?;
        self.find_its_places(key)
    }

    /// Rewrites places that are wrong since a setting or a definition changed, in an entry that contains
    /// the changes.
    fn find_its_places(&mut self, key: &EntityKey) -> Result<(), Stop> {
        let own = std::slice::from_ref(key);
        if !self.draft.entries.is_empty() || self.ranking_changes(own, own)?.is_empty() {
            return Ok(());
        }
        let condition = Name::new("rankings");
        let request = Request::engine(ActorKind::System, Fields::default(), condition.clone(), None);
        let event = Event::FieldsChanged { changes: Changes::default() };
        let seq = self.record(key, &request, &condition, event);
        self.root.get_or_insert(seq);
        Ok(())
    }

    /// Its stored rows differed from the journal: they were rebuilt, and an alert is raised.
    pub fn repair(
        &mut self,
        key: &EntityKey,
        found: &str,
        ghost_places: &[(Name, EntityKey)],
        asked: &Request,
    ) -> Result<(), Stop> {
        if !(asked.is_admin() || asked.is_own()) {
            return Err(super::configure::not_admin("repair a record").into());
        }
        let (_, entity) = self.existing_entity(key)?;
        let state = entity.state.clone();
        let message = format!("The stored rows of {key} differed from the journal");
        let evidence: Fields = [("found", Value::text(found))].into_iter().collect();
        let rule = Name::new(RECORD);
        self.violation(key, &rule, None, Severity::Error, message, evidence);
        self.correct_for(key, rule, &state, "Repair: rebuilt from the journal")?;
        self.to_rebuild.push(key.clone());
        self.ghost_places.extend(ghost_places.iter().cloned());
        Ok(())
    }

    /// A state unknown to its definition: back to the last valid one. The entity must be in the journal: rows without
    /// entries are repaired.
    fn revert(&mut self, key: &EntityKey) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let back = entity.previous_state.clone().filter(|it| life.state(it).is_some());
        let back = back.unwrap_or_else(|| life.initial.clone());
        let message = format!("{} has no state {}", life.name, entity.state);
        let evidence: Fields = [("state", Value::from(&entity.state))].into_iter().collect();
        let rule = Name::new(KNOWN_STATE);
        self.violation(key, &rule, None, Severity::Error, message, evidence);
        self.correct_for(key, rule, &back, "Repair: back to the last valid state")
    }

    /// Corrects an entity to a state, which clears the violation of a rule.
    fn correct_for(&mut self, key: &EntityKey, rule: Name, to: &Name, why: &str) -> Result<(), Stop> {
        let mut request = Request::engine(ActorKind::System, Fields::default(), rule.clone(), self.root);
        request.reason = Some(why.into());
        self.correct(key, Some(to), request)?;
        self.record_repaired_invariant(key, &rule);
        Ok(())
    }
}

/// All fields as a reader sees them, the computed ones too.
pub fn fields_of(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<(Name, Value)>, Needs> {
    let own = entity.fields.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut fields: Vec<(Name, Value)> = own.chain(computed_fields(law, view, entity, actor, now)?).collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(fields)
}

/// Its computed fields, as a reader sees them.
pub fn computed_fields(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<(Name, Value)>, Needs> {
    let Some(life) = law.definition(&entity.key.lifecycle, entity.definition) else { return Ok(Vec::new()) };
    let guards = life.fields.values().filter_map(|it| Some((&it.name, it.is.as_ref()?)));
    sample_scope(law, view, life, entity, actor, now, None, |scope| {
        guards.map(|(name, guard)| (name.clone(), guard.eval(scope).unwrap_or_default())).collect()
    })
}

/// One computed field, as a reader sees it.
pub fn computed_field(
    law: &Law,
    view: &View,
    entity: &Entity,
    actor: &Actor,
    now: Timestamp,
    name: &Name,
) -> Result<Value, Needs> {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    let Some((life, guard)) = life.and_then(|it| Some((it, it.fields.get(name)?.is.as_ref()?))) else {
        return Ok(Value::Null);
    };
    sample_scope(law, view, life, entity, actor, now, None, |scope| guard.eval(scope).unwrap_or_default())
}
