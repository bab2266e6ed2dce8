//! Effects and their results.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use super::consequences::bar;
use super::join_names;
use crate::check::class::Class;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::firing::asked_in;
use crate::check::satisfy::CallerKind;
use crate::check::survey::{Study, Survey};
use crate::graph::Cause;

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        lost_results(study, found);
        homes(survey, study, found);
        waits(study, found);
    }
}

/// Results that go nowhere.
fn lost_results(study: &Study<'_>, found: &mut Vec<Finding>) {
    for effect in study.life().effects.iter().filter(|it| it.ok.is_none() && it.failed.is_none()) {
        if asked_in(study.facts, &effect.name).is_empty() {
            continue;
        }
        let message = format!(
            "no rule handles the result of effect `{}`: it has neither `ok` nor `failed`, so a failure only raises an alert",
            effect.name
        );
        let advice = "name the transitions for the results: `ok: …, failed: …`";
        let way = DefinitionPath::of(["effects", &effect.name]);
        found.push(
            Finding::new(Class::UnhandledEffect, study.name(), way, message, advice)
                .weighing(ProblemSeverity::Note),
        );
    }
}

/// Transitions that cannot be taken in the state in which the effect's result arrives.
fn homes(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    let of_effects = |it: &&crate::check::firing::EngineMove<'_>| {
        it.rule.cause == Cause::Effect && it.rule.lifecycle == *study.name()
    };
    for firing in survey.firings.iter().filter(of_effects) {
        let open = |it: &&Name| study.life().state(it).is_some_and(|it| !it.last);
        let states: Vec<&Name> = firing.states.iter().filter(open).collect();
        let bars: Vec<_> =
            states.iter().filter_map(|it| bar(study.facts, firing, it).map(|bar| (*it, bar))).collect();
        let Some((first, why)) = bars.first() else { continue };
        let same: Vec<&str> =
            bars.iter().filter(|(_, it)| it == why).map(|(state, _)| state.as_str()).collect();
        let message =
            format!("{} cannot be applied: {}", firing.what, why.says(&firing.rule.fire, &join_names(&same)));
        let severity =
            if bars.len() == states.len() { ProblemSeverity::Error } else { ProblemSeverity::Warning };
        let route = study.graph.place(first).map(|it| study.graph.route(it)).unwrap_or_default();
        let finding = Finding::new(
            Class::UnhandledEffect,
            study.name(),
            firing.rule.way.clone(),
            message,
            why.advice(&firing.rule.fire),
        );
        found.push(finding.weighing(severity).by_way_of(route));
    }
}

/// States that only a result can end, without a clock for a missing result.
fn waits(study: &Study<'_>, found: &mut Vec<Finding>) {
    let (life, graph) = (study.life(), &study.graph);
    for effect in &life.effects {
        let homes: Vec<&Name> = [&effect.ok, &effect.failed].into_iter().flatten().collect();
        for state in asked_in(study.facts, &effect.name).iter().filter_map(|it| graph.place(it)) {
            let name = graph.name(state);
            let clocked =
                life.timers.iter().any(|it| it.runs.has(name) && (it.then.is_some() || !it.warn.is_empty()));
            let mut ways = graph.leaving(state).peekable();
            let only = ways.peek().is_some()
                && ways
                    .all(|it| homes.contains(&&it.by) && it.who.iter().all(|it| *it == CallerKind::Engine));
            if only && !clocked && graph.is_reached(state) {
                let message = format!(
                    "{name} can be left only by the result of effect `{}`: without a result the entity waits forever",
                    effect.name
                );
                let advice = "give the state a `deadline` that moves it on, or add a transition for people";
                let way = DefinitionPath::of(["states", name]);
                found.push(
                    Finding::new(Class::UnhandledEffect, study.name(), way, message, advice)
                        .by_way_of(graph.route(state)),
                );
            }
        }
    }
}
