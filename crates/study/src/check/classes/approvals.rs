//! A success, or a verdict on a request, that no actor can give.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Lifecycle};
use trackside_lifecycle::name::Name;

use crate::check::class::Class;
use crate::check::finding::Finding;
use crate::check::satisfy::{Assumptions, Satisfiability, satisfiability};
use crate::check::survey::{Study, Survey};
use crate::graph::{after, targets};
use crate::graph::{aims, arm_way};

/// The face of lifecycles that are requests to people.
const ASKS_PEOPLE: &str = "approval";
const GOOD: &str = "success";

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        for arm in study.life().transitions.iter().flat_map(|it| &it.arms) {
            if decides(study.life(), arm) {
                check_arm(study, arm, found);
                quorum(study, arm, found);
            }
        }
    }
}

/// Whether a state is the verdict of an approval.
fn is_verdict(life: &Lifecycle, state: &Name) -> bool {
    let outcome = life.state(state).and_then(|it| it.outcome.as_ref());
    let asked = life.face.as_ref().is_some_and(|it| *it.is == *ASKS_PEOPLE);
    outcome.is_some_and(|it| asked || *it == *GOOD)
}

/// Whether an arm may end in a success, or decide a request.
pub fn decides(life: &Lifecycle, arm: &Arm) -> bool {
    arm.from.0.iter().flat_map(|it| after(life, arm, it)).any(|it| is_verdict(life, &it))
}

/// Checks `by` and the conditions of an arm together.
fn check_arm(study: &Study<'_>, arm: &Arm, found: &mut Vec<Finding>) {
    let life = study.life();
    let given = Assumptions { states: &arm.from.0, who: None, takes: &arm.takes };
    if satisfiability(study.facts, &[&arm.by], given) == Satisfiability::Never {
        return;
    }
    let mut guards: Vec<&Guard> =
        std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    if let [(None, trackside_lifecycle::model::Aim::State(name))] = aims(arm).as_slice() {
        guards.extend(life.state(name).into_iter().flat_map(|it| &it.checks).map(|it| &it.guard));
    }
    if guards.len() > 1 && satisfiability(study.facts, &guards, given) == Satisfiability::Never {
        let said: Vec<String> = guards.iter().skip(1).map(|it| format!("`{}`", it.source())).collect();
        let message = format!(
            "no actor can ever take `{}`: its `by` is `{}`, which contradicts {}",
            arm.transition,
            arm.by.source(),
            super::join_names(&said)
        );
        let advice = "widen `by`, or remove the condition that contradicts it";
        let way = arm_way(arm).key(if arm.checks.is_empty() { "by" } else { "when" });
        found.push(
            Finding::new(Class::ImpossibleApproval, study.name(), way, message, advice)
                .by_way_of(route(study, arm)),
        );
    }
}

/// A number of voices that can never be reached.
fn quorum(study: &Study<'_>, arm: &Arm, found: &mut Vec<Finding>) {
    let life = study.life();
    let given = Assumptions { states: &arm.from.0, who: None, takes: &arm.takes };
    let mut closed: Option<&Guard> = None;
    for (n, choice) in arm.target.choices().iter().enumerate() {
        let good =
            arm.from.0.iter().any(|it| targets(life, &choice.aim, it).iter().any(|it| is_verdict(life, it)));
        let way = arm_way(arm).key("to").item(n);
        let advice =
            "count so that the target can be reached: `add(list, actor.id)` keeps the earlier approvers";
        if let Some(before) = closed.filter(|_| good) {
            let message = format!(
                "`{}` can never be chosen: the choice before it, `{}`, is always true",
                arm.transition,
                before.source()
            );
            found.push(
                Finding::new(Class::ImpossibleApproval, study.name(), way, message, advice)
                    .by_way_of(route(study, arm)),
            );
            continue;
        }
        let Some(when) = &choice.when else { continue };
        match satisfiability(study.facts, &[when], given) {
            Satisfiability::Never if good => {
                let message =
                    format!("`{}` can never be chosen: `{}` is never true", arm.transition, when.source());
                found.push(
                    Finding::new(Class::ImpossibleApproval, study.name(), way, message, advice)
                        .by_way_of(route(study, arm)),
                );
            }
            Satisfiability::Always => closed = closed.or(Some(when)),
            _ => {}
        }
    }
}

fn route(study: &Study<'_>, arm: &Arm) -> crate::check::finding::Route {
    arm.from
        .0
        .first()
        .and_then(|it| study.graph.place(it))
        .map(|it| study.graph.route(it))
        .unwrap_or_default()
}
