//! Cycles of moves that can repeat forever.

use std::collections::VecDeque;

use trackside_lifecycle::model::{Lifecycle, Starts};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use super::bounds::{MoveLimit, bound, resets};
use super::join_names;
use crate::check::class::Class;
use crate::check::facts::by_default;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::graph::PossibleMove;
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let life = study.life();
        // A lifecycle without a final state is meant to repeat.
        let ends = life.states.iter().any(|it| it.last || it.outcome.is_some());
        if !ends || life.counters.iter().any(|it| it.on_moves && it.then.is_some()) {
            continue;
        }
        let going: Vec<(&PossibleMove<'_>, MoveLimit)> = study
            .graph
            .moves
            .iter()
            .filter(|it| study.graph.is_reached(it.from) && goes_on(life, it))
            .map(|it| (it, bound(survey.pack, life, it)))
            .collect();
        let free = |counters: &[Name]| -> Vec<&PossibleMove<'_>> {
            going.iter().filter(|(_, bound)| bound.is_by(counters)).map(|(it, _)| *it).collect()
        };
        let mut told = vec![false; study.graph.states.len()];
        report(study, &moves_without_people(&free(&[])), &mut told, ProblemSeverity::Warning, found);
        report(study, &free(&[]), &mut told, ProblemSeverity::Note, found);
        for (it, _) in &going {
            let counters = resets(life, it);
            if !counters.is_empty() {
                let moves = free(&counters);
                begun_anew(
                    study,
                    (it, &counters),
                    &moves_without_people(&moves),
                    &mut told,
                    ProblemSeverity::Warning,
                    found,
                );
                begun_anew(study, (it, &counters), &moves, &mut told, ProblemSeverity::Note, found);
            }
        }
    }
}

/// The moves that need no person.
fn moves_without_people<'m, 'a>(moves: &[&'m PossibleMove<'a>]) -> Vec<&'m PossibleMove<'a>> {
    moves.iter().filter(|it| it.who.iter().any(|it| *it != CallerKind::Human)).copied().collect()
}

/// A cycle whose counters are reset in every round.
fn begun_anew(
    study: &Study<'_>,
    (back, counters): (&PossibleMove<'_>, &[Name]),
    moves: &[&PossibleMove<'_>],
    told: &mut [bool],
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    if !moves.iter().any(|it| std::ptr::eq(*it, back)) {
        return;
    }
    // The cycle begins with the resetting move.
    let others = moves.iter().filter(|it| it.from != back.from || std::ptr::eq(**it, back));
    let Some(round) =
        round(back.from, &others.copied().collect::<Vec<_>>()).filter(|it| !is_timed(study, it))
    else {
        return;
    };
    let life = study.life();
    let counts =
        |name: &Name| round.iter().filter_map(|it| it.arm).filter(|it| it.count.contains(name)).count();
    let stops = |name: &Name| {
        let limit = life.counter(name).and_then(|it| by_default(life, it.limit.as_ref()?)?.as_float());
        limit.is_some_and(|it| it <= counts(name) as f64)
    };
    let known = round.iter().any(|it| told.get(it.from).copied().unwrap_or(true));
    let counted: Vec<&Name> = counters.iter().filter(|it| counts(it) > 0).collect();
    if known || counted.is_empty() || counted.iter().any(|it| stops(it)) {
        return;
    }
    for it in &round {
        if let Some(told) = told.get_mut(it.from) {
            *told = true;
        }
    }
    let names: Vec<String> = counted.iter().map(|it| format!("`{it}`")).collect();
    let why = format!("`{}` resets {} in every round", back.by, join_names(&names));
    let advice = "reset it outside the cycle, or limit the rounds with another counter";
    finding(study, &round, (&why, advice), severity, found);
}

/// The shortest round of each group of states that lead to each other.
fn report(
    study: &Study<'_>,
    moves: &[&PossibleMove<'_>],
    told: &mut [bool],
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    let groups = groups(study.graph.states.len(), moves);
    for group in groups {
        if group.iter().any(|it| told.get(*it).copied().unwrap_or(true)) {
            continue;
        }
        let rounds = group.iter().filter_map(|it| round(*it, moves)).filter(|it| !is_timed(study, it));
        let Some(round) = rounds.min_by_key(Vec::len) else { continue };
        for state in &group {
            if let Some(told) = told.get_mut(*state) {
                *told = true;
            }
        }
        let mut counted: Vec<String> = round
            .iter()
            .filter_map(|it| it.arm)
            .flat_map(|it| &it.count)
            .map(|it| format!("`{it}`"))
            .collect();
        counted.sort();
        counted.dedup();
        let why = match counted.as_slice() {
            [] => "no counter limits it".to_owned(),
            some => format!("{} counts the rounds but has no consequence", join_names(some)),
        };
        let advice = "add a counter with a `limit` and a `then`, or end it with a timer";
        finding(study, &round, (&why, advice), severity, found);
    }
}

fn finding(
    study: &Study<'_>,
    round: &[&PossibleMove<'_>],
    (why, advice): (&str, &str),
    severity: ProblemSeverity,
    found: &mut Vec<Finding>,
) {
    let graph = &study.graph;
    let Some(first) = round.first() else { return };
    let steps: Vec<String> = round.iter().map(|it| format!("{} -{}→ ", graph.name(it.from), it.by)).collect();
    let human = round.iter().any(|it| it.who.iter().all(|it| *it == CallerKind::Human));
    let who = if human { "a person decides in every round" } else { "no person takes part" };
    let message = format!(
        "the cycle {}{} can repeat forever: {why}, and {who}",
        steps.concat(),
        graph.name(first.from)
    );
    let way = DefinitionPath::of(["states", graph.name(first.from)]);
    let route = graph.route(first.from);
    found.push(
        Finding::new(Class::EndlessLoop, study.name(), way, message, advice)
            .weighing(severity)
            .by_way_of(route),
    );
}

/// Re-creation after a final state does not count as a round.
fn goes_on(life: &Lifecycle, it: &PossibleMove<'_>) -> bool {
    it.arm.is_some() && life.states.get(it.from).is_some_and(|it| !it.last)
}

/// Whether a clock that ends the cycle runs through all of it.
fn is_timed(study: &Study<'_>, round: &[&PossibleMove<'_>]) -> bool {
    study.life().timers.iter().any(|timer| {
        timer.then.is_some()
            && timer.starts != Starts::Entry
            && round.iter().all(|it| timer.runs.has(study.graph.name(it.from)))
            && !round.iter().any(|it| timer.restarts.contains(&it.by))
    })
}

/// Groups of states that lead to each other.
fn groups(states: usize, moves: &[&PossibleMove<'_>]) -> Vec<Vec<usize>> {
    let reach: Vec<Vec<bool>> = (0..states).map(|it| reachable_states(it, states, moves)).collect();
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
fn reachable_states(from: usize, states: usize, moves: &[&PossibleMove<'_>]) -> Vec<bool> {
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
fn round<'m, 'a>(start: usize, moves: &[&'m PossibleMove<'a>]) -> Option<Vec<&'m PossibleMove<'a>>> {
    let mut by: Vec<(usize, &'m PossibleMove<'a>)> = Vec::new();
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
