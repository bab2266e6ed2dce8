//! Checks promises in every world that the search finds.

mod acting_alone;
mod ending;
mod marks;
mod timers_only;
mod watch;

pub use marks::{Mark, Marks};
pub use watch::PromiseWatcher;

use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::condition::ConditionScope;
use trackside_engine::entity::Entity;
use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::model::{Pack, Property, PropertyKind};
use trackside_lifecycle::name::Name;

use crate::explore::world::{Cone, Mirrors, WorldState};

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
        Self { law: law.clone(), list, marks, cone: Cone::of(pack), no_symmetry: Mirrors::none() }
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
