//! Moves of the engine that could trigger each other without end.
//!
//! A step is a transition fired by the engine in a state. Steps that trigger each other form a cycle, which
//! runs until the engine's limit refuses the command. A cycle is skipped if a condition on it reads a value
//! that the cycle itself changes: then it may end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Aim, Arm, AssignTarget, Choice, Consequences, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;

use crate::check::check_budget::CheckBudget;
use crate::check::class::Class;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::reads::depends;
use crate::check::satisfy::{Assumptions, CallerKind, possible};
use crate::check::survey::{Study, Survey};
use crate::graph::targets;
use crate::graph::{aims, arm_way, sites};

/// A transition, `always`, or a reaction, in a state of a lifecycle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    life: usize,
    kind: Kind,
    name: Name,
    state: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Transition,
    Always,
    Reaction,
}

/// One step sets off another.
#[derive(Clone, Debug)]
struct Link<'a> {
    to: Step,
    /// Its conditions, each with the lifecycle whose names it uses.
    when: Vec<(usize, &'a Guard)>,
    /// The fields that the first step changes.
    sets: BTreeSet<Name>,
    /// Whether it moves another entity, which only the running project knows.
    others: bool,
    way: DefinitionPath,
}

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let mut links: BTreeMap<Step, Vec<Link<'_>>> = BTreeMap::new();
    for (n, study) in survey.studies.iter().enumerate() {
        moves(survey, n, study, &mut links);
        always(survey, n, study, &mut links);
        reactions(n, study, &mut links);
    }
    let mut told: BTreeSet<BTreeSet<(usize, Name)>> = BTreeSet::new();
    for step in links.keys() {
        let Some(round) = round(step, &links, survey.work) else { continue };
        let members = round.iter().map(|(step, _)| (step.life, step.name.clone())).collect();
        if !ends_by_itself(survey, &round) && told.insert(members) {
            found.push(finding(survey, &round));
        }
    }
}

