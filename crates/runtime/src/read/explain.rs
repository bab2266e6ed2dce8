//! Explains why an entity does not move, and which transitions would move it.

use std::sync::Arc;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::Command;
use trackside_engine::decide::{BlockingEntity, TransitionOption, blocking_entities, transition_options};
use trackside_engine::entity::Entity;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::query::QueryReader;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::Needs;
use trackside_engine::{Decision, Law, View, decide};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{ReadError, Reads};

/// The explanation of an entity. Its timers, leases and open effects are its own.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub entity: Arc<Entity>,
    pub now: Timestamp,
    /// Every rule that could be taken from here, with each of its conditions.
    pub transitions: Vec<TransitionOption>,
    /// The outcome of each event now, fired by this actor without fields.
    pub trials: Vec<(Name, Trial)>,
    /// Its assignees, by the field that its lifecycle names for that.
    pub given_to: Vec<Name>,
    /// The assignees who could take a transition, with any roles.
    pub able: Vec<Name>,
    /// Events by which it can be claimed now, each with who may, as text.
    pub claimable: Vec<(Name, String)>,
    /// Other entities that keep a gate closed to this actor, and the transitions there that would open it.
    pub blocked_by: Vec<BlockingEntity>,
}

/// The outcome of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// It would be accepted and lead to this state.
    Accepted {
        to: Option<Name>,
    },
    Refused(Box<Refusal>),
}

impl Reads {
    /// Decides a command after all earlier requests of its actor, and changes nothing.
    pub fn dry_run(&self, command: Command) -> Result<Decision, ReadError> {
        Ok(self.gateway.dry_run(command)?.wait()?)
    }

    /// Explains why an entity is not moving, as far as the actor may see it.
    pub fn explain(&self, key: &EntityKey, actor: &Actor) -> Result<Explanation, ReadError> {
        let (wanted, actor) = (key.clone(), actor.clone());
        let sender = actor.clone();
        let explained = self
            .gateway
            .evaluate_for(&sender, move |law, view, now| explain_entity(law, view, &wanted, &actor, now))?;
        explained.wait()?.ok_or_else(|| self.unknown(key))
    }

    /// Why the holder of a lease should stop.
    pub fn stops(&self, key: &EntityKey, slot: &Name, actor: &Actor) -> Result<Vec<String>, ReadError> {
        let says = |it: &trackside_lifecycle::model::Slot| {
            it.name == *slot && !(it.goes_on.is_empty() && it.invariants_of.is_empty())
        };
        let asked = self.shared.law().newest(&key.lifecycle).is_some_and(|it| it.slots.iter().any(says));
        if !asked {
            return Ok(Vec::new());
        }
        let (key, slot, actor) = (key.clone(), slot.clone(), actor.clone());
        let sender = actor.clone();
        let stops = self.gateway.evaluate_for(&sender, move |law, view, now| {
            view.read(|it| it.entity(&key))?;
            let Some(entity) = view.image(&key) else { return Ok(Vec::new()) };
            QueryReader { law, view, actor: &actor, shown: true, now }.stops(&entity, &slot)
        })?;
        Ok(stops.wait()?)
    }
}

fn explain_entity(
    law: &Law,
    view: &View,
    key: &EntityKey,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Explanation>, Needs> {
    view.read(|it| it.entity(key))?;
    let Some(entity) = view.image(key) else { return Ok(None) };
    let Some(life) = law.definition(&key.lifecycle, entity.definition) else { return Ok(None) };
    let here = |arms: &[trackside_lifecycle::model::Arm]| arms.iter().any(|it| it.from.has(&entity.state));
    let ended = life.state(&entity.state).is_some_and(|it| it.last);
    let events = life.transitions.iter().filter(|it| !ended && here(&it.arms)).map(|it| &it.name);
    let trials = Needs::collect(events.map(|event| {
        let command = Command::fire(actor.clone(), key.clone(), event, Fields::default());
        Ok(trial(decide(law, view, &command, now)?).map(|it| (event.clone(), it)))
    }))?;
    if !(QueryReader { law, view, actor, shown: true, now }).may_read(&entity)? {
        return Ok(None);
    }
    let mut given_to = life.assignee.as_ref().map(|it| entity.ids(it)).unwrap_or_default();
    given_to.retain(|it| !it.is_empty());
    let able = Needs::collect(
        given_to.iter().map(|id| Ok(is_able(law, view, &entity, life, id, now)?.then(|| id.clone()))),
    )?;
    let transitions = transition_options(law, view, &entity, actor, now)?;
    let claimable = claimable(life, &transitions);
    let blocked_by = blocking_entities(law, view, &entity, actor, now)?;
    let (trials, able) = (trials.into_iter().flatten().collect(), able.into_iter().flatten().collect());
    Ok(Some(Explanation { entity, now, transitions, trials, given_to, able, claimable, blocked_by }))
}

fn trial(decision: Decision) -> Option<Trial> {
    match decision {
        Decision::Accepted(it) => {
            Some(Trial::Accepted { to: it.entries.get(it.root).and_then(|it| it.edge().1.cloned()) })
        }
        Decision::Refused(mut refusal) => {
            refusal.kept = None;
            Some(Trial::Refused(refusal))
        }
        Decision::Replayed { .. } => None,
    }
}

/// The events by which one of its rankings lets the admitted actors claim it, and who they are. The caller
/// need not be one of them.
fn claimable(life: &Lifecycle, transitions: &[TransitionOption]) -> Vec<(Name, String)> {
    let mut all: Vec<(Name, String)> = Vec::new();
    for event in life.rankings.iter().filter_map(|it| it.claims.as_ref()) {
        let open = transitions.iter().filter(|it| it.event == *event && it.is_open_to_others());
        let mut who: Vec<&str> = open.map(|it| it.who.as_str()).collect();
        who.dedup();
        if !who.is_empty() && !all.iter().any(|(it, _)| it == event) {
            all.push((event.clone(), who.join("; or ")));
        }
    }
    all
}

/// Whether a rule that moves the entity admits an actor. Roles are not known here: the actor counts as
/// having all.
fn is_able(
    law: &Law,
    view: &View,
    entity: &Entity,
    life: &Lifecycle,
    id: &Name,
    now: Timestamp,
) -> Result<bool, Needs> {
    let is_person = view.project.people.contains(id);
    let kind = if is_person { ActorKind::Human } else { ActorKind::Agent };
    let roles = life.reads.iter().filter_map(|it| match it {
        Read::Role(holders) => Some(holders),
        _ => None,
    });
    let actor = Actor::new(id.clone(), kind).with_roles(roles.flatten().cloned());
    let leads_on = |it: &TransitionOption| !it.to.is_empty();
    Ok(transition_options(law, view, entity, &actor, now)?
        .iter()
        .any(|it| it.permitted && it.gates_open && leads_on(it)))
}
