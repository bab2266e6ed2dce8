//! Conditions on the caller alone, for any entity.

use trackside_lifecycle::guard::{Guard, Scope as _, VarSlot};
use trackside_lifecycle::model::{Gate, KnownReads, Lifecycle, Partial, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::fire::plain_scope;
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop};
use crate::key::EntityKey;
use crate::refusal::Unmet;

impl DecisionBuilder<'_> {
    /// Gates that are closed to this caller for every entity: their own record, the operator's mode.
    pub fn closed_to_caller(
        &self,
        life: &Lifecycle,
        trigger: &Name,
        request: &Request,
    ) -> Result<Vec<Unmet>, Stop> {
        let any_entity = self.blank(life, &EntityKey { lifecycle: life.name.clone(), id: Name::new("") });
        self.gates_of(life, &any_entity, trigger, request, &|gate| is_about_caller(life, gate))
    }

    /// Whether an event could admit this caller for some entity. Conditions of `by` on the entity count as
    /// true.
    pub fn may_admit(&self, life: &Lifecycle, event: &Name, request: &Request) -> bool {
        let any_entity = self.blank(life, &EntityKey { lifecycle: life.name.clone(), id: Name::new("") });
        let around = self.surroundings();
        let scope = plain_scope(&around, life, &any_entity, request);
        let mut arms = life.transition(event).into_iter().flat_map(|it| &it.arms);
        arms.any(|arm| !is_refused(&scope, &arm.by, |_, slot| is_not_of(life, slot)))
    }
}

/// Whether a rule could admit some caller to this entity. Conditions of `by` on the caller count as true.
pub(super) fn may_admit_anyone(scope: &EntityScope<'_>, by: &Guard) -> bool {
    !is_refused(scope, by, |read, _| is_of_entity_alone(read))
}

/// Whether a value is the same for every caller and request.
fn is_of_entity_alone(read: &Read) -> bool {
    !read.is_of_caller() && !matches!(read, Read::Taken(_) | Read::Reason | Read::Fence | Read::Setting(_))
}

/// The reads of a scope that are known; the others count as open.
struct KnownSlots<'s, F> {
    scope: &'s EntityScope<'s>,
    is_known: F,
}

impl<F: Fn(&Read, u32) -> bool> KnownReads for KnownSlots<'_, F> {
    fn value(&self, slot: VarSlot, read: &Read) -> Option<Value> {
        let is_made_of_reads = matches!(read, Read::Relation(_) | Read::Computed(_));
        (!is_made_of_reads && (self.is_known)(read, slot.0)).then(|| self.scope.read(slot).ok())?
    }
}

/// Whether the known values alone make a condition false.
fn is_refused(scope: &EntityScope<'_>, by: &Guard, is_known: impl Fn(&Read, u32) -> bool) -> bool {
    let partial = Partial::new(&scope.life.reads, KnownSlots { scope, is_known });
    partial.part_value(&by.outline()) == Some(Value::Bool(false))
}

/// Whether a gate reads nothing of the entity, so that it is open or closed for all of them.
fn is_about_caller(life: &Lifecycle, gate: &Gate) -> bool {
    let asked = gate.applies.iter().chain([&gate.open]);
    asked.into_iter().all(|it| reads_no_entity(life, it))
        && gate.says.reads().all(|it| is_not_of(life, it.slot.0))
}

fn reads_no_entity(life: &Lifecycle, guard: &Guard) -> bool {
    guard.reads().iter().all(|it| is_not_of(life, it.slot.0))
}

/// Whether a slot of the read table is outside the entity and not reached through it.
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
        | Read::Now
        | Read::JournalSequence => true,
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
        | Read::Listed(..)
        | Read::MovedAt(_)
        | Read::It
        | Read::Rows(_)
        | Read::Given(_)
        | Read::Ask(_) => false,
    }
}

/// Whether the value may differ between callers.
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
