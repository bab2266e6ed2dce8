//! Records the actors that have acted on an entity since a promise of the kind `alone` began to watch it.

use trackside_engine::actor::Actor;
use trackside_engine::event::Entry;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::Fault;
use trackside_lifecycle::model::PropertyKind;

use super::{PromiseEvidence, Promises};
use crate::explore::world::{Acted, WorldState};

impl Promises {
    /// Checks the start.
    pub(crate) fn begin(&self, scene: &mut WorldState) {
        self.record_move(scene, None, &[]);
    }

    /// After a move: restarts the watch where `from` is true; otherwise records the caller for the changed entities.
    pub(crate) fn record_move(&self, scene: &mut WorldState, actor: Option<&Actor>, entries: &[Entry]) {
        let watching = self.list.iter().enumerate();
        for (number, promise) in watching {
            let PropertyKind::Alone { from, .. } = &promise.property.kind else { continue };
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let mut updates: Vec<(EntityKey, Option<Acted>)> = Vec::new();
            for entity in scene.entities() {
                if entity.key.lifecycle != promise.lifecycle {
                    continue;
                }
                let known = scene.alone.iter().find(|(it, key, _)| *it == number && *key == entity.key);
                let begins = self.test(from, scene, entity, None, None).unwrap_or(false);
                let touched = || entries.iter().any(|it| it.entity == entity.key);
                let next = match (known.map(|(_, _, it)| it), actor) {
                    _ if begins => Some(Acted::Nobody),
                    (None, _) => None,
                    (Some(acted), None) => Some(acted.clone()),
                    (Some(acted), Some(_)) if !touched() => Some(acted.clone()),
                    (Some(Acted::Nobody), Some(actor)) => Some(Acted::Only(actor.clone())),
                    (Some(Acted::Only(before)), Some(actor)) if before.id == actor.id => {
                        Some(Acted::Only(actor.clone()))
                    }
                    (Some(_), Some(_)) => Some(Acted::Several),
                };
                updates.push((entity.key.clone(), next));
            }
            scene.alone.retain(|(it, _, _)| *it != number);
            for (key, acted) in updates {
                scene.alone.extend(acted.map(|it| (number, key, it)));
            }
        }
    }

    /// Whether one actor alone reached the target, and whether that was possible at all.
    pub(super) fn acted_alone(&self, number: usize, scene: &WorldState) -> Result<PromiseEvidence, Fault> {
        let Some(promise) = self.list.get(number) else { return Ok(PromiseEvidence::Nothing) };
        let PropertyKind::Alone { who, from, to } = &promise.property.kind else {
            return Ok(PromiseEvidence::Nothing);
        };
        let mut seen = PromiseEvidence::Nothing;
        for (_, key, acted) in scene.alone.iter().filter(|(it, _, _)| *it as usize == number) {
            let Some(entity) = scene.view.get(key) else { continue };
            self.test(from, scene, entity, None, None)?;
            let Acted::Only(actor) = acted else { continue };
            if self.test(who, scene, entity, None, Some(actor))? {
                seen = seen.max(PromiseEvidence::ObservedReads);
                if promise.concerns(entity) && self.test(to, scene, entity, None, Some(actor))? {
                    seen = PromiseEvidence::Broken;
                }
            }
        }
        Ok(seen)
    }
}
