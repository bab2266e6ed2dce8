//! Conditions that are never true, or always.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use super::approvals::decides;
use crate::check::class::Class;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::firing::landing;
use crate::check::satisfy::{Assumptions, CallerKind, Satisfiability, satisfiability};
use crate::check::survey::{Study, Survey};
use crate::graph::{Origin, arm_way, sites, timer_way};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let mut conditions = Vec::new();
        arms(study, &mut conditions, found);
        follows(study, &mut conditions);
        rules(study, &mut conditions);
        for site in &conditions {
            look(study, site, found);
        }
    }
}

/// A condition, its place, and the assumptions there.
struct ConditionSite<'a> {
    guard: &'a Guard,
    way: DefinitionPath,
    states: Vec<Name>,
    who: Option<CallerKind>,
    takes: &'a [Take],
    /// The consequence if it is never true.
    never: &'static str,
    severity: ProblemSeverity,
    /// Whether it is suspicious if the condition is always true.
    always: bool,
}

impl<'a> ConditionSite<'a> {
    fn new(guard: &'a Guard, way: DefinitionPath, never: &'static str) -> Self {
        let severity = ProblemSeverity::Warning;
        Self { guard, way, states: Vec::new(), who: None, takes: &[], never, severity, always: true }
    }
}

fn look(study: &Study<'_>, site: &ConditionSite<'_>, found: &mut Vec<Finding>) {
    let given = Assumptions { states: &site.states, who: site.who, takes: site.takes };
    let route = || match site.states.as_slice() {
        [one] => study.graph.place(one).map(|it| study.graph.route(it)).unwrap_or_default(),
        _ => Default::default(),
    };
    match satisfiability(study.facts, &[site.guard], given) {
        Satisfiability::Never => {
            let message = format!("`{}` is never true: {}", site.guard.source(), site.never);
            let advice = "check for a value that cannot occur, or parts that exclude each other";
            let finding = Finding::new(Class::NeverTrue, study.name(), site.way.clone(), message, advice);
            found.push(finding.weighing(site.severity).by_way_of(route()));
        }
        Satisfiability::Always if site.always => {
            let message = format!("`{}` is always true: it has no effect", site.guard.source());
            let advice = "remove it, or correct it";
            found.push(Finding::new(Class::AlwaysTrue, study.name(), site.way.clone(), message, advice));
        }
        _ => {}
    }
}

fn arms<'a>(study: &Study<'a>, conditions: &mut Vec<ConditionSite<'a>>, found: &mut Vec<Finding>) {
    let life = study.life();
    for arm in life.arms() {
        let verdict = decides(life, arm);
        for (n, check) in arm.checks.iter().enumerate() {
            let way = arm_way(arm).key("when").item(n).key("check");
            let site = ConditionSite::new(&check.guard, way, "this arm can never be taken");
            if !verdict || ask_alone(study, arm, &check.guard) != Satisfiability::Never {
                conditions.push(ConditionSite {
                    states: arm.from.0.clone(),
                    takes: &arm.takes,
                    severity: ProblemSeverity::Error,
                    ..site
                });
            }
        }
        if !verdict {
            check_with_caller(study, arm, found);
            for (n, choice) in arm.target.choices().iter().enumerate() {
                let Some(when) = &choice.when else { continue };
                let site = ConditionSite::new(
                    when,
                    arm_way(arm).key("to").item(n).key("when"),
                    "it is never chosen",
                );
                conditions.push(ConditionSite { states: arm.from.0.clone(), takes: &arm.takes, ..site });
            }
        }
    }
    for (n, check) in life.create.checks.iter().enumerate() {
        let way = DefinitionPath::of(["create", "when"]).item(n).key("check");
        let site = ConditionSite::new(&check.guard, way, "no actor can create one");
        let states = vec![life.initial.clone()];
        conditions.push(ConditionSite {
            states,
            takes: &life.create.takes,
            severity: ProblemSeverity::Error,
            ..site
        });
    }
    for state in &life.states {
        for (n, choice) in state.always.iter().enumerate() {
            let Some(when) = &choice.when else { continue };
            let way = DefinitionPath::of(["states", &state.name, "always"]).item(n).key("when");
            let site = ConditionSite::new(when, way, "it is never chosen");
            conditions.push(ConditionSite {
                states: vec![state.name.clone()],
                who: Some(CallerKind::Engine),
                ..site
            });
        }
    }
}

