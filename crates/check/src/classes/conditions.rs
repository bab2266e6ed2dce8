//! Conditions that are never true, or always.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Take};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;

use super::approvals::decides;
use crate::class::Class;
use crate::finding::{Finding, Severity};
use crate::firing::landing;
use crate::parts::{Origin, arm_way, parts, timer_way};
use crate::survey::{Study, Survey};
use crate::truth::{Answer, Given, Who, ask};

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        let mut sites = Vec::new();
        arms(study, &mut sites, found);
        follows(study, &mut sites);
        rules(study, &mut sites);
        for site in &sites {
            look(study, site, found);
        }
    }
}

/// A condition, where it stands, and what is known there.
struct Site<'a> {
    guard: &'a Guard,
    way: Way,
    states: Vec<Name>,
    who: Option<Who>,
    takes: &'a [Take],
    /// What is so if it is never true.
    never: &'static str,
    severity: Severity,
    /// Whether being always true is odd.
    always: bool,
}

impl<'a> Site<'a> {
    fn new(guard: &'a Guard, way: Way, never: &'static str) -> Self {
        let severity = Severity::Warning;
        Self { guard, way, states: Vec::new(), who: None, takes: &[], never, severity, always: true }
    }
}

fn look(study: &Study<'_>, site: &Site<'_>, found: &mut Vec<Finding>) {
    let given = Given { states: &site.states, who: site.who, takes: site.takes };
    let route = || match site.states.as_slice() {
        [one] => study.graph.place(one).map(|it| study.graph.route(it)).unwrap_or_default(),
        _ => Default::default(),
    };
    match ask(study.facts, &[site.guard], given) {
        Answer::Never => {
            let message = format!("`{}` is never true: {}", site.guard.source(), site.never);
            let advice =
                "look at what it compares: a value that cannot occur, or parts that exclude each other";
            let finding = Finding::new(Class::NeverTrue, study.name(), site.way.clone(), message, advice);
            found.push(finding.weighing(site.severity).by_way_of(route()));
        }
        Answer::Always if site.always => {
            let message = format!("`{}` is always true: it decides nothing", site.guard.source());
            let advice = "leave it out, or say what was meant";
            found.push(Finding::new(Class::AlwaysTrue, study.name(), site.way.clone(), message, advice));
        }
        _ => {}
    }
}

fn arms<'a>(study: &Study<'a>, sites: &mut Vec<Site<'a>>, found: &mut Vec<Finding>) {
    let life = study.life();
    for arm in life.arms() {
        let verdict = decides(life, arm);
        for (n, check) in arm.checks.iter().enumerate() {
            let way = arm_way(arm).key("when").item(n).key("check");
            let site = Site::new(&check.guard, way, "this arm can never be taken");
            if !verdict || ask_alone(study, arm, &check.guard) != Answer::Never {
                sites.push(Site {
                    states: arm.from.0.clone(),
                    takes: &arm.takes,
                    severity: Severity::Error,
                    ..site
                });
            }
        }
        if !verdict {
            together(study, arm, found);
            for (n, choice) in arm.target.choices().iter().enumerate() {
                let Some(when) = &choice.when else { continue };
                let site = Site::new(when, arm_way(arm).key("to").item(n).key("when"), "it is never chosen");
                sites.push(Site { states: arm.from.0.clone(), takes: &arm.takes, ..site });
            }
        }
    }
    for (n, check) in life.create.checks.iter().enumerate() {
        let way = Way::of(["create", "when"]).item(n).key("check");
        let site = Site::new(&check.guard, way, "nobody can ever create one");
        let states = vec![life.initial.clone()];
        sites.push(Site { states, takes: &life.create.takes, severity: Severity::Error, ..site });
    }
    for state in &life.states {
        for (n, choice) in state.always.iter().enumerate() {
            let Some(when) = &choice.when else { continue };
            let way = Way::of(["states", &state.name, "always"]).item(n).key("when");
            let site = Site::new(when, way, "it is never chosen");
            sites.push(Site { states: vec![state.name.clone()], who: Some(Who::Engine), ..site });
        }
    }
}

fn ask_alone(study: &Study<'_>, arm: &Arm, guard: &Guard) -> Answer {
    ask(study.facts, &[guard], Given { states: &arm.from.0, who: None, takes: &arm.takes })
}

