//! Moves that the engine fires on an entity by itself.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{FollowUp, Lifecycle, Pack, StateSet};
use trackside_lifecycle::name::Name;

use super::condition::ModelCondition;
use super::condition_reads::constant;
use super::domain::AbstractValue;
use super::frame::MoveFrame;
use super::shape::EntityShape;
use super::tree::may_if;

/// One reason for the engine to fire a transition.
pub(super) struct FireReason<'a> {
    pub fire: &'a Name,
    /// Only in these states.
    pub within: Option<&'a StateSet>,
    pub when: Option<&'a Guard>,
    /// The fields it sends, if they are known.
    pub given: Option<Vec<Name>>,
    /// The counter whose limit was reached.
    pub counter: Option<&'a Name>,
}

/// Every reason there is in the pack.
pub(super) fn fire_reasons<'a>(pack: &'a Pack, life: &'a Lifecycle) -> Vec<FireReason<'a>> {
    let mut all = Vec::new();
    for part in life.consequences() {
        all.extend(part.then.iter().map(|it| follow(it, None, None)));
    }
    for timer in &life.timers {
        all.extend(timer.then.iter().map(|it| follow(it, Some(&timer.runs), None)));
    }
    for counter in &life.counters {
        all.extend(counter.then.iter().map(|it| follow(it, None, Some(&counter.name))));
    }
    for it in &life.reactions {
        let given = Some(it.with.iter().map(|(name, _)| name.clone()).collect());
        all.push(FireReason {
            fire: &it.fire,
            within: it.within.as_ref(),
            when: Some(&it.when),
            given,
            counter: None,
        });
    }
    let bare = |fire, within| FireReason { fire, within, when: None, given: None, counter: None };
    for effect in &life.effects {
        all.extend(effect.ok.iter().chain(&effect.failed).map(|it| bare(it, None)));
    }
    all.extend(life.create.again.iter().map(|it| bare(it, None)));
    all.extend(life.slots.iter().filter_map(|it| it.lost.as_ref()).map(|it| bare(it, None)));
    for it in &life.invariants {
        all.extend(it.repair.iter().map(|repair| bare(repair, it.within.as_ref())));
    }
    for other in &pack.lifecycles {
        for also in other.consequences().into_iter().flat_map(|it| &it.also).filter(|it| it.to == life.name) {
            let given = Some(also.with.iter().map(|(name, _)| name.clone()).collect());
            all.push(FireReason {
                fire: &also.fire,
                within: also.within.as_ref(),
                when: None,
                given,
                counter: None,
            });
        }
    }
    let given_up = pack.supervise.values().filter_map(|it| it.gives_up.as_ref());
    all.extend(given_up.filter(|it| it.on == life.name).map(|it| bare(&it.fire, None)));
    all
}

fn follow<'a>(it: &'a FollowUp, within: Option<&'a StateSet>, counter: Option<&'a Name>) -> FireReason<'a> {
    let given = Some(it.with.iter().map(|(name, _)| name.clone()).collect());
    FireReason { fire: &it.fire, within, when: it.when.as_ref(), given, counter }
}

/// The fields of each creation by the engine.
pub(super) fn created_field_sets<'a>(pack: &'a Pack, life: &'a Lifecycle) -> Vec<Vec<Name>> {
    let parts = pack.lifecycles.iter().flat_map(|it| it.consequences());
    let births = parts.flat_map(|it| &it.create).filter(|it| it.lifecycle == life.name);
    let mut all: Vec<Vec<Name>> =
        births.map(|it| it.fields.iter().map(|(name, _)| name.clone()).collect()).collect();
    if life.one {
        all.push(Vec::new());
    }
    all.sort();
    all.dedup();
    all
}

impl FireReason<'_> {
    /// The condition under which it may occur in a state.
    pub fn may_come(&self, shape: &EntityShape<'_>, state: &Name) -> ModelCondition {
        if self.within.is_some_and(|it| !it.has(state)) {
            return ModelCondition::Never;
        }
        let frame = MoveFrame::still(shape, AbstractValue::Known(state.into()));
        ModelCondition::all([may_if(&frame, self.when, true), self.reach_condition(shape, &frame)])
    }

    /// The condition under which the counter may have reached its limit: any of its tallies.
    fn reach_condition(&self, shape: &EntityShape<'_>, frame: &MoveFrame<'_>) -> ModelCondition {
        let Some(counter) = self.counter.and_then(|it| shape.life.counter(it)) else {
            return ModelCondition::Always;
        };
        let limit = counter.limit.as_ref().and_then(|it| constant(shape, &it.outline()));
        let variables: Vec<usize> = shape.tallies_of(&counter.name).collect();
        let (Some(limit), false) = (limit, variables.is_empty()) else { return ModelCondition::Always };
        ModelCondition::any(variables.into_iter().map(|variable| {
            let reaches = |value: &u8| match shape.decode(variable, *value) {
                AbstractValue::Known(it) => it.as_int().is_none_or(|it| it >= limit),
                _ => true,
            };
            let values: Vec<u8> = (0..=u8::MAX).take(shape.size(variable)).filter(reaches).collect();
            frame.when(variable, &values)
        }))
    }
}
