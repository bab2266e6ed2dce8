//! Rounds of moves that can be gone for ever.

use std::collections::VecDeque;

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Assign, Fit, Lifecycle, Look, Read, Spot, Starts};
use trackside_lifecycle::source::Way;

use crate::class::Class;
use crate::finding::{Finding, Severity};
use crate::graph::Move;
use crate::parts::choices;
use crate::reads::depends;
use crate::survey::{Study, Survey};
use crate::truth::Who;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        // A lifecycle without an end is meant to go on.
        let ends = life.states.iter().any(|it| it.last || it.outcome.is_some());
        if !ends || life.counters.iter().any(|it| it.on_moves && it.then.is_some()) {
            continue;
        }
        let free: Vec<&Move<'_>> = study
            .graph
            .moves
            .iter()
            .filter(|it| study.graph.is_reached(it.from) && goes_on(life, it) && !is_bounded(life, it))
            .collect();
        let alone: Vec<&Move<'_>> =
            free.iter().filter(|it| it.who.iter().any(|it| *it != Who::Human)).copied().collect();
        let mut told = vec![false; study.graph.states.len()];
        report(study, &alone, &mut told, Severity::Warning, found);
        report(study, &free, &mut told, Severity::Note, found);
    }
}

/// The shortest round of each group of states that lead to each other.
fn report(
    study: &Study<'_>,
    moves: &[&Move<'_>],
    told: &mut [bool],
    severity: Severity,
    found: &mut Vec<Finding>,
) {
    let groups = groups(study.graph.states.len(), moves);
    for group in groups {
        if group.iter().any(|it| told.get(*it).copied().unwrap_or(true)) {
            continue;
        }
        let rounds = group.iter().filter_map(|it| round(*it, moves)).filter(|it| !timed(study, it));
        let Some(round) = rounds.min_by_key(Vec::len) else { continue };
        for state in &group {
            if let Some(told) = told.get_mut(*state) {
                *told = true;
            }
        }
        finding(study, &round, severity, found);
    }
}

fn finding(study: &Study<'_>, round: &[&Move<'_>], severity: Severity, found: &mut Vec<Finding>) {
    let graph = &study.graph;
    let Some(first) = round.first() else { return };
    let steps: Vec<String> = round.iter().map(|it| format!("{} -{}→ ", graph.name(it.from), it.by)).collect();
    let human = round.iter().any(|it| it.who.iter().all(|it| *it == Who::Human));
    let who = if human { "people decide about it each time" } else { "no person has to agree" };
    let message = format!(
        "{}{} can be gone for ever: nothing counts the rounds, and {who}",
        steps.concat(),
        graph.name(first.from)
    );
    let advice = "count them with a counter that has a `limit` and a `then`, or let a timer end it";
    let way = Way::of(["states", graph.name(first.from)]);
    let route = graph.route(first.from);
    found.push(
        Finding::new(Class::EndlessLoop, study.name(), way, message, advice)
            .weighing(severity)
            .by_way_of(route),
    );
}

/// Beginning anew after an end is another life.
fn goes_on(life: &Lifecycle, it: &Move<'_>) -> bool {
    it.arm.is_some() && life.states.get(it.from).is_some_and(|it| !it.last)
}

/// Whether something on the way counts or limits it.
fn is_bounded(life: &Lifecycle, it: &Move<'_>) -> bool {
    let Some(arm) = it.arm else { return false };
    if !arm.count.is_empty() {
        return true;
    }
    let mut guards: Vec<&Guard> = vec![&arm.by];
    guards.extend(arm.checks.iter().map(|it| &it.guard));
    guards.extend(choices(arm).iter().filter_map(|it| it.when.as_ref()));
    guards.extend(life.states.get(it.to).into_iter().flat_map(|it| &it.checks).map(|it| &it.guard));
    let rests = [it.from, it.to].into_iter().filter_map(|it| life.states.get(it));
    guards.extend(rests.flat_map(|it| &it.always).filter_map(|it| it.when.as_ref()));
    let ends = [life.states.get(it.from).map(|it| &it.exit), life.states.get(it.to).map(|it| &it.enter)];
    let parts = [Some(&arm.then), it.choice.map(|it| &it.then)].into_iter().chain(ends);
    for then in parts.flatten() {
        guards.extend(then.then.iter().filter_map(|it| it.when.as_ref()));
        if then.set.iter().any(|it| by_hand(life, it)) {
            return true;
        }
    }
    guards.iter().any(|it| sizes(it) || depends(life, it, &|read| measures(life, read)))
}