fn ask_alone(study: &Study<'_>, arm: &Arm, guard: &Guard) -> Satisfiability {
    satisfiability(study.facts, &[guard], Assumptions { states: &arm.from.0, who: None, takes: &arm.takes })
}

/// Conditions that can be true alone, but not together with `by`.
fn check_with_caller(study: &Study<'_>, arm: &Arm, found: &mut Vec<Finding>) {
    let guards: Vec<&Guard> = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    let given = Assumptions { states: &arm.from.0, who: None, takes: &arm.takes };
    let single = guards.len() == 1
        || guards.iter().any(|it| satisfiability(study.facts, &[it], given) == Satisfiability::Never);
    if !single && satisfiability(study.facts, &guards, given) == Satisfiability::Never {
        let said: Vec<String> = guards.iter().skip(1).map(|it| format!("`{}`", it.source())).collect();
        let message = format!(
            "`{}` can never be taken: its `by`, `{}`, contradicts {}",
            arm.transition,
            arm.by.source(),
            super::join_names(&said)
        );
        let advice = "find the condition that excludes the others";
        let route = arm.from.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
        let finding = Finding::new(Class::NeverTrue, study.name(), arm_way(arm).key("when"), message, advice);
        found.push(finding.weighing(ProblemSeverity::Error).by_way_of(route.unwrap_or_default()));
    }
}

/// The conditions of consequences.
fn follows<'a>(study: &Study<'a>, conditions: &mut Vec<ConditionSite<'a>>) {
    let life = study.life();
    for part in sites(life) {
        let states = landing(study.facts, &part).0;
        let takes: &[Take] = match part.origin {
            Origin::Arm(arm) | Origin::Choice(arm, ..) => &arm.takes,
            Origin::Create => &life.create.takes,
            // The transition that led here may have taken any field.
            _ => &[],
        };
        let then = part.then;
        let many = |n: usize, of: usize, way: DefinitionPath| if of > 1 { way.item(n) } else { way };
        let mut all: Vec<(&Guard, DefinitionPath)> = Vec::new();
        let mut add = |key: &str, n: usize, of: usize, when: &'a Option<Guard>| {
            if let Some(when) = when {
                all.push((when, many(n, of, part.way.clone().key(key)).key("when")));
            }
        };
        then.then.iter().enumerate().for_each(|(n, it)| add("then", n, then.then.len(), &it.when));
        then.also.iter().enumerate().for_each(|(n, it)| add("also", n, 2, &it.when));
        then.create.iter().enumerate().for_each(|(n, it)| add("create", n, then.create.len(), &it.when));
        then.post.iter().enumerate().for_each(|(n, it)| add("post", n, then.post.len(), &it.when));
        then.notify.iter().enumerate().for_each(|(n, it)| add("notify", n, then.notify.len(), &it.when));
        then.alert.iter().enumerate().for_each(|(n, it)| add("alert", n, then.alert.len(), &it.when));
        then.effects.iter().enumerate().for_each(|(n, it)| add("effects", n, then.effects.len(), &it.when));
        for (guard, way) in all {
            let site = ConditionSite::new(guard, way, "it never happens");
            conditions.push(ConditionSite { states: states.clone(), takes, ..site });
        }
    }
    for timer in &life.timers {
        if let Some(when) = timer.then.as_ref().and_then(|it| it.when.as_ref()) {
            let site =
                ConditionSite::new(when, timer_way(life, timer).key("then").key("when"), "it never fires");
            conditions.push(ConditionSite {
                states: timer.runs.0.clone(),
                who: Some(CallerKind::Engine),
                ..site
            });
        }
    }
    for counter in &life.counters {
        if let Some(when) = counter.then.as_ref().and_then(|it| it.when.as_ref()) {
            let way = DefinitionPath::of(["counters", &counter.name, "then", "when"]);
            conditions.push(ConditionSite::new(when, way, "it never fires"));
        }
        if let Some(only_if) = &counter.only_if {
            let way = DefinitionPath::of(["counters", &counter.name, "if"]);
            conditions.push(ConditionSite::new(only_if, way, "it never counts"));
        }
    }
}