type Round<'l, 'a> = Vec<(&'l Step, &'l Link<'a>)>;

fn finding(survey: &Survey<'_>, round: &Round<'_, '_>) -> Finding {
    let words: Vec<String> = round.iter().map(|(step, _)| step_text(survey, step)).collect();
    let first = words.first().cloned().unwrap_or_default();
    let sure = round.iter().all(|(_, link)| link.when.is_empty() && !link.others);
    let others = round.iter().any(|(_, link)| link.others);
    let (severity, may) = match (sure, others) {
        (true, _) => (ProblemSeverity::Error, "goes on"),
        (false, false) => (ProblemSeverity::Warning, "could repeat"),
        (false, true) => {
            (ProblemSeverity::Note, "would repeat, if the entities refer to each other in a circle,")
        }
    };
    let message = format!(
        "{} → {first}: this {may} until the engine's bound refuses the command (`too-many-moves`)",
        words.join(" → ")
    );
    let advice =
        "break the cycle with a `when` that its own moves make false, or with a state that fires nothing";
    let study = round.first().and_then(|(step, _)| survey.studies.get(step.life));
    let way = round.first().map(|(_, link)| link.way.clone()).unwrap_or_default();
    let of = study.map_or_else(|| survey.pack.name.clone(), |it| it.name().clone());
    let place = round.first().and_then(|(step, _)| study?.graph.place(&step.state));
    let route = place.zip(study).map(|(at, it)| it.graph.route(at)).unwrap_or_default();
    Finding::new(Class::EngineLoop, &of, way, message, advice).weighing(severity).by_way_of(route)
}

fn step_text(survey: &Survey<'_>, step: &Step) -> String {
    let life = survey.studies.get(step.life).map(|it| it.name().as_str()).unwrap_or_default();
    let of = if survey.studies.len() > 1 { format!("{life} ") } else { String::new() };
    match step.kind {
        Kind::Transition => format!("{of}`{}` in {}", step.name, step.state),
        Kind::Always => format!("{of}`always` of {}", step.state),
        Kind::Reaction => format!("{of}reaction `{}` in {}", step.name, step.state),
    }
}

/// Whether a condition on the cycle reads a value that the cycle changes, or the conditions exclude each
/// other.
fn ends_by_itself(survey: &Survey<'_>, round: &Round<'_, '_>) -> bool {
    let mut changed: BTreeMap<usize, BTreeSet<&Name>> = BTreeMap::new();
    for (step, link) in round {
        changed.entry(step.life).or_default().extend(&link.sets);
    }
    let several = changed.len() > 1;
    for (life, guard) in round.iter().flat_map(|(_, link)| &link.when) {
        let Some(study) = survey.studies.get(*life) else { continue };
        let own = changed.get(life);
        let touched = |read: &Read| match read {
            Read::Field(name) | Read::Was(name) | Read::Counter(name) | Read::Counters(name) => {
                own.is_some_and(|it| it.contains(name))
            }
            Read::Setting(_) => false,
            // Values of other entities may change with the cycle if it moves others.
            Read::Ref(..) | Read::Group(..) | Read::Me(_) | Read::Taken(_) | Read::PreviousState => {
                several || round.len() > 1 || matches!(read, Read::Taken(_))
            }
            Read::Slot(..) | Read::Rank(_) | Read::RankSize(_) | Read::Visits => true,
            _ => false,
        };
        if depends(study.life(), guard, &touched) {
            return true;
        }
    }
    conditions_exclude(survey, round)
}

/// Whether conditions of one lifecycle that do not read the state exclude each other.
fn conditions_exclude(survey: &Survey<'_>, round: &Round<'_, '_>) -> bool {
    let Some(study) = round.first().and_then(|(step, _)| survey.studies.get(step.life)) else { return false };
    let stateless = |guard: &Guard| !depends(study.life(), guard, &|it| matches!(it, Read::State));
    let guards: Vec<&Guard> = round
        .iter()
        .flat_map(|(_, link)| &link.when)
        .filter(|(life, guard)| round.iter().all(|(step, _)| step.life == *life) && stateless(guard))
        .map(|(_, guard)| *guard)
        .collect();
    guards.len() > 1
        && !possible(
            study.facts,
            &guards,
            Assumptions { who: Some(CallerKind::Engine), ..Assumptions::default() },
        )
}

/// The shortest round through a step.
fn round<'l, 'a>(
    start: &'l Step,
    links: &'l BTreeMap<Step, Vec<Link<'a>>>,
    work: &CheckBudget<'_>,
) -> Option<Round<'l, 'a>> {
    let mut by: BTreeMap<&Step, (&Step, &Link<'a>)> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for link in links.get(at).into_iter().flatten() {
            if !work.step() {
                return None;
            }
            if link.to == *start {
                let mut round = vec![(at, link)];
                let mut at = at;
                while at != start {
                    let (before, link) = by.get(at)?;
                    round.push((before, link));
                    at = before;
                }
                round.reverse();
                return Some(round);
            }
            if let Some((to, _)) = links.get_key_value(&link.to)
                && !by.contains_key(to)
            {
                by.insert(to, (at, link));
                next.push_back(to);
            }
        }
    }
    None
}

/// The moves that each arm causes if the engine can take it.
fn moves<'a>(survey: &Survey<'a>, n: usize, study: &Study<'a>, links: &mut BTreeMap<Step, Vec<Link<'a>>>) {
    let life = study.life();
    for arm in life.arms() {
        let by: Vec<&Guard> = std::iter::once(&arm.by).collect();
        if !possible(
            study.facts,
            &by,
            Assumptions { states: &arm.from.0, who: Some(CallerKind::Engine), takes: &arm.takes },
        ) {
            continue;
        }
        for state in
            arm.from.0.iter().filter(|it| study.graph.place(it).is_some_and(|it| study.graph.is_reached(it)))
        {
            let step =
                Step { life: n, kind: Kind::Transition, name: arm.transition.clone(), state: state.clone() };
            let checks: Vec<(usize, &Guard)> = arm.checks.iter().map(|it| (n, &it.guard)).collect();
            for (choice, aim) in aims(arm) {
                let choice = choice.and_then(|it| arm.target.choices().get(it));
                let when: Vec<(usize, &Guard)> = checks
                    .iter()
                    .copied()
                    .chain(choice_conditions(arm, choice).into_iter().map(|it| (n, it)))
                    .collect();
                let sets = changes(arm, choice);
                for to in targets(life, aim, state) {
                    // Both states are looked up by name.
                    if !study.facts.work.steps(life.states.len()) {
                        return;
                    }
                    let follow =
                        Follow { survey, n, study, when: &when, sets: &sets, to: &to, way: arm_way(arm) };
                    let parts = [Some(&arm.then), choice.map(|it| &it.then)];
                    let around = if *aim == Aim::Stay {
                        [None, None]
                    } else {
                        [life.state(state).map(|it| &it.exit), life.state(&to).map(|it| &it.enter)]
                    };
                    let out = links.entry(step.clone()).or_default();
                    for then in parts.into_iter().chain(around).flatten() {
                        follow.then(then, out);
                    }
                    follow.limits(arm, out);
                    if *aim != Aim::Stay {
                        follow.moves_on(out);
                    }
                }
            }
        }
    }
}

