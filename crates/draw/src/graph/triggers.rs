//! What makes the engine fire a transition.

use trackside_lifecycle::model::{Consequences, Follow, Lifecycle, Pack, StateSet, Target, Warn};
use trackside_lifecycle::name::Name;

use super::{Cause, Trigger, words};

/// A trigger, the transition it fires, and where.
#[derive(Clone, Debug)]
pub(super) struct Firing {
    pub fires: Name,
    pub trigger: Trigger,
    /// After how long, if time alone does it.
    pub span: Option<String>,
    /// Only in these states.
    pub within: Option<StateSet>,
}

impl Firing {
    pub fn can_be_in(&self, state: &str) -> bool {
        self.within.as_ref().is_none_or(|it| it.has(state))
    }
}

/// Everything that fires transitions of a lifecycle; with its pack, also what others fire.
pub(super) fn firings(life: &Lifecycle, pack: Option<&Pack>) -> Vec<Firing> {
    let mut found = Vec::new();
    let mut add =
        |fires: &Name, cause: Cause, name: &Name, span: Option<String>, within: Option<&StateSet>| {
            let trigger = Trigger { cause, name: name.clone() };
            let known =
                |it: &Firing| it.fires == *fires && it.trigger == trigger && it.within.as_ref() == within;
            if !found.iter().any(known) {
                found.push(Firing { fires: fires.clone(), trigger, span, within: within.cloned() });
            }
        };
    for timer in &life.timers {
        for state in &timer.runs.0 {
            let due = words::due(&timer.kind, life, Some(state));
            let here = StateSet(vec![state.clone()]);
            for (percent, follow) in warned(&timer.warn) {
                let span = format!("{percent} % of {due}");
                add(&follow.fire, Cause::Warning(percent), &timer.name, Some(span), Some(&here));
            }
            if let Some(then) = &timer.then {
                add(&then.fire, Cause::Timer, &timer.name, Some(due), Some(&here));
            }
        }
    }
    for slot in &life.slots {
        if let Some(lost) = &slot.lost {
            let lasts = words::span(&slot.lasts, life, None);
            add(lost, Cause::Lease, &slot.name, Some(format!("{lasts} of silence")), None);
        }
    }
    for (name, then, cause) in consequences(life) {
        for follow in &then.then {
            add(&follow.fire, cause, &name, None, None);
        }
    }
    for counter in &life.counters {
        let limits = counter.then.iter().chain(warned(&counter.warn).map(|(_, it)| it));
        for follow in limits {
            add(&follow.fire, Cause::Counter, &counter.name, None, None);
        }
    }
    for reaction in &life.reactions {
        add(&reaction.fire, Cause::Reaction, &reaction.name, None, reaction.within.as_ref());
    }
    for effect in &life.effects {
        for fires in effect.ok.iter().chain(&effect.failed) {
            add(fires, Cause::Effect, &effect.name, None, None);
        }
    }
    for invariant in &life.invariants {
        if let Some(repair) = &invariant.repair {
            add(repair, Cause::Repair, &invariant.name, None, invariant.within.as_ref());
        }
    }
    if let Some(again) = &life.create.again {
        add(again, Cause::Again, &life.name, None, None);
    }
    for other in pack.iter().flat_map(|it| &it.lifecycles) {
        for (name, then, _) in consequences(other) {
            for also in then.also.iter().filter(|it| it.to == life.name) {
                let name = Name::from(format!("{}.{name}", other.kind));
                add(&also.fire, Cause::Also, &name, None, also.within.as_ref());
            }
        }
        let warned =
            other.timers.iter().flat_map(|it| &it.warn).chain(other.counters.iter().flat_map(|it| &it.warn));
        for also in warned.flat_map(|it| &it.then.also).filter(|it| it.to == life.name) {
            add(&also.fire, Cause::Also, &other.kind, None, also.within.as_ref());
        }
    }
    for (role, rules) in pack.iter().flat_map(|it| &it.supervise) {
        if let Some(gives_up) = rules.gives_up.as_ref().filter(|it| it.on == life.name) {
            add(&gives_up.fire, Cause::Supervision, role, None, None);
        }
    }
    found
}

fn warned(steps: &[Warn]) -> impl Iterator<Item = (u32, &Follow)> {
    steps.iter().flat_map(|it| it.then.then.iter().map(|then| (it.percent, then)))
}

/// Every list of consequences of a lifecycle's moves, with the name of what they follow.
fn consequences(life: &Lifecycle) -> Vec<(Name, &Consequences, Cause)> {
    let mut found = vec![(Name::from("create"), &life.create.then, Cause::Then)];
    for arm in life.arms() {
        found.push((arm.transition.clone(), &arm.then, Cause::Then));
        if let Target::Choices(choices) = &arm.target {
            found.extend(choices.iter().map(|it| (arm.transition.clone(), &it.then, Cause::Then)));
        }
    }
    for state in &life.states {
        found.push((state.name.clone(), &state.enter, Cause::Then));
        found.push((state.name.clone(), &state.exit, Cause::Then));
        found.extend(state.always.iter().map(|it| (state.name.clone(), &it.then, Cause::Always)));
    }
    found
}
