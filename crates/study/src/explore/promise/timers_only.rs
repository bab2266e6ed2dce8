//! The future without further requests: only timers run.

use std::collections::BTreeSet;

use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::{Fault, Guard};
use trackside_lifecycle::model::PropertyKind;
use trackside_lifecycle::time::Span;

use super::Promises;
use crate::explore::world::{WorldState, wait, world_key};

/// Most clocks that are waited for.
const CLOCKS: usize = 5_000;

/// The end of a world without further requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The condition becomes true.
    True,
    /// No clock runs any more, and it is not true.
    Silence(Span),
    /// It is not true within the time limit.
    Late(Span),
    /// Clocks go round and round without it.
    Rounds,
    /// There were too many timers to wait for.
    Unknown,
}

impl Promises {
    /// Finds the first entity of an `eventually` for which the condition never becomes true.
    pub(super) fn never_comes(&self, number: usize, scene: &WorldState) -> Result<Later, Fault> {
        let mut later = Later::default();
        let Some(promise) = self.list.get(number) else { return Ok(later) };
        let PropertyKind::Eventually { goal, when, within } = &promise.property.kind else {
            return Ok(later);
        };
        for entity in scene.entities().into_iter().filter(|it| promise.concerns(it)) {
            let asked = match when {
                Some(when) => self.test(when, scene, entity, None, None)?,
                None => true,
            };
            if !asked {
                continue;
            }
            later.looked = true;
            let ends = self.wait_for(scene, &entity.key, goal, *within)?;
            if !matches!(ends, Ends::True | Ends::Unknown) {
                later.broken = Some((entity.key.clone(), ends));
                return Ok(later);
            }
        }
        Ok(later)
    }

    fn wait_for(
        &self,
        scene: &WorldState,
        key: &EntityKey,
        goal: &Guard,
        within: Option<Span>,
    ) -> Result<Ends, Fault> {
        let mut now = scene.clone();
        let mut seen: BTreeSet<u128> = BTreeSet::new();
        for _ in 0..CLOCKS {
            let passed = now.now.since(scene.now);
            if within.is_some_and(|it| passed > it) {
                return Ok(Ends::Late(passed));
            }
            match now.view.get(key) {
                Some(entity) if !self.test(goal, &now, entity, None, None)? => {}
                _ => return Ok(Ends::True),
            }
            // The same world again by time alone: it repeats forever.
            if within.is_none() && !seen.insert(world_key(&self.cone, &now, &self.no_symmetry)) {
                return Ok(Ends::Rounds);
            }
            match wait(&self.law, &now) {
                Some((after, _)) => now = after,
                None => return Ok(Ends::Silence(passed)),
            }
        }
        Ok(Ends::Unknown)
    }
}

/// The result of waiting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Later {
    /// Whether there was an entity to wait for.
    pub(crate) looked: bool,
    pub(crate) broken: Option<(EntityKey, Ends)>,
}