/// The conditions under which a choice is taken: its own, and none of those before.
fn choice_conditions<'a>(arm: &'a Arm, choice: Option<&'a Choice>) -> Vec<&'a Guard> {
    let Some(choice) = choice else { return Vec::new() };
    let before = arm.target.choices().iter().take_while(|it| !std::ptr::eq(*it, choice));
    before.chain([choice]).filter_map(|it| it.when.as_ref()).collect()
}

fn changes(arm: &Arm, choice: Option<&Choice>) -> BTreeSet<Name> {
    let mut all: BTreeSet<Name> = arm.count.iter().cloned().collect();
    all.extend(arm.takes.iter().filter(|it| it.stored).map(|it| it.name.clone()));
    for then in std::iter::once(&arm.then).chain(choice.map(|it| &it.then)) {
        put(then, &mut all);
    }
    all
}

fn put(then: &Consequences, all: &mut BTreeSet<Name>) {
    all.extend(then.clear.iter().chain(&then.reset).cloned());
    all.extend(then.set.iter().map(|it| match &it.target {
        AssignTarget::Field(name) | AssignTarget::Counter(name) | AssignTarget::CounterAt(name, _) => {
            name.clone()
        }
    }));
}

/// The next steps of a step, and their conditions.
struct Follow<'s, 'a> {
    survey: &'s Survey<'a>,
    n: usize,
    study: &'s Study<'a>,
    when: &'s [(usize, &'a Guard)],
    sets: &'s BTreeSet<Name>,
    to: &'s Name,
    way: DefinitionPath,
}

impl<'a> Follow<'_, 'a> {
    fn link(&self, to: Step, also: Option<&'a Guard>, others: bool, way: DefinitionPath) -> Link<'a> {
        let when = self.when.iter().copied().chain(also.map(|it| (self.n, it))).collect();
        Link { to, when, sets: self.sets.clone(), others, way }
    }

    fn then(&self, then: &'a Consequences, out: &mut Vec<Link<'a>>) {
        for follow in &then.then {
            self.fire(&follow.fire, follow.when.as_ref(), "then", out);
        }
        for also in &then.also {
            let Some(place) = self.survey.studies.iter().position(|it| *it.name() == also.to) else {
                continue;
            };
            let Some(other) = self.survey.studies.get(place) else { continue };
            if self.is_tree(&also.on) {
                continue;
            }
            let arms = other.life().transition(&also.fire).map(|it| it.arms.as_slice()).unwrap_or_default();
            let states = arms.iter().flat_map(|it| &it.from.0);
            for state in states.filter(|it| also.within.as_ref().is_none_or(|within| within.has(it))) {
                let to = Step {
                    life: place,
                    kind: Kind::Transition,
                    name: also.fire.clone(),
                    state: state.clone(),
                };
                out.push(self.link(to, also.when.as_ref(), true, self.way.clone().key("also")));
            }
        }
    }

    /// Whether a ref never leads back: it is set at creation, to an existing entity.
    fn is_tree(&self, on: &Name) -> bool {
        let life = self.study.life();
        let Some(field) = life.reference(on).filter(|it| it.to == life.name).and_then(|it| it.by.as_ref())
        else {
            return false;
        };
        let arms = || life.arms();
        let taken = arms().flat_map(|it| &it.takes).any(|it| it.stored && it.name == *field);
        let mut set = BTreeSet::new();
        sites(life).iter().for_each(|it| put(it.then, &mut set));
        let looked =
            |guard: &Guard| depends(life, guard, &|it| matches!(it, Read::Ref(name, _) if name == on));
        !taken && !set.contains(field) && life.create.checks.iter().any(|it| looked(&it.guard))
    }

    fn fire(&self, fire: &Name, when: Option<&'a Guard>, key: &str, out: &mut Vec<Link<'a>>) {
        let life = self.study.life();
        let leaves = life.transition(fire).is_some_and(|it| it.arms.iter().any(|it| it.from.has(self.to)));
        let given = Assumptions { states: std::slice::from_ref(self.to), ..Assumptions::default() };
        if leaves && when.is_none_or(|it| possible(self.study.facts, &[it], given)) {
            let to =
                Step { life: self.n, kind: Kind::Transition, name: fire.clone(), state: self.to.clone() };
            out.push(self.link(to, when, false, self.way.clone().key(key)));
        }
    }

    /// The moves that counters fire at their limit.
    fn limits(&self, arm: &Arm, out: &mut Vec<Link<'a>>) {
        let life = self.study.life();
        for counter in life.counters.iter().filter(|it| arm.count.contains(&it.name)) {
            if let Some(then) = &counter.then {
                self.fire(&then.fire, then.when.as_ref().or(counter.limit.as_ref()), "count", out);
            }
        }
    }

    fn moves_on(&self, out: &mut Vec<Link<'a>>) {
        if self.study.life().state(self.to).is_some_and(|it| !it.always.is_empty()) {
            let name = Name::new("always");
            let to = Step { life: self.n, kind: Kind::Always, name, state: self.to.clone() };
            out.push(self.link(to, None, false, self.way.clone()));
        }
    }
}

