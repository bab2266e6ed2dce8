//! All requests that are possible in a world, by every actor.

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command, Fire, TransitionRef};
use trackside_engine::condition::ConditionScope;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_lifecycle::model::{Lifecycle, Transition};
use trackside_lifecycle::name::Name;

use super::state::WorldState;
use crate::explore::stage::ExploreStage;

/// Requests of the actors of a stage, in order.
pub(super) fn all_requests(stage: &ExploreStage, scene: &WorldState) -> Vec<Command> {
    let mut all = Vec::new();
    for (key, fields) in stage.creates() {
        let there = scene.view.get(key);
        let again = stage.life(&key.lifecycle).is_some_and(|it| it.create.again.is_some() || it.create.anew);
        if there.is_some() && !again {
            continue;
        }
        for actor in &stage.actors {
            let ask = Ask::Create { entity: key.clone(), fields: fields.clone() };
            all.push(because(Command::new(actor.clone(), ask)));
        }
    }
    for entity in scene.entities() {
        let Some(life) = stage.life(&entity.key.lifecycle) else { continue };
        if life.state(&entity.state).is_none_or(|it| it.last) {
            continue;
        }
        for transition in life.transitions.iter().filter(|it| leaves(it, &entity.state)) {
            let samples = stage.samples(&life.name, &transition.name);
            if samples.is_empty() {
                continue;
            }
            for actor in stage.actors.iter().filter(|it| admits(stage, scene, entity, transition, it)) {
                all.extend(samples.iter().map(|fields| fire(entity, transition, actor, fields)));
            }
        }
        heartbeats(stage, entity, &mut all);
    }
    claims(stage, &mut all);
    all
}

/// Results of effects, as an outside worker would report them.
pub(super) fn results(stage: &ExploreStage, scene: &WorldState) -> Vec<Command> {
    let mut all = Vec::new();
    for entity in scene.entities() {
        let Some(life) = stage.life(&entity.key.lifecycle) else { continue };
        for open in &entity.effects {
            let effect = life.effect(&open.effect);
            for (ok, home) in [
                (true, effect.and_then(|it| it.ok.as_ref())),
                (false, effect.and_then(|it| it.failed.as_ref())),
            ] {
                let none = [Fields::default()];
                let samples = home.map_or(&none[..], |it| stage.samples(&life.name, it));
                for fields in samples.iter().take(1).chain(samples.is_empty().then_some(&none[0])) {
                    let ask = Ask::EffectResult {
                        entity: entity.key.clone(),
                        effect: open.id,
                        ok,
                        fields: fields.clone(),
                    };
                    all.push(Command::new(Actor::new("outside", ActorKind::System), ask));
                }
            }
        }
    }
    all
}

/// Requests by former lease holders, with the old fence.
pub(super) fn stale_requests(stage: &ExploreStage, scene: &WorldState) -> Vec<Command> {
    let mut all = Vec::new();
    for entity in scene.entities() {
        let Some(life) = stage.life(&entity.key.lifecycle) else { continue };
        for (slot, lease) in entity.leases.iter().filter(|(_, it)| it.fence > 1 && it.holder.is_some()) {
            let old = Some(lease.fence - 1);
            for actor in &stage.actors {
                let ask = Ask::Heartbeat { entity: entity.key.clone(), slot: slot.clone(), fence: old };
                all.push(Command::new(actor.clone(), ask));
                for transition in life.transitions.iter().filter(|it| leaves(it, &entity.state)) {
                    let held = transition.arms.iter().all(|it| it.holding.as_ref() == Some(slot));
                    let samples = stage.samples(&life.name, &transition.name);
                    for fields in samples.iter().take(1).filter(|_| held) {
                        let mut command = fire(entity, transition, actor, fields);
                        if let Ask::Fire(fire) = &mut command.ask {
                            fire.fence = old;
                        }
                        all.push(command);
                    }
                }
            }
        }
    }
    all
}

/// Whether some arm admits this actor. If not, the refusal need not be computed.
fn admits(
    stage: &ExploreStage,
    scene: &WorldState,
    entity: &Entity,
    transition: &Transition,
    actor: &Actor,
) -> bool {
    let looking = ConditionScope {
        law: &stage.law,
        view: &scene.view,
        entity,
        was: &entity.fields,
        actor: Some(actor),
        now: scene.now,
    };
    // If it cannot be evaluated, the request is made, so that the failure is reported.
    let mut arms = transition.arms.iter().filter(|it| it.from.has(&entity.state));
    arms.any(|it| looking.test(&it.by).unwrap_or(true))
}

fn leaves(transition: &Transition, state: &Name) -> bool {
    // Transitions for the engine alone are not requested.
    transition.arms.iter().any(|it| it.from.has(state) && it.by.source() != "engine")
}

fn fire(entity: &Entity, transition: &Transition, actor: &Actor, fields: &Fields) -> Command {
    let held = transition.arms.iter().find_map(|it| it.holding.as_ref());
    let fence = held.and_then(|slot| entity.lease(slot)).map(|it| it.fence);
    let what = TransitionRef::Event(transition.name.clone());
    let fire = Fire { entity: entity.key.clone(), what, fields: fields.clone(), fence, if_version: None };
    because(Command::new(actor.clone(), Ask::Fire(fire)))
}

fn because(command: Command) -> Command {
    command.with_reason("for a reason")
}

fn heartbeats(stage: &ExploreStage, entity: &Entity, all: &mut Vec<Command>) {
    for (slot, lease) in &entity.leases {
        let Some(holder) = lease.holder.as_ref().and_then(|it| stage.actor(it)) else { continue };
        let ask = Ask::Heartbeat { entity: entity.key.clone(), slot: slot.clone(), fence: Some(lease.fence) };
        all.push(Command::new(holder.clone(), ask));
    }
}

fn claims(stage: &ExploreStage, all: &mut Vec<Command>) {
    for life in stage.lives() {
        for event in life.rankings.iter().filter_map(|it| it.claims.as_ref()) {
            if !stage.is_asked(&life.name, event) {
                continue;
            }
            for actor in &stage.actors {
                all.push(claim(stage, life, event, actor));
            }
        }
    }
}

fn claim(stage: &ExploreStage, life: &Lifecycle, event: &Name, actor: &Actor) -> Command {
    let fields = stage.samples(&life.name, event).first().cloned().unwrap_or_default();
    let claim = Claim { lifecycle: life.name.clone(), event: Some(event.clone()), only: None, fields };
    because(Command::new(actor.clone(), Ask::Claim(claim)))
}
