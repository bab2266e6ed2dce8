//! Checks promises in every world that the search finds.

mod acting_alone;
mod ending;
mod guide;
mod marks;
mod relation;
mod timers_only;
mod watch;

pub use guide::PromiseGuide;
pub use marks::{Mark, Marks};
pub use watch::PromiseWatcher;

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::condition::ConditionScope;
use trackside_engine::entity::Entity;
use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::model::{Pack, Partial, Property, PropertyKind};
use trackside_lifecycle::name::Name;

use crate::explore::world::{Cone, Mirrors, WorldState};
use crate::truth::StateAndCaller;
use timers_only::Fates;

/// A promise of a lifecycle, and its place in the definition.
#[derive(Clone, Debug)]
pub struct Promise {
    pub lifecycle: Name,
    /// Its place in `prove`.
    pub index: usize,
    pub property: Property,
}

/// All promises of a pack.
#[derive(Debug)]
pub struct Promises {
    pub law: Arc<Law>,
    pub list: Vec<Promise>,
    pub marks: Marks,
    cone: Cone,
    no_symmetry: Mirrors,
    fates: Fates,
    /// By promise: states in which its condition always has the harmless value.
    settled: Vec<Vec<Name>>,
}

/// The part of a promise that was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PromiseEvidence {
    Nothing,
    /// Its subject occurred.
    ObservedReads,
    Broken,
}

impl Promises {
    pub fn of(law: &Arc<Law>, pack: &Pack) -> Self {
        let mut list = Vec::new();
        for life in &pack.lifecycles {
            for (index, property) in life.properties.iter().enumerate() {
                list.push(Promise { lifecycle: life.name.clone(), index, property: property.clone() });
            }
        }
        let marks = Marks::of(pack, list.len());
        let settled = list.iter().map(|it| settled(pack, it)).collect();
        Self {
            law: law.clone(),
            list,
            marks,
            cone: Cone::of(pack),
            no_symmetry: Mirrors::none(),
            fates: Fates::default(),
            settled,
        }
    }

    /// Whether an entity in this state cannot break a promise.
    fn is_settled(&self, number: usize, entity: &Entity) -> bool {
        self.settled.get(number).is_some_and(|it| it.contains(&entity.state))
    }

    /// Evaluates an expression for an entity in a world.
    fn test(
        &self,
        guard: &Guard,
        scene: &WorldState,
        entity: &Entity,
        before: Option<&Entity>,
        actor: Option<&Actor>,
    ) -> Result<bool, Fault> {
        let looking = ConditionScope {
            law: &self.law,
            view: &scene.view,
            entity,
            was: before.map_or(&entity.fields, |it| &it.fields),
            actor,
            now: scene.now,
        };
        looking.test(guard)
    }
}

/// The states in which the condition of a promise always has the harmless value.
fn settled(pack: &Pack, promise: &Promise) -> Vec<Name> {
    let (Some((guard, wanted)), Some(life)) =
        (promise.condition(), pack.lifecycles.iter().find(|it| it.name == promise.lifecycle))
    else {
        return Vec::new();
    };
    let harmless = |state: &Name| {
        let known = StateAndCaller { state: Some(state), engine: None };
        guard.test(&Partial::new(&life.reads, known)) == Ok(!wanted)
    };
    life.states.iter().map(|it| &it.name).filter(|it| harmless(it)).cloned().collect()
}

impl Promise {
    /// Whether the promise applies to an entity in its current state.
    fn concerns(&self, entity: &Entity) -> bool {
        self.lifecycle == entity.key.lifecycle
            && self.property.within.as_ref().is_none_or(|it| it.has(&entity.state))
    }

    /// The condition of a promise, and whether it must become true or must not.
    fn condition(&self) -> Option<(&Guard, bool)> {
        match &self.property.kind {
            PropertyKind::Never(guard) | PropertyKind::Reachable(guard) => Some((guard, true)),
            PropertyKind::Always(guard) => Some((guard, false)),
            PropertyKind::Eventually { .. } | PropertyKind::Alone { .. } => None,
        }
    }
}
