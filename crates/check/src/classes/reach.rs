//! States that cannot be reached, cannot be left, or lead nowhere.

use trackside_lifecycle::source::Way;

use super::listed;
use crate::class::Class;
use crate::finding::Finding;
use crate::survey::{Study, Survey};
use crate::targets::after;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        unreachable(study, found);
        traps(study, found);
        circles(study, found);
    }
}

fn way(study: &Study<'_>, state: usize) -> Way {
    Way::of(["states", study.graph.name(state)])
}

fn unreachable(study: &Study<'_>, found: &mut Vec<Finding>) {
    let graph = &study.graph;
    for state in (0..graph.states.len()).filter(|it| !graph.is_reached(*it)) {
        let name = graph.name(state);
        let ways: Vec<String> = graph
            .entering(state)
            .filter(|it| it.from != state)
            .map(|it| format!("`{}` from {}", it.by, graph.name(it.from)))
            .collect();
        let (why, advice) = if ways.is_empty() {
            (
                format!("no move that anybody can make leads to {name}"),
                "let a transition go there, or leave the state out".to_owned(),
            )
        } else {
            (
                format!("{name} is reached only by {}, and nothing leads there", listed(&ways)),
                "give the states before it a way in, or leave them all out".to_owned(),
            )
        };
        found.push(Finding::new(Class::UnreachableState, study.name(), way(study, state), why, advice));
    }
}

/// States that are closed: final, or with an outcome.
fn ends(study: &Study<'_>) -> Vec<usize> {
    let states = study.life().states.iter().enumerate();
    states.filter(|(_, it)| it.last || it.outcome.is_some()).map(|(n, _)| n).collect()
}

fn is_trap(study: &Study<'_>, state: usize) -> bool {
    let graph = &study.graph;
    let Some(decl) = study.life().states.get(state) else { return false };
    let open = !decl.last && decl.outcome.is_none() && graph.is_reached(state);
    open && graph.states.len() > 1 && graph.leaving(state).next().is_none()
}

fn traps(study: &Study<'_>, found: &mut Vec<Finding>) {
    let (life, graph) = (study.life(), &study.graph);
    for (state, name) in graph.states.iter().enumerate().filter(|(it, _)| is_trap(study, *it)) {
        let closed: Vec<String> = life
            .transitions
            .iter()
            .flat_map(|it| &it.arms)
            .filter(|arm| arm.from.has(name) && after(life, arm, name).iter().any(|it| it != name))
            .map(|it| format!("`{}`", it.transition))
            .collect();
        let message = if closed.is_empty() {
            format!("whatever comes to {name} stays there: no move leaves it, and it is not final")
        } else {
            format!(
                "whatever comes to {name} stays there: {} would leave it, but nobody can take that",
                listed(&closed)
            )
        };
        let advice = "give it a way out, or `final: true` if this is an end";
        found.push(
            Finding::new(Class::TrapState, study.name(), way(study, state), message, advice)
                .by_way_of(graph.route(state)),
        );
    }
}

/// Groups of states that can be left, but only for each other.
fn circles(study: &Study<'_>, found: &mut Vec<Finding>) {
    let graph = &study.graph;
    let ends = ends(study);
    if ends.is_empty() {
        return;
    }
    let leads = graph.leading_to(&ends);
    let lost: Vec<usize> = (0..graph.states.len())
        .filter(|it| {
            graph.is_reached(*it) && !leads.get(*it).copied().unwrap_or(true) && !is_trap(study, *it)
        })
        .collect();
    // Those that end in a trap are explained by the trap.
    let traps: Vec<usize> = (0..graph.states.len()).filter(|it| is_trap(study, *it)).collect();
    let trapped = graph.leading_to(&traps);
    let lost: Vec<usize> =
        lost.into_iter().filter(|it| !trapped.get(*it).copied().unwrap_or(false)).collect();
    if let Some(first) = lost.first() {
        let names: Vec<&str> = lost.iter().map(|it| graph.name(*it)).collect();
        let ends: Vec<&str> = ends.iter().map(|it| graph.name(*it)).collect();
        let message = format!("from {} no end can be reached: neither of {}", listed(&names), listed(&ends));
        let advice = "let one of them lead to an end";
        found.push(
            Finding::new(Class::NoWayToTheEnd, study.name(), way(study, *first), message, advice)
                .by_way_of(graph.route(*first)),
        );
    }
}
