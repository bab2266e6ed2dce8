//! Every move that the engine makes by itself: what it fires, where, and because of what.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Lifecycle, Pack, Read, SlotLook, With};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;

use crate::facts::Facts;
use crate::others::allows;
use crate::parts::{Origin, Part, parts, timer_way, timer_word};
use crate::reads::depends;
use crate::targets::{after, targets};
use crate::truth::{Given, possible};

/// Because of what a move is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Timer,
    Then,
    Also,
    Counter,
    Reaction,
    Lost,
    Effect,
    Repair,
    Supervision,
}

/// One move of the engine.
#[derive(Clone, Debug)]
pub struct Firing {
    pub cause: Cause,
    /// Where it is written.
    pub of: Name,
    pub way: Way,
    /// What fires it, as in "the deadline of X".
    pub what: String,
    /// Whom it moves, and by which transition.
    pub lifecycle: Name,
    pub fire: Name,
    /// The states in which it would be fired.
    pub states: Vec<Name>,
    /// They are exactly those: nothing else moves it before.
    pub sure: bool,
    /// It is fired whether or not the state can be left; else the others are passed over.
    pub insists: bool,
    /// What it brings; none if that comes from outside.
    pub brings: Option<Vec<Name>>,
    /// A reason may come with it.
    pub reasoned: bool,
}

