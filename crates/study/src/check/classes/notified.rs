//! States that wait for people who are not notified.
//!
//! A state qualifies if only people can leave it, no timer runs in it, and entering it has no notification, alert,
//! addressed post, creation or effect.

use trackside_lifecycle::model::{Consequences, NotifyOn, Read};
use trackside_lifecycle::source::DefinitionPath;

use super::join_names;
use crate::check::class::Class;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::firing::held_in;
use crate::check::graph::PossibleMove;
use crate::check::reads::depends;
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};
use crate::graph::Cause;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        for (n, state) in study.life().states.iter().enumerate() {
            let graph = &study.graph;
            let closed = state.last || state.outcome.is_some() || state.name == study.life().initial;
            if closed || !graph.is_reached(n) || graph.leaving(n).next().is_none() {
                continue;
            }
            let people = graph.leaving(n).all(|it| it.who.iter().all(|it| *it == CallerKind::Human));
            if !(people || is_open_to_anyone(study, n)) || has_timer(study, n) || tells(&state.enter) {
                continue;
            }
            // The actor that brought it there may be the one that continues.
            let unseen = |it: &&PossibleMove<'_>| people || is_by_itself(survey, study, it);
            let mut silent: Vec<String> = graph
                .entering(n)
                .filter(|it| it.from != n && graph.is_reached(it.from) && !notifies(study, it))
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
                "{} waits for {} ({}), but {} leads there without a notification",
                state.name,
                if people { "people" } else { "a caller" },
                join_names(&ways),
                join_names(&silent)
            );
            let advice =
                "notify them with `enter: { notify: … }` or under `notify`, or add a `deadline` with `warn`";
            let way = DefinitionPath::of(["states", &state.name]);
            let severity = if people { ProblemSeverity::Warning } else { ProblemSeverity::Note };
            let finding = Finding::new(Class::WaitsUntold, study.name(), way, message, advice);
            found.push(finding.weighing(severity).by_way_of(graph.route(n)));
        }
    }
}

/// Whether only a timer, a lost lease or an effect result causes it.
fn is_by_itself(survey: &Survey<'_>, study: &Study<'_>, it: &PossibleMove<'_>) -> bool {
    let mut fires = survey
        .firings
        .iter()
        .filter(|other| other.rule.lifecycle == *study.name() && other.rule.fire == it.by);
    it.who == [CallerKind::Engine]
        && fires.all(|it| matches!(it.rule.cause, Cause::Timer | Cause::Lease | Cause::Effect))
}

/// Whether any person or agent may move it on, and it is neither ranked nor leased.
fn is_open_to_anyone(study: &Study<'_>, state: usize) -> bool {
    let (life, graph) = (study.life(), &study.graph);
    let anyone = |it: &PossibleMove<'_>| {
        let particular = |it: &Read| matches!(it, Read::Role(_) | Read::ActorId | Read::SubjectId);
        it.arm.is_some_and(|it| !depends(life, &it.by, &particular))
            && it.who.contains(&CallerKind::Human)
            && !it.who.contains(&CallerKind::Engine)
    };
    let offered = life.rankings.iter().any(|it| it.within_states.has(graph.name(state)));
    let held = || {
        let mut slots = life.slots.iter();
        slots.any(|it| held_in(study.facts, &it.name).iter().any(|it| *it == *graph.name(state)))
    };
    graph.leaving(state).all(anyone) && !offered && !held()
}

/// Whether a clock runs there that moves it on or warns.
fn has_timer(study: &Study<'_>, state: usize) -> bool {
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

/// Whether a move notifies anyone.
fn notifies(study: &Study<'_>, it: &PossibleMove<'_>) -> bool {
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