/// A field that is set to something made of itself counts, if it is a number.
fn by_hand(life: &Lifecycle, assign: &Assign) -> bool {
    let Spot::Field(name) = &assign.spot else { return false };
    let own = |read: &Read| matches!(read, Read::Field(it) if it == name) && measures(life, read);
    depends(life, &assign.value, &own)
}

/// Asks how many there are of something.
fn sizes(guard: &Guard) -> bool {
    let mut found = false;
    guard.outline().walk(&mut |it| found |= matches!(it, Outline::Call(name, _) if name == "Size"));
    found
}

/// Reads a number or the time: a limit of some kind.
fn measures(life: &Lifecycle, read: &Read) -> bool {
    let number = |name: &str| {
        life.field(name).is_some_and(|it| matches!(it.fits.fit, Fit::Int { .. } | Fit::Number { .. }))
    };
    match read {
        Read::Counter(_) | Read::Counters(_) | Read::Visits | Read::Group(..) | Read::Rank(_) | Read::Now => {
            true
        }
        Read::TimeInState | Read::TimeByState | Read::TotalTime | Read::Overdue => true,
        Read::Field(name) | Read::Was(name) => number(name),
        Read::Ref(_, look) | Read::Me(look) => matches!(look, Look::Counter(_) | Look::Group(..)),
        _ => false,
    }
}

/// Whether a clock runs through the whole round that ends it.
fn timed(study: &Study<'_>, round: &[&Move<'_>]) -> bool {
    study.life().timers.iter().any(|timer| {
        timer.then.is_some()
            && timer.starts != Starts::Entry
            && round.iter().all(|it| timer.runs.has(study.graph.name(it.from)))
            && !round.iter().any(|it| timer.restarts.contains(&it.by))
    })
}

/// Groups of states that lead to each other.
fn groups(states: usize, moves: &[&Move<'_>]) -> Vec<Vec<usize>> {
    let reach: Vec<Vec<bool>> = (0..states).map(|it| reached(it, states, moves)).collect();
    let leads = |a: usize, b: usize| reach.get(a).and_then(|it| it.get(b)).copied().unwrap_or(false);
    let mut seen = vec![false; states];
    let mut groups = Vec::new();
    for state in 0..states {
        if seen.get(state).copied().unwrap_or(true) || !leads(state, state) {
            continue;
        }
        let group: Vec<usize> = (0..states).filter(|it| leads(state, *it) && leads(*it, state)).collect();
        for it in &group {
            if let Some(seen) = seen.get_mut(*it) {
                *seen = true;
            }
        }
        groups.push(group);
    }
    groups
}

/// States that can be reached from one by at least one move.
fn reached(from: usize, states: usize, moves: &[&Move<'_>]) -> Vec<bool> {
    let mut reached = vec![false; states];
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        for it in moves.iter().filter(|it| it.from == at) {
            if let Some(seen @ false) = reached.get_mut(it.to) {
                *seen = true;
                next.push(it.to);
            }
        }
    }
    reached
}

/// The shortest way from a state back to itself.
fn round<'m, 'a>(start: usize, moves: &[&'m Move<'a>]) -> Option<Vec<&'m Move<'a>>> {
    let mut by: Vec<(usize, &'m Move<'a>)> = Vec::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for it in moves.iter().filter(|it| it.from == at) {
            if it.to == start {
                let mut round = vec![*it];
                let mut at = at;
                while at != start {
                    let (_, before) = by.iter().find(|(to, _)| *to == at)?;
                    round.push(before);
                    at = before.from;
                }
                round.reverse();
                return Some(round);
            }
            if !by.iter().any(|(to, _)| *to == it.to) {
                by.push((it.to, it));
                next.push_back(it.to);
            }
        }
    }
    None
}
