//! Rules that fire a transition where the engine cannot take it.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Read, TimerKind};
use trackside_lifecycle::name::Name;

use super::join_names;
use crate::check::class::Class;
use crate::check::facts::Facts;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::firing::EngineMove;
use crate::check::satisfy::{Assumptions, CallerKind, possible};
use crate::check::survey::{Study, Survey};
use crate::graph::Cause;
use crate::graph::{sites, timer_way, timer_word};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for firing in survey.firings.iter().filter(|it| it.rule.cause != Cause::Effect) {
        if let Some(study) = survey.study(&firing.rule.lifecycle) {
            fired(study, firing, found);
        }
    }
    for study in &survey.studies {
        births(survey, study, found);
        silent(study, found);
    }
}

/// Why a move cannot be made by the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    NoArm,
    /// The `by` of the arm, as it is written.
    NotAdmitted(String),
    /// The conditions contradict each other for the engine.
    Checks,
    Missing(Name),
    Reason,
}

impl Bar {
    /// In a sentence that begins with the transition.
    pub fn says(&self, fire: &Name, states: &str) -> String {
        match self {
            Self::NoArm => format!("`{fire}` does not leave {states}"),
            Self::NotAdmitted(by) => format!("`by` of `{fire}` is `{by}`, which excludes the engine"),
            Self::Checks => format!("the conditions of `{fire}` are never true for the engine"),
            Self::Missing(field) => format!("`{fire}` requires `{field}`, which is not sent"),
            Self::Reason => format!("`{fire}` requires a reason, and the engine sends none"),
        }
    }

    pub fn advice(&self, fire: &Name) -> String {
        match self {
            Self::NoArm => {
                format!("add the state to the `from` of `{fire}`, or limit the rule with `when` or `in`")
            }
            Self::NotAdmitted(_) => {
                format!("add `engine ||` to `by` of `{fire}`, or add an arm with `by: engine`")
            }
            Self::Checks => format!("add an arm `by: engine` without those conditions to `{fire}`"),
            Self::Missing(field) => format!("send it: `with: {{ {field}: … }}`"),
            Self::Reason => format!("add an arm `by: engine` without `reason` to `{fire}`"),
        }
    }
}

/// The reason why the engine cannot fire this in a state; none if it can.
pub fn bar(facts: &Facts<'_>, firing: &EngineMove<'_>, state: &Name) -> Option<Bar> {
    let life = facts.life;
    let arms = life.transition(&firing.rule.fire).map(|it| it.arms.as_slice()).unwrap_or_default();
    let here: Vec<&Arm> = arms.iter().filter(|it| it.from.has(state)).collect();
    if here.is_empty() || life.state(state).is_some_and(|it| it.last) {
        return Some(Bar::NoArm);
    }
    let asks: &[CallerKind] = if firing.rule.cause == Cause::Supervision {
        &[CallerKind::System, CallerKind::Engine]
    } else {
        &[CallerKind::Engine]
    };
    let states = std::slice::from_ref(state);
    let admitted: Vec<&Arm> = here
        .iter()
        .filter(|arm| {
            asks.iter().any(|who| {
                possible(facts, &[&arm.by], Assumptions { states, who: Some(*who), takes: &arm.takes })
            })
        })
        .copied()
        .collect();
    if admitted.is_empty() {
        let mut by: Vec<&str> = here.iter().map(|it| it.by.source()).collect();
        by.dedup();
        return Some(Bar::NotAdmitted(by.join("`, `")));
    }
    let mut why = None;
    for arm in admitted {
        match blocked(facts, arm, firing, states, asks) {
            None => return None,
            some => why = why.or(some),
        }
    }
    why
}

fn blocked(
    facts: &Facts<'_>,
    arm: &Arm,
    firing: &EngineMove<'_>,
    states: &[Name],
    asks: &[CallerKind],
) -> Option<Bar> {
    if let Some(brings) = &firing.brings {
        let lacks =
            |it: &&trackside_lifecycle::model::Take| it.required.is_some() && !brings.contains(&it.name);
        if let Some(take) = arm.takes.iter().find(lacks) {
            return Some(Bar::Missing(take.name.clone()));
        }
    }
    if arm.reason.is_some() && !firing.reasoned {
        return Some(Bar::Reason);
    }
    let guards: Vec<&Guard> = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    let can = |who: &CallerKind| {
        possible(facts, &guards, Assumptions { states, who: Some(*who), takes: &arm.takes })
    };
    if asks.iter().any(can) { None } else { Some(Bar::Checks) }
}

