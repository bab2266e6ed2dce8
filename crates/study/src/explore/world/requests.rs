//! All requests that are possible in a world, by every actor.

use std::collections::BTreeMap;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command, Fire, TransitionRef};
use trackside_engine::condition::ConditionScope;
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::VarSlot;
use trackside_lifecycle::model::{KnownReads, Lifecycle, Partial, Read, Transition};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::state::WorldState;
use crate::explore::stage::ExploreStage;

/// Whether the rules of a stage admit its actors, judged by the actor alone.
#[derive(Debug, Default)]
pub(super) struct Callers(BTreeMap<(Name, Name), Vec<Vec<Option<bool>>>>);

/// An actor before a request: its kind and its roles.
struct KnownActor<'a>(&'a Actor);

impl KnownReads for KnownActor<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        let actor = self.0;
        Some(Value::Bool(match read {
            Read::Human => actor.kind == ActorKind::Human,
            Read::Agent => actor.kind == ActorKind::Agent,
            Read::System => matches!(actor.kind, ActorKind::System | ActorKind::Timeout),
            Read::Engine => false,
            Read::Admin => actor.has_role("admin"),
            Read::Role(holders) => actor.roles.iter().any(|it| holders.contains(it)),
            _ => return None,
        }))
    }
}

impl Callers {
    pub(super) fn of(stage: &ExploreStage) -> Self {
        let mut all = BTreeMap::new();
        for life in stage.lives() {
            for transition in &life.transitions {
                let admitted = |actor: &Actor| -> Vec<Option<bool>> {
                    let known = Partial::new(&life.reads, KnownActor(actor));
                    // An expression that fails is evaluated again in the world, so that the failure is reported.
                    transition.arms.iter().map(|it| it.by.test(&known).ok()).collect()
                };
                let key = (life.name.clone(), transition.name.clone());
                all.insert(key, stage.actors.iter().map(admitted).collect());
            }
        }
        Self(all)
    }
}

/// Requests of the actors of a stage, in order.
pub(super) fn all_requests(
    stage: &ExploreStage,
    callers: &Callers,
    scene: &WorldState,
    entities: &[&Entity],
) -> Vec<Command> {
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
    for entity in entities {
        let Some(life) = stage.life(&entity.key.lifecycle) else { continue };
        if life.state(&entity.state).is_none_or(|it| it.last) {
            continue;
        }
        for transition in life.transitions.iter().filter(|it| leaves(it, &entity.state)) {
            let samples = stage.samples(&life.name, &transition.name);
            if samples.is_empty() {
                continue;
            }
            let known = callers.0.get(&(life.name.clone(), transition.name.clone()));
            for (number, actor) in stage.actors.iter().enumerate() {
                let known = known.and_then(|it| it.get(number)).map(Vec::as_slice).unwrap_or_default();
                if admits(stage, scene, entity, transition, actor, known) {
                    all.extend(samples.iter().map(|fields| fire(entity, transition, actor, fields)));
                }
            }
        }
        heartbeats(stage, entity, &mut all);
    }
    claims(stage, &mut all);
    all
}

/// Results of effects, as an outside worker would report them.
pub(super) fn results(stage: &ExploreStage, entities: &[&Entity]) -> Vec<Command> {
    let mut all = Vec::new();
    for entity in entities {
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
pub(super) fn stale_requests(stage: &ExploreStage, entities: &[&Entity]) -> Vec<Command> {
    let mut all = Vec::new();
    for entity in entities {
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
    known: &[Option<bool>],
) -> bool {
    let here = || {
        let arms = transition.arms.iter().enumerate().filter(|(_, it)| it.from.has(&entity.state));
        arms.map(|(number, it)| (it, known.get(number).copied().flatten()))
    };
    if here().any(|(_, known)| known == Some(true)) {
        return true;
    }
    if here().all(|(_, known)| known == Some(false)) {
        return false;
    }
    let looking = ConditionScope {
        law: &stage.law,
        view: &scene.view,
        entity,
        was: &entity.fields,
        actor: Some(actor),
        now: scene.now,
    };
    // If it cannot be evaluated, the request is made, so that the failure is reported.
    here().any(|(it, known)| known.is_none() && looking.test(&it.by).unwrap_or(true))
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