/// The conditions of rules outside transitions.
fn rules<'a>(study: &Study<'a>, conditions: &mut Vec<ConditionSite<'a>>) {
    let life = study.life();
    for gate in &life.gates {
        let way = |key: &str| DefinitionPath::of(["gates", &gate.name, key]);
        if let Some(applies) = &gate.applies {
            let plain = applies.constant().is_some();
            conditions.push(ConditionSite {
                always: !plain,
                ..ConditionSite::new(applies, way("for"), "it applies to no request")
            });
        }
        conditions.push(ConditionSite::new(
            &gate.open,
            way("open"),
            "it refuses every request it applies to",
        ));
    }
    for relation in &life.relations {
        let way = DefinitionPath::of(["relations", &relation.name]);
        conditions.push(ConditionSite::new(&relation.guard, way, "no actor ever has it"));
    }
    for reaction in &life.reactions {
        let way = DefinitionPath::of(["reactions", &reaction.name, "when"]);
        let states = reaction.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
        let site = ConditionSite::new(&reaction.when, way, "it never fires");
        conditions.push(ConditionSite { states, who: Some(CallerKind::Engine), always: false, ..site });
    }
    for invariant in &life.invariants {
        let own = life
            .state(&invariant.name)
            .filter(|_| invariant.within.as_ref().is_some_and(|it| it.0 == [invariant.name.clone()]));
        let way = match own {
            Some(state) => DefinitionPath::of(["states", &state.name, "holds"]),
            None => DefinitionPath::of(["invariants", &invariant.name, "holds"]),
        };
        let states = invariant.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
        let site = ConditionSite::new(&invariant.holds, way, "every transition to it is refused");
        // An invariant is meant to hold always.
        conditions.push(ConditionSite { states, severity: ProblemSeverity::Error, always: false, ..site });
    }
    for ranking in &life.rankings {
        if let Some(when) = &ranking.when {
            let way = DefinitionPath::of(["rankings", &ranking.name, "when"]);
            let states = ranking.within_states.0.clone();
            conditions
                .push(ConditionSite { states, ..ConditionSite::new(when, way, "no entity is ever in it") });
        }
        if let Some(open) = &ranking.open {
            conditions.push(ConditionSite::new(
                open,
                DefinitionPath::of(["rankings", &ranking.name, "open"]),
                "it never returns an entity",
            ));
        }
    }
    if let Some(read) = &life.read {
        let plain = read.constant().is_some();
        conditions.push(ConditionSite {
            always: !plain,
            ..ConditionSite::new(read, DefinitionPath::of(["read"]), "no actor can ever read one")
        });
    }
    if let Some(observe) = &life.observe {
        let way = DefinitionPath::of(["observe", "by"]);
        conditions.push(ConditionSite::new(&observe.by, way, "no actor can ever read its entries"));
    }
    for (field, read) in life.restricted_fields() {
        let way = DefinitionPath::of(["fields", &field.name, "read"]);
        conditions.push(ConditionSite::new(read, way, "no actor can ever read it"));
    }
    for (n, rule) in life.notify.iter().enumerate() {
        if let Some(when) = &rule.notification.when {
            let way = DefinitionPath::of(["notify"]).item(n).key("when");
            let states = rule.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
            conditions
                .push(ConditionSite { states, ..ConditionSite::new(when, way, "it never notifies anyone") });
        }
    }
}
