//! Properties of a whole world after every step.

use std::collections::BTreeMap;

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::entity::Entity;
use trackside_engine::event::Event;
use trackside_engine::world::World;
use trackside_engine::{Decision, decide};
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;

/// No entity breaks an invariant: the sweep would find nothing, and no violation is recorded.
pub(crate) fn invariants(ground: &WalkPack, world: &World) -> Result<(), BrokenPromise> {
    world.view.entities().into_iter().try_for_each(|it| invariants_of(ground, world, it))
}

/// The same for one entity.
pub(crate) fn invariants_of(ground: &WalkPack, world: &World, entity: &Entity) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("every invariant holds", what));
    let Some(life) = ground.life(&entity.key.lifecycle) else { return Ok(()) };
    let strict = |name: &Name| {
        let rule = life.invariants.iter().find(|it| it.name == *name);
        rule.is_none_or(|it| it.severity >= Severity::Error && !it.needs_now)
    };
    if !life.invariants.iter().any(|it| strict(&it.name)) {
        return Ok(());
    }
    if let Some(rule) = entity.broken.iter().find(|it| strict(it)) {
        return broken(format!("{} breaks {rule}, and the sweep has found it", entity.key));
    }
    let actor = Actor::engine();
    let command = Command::new(actor, Ask::Inspect { entity: entity.key.clone() });
    match decide(&world.law, &world.view, &command, world.now) {
        Ok(Decision::Accepted(accepted)) => {
            for entry in &accepted.entries {
                if let Event::ViolationFound { rule, message, evidence, .. } = &entry.event
                    && strict(rule)
                {
                    return broken(format!("{} breaks {rule}: {message}; it saw {evidence:?}", entry.entity));
                }
            }
            Ok(())
        }
        other => broken(format!("{} cannot be inspected: {other:?}", entity.key)),
    }
}

/// Once time has passed, every due timer has fired.
pub(crate) fn nothing_lies(world: &World) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("what is due is done", what));
    for entity in world.view.entities() {
        for (name, timer) in &entity.timers {
            if timer.due.is_some_and(|it| it <= world.now) {
                return broken(format!("{name} of {} was due: {timer:?}", entity.key));
            }
            if timer.due.is_some() && timer.running_since.is_none() {
                return broken(format!("{name} of {} stands still and is due: {timer:?}", entity.key));
            }
        }
    }
    Ok(())
}

/// No two open entities of a lifecycle have the same unique value.
pub(crate) fn only_ones(ground: &WalkPack, world: &World) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("no two open entities are the same", what));
    let mut seen = BTreeMap::new();
    for entity in world.view.entities() {
        let Some(same) = &entity.same else { continue };
        let state = ground.life(&entity.key.lifecycle).and_then(|it| it.state(&entity.state));
        if state.is_some_and(|it| it.last || it.outcome.is_some()) {
            return broken(format!("{} is closed and still has {same}", entity.key));
        }
        let key = (entity.key.lifecycle.clone(), same.clone());
        if world.view.unique_holder(&key.0, &key.1).here() != Some(&entity.key) {
            return broken(format!("{} has {same} and is not known for it", entity.key));
        }
        if let Some(other) = seen.insert(key, &entity.key) {
            return broken(format!("{other} and {}: {same}", entity.key));
        }
    }
    Ok(())
}
