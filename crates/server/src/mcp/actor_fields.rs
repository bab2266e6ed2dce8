//! The fields in which the entities of a lifecycle name actors.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::name::Name;

/// A field that names an actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ActorField {
    Id,
    Field(Name),
}

impl ActorField {
    pub fn word(&self) -> &str {
        match self {
            Self::Id => "id",
            Self::Field(name) => name,
        }
    }
}

/// The fields of a lifecycle that name actors: its assignee, the holders of its slots, and fields that its relations
/// compare with the actor.
pub(super) fn actor_fields(life: &Lifecycle) -> Vec<ActorField> {
    let mut places: Vec<ActorField> = Vec::new();
    let read = |it: &Outline| match it {
        Outline::Read(slot, members) if members.is_empty() => life.reads.get(slot.0 as usize).cloned(),
        _ => None,
    };
    let is_actor = |it: &Outline| matches!(read(it), Some(Read::ActorId | Read::SubjectId));
    let place = |it: &Outline| match read(it) {
        Some(Read::Field(name)) => Some(ActorField::Field(name)),
        Some(Read::Id) => Some(ActorField::Id),
        _ => None,
    };
    for relation in &life.relations {
        relation.guard.outline().walk(&mut |it| {
            let found = match it {
                Outline::Equal(both) => {
                    let [a, b] = &**both;
                    is_actor(a).then(|| place(b)).or_else(|| is_actor(b).then(|| place(a))).flatten()
                }
                Outline::In(both) => {
                    let [who, list] = &**both;
                    is_actor(who).then(|| place(list)).flatten()
                }
                _ => None,
            };
            places.extend(found);
        });
    }
    let holders = life.slots.iter().filter_map(|it| it.holder.as_ref());
    places.extend(life.assignee.iter().chain(holders).map(|it| ActorField::Field(it.clone())));
    let mut once: Vec<ActorField> = Vec::new();
    for place in places {
        if !once.contains(&place) {
            once.push(place);
        }
    }
    once
}
