//! A default stage for a pack without one: actors of every kind and role, one with all roles, two entities of each
//! lifecycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::Project;
use trackside_engine::world::World;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;

use super::{DEPTH, ExploreStage, WORLDS};
use crate::explore::search::SearchBound;
use crate::explore::world::{Cone, Samples, WorldState};

/// The start time of the default stage.
const START: &str = "2026-01-01T00:00:00Z";

/// A stage from the definition alone.
pub fn default_stage(law: &Arc<Law>, pack: &Arc<Pack>) -> ExploreStage {
    let roles: Vec<&Name> = pack.roles.keys().collect();
    let every = || roles.iter().map(|it| (*it).clone());
    let mut actors = vec![Actor::new("ada", ActorKind::Human), Actor::new("cron", ActorKind::System)];
    if !roles.is_empty() {
        // Two people and an agent with all roles.
        actors.extend(["eve", "max"].map(|id| Actor::new(id, ActorKind::Human).with_roles(every())));
    }
    if roles.len() > 1 {
        actors.push(Actor::new("jack", ActorKind::Agent).with_roles(every()));
    }
    let each = if roles.len() <= 2 { 2 } else { 1 };
    for role in &roles {
        for n in 1..=each {
            actors.push(Actor::new(format!("{role}-{n}"), ActorKind::Agent).with_roles([(*role).clone()]));
        }
    }
    if roles.is_empty() {
        actors.extend((1..=2).map(|n| Actor::new(format!("agent-{n}"), ActorKind::Agent)));
    }
    let now = Timestamp::parse(START).unwrap_or_default();
    let people = actors.iter().filter(|it| it.kind == ActorKind::Human).map(|it| it.id.clone()).collect();
    let project = Project { people, ..Project::default() };
    let world = World::new(law.clone(), project, now);
    let own: Vec<&Name> = pack.lifecycles.iter().filter_map(|it| it.me.as_ref()).collect();
    let mut ids: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    for life in pack.lifecycles.iter().filter(|it| !it.one) {
        // The record of an actor has the actor's id.
        let known = match own.contains(&&life.name) {
            true => actors.iter().filter(|it| it.kind == ActorKind::Agent).map(|it| it.id.clone()).collect(),
            false => (1..=2).map(|n| Name::from(format!("{}-{n}", life.kind))).collect(),
        };
        ids.insert(life.name.clone(), known);
    }
    let everybody: Vec<Name> = actors.iter().map(|it| it.id.clone()).collect();
    let cone = Cone::of(pack);
    let mut creates: Vec<(EntityKey, Fields)> = Vec::new();
    for life in pack.lifecycles.iter().filter(|it| !it.one) {
        let samples = Samples::new(life, &cone, everybody.clone(), ids.clone(), now);
        let with = samples.of_takes(&life.create.takes).into_iter().next().unwrap_or_default();
        for id in ids.get(&life.name).into_iter().flatten() {
            creates.push((EntityKey { lifecycle: life.name.clone(), id: id.clone() }, with.clone()));
        }
    }
    let stage = ExploreStage {
        name: Name::new("default"),
        about: "One agent per role and one with all roles, two people with all roles, one with none, and one program. At most two entities of each lifecycle, none at the start.".to_owned(),
        law: law.clone(),
        pack: pack.clone(),
        start: WorldState::new(world.view, world.now),
        actors,
        bound: SearchBound { worlds: WORLDS, depth: DEPTH },
        creates,
        asks: BTreeMap::new(),
        unasked: Vec::new(),
        cut: Vec::new(),
        only: Vec::new(),
        without: Vec::new(),
    };
    stage.with_samples()
}
