//! From a lifecycle to its graph.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{
    Arm, Choice, Consequences, Lifecycle, Pack, Read, SlotLook, State, Target, Timer,
};
use trackside_lifecycle::name::Name;

use super::held::Held;
use super::targets::{Goal, goals};
use super::triggers::{Firing, firings};
use super::truth::Known;
use super::{Cause, Clock, ClockKind, Edge, Graph, Kind, Lease, Node, Rule, Trigger, words};

impl Graph {
    /// The graph of a lifecycle by itself.
    pub fn of(life: &Lifecycle) -> Self {
        Builder { life, firings: firings(life, None) }.graph()
    }

    /// The graphs of a pack's lifecycles. Each knows what the others make it do.
    pub fn of_pack(pack: &Pack) -> Vec<Self> {
        let graph = |life: &Lifecycle| Builder { life, firings: firings(life, Some(pack)) }.graph();
        pack.lifecycles.iter().map(|it| graph(it)).collect()
    }
}

struct Builder<'a> {
    life: &'a Lifecycle,
    firings: Vec<Firing>,
}

/// One target of one rule in one state.
pub(super) struct Way {
    pub from: Name,
    pub goal: Goal,
    pub choice: Option<usize>,
    pub when: Option<String>,
    pub grants: Vec<Name>,
    pub releases: Vec<Name>,
}

