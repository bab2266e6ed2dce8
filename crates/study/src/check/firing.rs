//! The moves that the engine makes by itself: the rules of [`crate::graph`], and where each would be fired.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Lifecycle, Pack, Read, SlotAttribute, With};
use trackside_lifecycle::name::Name;

use crate::check::facts::Facts;
use crate::check::reads::depends;
use crate::check::satisfy::{Assumptions, possible};
use crate::graph::{
    Cause, Firing, Origin, Site, after, aims, firings, sites, supervision, targets, timer_word,
};
use crate::truth::{Partial, RefState};

/// A rule of the engine and where it would be fired.
#[derive(Clone, Debug)]
pub struct EngineMove<'a> {
    pub rule: Firing<'a>,
    /// The cause as a phrase: "the deadline of X".
    pub what: String,
    /// The states in which it would be fired.
    pub states: Vec<Name>,
    /// Whether the states are exact: no other move comes before it.
    pub sure: bool,
    /// Whether it is fired even if no arm leaves the state; otherwise such entities are skipped.
    pub insists: bool,
    /// The fields it sends; none if they come from outside.
    pub brings: Option<Vec<Name>>,
    /// Whether it can send a reason.
    pub reasoned: bool,
}

/// Every move of the engine in a pack.
pub fn engine_moves<'a>(pack: &'a Pack, facts: &[Facts<'a>]) -> Vec<EngineMove<'a>> {
    let mut all: Vec<EngineMove<'a>> = Vec::new();
    for facts in facts {
        all.extend(firings(facts.life).into_iter().filter_map(|it| placed(facts, it)));
    }
    all.extend(supervision(pack).into_iter().map(|rule| EngineMove {
        what: format!("supervision of {}", rule.name),
        states: open_states(pack, &rule.lifecycle),
        sure: false,
        insists: false,
        brings: rule.with.map(names),
        reasoned: true,
        rule,
    }));
    all
}

/// The move that a rule fires, with its states; none if it is never fired.
fn placed<'a>(facts: &Facts<'a>, rule: Firing<'a>) -> Option<EngineMove<'a>> {
    let life = facts.life;
    let within =
        |it: &Firing<'_>| it.within.map_or_else(|| open_states(facts.pack, &it.lifecycle), |it| it.0.clone());
    let name = &rule.name;
    let brings = Some(rule.with.map(names).unwrap_or_default());
    let plain = EngineMove {
        what: String::new(),
        states: Vec::new(),
        sure: true,
        insists: true,
        brings,
        reasoned: false,
        rule: rule.clone(),
    };
    if let (Some(site), None) = (&rule.site, rule.also) {
        let (mut states, sure) = landing(facts, site);
        states.sort();
        states.dedup();
        let first =
            site.then.then.first().zip(rule.with).is_some_and(|(it, with)| std::ptr::eq(&it.with, with));
        let states = where_true(facts, rule.when, &states);
        return Some(EngineMove {
            states,
            sure: sure && first,
            reasoned: true,
            what: site_words(site),
            ..plain
        });
    }
    Some(match rule.cause {
        Cause::Timer => {
            let timer = rule.timer.filter(|it| facts.waits_for_nothing(it).is_none())?;
            let states = where_true(facts, rule.when, &timer.runs.0);
            EngineMove { states, what: timer_word(life, timer), ..plain }
        }
        Cause::Also => {
            let also = rule.also?;
            let mut states = within(&rule);
            if let Some(when) = rule.when {
                let allows = |state: &Name| {
                    Partial::new(&life.reads, RefState { reference: &also.on, state }).truth(when)
                        != Some(false)
                };
                states.retain(allows);
            }
            let what = rule.site.as_ref().map(site_words).unwrap_or_default();
            let insists = !also.willing && !also.soft;
            EngineMove { states, sure: also.within.is_some(), insists, reasoned: true, what, ..plain }
        }
        Cause::Counter => {
            let states = where_true(facts, rule.when, &counted_in(life, name));
            EngineMove { states, sure: false, reasoned: true, what: format!("counter `{name}`"), ..plain }
        }
        Cause::Reaction => {
            let states = where_true(facts, rule.when, &within(&rule));
            EngineMove { states, insists: false, what: format!("reaction `{name}`"), ..plain }
        }
        Cause::Repair => {
            let what = format!("the repair of invariant `{name}`");
            EngineMove { states: within(&rule), sure: false, what, ..plain }
        }
        Cause::Lease => {
            let what = format!("the loss of lease `{name}`");
            EngineMove { states: held_in(facts, name), what, ..plain }
        }
        Cause::Effect => {
            let way = rule.way.to_string();
            let key = way.rsplit('.').next().unwrap_or_default();
            let what = format!("the {key} result of effect `{name}`");
            EngineMove { states: asked_in(facts, name), sure: false, brings: None, what, ..plain }
        }
        // The caller of the second creation requests it.
        Cause::Again | Cause::Supervision | Cause::Warning(_) | Cause::Then | Cause::Always => return None,
    })
}

fn names(with: &With) -> Vec<Name> {
    with.iter().map(|(name, _)| name.clone()).collect()
}

/// The cause as a phrase.
fn site_words(site: &Site<'_>) -> String {
    match site.origin {
        Origin::Create => "creating one".to_owned(),
        Origin::Arm(arm) | Origin::Choice(arm, ..) => format!("`{}`", arm.transition),
        Origin::Always(state, ..) => format!("`always` of {state}"),
        Origin::Enter(state) => format!("entering {state}"),
        Origin::Exit(state) => format!("leaving {state}"),
        Origin::Timer(timer, _) => format!("a warning of `{}`", timer.name),
        Origin::Counter(name) => format!("a warning of `{name}`"),
    }
}

/// States that some move leaves.
pub fn open_states(pack: &Pack, lifecycle: &Name) -> Vec<Name> {
    let life = pack.lifecycles.iter().find(|it| it.name == *lifecycle);
    life.into_iter().flat_map(|it| &it.states).filter(|it| !it.last).map(|it| it.name.clone()).collect()
}

fn where_true(facts: &Facts<'_>, when: Option<&Guard>, states: &[Name]) -> Vec<Name> {
    let Some(when) = when else { return states.to_vec() };
    let open = |it: &&Name| {
        possible(facts, &[when], Assumptions { states: std::slice::from_ref(*it), ..Assumptions::default() })
    };
    states.iter().filter(open).cloned().collect()
}

/// The states of the entity after the consequences of a site, and whether they are certain.
pub fn landing(facts: &Facts<'_>, site: &Site<'_>) -> (Vec<Name>, bool) {
    let life = facts.life;
    match site.origin {
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
        Origin::Timer(timer, _) => (timer.runs.0.clone(), true),
        Origin::Counter(name) => (counted_in(life, name), false),
    }
}

/// The states of an entity after a count.
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

/// The states in which a lease can be held: those where it is granted, and all that are reachable without
/// its release.
pub fn held_in(facts: &Facts<'_>, slot: &Name) -> Vec<Name> {
    let life = facts.life;
    let mut held: Vec<Name> = Vec::new();
    for site in sites(life) {
        if site.then.lease.as_ref().is_some_and(|it| it.slot == *slot) {
            held.extend(landing(facts, &site).0);
        }
    }
    let mut next = 0;
    while let Some(from) = held.get(next).cloned() {
        next += 1;
        for arm in life.arms().filter(|it| it.from.has(&from)) {
            for (choice, aim) in aims(arm) {
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
    // A condition that reads whether the lease is held handles both cases.
    let asks = |guard: &Guard| {
        depends(life, guard, &|it| matches!(it, Read::Slot(name, SlotAttribute::Held) if name == slot))
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

/// The states of an entity right after it requested an effect.
pub fn asked_in(facts: &Facts<'_>, effect: &Name) -> Vec<Name> {
    let mut all: Vec<Name> = Vec::new();
    for site in sites(facts.life) {
        if site.then.effects.iter().any(|it| it.effect == *effect) {
            all.extend(landing(facts, &site).0);
        }
    }
    all.sort();
    all.dedup();
    all
}
