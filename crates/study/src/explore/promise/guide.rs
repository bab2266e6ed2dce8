//! Guides the search towards worlds that break a promise.
//!
//! The estimate for a promise has three parts: how many transitions the entity is away from a state in which the promise
//! can be broken, whether the moves so far write what the promise reads, and whether the values that it reads are new.

use std::collections::{BTreeMap, VecDeque};

use trackside_engine::entity::Entity;
use trackside_lifecycle::model::{Lifecycle, Pack, Partial, PropertyKind};
use trackside_lifecycle::name::Name;

use super::relation::{ReadsAndWrites, TransitionKey};
use super::{Mark, Promise, Promises};
use crate::explore::search::Guide;
use crate::explore::world::{Cone, StageModel, WorldMove, WorldState, values_read};
use crate::graph;
use crate::truth::DefaultSettings;

/// What a state is away from that leads to no state in which the promise can be broken.
const FAR: u32 = 12;
/// What one transition on the shortest way counts.
const STEP: u32 = 2;
/// What moves cost that write nothing that matters.
const ASIDE: u32 = 3;

/// Guides the search towards each promise.
#[derive(Debug)]
pub struct PromiseGuide {
    marks: Vec<u32>,
    goals: Vec<Goal>,
}

/// A promise to break.
#[derive(Debug)]
struct Goal {
    lifecycle: Name,
    /// Transitions by the number of steps that they are away from breaking it.
    steps: BTreeMap<TransitionKey, u32>,
    /// The number of transitions from each state to one in which it can be broken.
    distances: BTreeMap<Name, u32>,
    /// From no entity at all.
    absent: u32,
    /// The values that it reads.
    cone: Cone,
}

impl PromiseGuide {
    pub(crate) fn of(promises: &Promises, pack: &Pack) -> Self {
        let relation = ReadsAndWrites::of(pack);
        let mut guide = Self { marks: Vec::new(), goals: Vec::new() };
        for (number, promise) in promises.list.iter().enumerate() {
            let Some(mark) = promises.marks.number(&Mark::Promise(number)) else { continue };
            let Some(life) = pack.lifecycles.iter().find(|it| it.name == promise.lifecycle) else { continue };
            let distances = distances(life, promise);
            guide.marks.push(mark);
            guide.goals.push(Goal {
                lifecycle: life.name.clone(),
                steps: relation.steps_to(pack, promise),
                absent: distances.get(&life.initial).copied().unwrap_or(FAR) + STEP,
                distances,
                cone: Cone::of_guards(pack, life, &promise.property.kind.guards()),
            });
        }
        guide
    }
}

impl Guide<StageModel<'_>> for PromiseGuide {
    fn goals(&self) -> &[u32] {
        &self.marks
    }

    fn costs(&self, _: &WorldState, by: &WorldMove, _: &WorldState, into: &mut [u32]) {
        for (goal, cost) in self.goals.iter().zip(into) {
            let steps = by
                .entries
                .iter()
                .filter_map(|it| goal.steps.get(&(it.entity.lifecycle.clone(), it.trigger.clone())).copied());
            *cost = steps.min().map_or(ASIDE, |it| it + 1);
        }
    }

    fn estimates(&self, world: &WorldState, into: &mut [(u32, u64)]) {
        let entities = world.entities();
        for (goal, estimate) in self.goals.iter().zip(into) {
            let away = |it: &&&Entity| goal.distances.get(&it.state).copied().unwrap_or(FAR);
            let own = entities.iter().filter(|it| it.key.lifecycle == goal.lifecycle);
            let left = own.map(|it| away(&it)).min().unwrap_or(goal.absent);
            *estimate = (left, values_read(&goal.cone, &entities, world.now));
        }
    }
}

/// The cost from each state to one in which a promise can be broken.
fn distances(life: &Lifecycle, promise: &Promise) -> BTreeMap<Name, u32> {
    let mut ahead: BTreeMap<&Name, Vec<Name>> = BTreeMap::new();
    for arm in life.arms() {
        for from in &arm.from.0 {
            ahead.entry(from).or_default().extend(graph::after(life, arm, from));
        }
    }
    for state in &life.states {
        for choice in &state.always {
            ahead.entry(&state.name).or_default().extend(graph::targets(life, &choice.aim, &state.name));
        }
    }
    let mut known: BTreeMap<Name, u32> = BTreeMap::new();
    let mut queue: VecDeque<Name> = VecDeque::new();
    let on = &promise.property.on;
    for state in life.states.iter().map(|it| &it.name) {
        let begins = if on.is_empty() {
            can_break(life, promise, state)
        } else {
            // The promise is checked after the transition.
            let arms = life.arms().filter(|it| on.contains(&it.transition) && it.from.has(state));
            arms.flat_map(|it| graph::after(life, it, state)).any(|it| can_break(life, promise, &it))
        };
        if begins {
            known.insert(state.clone(), u32::from(!on.is_empty()) * STEP);
            queue.push_back(state.clone());
        }
    }
    while let Some(to) = queue.pop_front() {
        let far = known.get(&to).copied().unwrap_or_default() + STEP;
        for (from, targets) in &ahead {
            if targets.contains(&to) && !known.contains_key(*from) {
                known.insert((*from).clone(), far);
                queue.push_back((*from).clone());
            }
        }
    }
    known
}

/// Whether a promise can be broken by an entity in a state, judged by the state alone.
fn can_break(life: &Lifecycle, promise: &Promise, state: &Name) -> bool {
    if promise.property.within.as_ref().is_some_and(|it| !it.has(state)) {
        return false;
    }
    let partial = Partial::new(&life.reads, DefaultSettings { settings: &[], state: Some(state) });
    match &promise.property.kind {
        PropertyKind::Never(guard) | PropertyKind::Reachable(guard) => partial.truth(guard) != Some(false),
        PropertyKind::Always(guard) => partial.truth(guard) != Some(true),
        PropertyKind::Eventually { goal, when, .. } => {
            partial.truth(goal) != Some(true)
                && when.as_ref().is_none_or(|it| partial.truth(it) != Some(false))
        }
        PropertyKind::Alone { to, .. } => partial.truth(to) != Some(false),
    }
}
