//! What the engine is told to do must be possible where it would do it.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Read, TimerKind};
use trackside_lifecycle::name::Name;

use super::listed;
use crate::class::Class;
use crate::facts::Facts;
use crate::finding::{Finding, Severity};
use crate::firing::{Cause, Firing};
use crate::parts::{parts, timer_way, timer_word};
use crate::survey::{Study, Survey};
use crate::truth::{Given, Who, possible};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for firing in survey.firings.iter().filter(|it| it.cause != Cause::Effect) {
        if let Some(study) = survey.study(&firing.lifecycle) {
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
    /// Who may, as it is written.
    Who(String),
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
            Self::Who(by) => format!("`{fire}` is by `{by}`, which does not admit the engine"),
            Self::Checks => format!("the conditions of `{fire}` are never true for the engine"),
            Self::Missing(field) => format!("`{fire}` needs `{field}`, and nothing is brought"),
            Self::Reason => format!("`{fire}` needs a reason, and the engine has none to give"),
        }
    }

    pub fn advice(&self, fire: &Name) -> String {
        match self {
            Self::NoArm => format!(
                "add the state to the `from` of `{fire}`, or say with `when` or `in` where it applies"
            ),
            Self::Who(_) => {
                format!("let `by` of `{fire}` say `engine ||` …, or give it an arm with `by: engine`")
            }
            Self::Checks => format!("give `{fire}` an arm for the engine, without those conditions"),
            Self::Missing(field) => format!("bring it: `with: {{ {field}: … }}`"),
            Self::Reason => format!("give `{fire}` an arm `by: engine` without `reason`"),
        }
    }
}

/// Whether the engine can fire this in a state; if not, why.
pub fn bar(facts: &Facts<'_>, firing: &Firing, state: &Name) -> Option<Bar> {
    let life = facts.life;
    let arms = life.transition(&firing.fire).map(|it| it.arms.as_slice()).unwrap_or_default();
    let here: Vec<&Arm> = arms.iter().filter(|it| it.from.has(state)).collect();
    if here.is_empty() || life.state(state).is_some_and(|it| it.last) {
        return Some(Bar::NoArm);
    }
    let asks: &[Who] =
        if firing.cause == Cause::Supervision { &[Who::System, Who::Engine] } else { &[Who::Engine] };
    let states = std::slice::from_ref(state);
    let admitted: Vec<&Arm> = here
        .iter()
        .filter(|arm| {
            asks.iter()
                .any(|who| possible(facts, &[&arm.by], Given { states, who: Some(*who), takes: &arm.takes }))
        })
        .copied()
        .collect();
    if admitted.is_empty() {
        let mut by: Vec<&str> = here.iter().map(|it| it.by.source()).collect();
        by.dedup();
        return Some(Bar::Who(by.join("`, `")));
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

fn blocked(facts: &Facts<'_>, arm: &Arm, firing: &Firing, states: &[Name], asks: &[Who]) -> Option<Bar> {
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
    let can = |who: &Who| possible(facts, &guards, Given { states, who: Some(*who), takes: &arm.takes });
    if asks.iter().any(can) { None } else { Some(Bar::Checks) }
}

fn fired(study: &Study<'_>, firing: &Firing, found: &mut Vec<Finding>) {
    let reached = |it: &&Name| study.graph.place(it).is_some_and(|it| study.graph.is_reached(it));
    let states: Vec<&Name> = firing.states.iter().filter(reached).collect();
    let mut bars: Vec<(&Name, Bar)> =
        states.iter().filter_map(|it| bar(study.facts, firing, it).map(|bar| (*it, bar))).collect();
    let all = bars.len() == states.len();
    if !all && !firing.insists {
        return;
    }
    if !all && !firing.sure {
        // Where another is, is not known here; but an arm that is there and keeps the engine out refuses the whole.
        bars.retain(|(_, it)| firing.cause == Cause::Also && matches!(it, Bar::Who(_)));
    }
    let Some((first, why)) = bars.first() else { return };
    // Of several reasons the most telling, with its states.
    let same: Vec<&str> = bars.iter().filter(|(_, it)| it == why).map(|(state, _)| state.as_str()).collect();
    let reason = why.says(&firing.fire, &listed(&same));
    let home =
        if firing.lifecycle == firing.of { String::new() } else { format!(" of {}", firing.lifecycle) };
    let message = if all {
        format!("{} fires `{}`{home}, which can never be: {reason}", firing.what, firing.fire)
    } else {
        format!("{} fires `{}`{home} also where it cannot be: {reason}", firing.what, firing.fire)
    };
    let severity = if all { Severity::Error } else { Severity::Warning };
    let route = study.graph.place(first).map(|it| study.graph.route(it)).unwrap_or_default();
    let finding = Finding::new(
        Class::DeadConsequence,
        &firing.of,
        firing.way.clone(),
        message,
        why.advice(&firing.fire),
    );
    // Another's route says nothing here.
    let route = if firing.lifecycle == firing.of { route } else { Default::default() };
    found.push(finding.weighing(severity).by_way_of(route));
}

/// Entities that a rule creates and that do not admit the engine.
fn births(survey: &Survey<'_>, study: &Study<'_>, found: &mut Vec<Finding>) {
    for part in parts(study.life()) {
        for (n, birth) in part.then.create.iter().enumerate() {
            let Some(other) = survey.study(&birth.lifecycle) else { continue };
            let life = other.life();
            let way = part.way.clone().key("create").item(n);
            let admits = possible(
                other.facts,
                &[&life.create.by],
                Given { who: Some(Who::Engine), takes: &life.create.takes, ..Given::default() },
            );
            if !admits {
                let message = format!(
                    "a rule creates {}, whose `create` is by `{}`: it does not admit the engine",
                    birth.lifecycle,
                    life.create.by.source()
                );
                let advice = format!("let `create.by` of {} say `engine ||` …", birth.lifecycle);
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
                let message = format!(
                    "a rule creates {}, which requires `{field}`, and does not bring it",
                    birth.lifecycle
                );
                let advice = format!("bring it: `fields: {{ {field}: … }}`");
                found.push(Finding::new(Class::DeadConsequence, study.name(), way.clone(), message, advice));
            }
        }
    }
}

fn sets(then: &trackside_lifecycle::model::Consequences, name: &Name) -> bool {
    then.set
        .iter()
        .any(|it| matches!(&it.spot, trackside_lifecycle::model::Spot::Field(field) if field == name))
}

/// Clocks that run out and nothing happens.
fn silent(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let watched = life.reads.iter().any(|it| matches!(it, Read::Overdue));
    for timer in life.timers.iter().filter(|it| it.then.is_none() && it.warn.is_empty()) {
        if watched && matches!(timer.kind, TimerKind::After(_)) {
            continue;
        }
        let message = format!(
            "when {} runs out nothing happens: it has no `then` and no `warn`",
            timer_word(life, timer)
        );
        let advice = "say what follows with `then`, or who is to look with `warn: [100%]`, or leave it out";
        let route = timer.runs.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
        found.push(
            Finding::new(Class::SilentDeadline, study.name(), timer_way(life, timer), message, advice)
                .by_way_of(route.unwrap_or_default()),
        );
    }
}
