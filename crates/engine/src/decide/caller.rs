//! What is asked of the caller alone, whatever entity it is about.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Gate, Lifecycle, Read};
use trackside_lifecycle::name::Name;

use super::request::Request;
use super::{Decider, Stop};
use crate::key::EntityKey;
use crate::refusal::Unmet;

impl Decider<'_> {
    /// Gates that are closed to this caller for every entity: their own record, the operator's mode.
    pub fn closed_to_caller(
        &self,
        life: &Lifecycle,
        trigger: &Name,
        request: &Request,
    ) -> Result<Vec<Unmet>, Stop> {
        let nobody = self.blank(life, &EntityKey { lifecycle: life.name.clone(), id: Name::new("") });
        self.gates_of(life, &nobody, trigger, request, &|gate| is_about_caller(life, gate))
    }
}

/// Whether a gate asks nothing of the entity, so that it is open or closed for all of them.
fn is_about_caller(life: &Lifecycle, gate: &Gate) -> bool {
    let asked = gate.applies.iter().chain([&gate.open]);
    asked.into_iter().all(|it| reads_no_entity(life, it))
        && gate.says.reads().all(|it| is_not_of(life, it.slot.0))
}

fn reads_no_entity(life: &Lifecycle, guard: &Guard) -> bool {
    guard.reads().iter().all(|it| is_not_of(life, it.slot.0))
}

/// Whether what a slot of its table reads is no part of the entity, and not reached by way of it.
fn is_not_of(life: &Lifecycle, slot: u32) -> bool {
    let Some(read) = life.reads.get(slot as usize) else { return false };
    match read {
        Read::Taken(_)
        | Read::Reason
        | Read::Fence
        | Read::ActorId
        | Read::ActorKind
        | Read::ActorRoles
        | Read::SubjectId
        | Read::Human
        | Read::Agent
        | Read::System
        | Read::Engine
        | Read::Admin
        | Read::Role(_)
        | Read::Me(_)
        | Read::People
        | Read::Now => true,
        Read::Computed(guard) | Read::Relation(guard) => reads_no_entity(life, guard),
        Read::Setting(place) => {
            life.settings.get(*place).is_some_and(|it| it.from.iter().all(|it| reads_no_entity(life, it)))
        }
        Read::Ref(name, _) => life.reference(name).is_some_and(|it| it.by.is_none()),
        Read::Field(_)
        | Read::Was(_)
        | Read::Id
        | Read::State
        | Read::PreviousState
        | Read::Version
        | Read::CreatedAt
        | Read::UpdatedAt
        | Read::StateEnteredAt
        | Read::TimeInState
        | Read::TimeByState
        | Read::TotalTime
        | Read::Visits
        | Read::Overdue
        | Read::Counter(_)
        | Read::Counters(_)
        | Read::Slot(..)
        | Read::Group(..)
        | Read::Rank(_)
        | Read::RankSize(_)
        | Read::All(_)
        | Read::MovedAt(_)
        | Read::It
        | Read::Rows(_)
        | Read::Given(_)
        | Read::Ask(_) => false,
    }
}

/// Whether what comes of it may differ from caller to caller.
pub(super) fn reads_caller(life: &Lifecycle, guard: &Guard) -> bool {
    guard.reads().iter().any(|it| match life.reads.get(it.slot.0 as usize) {
        Some(Read::Computed(guard) | Read::Relation(guard)) => reads_caller(life, guard),
        Some(Read::Setting(place)) => {
            life.settings.get(*place).is_some_and(|it| it.from.iter().any(|it| reads_caller(life, it)))
        }
        Some(read) => read.is_of_caller(),
        None => false,
    })
}
