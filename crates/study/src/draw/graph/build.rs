//! From a lifecycle to its graph.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{
    Aim, Arm, Choice, Lifecycle, Pack, Reach, Read, SlotAttribute, State, Timer,
};
use trackside_lifecycle::name::Name;
use trackside_protocol::diagram::{
    DiagramRule, Edge, Graph, OpenTarget, RuleKind, StateLease, StateNode, StateTimer, StateTimerKind,
    Trigger,
};

use super::leases::LeasesByState;
use super::triggers::{EngineTrigger, engine_triggers};
use super::words;
use crate::graph::{Cause, ChoiceOracle, Move, moves};

/// The graphs of a pack's lifecycles, with the moves that they make each other do.
pub fn pack_graphs(pack: &Pack) -> Vec<Graph> {
    let graph = |life: &Lifecycle| Builder { life, triggers: engine_triggers(life, pack) }.graph();
    pack.lifecycles.iter().map(|it| graph(it)).collect()
}

struct Builder<'a> {
    life: &'a Lifecycle,
    triggers: Vec<EngineTrigger>,
}

/// A move with the words and leases that a diagram shows.
pub(super) struct DrawnMove {
    pub from: Name,
    /// None: the entity stays in its state.
    pub to: Option<Name>,
    pub free: Option<OpenTarget>,
    pub choice: Option<usize>,
    pub when: Option<String>,
    pub grants: Vec<Name>,
    pub releases: Vec<Name>,
}

/// Decides the conditions of choices by the state alone.
struct ByState<'a> {
    life: &'a Lifecycle,
}

impl ChoiceOracle for ByState<'_> {
    fn truth(&self, when: &Guard, from: &Name, _: Option<&Arm>) -> Option<bool> {
        words::in_state(self.life, Some(from), None).truth(when)
    }
}

