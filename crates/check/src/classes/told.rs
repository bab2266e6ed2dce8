//! States that wait for people who are not told.
//!
//! A state does, if it can be left by people only, no clock runs in it, and coming there neither
//! notifies, alerts, posts to somebody, creates anything nor asks the outside for anything.

use trackside_lifecycle::model::{Consequences, NotifyOn};
use trackside_lifecycle::source::Way;

use super::listed;
use crate::class::Class;
use crate::finding::Finding;
use crate::graph::Move;
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
            if !people || clocked(study, n) || tells(&state.enter) {
                continue;
            }
            let mut silent: Vec<String> = graph
                .entering(n)
                .filter(|it| it.from != n && graph.is_reached(it.from) && !told(study, it))
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
                "{} waits for people ({}), and {} brings it there without telling anybody",
                state.name,
                listed(&ways),
                listed(&silent)
            );
            let advice =
                "tell them: `enter: { notify: … }` or a line under `notify`; or let a `deadline` warn";
            let way = Way::of(["states", &state.name]);
            found.push(
                Finding::new(Class::WaitsUntold, study.name(), way, message, advice)
                    .by_way_of(graph.route(n)),
            );
        }
    }
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
