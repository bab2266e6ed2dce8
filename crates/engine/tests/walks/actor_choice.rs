//! Chooses the actor of a request.

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::entity::Entity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_random::Random;

use crate::request_chooser::RequestChooser;

impl RequestChooser<'_> {
    /// Likely actors, those named by the entity first.
    pub(crate) fn likely_actor(
        &self,
        id: &Name,
        entity: Option<&Entity>,
        dice: &mut Random,
    ) -> Vec<(Actor, Option<Name>)> {
        let named = |actor: &Name| {
            id == actor
                || id.rsplit(':').next() == Some(actor.as_str())
                || entity.is_some_and(|it| {
                    it.fields.iter().any(|(_, value)| mentions(value, actor))
                        || it.leases.iter().any(|(_, lease)| lease.holder.as_ref() == Some(actor))
                })
        };
        let present = dice.shuffle(self.cast.present());
        let (mut first, rest): (Vec<&Actor>, Vec<&Actor>) = present.into_iter().partition(|it| named(&it.id));
        if dice.percent(75) {
            first.extend(rest);
        } else {
            first = dice.shuffle(first.into_iter().chain(rest).collect());
        }
        let mut likely: Vec<(Actor, Option<Name>)> = Vec::new();
        for actor in first {
            likely.push((actor.clone(), None));
            // A deputy acts on behalf of the actors that the entity names.
            if actor.roles.iter().any(|it| self.ground.hints.deputies.contains(&it.as_str())) {
                let agents = dice.shuffle(self.cast.agents());
                let subject = agents.iter().find(|it| named(it)).or(agents.first()).cloned();
                likely.push((actor.clone(), subject));
            }
        }
        likely
    }

    pub(crate) fn any_actor(&self, dice: &mut Random) -> Option<(Actor, Option<Name>)> {
        let present = self.cast.present();
        let actor = (*dice.pick(&present)?).clone();
        let agents = self.cast.agents();
        let subject =
            dice.pick(&agents).cloned().filter(|_| actor.kind != ActorKind::Human && dice.percent(10));
        Some((actor, subject))
    }
}

fn mentions(value: &Value, actor: &Name) -> bool {
    match value {
        Value::Text(text) => **text == **actor,
        Value::List(list) => list.iter().any(|it| mentions(it, actor)),
        _ => false,
    }
}
