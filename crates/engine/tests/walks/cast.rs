//! The actors of a walk: agents of every role, people, the system. Each of them may be away.

use std::collections::BTreeSet;

use trackside_engine::actor::{Actor, ActorKind};
use trackside_lifecycle::name::Name;

use crate::packs::WalkPack;

/// Agents per role, unless the hints say more.
const TROUPE: usize = 2;
/// Agents without a role.
const PLAIN: usize = 3;

#[derive(Debug)]
pub(crate) struct WalkActors {
    actors: Vec<Actor>,
    /// Crashed or absent actors: they send nothing until they are back.
    away: BTreeSet<Name>,
}

impl WalkActors {
    pub(crate) fn of(ground: &WalkPack) -> Self {
        let mut actors = vec![
            Actor::new("ada", ActorKind::Human).with_roles(["admin"]),
            Actor::new("hank", ActorKind::Human),
            Actor::new("mia", ActorKind::Human),
            Actor::new("cron", ActorKind::System),
        ];
        for role in ground.pack.roles.keys() {
            let many =
                ground.hints.troupes.iter().find(|(it, _)| role == it).map_or(TROUPE, |(_, many)| *many);
            for n in 1..=many {
                let id = format!("{}-{n}", role.replace('_', "-"));
                actors.push(Actor::new(id, ActorKind::Agent).with_roles([role.clone()]));
            }
        }
        for n in 1..=PLAIN {
            actors.push(Actor::new(format!("agent-{n}"), ActorKind::Agent));
        }
        Self { actors, away: BTreeSet::new() }
    }

    pub(crate) fn people(&self) -> Vec<Name> {
        self.actors.iter().filter(|it| it.kind == ActorKind::Human).map(|it| it.id.clone()).collect()
    }

    pub(crate) fn agents(&self) -> Vec<Name> {
        self.actors.iter().filter(|it| it.kind == ActorKind::Agent).map(|it| it.id.clone()).collect()
    }

    /// Agents that have one of these roles; all if none is named.
    pub(crate) fn agents_of(&self, roles: &[&str]) -> Vec<Name> {
        let of = |it: &&Actor| {
            it.kind == ActorKind::Agent && (roles.is_empty() || roles.iter().any(|role| it.has_role(role)))
        };
        self.actors.iter().filter(of).map(|it| it.id.clone()).collect()
    }

    pub(crate) fn everybody(&self) -> Vec<Name> {
        self.actors.iter().map(|it| it.id.clone()).collect()
    }

    /// The actors that can send requests now.
    pub(crate) fn present(&self) -> Vec<&Actor> {
        self.actors.iter().filter(|it| !self.away.contains(&it.id)).collect()
    }

    pub(crate) fn find(&self, id: &Name) -> Option<&Actor> {
        self.present().into_iter().find(|it| it.id == *id)
    }

    pub(crate) fn absent(&self) -> Vec<Name> {
        self.away.iter().cloned().collect()
    }

    pub(crate) fn crash(&mut self, id: &Name) {
        self.away.insert(id.clone());
    }

    pub(crate) fn come_back(&mut self, id: &Name) {
        self.away.remove(id);
    }
}