fn fired(study: &Study<'_>, firing: &EngineMove<'_>, found: &mut Vec<Finding>) {
    let reached = |it: &&Name| study.graph.place(it).is_some_and(|it| study.graph.is_reached(it));
    let states: Vec<&Name> = firing.states.iter().filter(reached).collect();
    let mut bars: Vec<(&Name, Bar)> =
        states.iter().filter_map(|it| bar(study.facts, firing, it).map(|bar| (*it, bar))).collect();
    let all = bars.len() == states.len();
    if !all && !firing.insists {
        return;
    }
    if !all && !firing.sure {
        // The state of the other entity is not known here, but an arm that does not admit the engine
        // refuses the whole move.
        bars.retain(|(_, it)| firing.rule.cause == Cause::Also && matches!(it, Bar::NotAdmitted(_)));
    }
    let Some((first, why)) = bars.first() else { return };
    // Of several reasons the first one, with its states.
    let same: Vec<&str> = bars.iter().filter(|(_, it)| it == why).map(|(state, _)| state.as_str()).collect();
    let reason = why.says(&firing.rule.fire, &join_names(&same));
    let home = if firing.rule.lifecycle == firing.rule.of {
        String::new()
    } else {
        format!(" of {}", firing.rule.lifecycle)
    };
    let message = if all {
        format!("{} fires `{}`{home}, which is never possible: {reason}", firing.what, firing.rule.fire)
    } else {
        format!("{} fires `{}`{home} where it is not possible: {reason}", firing.what, firing.rule.fire)
    };
    let severity = if all { ProblemSeverity::Error } else { ProblemSeverity::Warning };
    let route = study.graph.place(first).map(|it| study.graph.route(it)).unwrap_or_default();
    let finding = Finding::new(
        Class::DeadConsequence,
        &firing.rule.of,
        firing.rule.way.clone(),
        message,
        why.advice(&firing.rule.fire),
    );
    // A route of another lifecycle does not help here.
    let route = if firing.rule.lifecycle == firing.rule.of { route } else { Default::default() };
    found.push(finding.weighing(severity).by_way_of(route));
}

/// Entities that a rule creates and that do not admit the engine.
fn births(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    for part in sites(study.life()) {
        for (n, birth) in part.then.create.iter().enumerate() {
            let Some(other) = survey.study(&birth.lifecycle) else { continue };
            let life = other.life();
            let way = part.way.clone().key("create").item(n);
            let admits = possible(
                other.facts,
                &[&life.create.by],
                Assumptions {
                    who: Some(CallerKind::Engine),
                    takes: &life.create.takes,
                    ..Assumptions::default()
                },
            );
            if !admits {
                let message = format!(
                    "a rule creates {}, but `create.by` is `{}`, which excludes the engine",
                    birth.lifecycle,
                    life.create.by.source()
                );
                let advice = format!("add `engine ||` to `create.by` of {}", birth.lifecycle);
                found.push(Finding::new(Class::DeadConsequence, study.name(), way.clone(), message, advice));
            }
            let takes = life.create.takes.iter().filter(|it| it.required.is_some()).map(|it| &it.name);
            let needs = takes.chain(life.create.require.iter().map(|(name, _)| name));
            let given = |name: &Name| {
                birth.fields.iter().any(|(it, _)| it == name)
                    || life.field(name).is_some_and(|it| !it.default.is_blank())
                    || sets(&life.create.then, name)
                    || life.state(&life.initial).is_some_and(|it| sets(&it.enter, name))
            };
            for field in needs.filter(|it| !given(it)) {
                let message =
                    format!("a rule creates {} without `{field}`, which is required", birth.lifecycle);
                let advice = format!("send it: `fields: {{ {field}: … }}`");
                found.push(Finding::new(Class::DeadConsequence, study.name(), way.clone(), message, advice));
            }
        }
    }
}

fn sets(then: &trackside_lifecycle::model::Consequences, name: &Name) -> bool {
    then.set.iter().any(
        |it| matches!(&it.target, trackside_lifecycle::model::AssignTarget::Field(field) if field == name),
    )
}

/// Clocks that end without a consequence.
fn silent(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let watched = life.reads.iter().any(|it| matches!(it, Read::Overdue));
    for timer in life.timers.iter().filter(|it| it.then.is_none() && it.warn.is_empty()) {
        if watched && matches!(timer.kind, TimerKind::After(_)) {
            continue;
        }
        let message = format!(
            "nothing happens when {} is due: it has neither `then` nor `warn`",
            timer_word(life, timer)
        );
        let advice = "add `then` or `warn: [100%]`, or remove it";
        let route = timer.runs.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
        found.push(
            Finding::new(Class::SilentDeadline, study.name(), timer_way(life, timer), message, advice)
                .by_way_of(route.unwrap_or_default()),
        );
    }
}