impl Builder<'_> {
    fn graph(&self) -> Graph {
        let life = self.life;
        let mut edges = Vec::new();
        let mut stays: BTreeMap<Name, Vec<DiagramRule>> = BTreeMap::new();
        let mut held = LeasesByState::default();
        let oracle = ByState { life };
        let possible = |choice: &Choice, state: &Name| {
            choice.when.as_ref().is_none_or(|it| oracle.truth(it, state, None) != Some(false))
        };
        let mut group: Option<(Option<&Arm>, &Name, Option<usize>)> = None;
        let all = moves(life, &oracle, &Reach::new(life, &possible));
        for it in &all {
            let choice = it.choice.map(|(n, _)| n);
            let index = it.arm.map(|it| (&it.transition, it.index));
            let goes_on = |(arm, from, _): &(Option<&Arm>, &Name, _)| {
                *from == it.from && arm.map(|it| (&it.transition, it.index)) == index
            };
            let (_, _, first) = *match &mut group {
                Some(group) if goes_on(group) => group,
                other => other.insert((it.arm, it.from, choice)),
            };
            let drawn = self.drawn(it, first == choice);
            held.pass(&drawn);
            let rules = match it.arm {
                Some(arm) => self.rules(arm, &drawn),
                None => vec![always(&drawn)],
            };
            match (&drawn.to, it.arm) {
                (Some(to), _) => edges.extend(rules.into_iter().map(|rule| Edge {
                    from: drawn.from.clone(),
                    to: to.clone(),
                    free: drawn.free.clone(),
                    rule,
                })),
                (None, Some(_)) => stays.entry(drawn.from).or_default().extend(rules),
                (None, None) => {}
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
            created_by: words::callers(&life.create.by, life, None),
            nodes,
            edges,
        }
    }

    /// `first`: no earlier choice can be taken here.
    fn drawn(&self, it: &Move<'_>, first: bool) -> DrawnMove {
        let when = match it.choice {
            None => None,
            Some((_, Choice { when: Some(guard), .. })) => {
                (!it.certain).then(|| words::condition(guard, self.life, Some(it.from)))
            }
            Some(_) => (!first).then(|| "otherwise".to_owned()),
        };
        let free = match it.aim {
            Aim::Stay | Aim::State(_) | Aim::Table(_) | Aim::Next { of: None } => None,
            Aim::Field(field) | Aim::Next { of: Some(field) } => Some(OpenTarget::Field(field.clone())),
            Aim::Ask { .. } => Some(OpenTarget::Asked),
        };
        let consequences = [it.arm.map(|it| &it.then), it.choice.map(|(_, it)| &it.then)];
        let all = || consequences.into_iter().flatten();
        let released = all().flat_map(|it| &it.release).filter(|it| self.life.slot(it).is_some()).cloned();
        let ended = it.arm.into_iter().flat_map(|it| self.not_held(it));
        DrawnMove {
            from: it.from.clone(),
            to: it.to.clone(),
            free,
            choice: it.choice.map(|(n, _)| n),
            when,
            grants: all().flat_map(|it| &it.lease).map(|it| it.slot.clone()).collect(),
            releases: released.chain(ended).collect(),
        }
    }

    /// The leases that an arm requires to be free, and those whose loss it handles.
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
                Read::Slot(name, SlotAttribute::Held) => Some(name.clone()),
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

    /// The rules behind a move: one for callers, one per timer, one for the engine.
    fn rules(&self, arm: &Arm, it: &DrawnMove) -> Vec<DiagramRule> {
        let state = Some(it.from.as_str());
        let admits =
            |engine: bool| words::in_state(self.life, state, Some(engine)).truth(&arm.by) != Some(false);
        let who = words::callers(&arm.by, self.life, state);
        let rule = |kind, who: &str, span: Option<String>, triggers: Vec<Trigger>| DiagramRule {
            transition: Some(arm.transition.clone()),
            arm: arm.index,
            choice: it.choice,
            kind,
            who: who.to_owned(),
            when: it.when.clone(),
            checks: arm.checks.iter().map(|it| it.says.source().to_owned()).collect(),
            span,
            triggers,
            about: arm.about.clone(),
        };
        let here = || {
            self.triggers.iter().filter(|other| other.fires == arm.transition && other.can_be_in(&it.from))
        };
        let again =
            here().filter(|it| it.trigger.cause == Cause::Again).map(|it| it.trigger.clone()).collect();
        let mut rules = Vec::new();
        if admits(false) {
            rules.push(rule(RuleKind::Asked, &who, None, again));
        }
        if admits(true) {
            let timed = here().filter(|it| it.span.is_some());
            rules.extend(
                timed.map(|it| rule(RuleKind::Timed, "engine", it.span.clone(), vec![it.trigger.clone()])),
            );
            let other = here().filter(|it| it.span.is_none() && it.trigger.cause != Cause::Again);
            let other: Vec<Trigger> = other.map(|it| it.trigger.clone()).collect();
            if !other.is_empty() || rules.is_empty() {
                rules.push(rule(RuleKind::Engine, "engine", None, other));
            }
        }
        if rules.is_empty() {
            rules.push(rule(RuleKind::Asked, "nobody", None, Vec::new()));
        }
        rules
    }

    fn node(
        &self,
        state: &State,
        stays: &mut BTreeMap<Name, Vec<DiagramRule>>,
        held: &LeasesByState,
    ) -> StateNode {
        let life = self.life;
        let lease = |it: &trackside_lifecycle::model::Slot| StateLease {
            slot: it.name.clone(),
            span: words::span(&it.lasts, life, Some(&state.name)),
            lost: it.lost.clone(),
        };
        StateNode {
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

    fn clock(&self, timer: &Timer, state: &Name) -> StateTimer {
        let span = words::due(&timer.kind, self.life, Some(state));
        let then = timer.then.as_ref().map(|it| it.fire.clone());
        let warn: Vec<u32> = timer.warn.iter().map(|it| it.percent).collect();
        let kind = if self.life.state(&timer.name).is_some() {
            StateTimerKind::Deadline
        } else if timer.name.ends_with(".retain") {
            StateTimerKind::Retain
        } else {
            StateTimerKind::Timer
        };
        let mut words = span.clone();
        if let Some(then) = &then {
            words.push_str(&format!(", then {then}"));
        }
        if !warn.is_empty() {
            let all: Vec<String> = warn.iter().map(|it| format!("{it} %")).collect();
            words.push_str(&format!(", warns at {}", all.join(", ")));
        }
        StateTimer { name: timer.name.clone(), kind, span, warn, then, words }
    }
}

fn always(it: &DrawnMove) -> DiagramRule {
    DiagramRule {
        transition: None,
        arm: 0,
        choice: it.choice,
        kind: RuleKind::Engine,
        who: "engine".to_owned(),
        when: it.when.clone(),
        checks: Vec::new(),
        span: None,
        triggers: vec![Trigger { cause: Cause::Always, name: it.from.clone() }],
        about: String::new(),
    }
}
