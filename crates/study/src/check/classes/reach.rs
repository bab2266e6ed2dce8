//! States that cannot be reached, cannot be left, or lead nowhere.

use trackside_lifecycle::source::DefinitionPath;

use super::join_names;
use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::survey::{Study, Survey};
use crate::graph::after;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        unreachable(study, found);
        traps(study, found);
        circles(study, found);
    }
}

fn way(study: &Study<'_>, state: usize) -> DefinitionPath {
    DefinitionPath::of(["states", study.graph.name(state)])
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
                format!("no possible transition leads to {name}"),
                "add a transition to it, or remove the state".to_owned(),
            )
        } else {
            (
                format!("{name} is reached only by {}, which cannot be reached", join_names(&ways)),
                "add a transition to the earlier states, or remove them all".to_owned(),
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
            format!(
                "an entity in {name} can never leave: no transition leads out, and the state is not final"
            )
        } else {
            format!("an entity in {name} can never leave: no actor can take {}", join_names(&closed))
        };
        let advice = "add a transition out of it, or `final: true` if this is an end";
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
    // Findings that end in a trap are explained by the trap.
    let traps: Vec<usize> = (0..graph.states.len()).filter(|it| is_trap(study, *it)).collect();
    let trapped = graph.leading_to(&traps);
    let lost: Vec<usize> =
        lost.into_iter().filter(|it| !trapped.get(*it).copied().unwrap_or(false)).collect();
    if let Some(first) = lost.first() {
        let names: Vec<&str> = lost.iter().map(|it| graph.name(*it)).collect();
        let ends: Vec<&str> = ends.iter().map(|it| graph.name(*it)).collect();
        let message = format!(
            "no final state can be reached from {}: none of {}",
            join_names(&names),
            join_names(&ends)
        );
        let advice = "add a transition from one of them to a final state";
        found.push(
            Finding::new(Class::NoWayToTheEnd, study.name(), way(study, *first), message, advice)
                .by_way_of(graph.route(*first)),
        );
    }
}