/// Conditions each of which can be true, but not together with who may.
fn together(study: &Study<'_>, arm: &Arm, found: &mut Vec<Finding>) {
    let guards: Vec<&Guard> = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    let given = Given { states: &arm.from.0, who: None, takes: &arm.takes };
    let single = guards.len() == 1 || guards.iter().any(|it| ask(study.facts, &[it], given) == Answer::Never);
    if !single && ask(study.facts, &guards, given) == Answer::Never {
        let said: Vec<String> = guards.iter().skip(1).map(|it| format!("`{}`", it.source())).collect();
        let message = format!(
            "`{}` can never be taken: `{}`, who may, is never true together with {}",
            arm.transition,
            arm.by.source(),
            super::listed(&said)
        );
        let advice = "look which of them excludes the others";
        let route = arm.from.0.first().and_then(|it| study.graph.place(it)).map(|it| study.graph.route(it));
        let finding = Finding::new(Class::NeverTrue, study.name(), arm_way(arm).key("when"), message, advice);
        found.push(finding.weighing(Severity::Error).by_way_of(route.unwrap_or_default()));
    }
}

/// The conditions of what follows.
fn follows<'a>(study: &Study<'a>, sites: &mut Vec<Site<'a>>) {
    let life = study.life();
    for part in parts(life) {
        let states = landing(study.facts, &part).0;
        let takes: &[Take] = match part.origin {
            Origin::Arm(arm) | Origin::Choice(arm, ..) => &arm.takes,
            Origin::Create => &life.create.takes,
            // What brought it there may have taken anything.
            _ => &[],
        };
        let then = part.then;
        let many = |n: usize, of: usize, way: Way| if of > 1 { way.item(n) } else { way };
        let mut all: Vec<(&Guard, Way)> = Vec::new();
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
            let site = Site::new(guard, way, "it never follows");
            sites.push(Site { states: states.clone(), takes, ..site });
        }
    }
    for timer in &life.timers {
        if let Some(when) = timer.then.as_ref().and_then(|it| it.when.as_ref()) {
            let site = Site::new(when, timer_way(life, timer).key("then").key("when"), "it never fires");
            sites.push(Site { states: timer.runs.0.clone(), who: Some(Who::Engine), ..site });
        }
    }
    for counter in &life.counters {
        if let Some(when) = counter.then.as_ref().and_then(|it| it.when.as_ref()) {
            let way = Way::of(["counters", &counter.name, "then", "when"]);
            sites.push(Site::new(when, way, "it never fires"));
        }
        if let Some(only_if) = &counter.only_if {
            let way = Way::of(["counters", &counter.name, "if"]);
            sites.push(Site::new(only_if, way, "it never counts"));
        }
    }
}

/// The conditions of rules that stand by themselves.
fn rules<'a>(study: &Study<'a>, sites: &mut Vec<Site<'a>>) {
    let life = study.life();
    for gate in &life.gates {
        let way = |key: &str| Way::of(["gates", &gate.name, key]);
        if let Some(applies) = &gate.applies {
            let plain = applies.constant().is_some();
            sites.push(Site { always: !plain, ..Site::new(applies, way("for"), "it binds nobody") });
        }
        sites.push(Site::new(&gate.open, way("open"), "it is closed to everybody it binds, for ever"));
    }
    for relation in &life.relations {
        let way = Way::of(["relations", &relation.name]);
        sites.push(Site::new(&relation.guard, way, "nobody is ever that"));
    }
    for reaction in &life.reactions {
        let way = Way::of(["reactions", &reaction.name, "when"]);
        let states = reaction.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
        let site = Site::new(&reaction.when, way, "it never fires");
        sites.push(Site { states, who: Some(Who::Engine), always: false, ..site });
    }
    for invariant in &life.invariants {
        let own = life
            .state(&invariant.name)
            .filter(|_| invariant.within.as_ref().is_some_and(|it| it.0 == [invariant.name.clone()]));
        let way = match own {
            Some(state) => Way::of(["states", &state.name, "holds"]),
            None => Way::of(["invariants", &invariant.name, "holds"]),
        };
        let states = invariant.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
        let site = Site::new(&invariant.holds, way, "whatever would come there is refused");
        // That it always holds is what an invariant is for.
        sites.push(Site { states, severity: Severity::Error, always: false, ..site });
    }
    for ranking in &life.rankings {
        if let Some(when) = &ranking.when {
            let way = Way::of(["rankings", &ranking.name, "when"]);
            let states = ranking.within_states.0.clone();
            sites.push(Site { states, ..Site::new(when, way, "nothing is ever in it") });
        }
        if let Some(open) = &ranking.open {
            sites.push(Site::new(
                open,
                Way::of(["rankings", &ranking.name, "open"]),
                "it never hands anything out",
            ));
        }
    }
    if let Some(read) = &life.read {
        let plain = read.constant().is_some();
        sites.push(Site { always: !plain, ..Site::new(read, Way::of(["read"]), "nobody may ever see one") });
    }
    for (n, rule) in life.notify.iter().enumerate() {
        if let Some(when) = &rule.tell.when {
            let way = Way::of(["notify"]).item(n).key("when");
            let states = rule.within.as_ref().map(|it| it.0.clone()).unwrap_or_default();
            sites.push(Site { states, ..Site::new(when, way, "nobody is ever told") });
        }
    }
}
