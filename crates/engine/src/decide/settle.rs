//! The result of an effect comes home.

use trackside_lifecycle::name::Name;

use super::request::Request;
use super::{Decider, Stop};
use crate::actor::ActorKind;
use crate::command::What;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::refusal::{Refusal, Stage};

impl Decider<'_> {
    pub fn settle(&mut self, key: &EntityKey, id: u64, ok: bool, fields: &Fields) -> Result<(), Stop> {
        let (life, entity) = self.here(key)?;
        let Some(open) = entity.effects.iter().find(|it| it.id == id).cloned() else {
            let message =
                format!("{key} has no open effect {id}: it was answered before, or never asked for");
            return Err(Refusal::one(Stage::Edge, "effect-settled", message).into());
        };
        let condition = Name::from(format!("effects.{}", open.effect));
        let mut request = Request::engine(ActorKind::System, fields.clone(), condition.clone(), None);
        let event = Event::EffectSettled { id, effect: open.effect.clone(), ok };
        let seq = self.record(key, &request, &condition, event);
        self.root.get_or_insert(seq);
        request.cause = self.root;
        let Some(effect) = life.effect(&open.effect) else { return Ok(()) };
        let fire = if ok { effect.ok.clone() } else { effect.failed.clone() };
        // The outside may tell more than the transition takes.
        let arms = life.transition(&fire).map(|it| it.arms.as_slice()).unwrap_or_default();
        let taken = |name: &Name| arms.iter().any(|arm| arm.takes.iter().any(|it| it.name == *name));
        request.fields =
            fields.iter().filter(|(name, _)| taken(name)).map(|(a, b)| (a.clone(), b.clone())).collect();
        self.softly(key, &condition, |it| it.fire(key, &What::Event(fire), request))?;
        Ok(())
    }
}