/// All of a pack.
pub fn firings(pack: &Pack, facts: &[Facts<'_>]) -> Vec<Firing> {
    let mut all = Vec::new();
    for facts in facts {
        own(facts, &mut all);
    }
    for (role, rules) in &pack.supervise {
        if let Some(up) = &rules.gives_up {
            all.push(Firing {
                cause: Cause::Supervision,
                of: pack.name.clone(),
                way: Way::of(["supervise", role, "gives_up"]),
                what: format!("supervision of {role}"),
                lifecycle: up.on.clone(),
                fire: up.fire.clone(),
                states: open_states(pack, &up.on),
                sure: false,
                insists: false,
                brings: Some(names(&up.with)),
                reasoned: true,
            });
        }
    }
    all
}

fn own(facts: &Facts<'_>, all: &mut Vec<Firing>) {
    let life = facts.life;
    let mut push = |firing: Firing| all.push(firing);
    let base = |cause: Cause, way: Way, what: String, fire: &Name| Firing {
        cause,
        of: life.name.clone(),
        way,
        what,
        lifecycle: life.name.clone(),
        fire: fire.clone(),
        states: Vec::new(),
        sure: true,
        insists: true,
        brings: Some(Vec::new()),
        reasoned: false,
    };
    for timer in life.timers.iter().filter(|it| facts.waits_for_nothing(it).is_none()) {
        if let Some(then) = &timer.then {
            let way = timer_way(life, timer).key("then");
            let states = where_true(facts, then.when.as_ref(), &timer.runs.0);
            let brings = Some(names(&then.with));
            push(Firing { states, brings, ..base(Cause::Timer, way, timer_word(life, timer), &then.fire) });
        }
    }
    for part in parts(life) {
        let (mut states, sure) = landing(facts, &part);
        states.sort();
        states.dedup();
        for (n, then) in part.then.then.iter().enumerate() {
            let way = part.way.clone().key("then");
            let way = if part.then.then.len() > 1 { way.item(n) } else { way };
            push(Firing {
                states: where_true(facts, then.when.as_ref(), &states),
                sure: sure && n == 0,
                brings: Some(names(&then.with)),
                reasoned: true,
                ..base(Cause::Then, way, said(&part), &then.fire)
            });
        }
        for (n, also) in part.then.also.iter().enumerate() {
            let way = part.way.clone().key("also").item(n);
            let mut states = match &also.within {
                Some(within) => within.0.clone(),
                None => open_states(facts.pack, &also.to),
            };
            if let Some(when) = &also.when {
                states.retain(|it| allows(life, when, &also.on, it));
            }
            push(Firing {
                lifecycle: also.to.clone(),
                states,
                sure: also.within.is_some(),
                insists: !also.willing && !also.soft,
                brings: Some(names(&also.with)),
                reasoned: true,
                ..base(Cause::Also, way, said(&part), &also.fire)
            });
        }
    }
    for counter in &life.counters {
        if let Some(then) = &counter.then {
            let way = Way::of(["counters", &counter.name, "then"]);
            let what = format!("counter `{}`", counter.name);
            push(Firing {
                states: where_true(facts, then.when.as_ref(), &counted_in(life, &counter.name)),
                sure: false,
                brings: Some(names(&then.with)),
                reasoned: true,
                ..base(Cause::Counter, way, what, &then.fire)
            });
        }
    }
    for reaction in &life.reactions {
        let way = Way::of(["reactions", &reaction.name, "fire"]);
        let within =
            reaction.within.as_ref().map_or_else(|| open_states(facts.pack, &life.name), |it| it.0.clone());
        let what = format!("reaction `{}`", reaction.name);
        push(Firing {
            states: where_true(facts, Some(&reaction.when), &within),
            insists: false,
            brings: Some(names(&reaction.with)),
            ..base(Cause::Reaction, way, what, &reaction.fire)
        });
    }
    for invariant in &life.invariants {
        if let Some(repair) = &invariant.repair {
            let way = Way::of(["invariants", &invariant.name, "repair"]);
            let states = invariant
                .within
                .as_ref()
                .map_or_else(|| open_states(facts.pack, &life.name), |it| it.0.clone());
            let what = format!("the repair of invariant `{}`", invariant.name);
            push(Firing { states, sure: false, ..base(Cause::Repair, way, what, repair) });
        }
    }
    for slot in &life.slots {
        if let Some(lost) = &slot.lost {
            let way = Way::of(["slots", &slot.name, "lost"]);
            let what = format!("the loss of lease `{}`", slot.name);
            let states = held_in(facts, &slot.name);
            push(Firing { states, ..base(Cause::Lost, way, what, lost) });
        }
    }
    for effect in &life.effects {
        let states = asked_in(facts, &effect.name);
        for (key, home) in [("ok", &effect.ok), ("failed", &effect.failed)] {
            if let Some(home) = home {
                let way = Way::of(["effects", &effect.name, key]);
                let what = format!("the {key} result of effect `{}`", effect.name);
                let states = states.clone();
                push(Firing { states, sure: false, brings: None, ..base(Cause::Effect, way, what, home) });
            }
        }
    }
}

fn names(with: &With) -> Vec<Name> {
    with.iter().map(|(name, _)| name.clone()).collect()
}

/// What fires it, in a sentence.
fn said(part: &Part<'_>) -> String {
    match part.origin {
        Origin::Create => "creating one".to_owned(),
        Origin::Arm(arm) | Origin::Choice(arm, ..) => format!("`{}`", arm.transition),
        Origin::Always(state, ..) => format!("`always` of {state}"),
        Origin::Enter(state) => format!("entering {state}"),
        Origin::Exit(state) => format!("leaving {state}"),
        Origin::Timer(timer) => format!("a warning of `{}`", timer.name),
        Origin::Counter(name) => format!("a warning of `{name}`"),
    }
}

/// States in which something may still move.
pub fn open_states(pack: &Pack, lifecycle: &Name) -> Vec<Name> {
    let life = pack.lifecycles.iter().find(|it| it.name == *lifecycle);
    life.into_iter().flat_map(|it| &it.states).filter(|it| !it.last).map(|it| it.name.clone()).collect()
}

fn where_true(facts: &Facts<'_>, when: Option<&Guard>, states: &[Name]) -> Vec<Name> {
    let Some(when) = when else { return states.to_vec() };
    let open = |it: &&Name| {
        possible(facts, &[when], Given { states: std::slice::from_ref(*it), ..Given::default() })
    };
    states.iter().filter(open).cloned().collect()
}

/// Where the entity is once a part has been carried out, and whether that is certain.
pub fn landing(facts: &Facts<'_>, part: &Part<'_>) -> (Vec<Name>, bool) {
    let life = facts.life;
    match part.origin {
        Origin::Create => (vec![life.initial.clone()], true),
        Origin::Arm(arm) => (arm.from.0.iter().flat_map(|it| after(life, arm, it)).collect(), true),
        Origin::Choice(arm, choice) => {
            // From some of its states it may never be chosen.
            let from = where_true(facts, choice.when.as_ref(), &arm.from.0);
            let all = from.iter().flat_map(|it| targets(life, &choice.aim, it)).collect();
            (all, arm.then.then.is_empty())
        }
        Origin::Always(state, choice) => (targets(life, &choice.aim, state), true),
        Origin::Enter(state) => {
            let moves_on = |arm: &Arm| {
                !arm.then.then.is_empty() || arm.target.choices().iter().any(|it| !it.then.then.is_empty())
            };
            let leads = |arm: &Arm| arm.from.0.iter().any(|it| after(life, arm, it).contains(state));
            let before = life.arms().any(|it| moves_on(it) && leads(it));
            let exits = life.states.iter().any(|it| !it.exit.then.is_empty());
            (vec![state.clone()], !before && !exits)
        }
        Origin::Exit(state) => {
            let arms = life.arms().filter(|it| it.from.has(state));
            (arms.flat_map(|it| after(life, it, state)).collect(), false)
        }
        Origin::Timer(timer) => (timer.runs.0.clone(), true),
        Origin::Counter(name) => (counted_in(life, name), false),
    }
}

/// Where an entity is after something has counted.
fn counted_in(life: &Lifecycle, counter: &Name) -> Vec<Name> {
    let every = || life.states.iter().filter(|it| !it.last).map(|it| it.name.clone());
    if life.counter(counter).is_some_and(|it| it.on_moves) {
        return every().collect();
    }
    let arms = life.arms().filter(|it| it.count.contains(counter));
    let mut all: Vec<Name> =
        arms.flat_map(|arm| arm.from.0.iter().flat_map(|it| after(life, arm, it))).collect();
    if life.create.count.contains(counter) {
        all.push(life.initial.clone());
    }
    all.sort();
    all.dedup();
    all
}

/// Where a lease can be held: where it is granted, and wherever one gets to without its release.
pub fn held_in(facts: &Facts<'_>, slot: &Name) -> Vec<Name> {
    let life = facts.life;
    let mut held: Vec<Name> = Vec::new();
    for part in parts(life) {
        if part.then.lease.as_ref().is_some_and(|it| it.slot == *slot) {
            held.extend(landing(facts, &part).0);
        }
    }
    let mut next = 0;
    while let Some(from) = held.get(next).cloned() {
        next += 1;
        for arm in life.arms().filter(|it| it.from.has(&from)) {
            for (choice, aim) in crate::parts::aims(arm) {
                let when = choice.and_then(|it| arm.target.choices().get(it)).and_then(|it| it.when.as_ref());
                if where_true(facts, when, std::slice::from_ref(&from)).is_empty() {
                    continue;
                }
                for to in targets(life, aim, &from) {
                    if !held.contains(&to) && keeps(life, slot, (arm, choice), &from, &to) {
                        held.push(to);
                    }
                }
            }
        }
    }
    held.retain(|it| life.state(it).is_some_and(|it| !it.last));
    held.sort();
    held.dedup();
    held
}

/// Whether a lease that is held may still be held after a move.
pub fn keeps(
    life: &Lifecycle,
    slot: &Name,
    (arm, choice): (&Arm, Option<usize>),
    from: &Name,
    to: &Name,
) -> bool {
    if life.slot(slot).and_then(|it| it.lost.as_ref()) == Some(&arm.transition) {
        return false;
    }
    // A condition that asks whether it is held knows what it does.
    let asks = |guard: &Guard| {
        depends(life, guard, &|it| matches!(it, Read::Slot(name, SlotLook::Held) if name == slot))
    };
    let before =
        arm.target.choices().iter().take(choice.map_or(0, |it| it + 1)).filter_map(|it| it.when.as_ref());
    let checks = arm.checks.iter().map(|it| &it.guard);
    if std::iter::once(&arm.by).chain(checks).chain(before).any(asks) {
        return false;
    }
    let chosen = choice.and_then(|it| arm.target.choices().get(it)).map(|it| &it.then);
    let exit = life.state(from).map(|it| &it.exit).filter(|_| from != to);
    let enter = life.state(to).map(|it| &it.enter);
    let all = [Some(&arm.then), chosen, exit, enter];
    !all.into_iter().flatten().any(|it| it.release.contains(slot))
}

/// Where an entity is right after an effect was asked for.
pub fn asked_in(facts: &Facts<'_>, effect: &Name) -> Vec<Name> {
    let mut all: Vec<Name> = Vec::new();
    for part in parts(facts.life) {
        if part.then.effects.iter().any(|it| it.effect == *effect) {
            all.extend(landing(facts, &part).0);
        }
    }
    all.sort();
    all.dedup();
    all
}
