//! The reads of expressions, through relations and computed fields.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, Read, TimerKind};

use crate::graph::sites;

/// Whether it reads a wanted value, directly or through a relation or a computed field.
pub fn depends(life: &Lifecycle, guard: &Guard, wanted: &dyn Fn(&Read) -> bool) -> bool {
    guard.reads().iter().filter_map(|it| life.reads.get(it.slot.0 as usize)).any(|read| {
        wanted(read)
            || match read {
                Read::Relation(inner) | Read::Computed(inner) => depends(life, inner, wanted),
                _ => false,
            }
    })
}

/// The expressions that decide: conditions, assignments and limits.
pub fn expressions(life: &Lifecycle) -> Vec<&Guard> {
    let mut all: Vec<&Guard> = life.fields.values().filter_map(|it| it.is.as_ref()).collect();
    for arm in life.arms() {
        all.push(&arm.by);
        all.extend(arm.checks.iter().map(|it| &it.guard));
        all.extend(arm.target.choices().iter().filter_map(|it| it.when.as_ref()));
    }
    for part in sites(life) {
        all.extend(part.then.set.iter().map(|it| &it.value));
        all.extend(part.then.then.iter().filter_map(|it| it.when.as_ref()));
        all.extend(part.then.also.iter().filter_map(|it| it.when.as_ref()));
        all.extend(part.then.alert.iter().filter_map(|it| it.when.as_ref()));
        all.extend(part.then.notify.iter().filter_map(|it| it.when.as_ref()));
    }
    for state in &life.states {
        all.extend(state.checks.iter().map(|it| &it.guard));
        all.extend(state.always.iter().filter_map(|it| it.when.as_ref()));
    }
    for gate in &life.gates {
        all.extend(gate.applies.iter().chain([&gate.open]));
    }
    for timer in &life.timers {
        all.extend(timer.then.iter().filter_map(|it| it.when.as_ref()));
        if let TimerKind::After(after) = &timer.kind {
            all.push(after);
        }
    }
    for counter in &life.counters {
        let then = counter.then.as_ref().and_then(|it| it.when.as_ref());
        all.extend([&counter.limit, &counter.only_if, &counter.add].into_iter().flatten().chain(then));
    }
    for slot in &life.slots {
        all.push(&slot.lasts);
        all.extend(slot.grace.iter().chain(slot.goes_on.iter().map(|it| &it.guard)));
    }
    all.extend(life.reactions.iter().map(|it| &it.when));
    all.extend(life.invariants.iter().map(|it| &it.holds));
    all
}
