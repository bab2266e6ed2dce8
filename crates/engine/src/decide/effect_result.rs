//! Handles the result of an effect.

use serde_json::Value as Json;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;

use super::carry::alert;
use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::actor::ActorKind;
use crate::command::TransitionRef;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Code, Refusal};

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