fn always<'a>(survey: &Survey<'a>, n: usize, study: &Study<'a>, links: &mut BTreeMap<Step, Vec<Link<'a>>>) {
    let life = study.life();
    for state in &life.states {
        let step = Step { life: n, kind: Kind::Always, name: Name::new("always"), state: state.name.clone() };
        for (place, choice) in state.always.iter().enumerate() {
            let before = state.always.iter().take(place).chain([choice]);
            let when: Vec<(usize, &Guard)> =
                before.filter_map(|it| it.when.as_ref()).map(|it| (n, it)).collect();
            let mut sets = BTreeSet::new();
            put(&choice.then, &mut sets);
            for to in targets(life, &choice.aim, &state.name) {
                let way = DefinitionPath::of(["states", &state.name, "always"]);
                let follow = Follow { survey, n, study, when: &when, sets: &sets, to: &to, way };
                let out = links.entry(step.clone()).or_default();
                follow.then(&choice.then, out);
                if choice.aim != Aim::Stay {
                    life.state(&to).into_iter().for_each(|it| follow.then(&it.enter, out));
                    follow.moves_on(out);
                }
            }
        }
    }
}

/// A reaction may trigger the next one that reads the entity in its new state.
fn reactions<'a>(n: usize, study: &Study<'a>, links: &mut BTreeMap<Step, Vec<Link<'a>>>) {
    let life = study.life();
    let wakes = |reaction: &trackside_lifecycle::model::Reaction, state: &Name| {
        let leaves =
            life.transition(&reaction.fire).is_some_and(|it| it.arms.iter().any(|it| it.from.has(state)));
        let given =
            Assumptions { states: std::slice::from_ref(state), who: Some(CallerKind::Engine), takes: &[] };
        leaves
            && reaction.within.as_ref().is_none_or(|it| it.has(state))
            && possible(study.facts, &[&reaction.when], given)
    };
    let step = |reaction: &Name, state: &Name| Step {
        life: n,
        kind: Kind::Reaction,
        name: reaction.clone(),
        state: state.clone(),
    };
    for reaction in &life.reactions {
        for state in life.states.iter().map(|it| &it.name).filter(|it| wakes(reaction, it)) {
            let arms = life.transition(&reaction.fire).map(|it| it.arms.as_slice()).unwrap_or_default();
            for arm in arms.iter().filter(|it| it.from.has(state)) {
                for (choice, aim) in aims(arm) {
                    let choice = choice.and_then(|it| arm.target.choices().get(it));
                    // Its further consequences may change anything.
                    if entails(&arm.then) || choice.is_some_and(|it| entails(&it.then)) {
                        continue;
                    }
                    let mut when = vec![(n, &reaction.when)];
                    when.extend(choice_conditions(arm, choice).into_iter().map(|it| (n, it)));
                    for to in targets(life, aim, state) {
                        for next in life.reactions.iter().filter(|it| wakes(it, &to)) {
                            let way = DefinitionPath::of(["reactions", &reaction.name]);
                            let link = Link {
                                to: step(&next.name, &to),
                                when: when.clone(),
                                sets: changes(arm, choice),
                                others: false,
                                way,
                            };
                            links.entry(step(&reaction.name, state)).or_default().push(link);
                        }
                    }
                }
            }
        }
    }
}

fn entails(then: &Consequences) -> bool {
    !then.also.is_empty() || !then.create.is_empty() || !then.then.is_empty()
}
