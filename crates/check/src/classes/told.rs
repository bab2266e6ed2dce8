//! States that wait for people who are not told.
//!
//! A state does, if it can be left by people only, no clock runs in it, and coming there neither
//! notifies, alerts, posts to somebody, creates anything nor asks the outside for anything.

use trackside_lifecycle::model::{Consequences, NotifyOn, Read};
use trackside_lifecycle::source::Way;

use super::listed;
use crate::class::Class;
use crate::finding::{Finding, Severity};
use crate::firing::{Cause, held_in};
use crate::graph::Move;
use crate::reads::depends;
use crate::survey::{Study, Survey};
use crate::truth::Who;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        for (n, state) in study.life().states.iter().enumerate() {
            let graph = &study.graph;
            let closed = state.last || state.outcome.is_some() || state.name == study.life().initial;
            if closed || !graph.is_reached(n) || graph.leaving(n).next().is_none() {
                continue;
            }
            let people = graph.leaving(n).all(|it| it.who.iter().all(|it| *it == Who::Human));
            if !(people || is_open_to_anyone(study, n)) || clocked(study, n) || tells(&state.enter) {
                continue;
            }
            // Whoever brought it there may well be the one who moves it on.
            let unseen = |it: &&Move<'_>| people || is_by_itself(survey, study, it);
            let mut silent: Vec<String> = graph
                .entering(n)
                .filter(|it| it.from != n && graph.is_reached(it.from) && !told(study, it))
                .filter(unseen)
                .map(|it| format!("`{}`", it.by))
                .collect();
            silent.sort();
            silent.dedup();
            if silent.is_empty() {
                continue;
            }
            let mut ways: Vec<String> = graph.leaving(n).map(|it| format!("`{}`", it.by)).collect();
            ways.sort();
            ways.dedup();
            let message = format!(
                "{} waits for {} ({}), and {} brings it there without telling anybody",
                state.name,
                if people { "people" } else { "anybody" },
                listed(&ways),
                listed(&silent)
            );
            let advice =
                "tell them: `enter: { notify: … }` or a line under `notify`; or let a `deadline` warn";
            let way = Way::of(["states", &state.name]);
            let severity = if people { Severity::Warning } else { Severity::Note };
            let finding = Finding::new(Class::WaitsUntold, study.name(), way, message, advice);
            found.push(finding.weighing(severity).by_way_of(graph.route(n)));
        }
    }
}

/// Whether nobody's act brings it about: a clock, a lost lease, the result of an effect.
fn is_by_itself(survey: &Survey<'_>, study: &Study<'_>, it: &Move<'_>) -> bool {
    let mut fires =
        survey.firings.iter().filter(|other| other.lifecycle == *study.name() && other.fire == it.by);
    it.who == [Who::Engine] && fires.all(|it| matches!(it.cause, Cause::Timer | Cause::Lost | Cause::Effect))
}

/// Whether people and others may move it on, nobody in particular, and it is neither offered nor held.
fn is_open_to_anyone(study: &Study<'_>, state: usize) -> bool {
    let (life, graph) = (study.life(), &study.graph);
    let anyone = |it: &Move<'_>| {
        let particular = |it: &Read| matches!(it, Read::Role(_) | Read::ActorId | Read::SubjectId);
        it.arm.is_some_and(|it| !depends(life, &it.by, &particular))
            && it.who.contains(&Who::Human)
            && !it.who.contains(&Who::Engine)
    };
    let offered = life.rankings.iter().any(|it| it.within_states.has(graph.name(state)));
    let held = || {
        let mut slots = life.slots.iter();
        slots.any(|it| held_in(study.facts, &it.name).iter().any(|it| *it == *graph.name(state)))
    };
    graph.leaving(state).all(anyone) && !offered && !held()
}

/// Whether a clock runs there that moves it on or warns.
fn clocked(study: &Study<'_>, state: usize) -> bool {
    let name = study.graph.name(state);
    study.life().timers.iter().any(|it| it.runs.has(name) && (it.then.is_some() || !it.warn.is_empty()))
}

fn tells(then: &Consequences) -> bool {
    !then.notify.is_empty()
        || !then.alert.is_empty()
        || !then.create.is_empty()
        || !then.effects.is_empty()
        || !then.also.is_empty()
        || !then.then.is_empty()
        || then.post.iter().any(|it| it.to.is_some())
}

/// Whether a move tells anybody.
fn told(study: &Study<'_>, it: &Move<'_>) -> bool {
    let parts = [it.arm.map(|it| &it.then), it.choice.map(|it| &it.then)];
    let exit = study.life().states.get(it.from).map(|it| &it.exit);
    if parts.into_iter().flatten().chain(exit).any(tells) {
        return true;
    }
    let to = study.graph.name(it.to);
    study.life().notify.iter().any(|rule| {
        let there = rule.within.as_ref().is_none_or(|it| it.has(to));
        let then = match &rule.on {
            NotifyOn::Moves => true,
            NotifyOn::Transitions(names) => names.contains(&it.by),
        };
        there && then
    })
}