impl Builder<'_> {
    fn graph(&self) -> Graph {
        let life = self.life;
        let mut edges = Vec::new();
        let mut stays: BTreeMap<Name, Vec<Rule>> = BTreeMap::new();
        let mut held = Held::default();
        for arm in life.arms() {
            for way in self.ways(arm) {
                let rules = self.rules(arm, &way);
                held.pass(&way);
                match &way.goal.to {
                    Some(to) => edges.extend(rules.into_iter().map(|rule| Edge {
                        from: way.from.clone(),
                        to: to.clone(),
                        free: way.goal.free.clone(),
                        rule,
                    })),
                    None => stays.entry(way.from).or_default().extend(rules),
                }
            }
        }
        for state in &life.states {
            for way in self.choices(&state.name, &state.always, None) {
                held.pass(&way);
                let Some(to) = way.goal.to.clone() else { continue };
                let rule = always(state, &way);
                edges.push(Edge { from: state.name.clone(), to, free: way.goal.free.clone(), rule });
            }
        }
        held.settle(life);
        let nodes = life.states.iter().map(|it| self.node(it, &mut stays, &held)).collect();
        Graph {
            name: life.name.clone(),
            pack: life.pack.clone(),
            kind: life.kind.clone(),
            version: life.version,
            about: life.about.clone(),
            initial: life.initial.clone(),
            path: life.path.clone(),
            created_by: words::who(&life.create.by, life, None),
            nodes,
            edges,
        }
    }

    /// Every target of an arm, for each state it can leave.
    fn ways(&self, arm: &Arm) -> Vec<Way> {
        let mut ways = Vec::new();
        for from in &arm.from.0 {
            match &arm.target {
                Target::One(aim) => {
                    ways.extend(goals(self.life, aim, from).into_iter().map(|goal| {
                        let mut way = Way::new(from, goal);
                        way.carry(self.life, &arm.then);
                        way.releases.extend(self.not_held(arm));
                        way
                    }));
                }
                Target::Choices(choices) => ways.extend(self.choices(from, choices, Some(arm))),
            }
        }
        ways
    }

    /// The choices that can be taken in a state.
    fn choices(&self, from: &Name, choices: &[Choice], arm: Option<&Arm>) -> Vec<Way> {
        let known = Known { life: self.life, state: Some(from), engine: None };
        let mut ways = Vec::new();
        for (index, choice) in choices.iter().enumerate() {
            let truth = choice.when.as_ref().map_or(Some(true), |it| known.truth(it));
            if truth == Some(false) {
                continue;
            }
            let when = match &choice.when {
                Some(_) if truth == Some(true) => None,
                Some(guard) => Some(words::condition(guard, self.life, Some(from))),
                None => (!ways.is_empty()).then(|| "otherwise".to_owned()),
            };
            for goal in goals(self.life, &choice.aim, from) {
                let mut way = Way::new(from, goal);
                way.choice = Some(index);
                way.when = when.clone();
                if let Some(arm) = arm {
                    way.carry(self.life, &arm.then);
                    way.releases.extend(self.not_held(arm));
                }
                way.carry(self.life, &choice.then);
                ways.push(way);
            }
            if truth == Some(true) {
                break;
            }
        }
        ways
    }

    /// The leases that an arm asks nobody to hold, and those whose loss it is.
    fn not_held(&self, arm: &Arm) -> Vec<Name> {
        let slots = self.life.slots.iter();
        let mut gone: Vec<Name> =
            slots.filter(|it| it.lost.as_ref() == Some(&arm.transition)).map(|it| it.name.clone()).collect();
        gone.extend(self.asked_free(arm));
        gone
    }

    fn asked_free(&self, arm: &Arm) -> Vec<Name> {
        let free = |outline: &Outline| {
            let Outline::Not(of) = outline else { return None };
            let Outline::Read(slot, _) = &**of else { return None };
            match self.life.reads.get(usize::try_from(slot.0).ok()?)? {
                Read::Slot(name, SlotLook::Held) => Some(name.clone()),
                _ => None,
            }
        };
        let guards = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard));
        let parts = guards.flat_map(|it| match it.outline() {
            Outline::All(parts) => parts,
            other => vec![other],
        });
        parts.filter_map(|it| free(&it)).collect()
    }

    /// The rules behind one way: asked for, timed and fired by the engine are told apart.
    fn rules(&self, arm: &Arm, way: &Way) -> Vec<Rule> {
        let state = Some(way.from.as_str());
        let admits = |engine: bool| {
            Known { life: self.life, state, engine: Some(engine) }.truth(&arm.by) != Some(false)
        };
        let who = words::who(&arm.by, self.life, state);
        let rule = |kind, who: &str, span: Option<String>, triggers: Vec<Trigger>| Rule {
            transition: Some(arm.transition.clone()),
            arm: arm.index,
            choice: way.choice,
            kind,
            who: who.to_owned(),
            when: way.when.clone(),
            checks: arm.checks.iter().map(|it| it.says.source().to_owned()).collect(),
            span,
            triggers,
            about: arm.about.clone(),
        };
        let here = || self.firings.iter().filter(|it| it.fires == arm.transition && it.can_be_in(&way.from));
        let again =
            here().filter(|it| it.trigger.cause == Cause::Again).map(|it| it.trigger.clone()).collect();
        let mut rules = Vec::new();
        if admits(false) {
            rules.push(rule(Kind::Asked, &who, None, again));
        }
        if admits(true) {
            let timed = here().filter(|it| it.span.is_some());
            rules.extend(
                timed.map(|it| rule(Kind::Timed, "engine", it.span.clone(), vec![it.trigger.clone()])),
            );
            let other = here().filter(|it| it.span.is_none() && it.trigger.cause != Cause::Again);
            let other: Vec<Trigger> = other.map(|it| it.trigger.clone()).collect();
            if !other.is_empty() || rules.is_empty() {
                rules.push(rule(Kind::Engine, "engine", None, other));
            }
        }
        if rules.is_empty() {
            rules.push(rule(Kind::Asked, "nobody", None, Vec::new()));
        }
        rules
    }

    fn node(&self, state: &State, stays: &mut BTreeMap<Name, Vec<Rule>>, held: &Held) -> Node {
        let life = self.life;
        let lease = |it: &trackside_lifecycle::model::Slot| Lease {
            slot: it.name.clone(),
            span: words::span(&it.lasts, life, Some(&state.name)),
            lost: it.lost.clone(),
        };
        Node {
            name: state.name.clone(),
            about: state.about.clone(),
            initial: state.name == life.initial,
            last: state.last,
            outcome: state.outcome.clone(),
            step: life.rank(&state.name),
            clocks: life
                .timers
                .iter()
                .filter(|it| it.runs.has(&state.name))
                .map(|it| self.clock(it, &state.name))
                .collect(),
            leases: life.slots.iter().filter(|it| held.has(&state.name, &it.name)).map(lease).collect(),
            stays: stays.remove(&state.name).unwrap_or_default(),
        }
    }

    fn clock(&self, timer: &Timer, state: &Name) -> Clock {
        let span = words::due(&timer.kind, self.life, Some(state));
        let then = timer.then.as_ref().map(|it| it.fire.clone());
        let warn: Vec<u32> = timer.warn.iter().map(|it| it.percent).collect();
        let kind = if self.life.state(&timer.name).is_some() {
            ClockKind::Deadline
        } else if timer.name.ends_with(".retain") {
            ClockKind::Retain
        } else {
            ClockKind::Timer
        };
        let mut words = span.clone();
        if let Some(then) = &then {
            words.push_str(&format!(", then {then}"));
        }
        if !warn.is_empty() {
            let all: Vec<String> = warn.iter().map(|it| format!("{it} %")).collect();
            words.push_str(&format!(", warns at {}", all.join(", ")));
        }
        Clock { name: timer.name.clone(), kind, span, warn, then, words }
    }
}

impl Way {
    fn new(from: &Name, goal: Goal) -> Self {
        Self { from: from.clone(), goal, choice: None, when: None, grants: Vec::new(), releases: Vec::new() }
    }

    /// Which leases these consequences grant and end.
    fn carry(&mut self, life: &Lifecycle, then: &Consequences) {
        let released = then.release.iter();
        self.releases.extend(released.filter(|it| life.slot(it).is_some()).cloned());
        self.grants.extend(then.lease.iter().map(|it| it.slot.clone()));
    }
}

fn always(state: &State, way: &Way) -> Rule {
    Rule {
        transition: None,
        arm: 0,
        choice: way.choice,
        kind: Kind::Engine,
        who: "engine".to_owned(),
        when: way.when.clone(),
        checks: Vec::new(),
        span: None,
        triggers: vec![Trigger { cause: Cause::Always, name: state.name.clone() }],
        about: String::new(),
    }
}
