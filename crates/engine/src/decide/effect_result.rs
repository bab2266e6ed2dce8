//! Handles the result of an effect.

use serde_json::Value as Json;
use trackside_lifecycle::guard::Fault;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::carry::alert;
use super::draft::DecisionDraft;
use super::fire::plain_scope;
use super::request::Request;
use super::scope::{EntityScope, Surroundings};
use super::{DecisionBuilder, Stop};
use crate::actor::{Actor, ActorKind};
use crate::command::TransitionRef;
use crate::entity::Entity;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::refusal::{Code, Refusal};
use crate::view::{Lookup, Needs, View};

/// Whether a worker may still get an effect, by its `while`. `with` are the arguments that it was requested with.
pub fn is_effect_wanted(
    law: &Law,
    view: &View,
    entity: &Entity,
    effect: &Name,
    with: &Fields,
    now: Timestamp,
) -> Result<Result<bool, Fault>, Needs> {
    let life = law.definition(&entity.key.lifecycle, entity.definition);
    let declared = life.and_then(|life| Some((life, life.effect(effect)?.while_true.as_ref()?)));
    let Some((life, guard)) = declared else { return Ok(Ok(true)) };
    let lookup = Lookup::new(view);
    let draft = DecisionDraft::new(&lookup);
    let around = Surroundings { law, draft: &draft, project: &view.project, now };
    let request = Request::by(Actor::engine(), None, Fields::default(), None);
    let scope = EntityScope { taken: with, ..plain_scope(&around, life, entity, &request) };
    let answer = guard.test(&scope);
    lookup.finish(answer)
}

impl DecisionBuilder<'_> {
    /// Records the result and fires the transition that the effect declares for it.
    pub fn effect_result(&mut self, key: &EntityKey, id: u64, ok: bool, fields: &Fields) -> Result<(), Stop> {
        let (life, entity) = self.existing_entity(key)?;
        let Some(open) = entity.effects.iter().find(|it| it.id == id).cloned() else {
            let message =
                format!("{key} has no open effect {id}: it was answered before, or never asked for");
            return Err(Refusal::one(Code::EffectSettled, message).into());
        };
        let condition = Name::from(format!("effects.{}", open.effect));
        let mut request = Request::engine(ActorKind::System, fields.clone(), condition.clone(), None);
        let event = Event::EffectSettled { id, effect: open.effect.clone(), ok };
        let seq = self.record(key, &request, &condition, event);
        self.root.get_or_insert(seq);
        request.cause = self.root;
        let Some(effect) = life.effect(&open.effect) else { return Ok(()) };
        let last = life.state(&self.existing_entity(key)?.1.state).is_some_and(|it| it.last);
        let Some(fire) = (if ok { &effect.ok } else { &effect.failed }).clone().filter(|_| !last) else {
            if !ok {
                let said =
                    Json::Object(fields.iter().map(|(name, it)| (name.to_string(), it.to_json())).collect());
                let message = format!("{} of {key} failed: {said}", open.effect);
                self.record(key, &request, &condition, alert("effect-failed", Severity::Error, message));
            }
            return Ok(());
        };
        // The outside may tell more than the transition takes.
        let arms = life.transition(&fire).map(|it| it.arms.as_slice()).unwrap_or_default();
        let taken = |name: &Name| arms.iter().any(|arm| arm.takes.iter().any(|it| it.name == *name));
        request.fields =
            fields.iter().filter(|(name, _)| taken(name)).map(|(a, b)| (a.clone(), b.clone())).collect();
        self.try_or_alert(key, &condition, |it| it.fire(key, &TransitionRef::Event(fire), request))?;
        Ok(())
    }
}
