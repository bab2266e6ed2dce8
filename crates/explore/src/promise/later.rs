//! What time alone brings about: everybody falls silent, and only clocks go on.

use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::PropertyKind;
use trackside_lifecycle::time::Span;

use super::Promises;
use crate::world::{Scene, wait};

/// Most moments that are waited for.
const MOMENTS: usize = 200;

/// How it ends when nobody does anything any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It comes true.
    True,
    /// No clock runs any more, and it is not true.
    Silence(Span),
    /// It is not true within the time it may take.
    Late(Span),
    /// Clocks go round and round without it.
    Rounds,
}

impl Promises {
    /// Of each entity that an `eventually` speaks of: does it come true?
    pub(super) fn never_comes(&self, number: usize, scene: &Scene) -> Option<(EntityKey, Ends)> {
        let promise = self.list.get(number)?;
        let PropertyKind::Eventually { goal, when, within } = &promise.property.kind else { return None };
        for entity in scene.entities().into_iter().filter(|it| promise.concerns(it)) {
            let asked =
                when.as_ref().is_none_or(|it| self.test(it, scene, entity, None, None).unwrap_or(false));
            if !asked {
                continue;
            }
            let ends = self.wait_for(scene, &entity.key, goal, *within);
            if ends != Ends::True {
                return Some((entity.key.clone(), ends));
            }
        }
        None
    }

    fn wait_for(&self, scene: &Scene, key: &EntityKey, goal: &Guard, within: Option<Span>) -> Ends {
        let mut now = scene.clone();
        for _ in 0..MOMENTS {
            let passed = now.now.since(scene.now);
            if within.is_some_and(|it| passed > it) {
                return Ends::Late(passed);
            }
            match now.view.get(key) {
                Some(entity) if !self.test(goal, &now, entity, None, None).unwrap_or(false) => {}
                _ => return Ends::True,
            }
            match wait(&self.law, &now) {
                Some((after, _)) => now = after,
                None => return Ends::Silence(passed),
            }
        }
        Ends::Rounds
    }
}
