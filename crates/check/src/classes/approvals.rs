//! A success, or the verdict on a request, that nobody can give.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Lifecycle};
use trackside_lifecycle::name::Name;

use crate::class::Class;
use crate::finding::Finding;
use crate::parts::{aims, arm_way};
use crate::survey::{Study, Survey};
use crate::targets::{after, targets};
use crate::truth::{Answer, Given, ask};

/// The face of lifecycles that are requests to people.
const ASKS_PEOPLE: &str = "approval";
const GOOD: &str = "success";

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        for arm in study.life().transitions.iter().flat_map(|it| &it.arms) {
            if decides(study.life(), arm) {
                together(study, arm, found);
                quorum(study, arm, found);
            }
        }
    }
}

/// Whether a state is what an approval is about.
fn is_verdict(life: &Lifecycle, state: &Name) -> bool {
    let outcome = life.state(state).and_then(|it| it.outcome.as_ref());
    let asked = life.face.as_ref().is_some_and(|it| *it.is == *ASKS_PEOPLE);
    outcome.is_some_and(|it| asked || *it == *GOOD)
}

/// Whether an arm may end in a success, or decide a request.
pub fn decides(life: &Lifecycle, arm: &Arm) -> bool {
    arm.from.0.iter().flat_map(|it| after(life, arm, it)).any(|it| is_verdict(life, &it))
}

/// Who may, and under which conditions, taken together.
fn together(study: &Study<'_>, arm: &Arm, found: &mut Vec<Finding>) {
    let life = study.life();
    let given = Given { states: &arm.from.0, who: None, takes: &arm.takes };
    if ask(study.facts, &[&arm.by], given) == Answer::Never {
        return;
    }
    let mut guards: Vec<&Guard> =
        std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    if let [(None, trackside_lifecycle::model::Aim::State(name))] = aims(arm).as_slice() {
        guards.extend(life.state(name).into_iter().flat_map(|it| &it.checks).map(|it| &it.guard));
    }
    if guards.len() > 1 && ask(study.facts, &guards, given) == Answer::Never {
        let said: Vec<String> = guards.iter().skip(1).map(|it| format!("`{}`", it.source())).collect();
        let message = format!(
            "nobody can ever `{}`: it is by `{}`, and together with {} that is never true",
            arm.transition,
            arm.by.source(),
            super::listed(&said)
        );
        let advice = "let somebody satisfy both: widen `by`, or drop the condition that contradicts it";
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
    let given = Given { states: &arm.from.0, who: None, takes: &arm.takes };
    let mut closed: Option<&Guard> = None;
    for (n, choice) in arm.target.choices().iter().enumerate() {
        let good =
            arm.from.0.iter().any(|it| targets(life, &choice.aim, it).iter().any(|it| is_verdict(life, it)));
        let way = arm_way(arm).key("to").item(n);
        let advice = "count so that it can be reached: `add(list, actor.id)` keeps those who spoke before";
        if let Some(before) = closed.filter(|_| good) {
            let message = format!(
                "`{}` never gets there: the choice before it, `{}`, is always true",
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
        match ask(study.facts, &[when], given) {
            Answer::Never if good => {
                let message =
                    format!("`{}` never gets there: `{}` is never true", arm.transition, when.source());
                found.push(
                    Finding::new(Class::ImpossibleApproval, study.name(), way, message, advice)
                        .by_way_of(route(study, arm)),
                );
            }
            Answer::Always => closed = closed.or(Some(when)),
            _ => {}
        }
    }
}

fn route(study: &Study<'_>, arm: &Arm) -> crate::finding::Route {
    arm.from
        .0
        .first()
        .and_then(|it| study.graph.place(it))
        .map(|it| study.graph.route(it))
        .unwrap_or_default()
}
