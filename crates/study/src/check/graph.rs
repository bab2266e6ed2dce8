//! The moves of a lifecycle with the callers who can make them, and which states they reach.

use std::collections::{BTreeMap, VecDeque};

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Choice, Reach, Read};
use trackside_lifecycle::name::Name;

use crate::check::facts::Facts;
use crate::check::finding::{Hop, Route};
use crate::check::firing::EngineMove;
use crate::check::reads::depends;
use crate::check::satisfy::{Assumptions, CallerKind, Satisfiability, satisfiability};
use crate::graph::{self, Cause, ChoiceOracle};

/// A way from one state to another, or to itself.
#[derive(Clone, Debug)]
pub struct PossibleMove<'a> {
    pub from: usize,
    pub to: usize,
    /// The transition; `always` for a move without one.
    pub by: Name,
    pub arm: Option<&'a Arm>,
    pub choice: Option<&'a Choice>,
    /// The callers that can make it.
    pub who: Vec<CallerKind>,
}

/// All moves of a lifecycle that can be made.
#[derive(Debug)]
pub struct MoveGraph<'a> {
    pub states: Vec<Name>,
    pub moves: Vec<PossibleMove<'a>>,
    /// For each state the moves that leave it and the moves that lead to it, in the order of `moves`.
    out: Vec<Vec<usize>>,
    into: Vec<Vec<usize>>,
    /// The place of each state.
    places: BTreeMap<Name, usize>,
    /// For each state the move by which it is first reached; none if it is not reached.
    first: Vec<Option<usize>>,
    initial: usize,
}

impl<'a> MoveGraph<'a> {
    pub fn new(facts: &Facts<'a>, firings: &[EngineMove<'_>]) -> Self {
        let life = facts.life;
        let states: Vec<Name> = life.states.iter().map(|it| it.name.clone()).collect();
        let places: BTreeMap<Name, usize> =
            states.iter().enumerate().rev().map(|(at, name)| (name.clone(), at)).collect();
        let place = |name: &Name| places.get(name).copied();
        let initial = place(&life.initial).unwrap_or_default();
        let reach = |_: &Choice, _: &Name| true;
        let mut moves = Vec::new();
        let mut callers: Option<(&Arm, BTreeMap<&Name, Vec<CallerKind>>)> = None;
        for it in graph::moves(life, &Sampled { facts }, &Reach::new(life, &reach)) {
            if !facts.work.step() {
                break;
            }
            let (Some(from), Some(to)) = (place(it.from), it.to.as_ref().and_then(place)) else { continue };
            let who = match it.arm {
                None => vec![CallerKind::Engine],
                Some(arm) => {
                    if callers.as_ref().is_none_or(|(of, _)| !std::ptr::eq(*of, arm)) {
                        callers = Some((arm, arm.from.0.iter().zip(who_can(facts, arm, firings)).collect()));
                    }
                    let by_state = callers.as_ref().map(|(_, it)| it);
                    by_state.and_then(|known| known.get(it.from)).cloned().unwrap_or_default()
                }
            };
            if who.is_empty() {
                continue;
            }
            let by = it.arm.map_or_else(|| Name::new("always"), |it| it.transition.clone());
            moves.push(PossibleMove { from, to, by, arm: it.arm, choice: it.choice.map(|(_, it)| it), who });
        }
        let (mut out, mut into) = (vec![Vec::new(); states.len()], vec![Vec::new(); states.len()]);
        for (n, it) in moves.iter().enumerate() {
            out.get_mut(it.from).into_iter().for_each(|all: &mut Vec<usize>| all.push(n));
            into.get_mut(it.to).into_iter().for_each(|all: &mut Vec<usize>| all.push(n));
        }
        let mut graph = Self { first: vec![None; states.len()], states, moves, out, into, places, initial };
        graph.reach();
        graph
    }

    fn reach(&mut self) {
        let mut next = VecDeque::from([self.initial]);
        while let Some(from) = next.pop_front() {
            for n in self.out.get(from).into_iter().flatten().copied() {
                let Some(it) = self.moves.get(n) else { continue };
                if it.to != self.initial
                    && let Some(first @ None) = self.first.get_mut(it.to)
                {
                    *first = Some(n);
                    next.push_back(it.to);
                }
            }
        }
    }

    pub fn place(&self, state: &Name) -> Option<usize> {
        self.places.get(state).copied()
    }

    pub fn name(&self, state: usize) -> &str {
        self.states.get(state).map(Name::as_str).unwrap_or_default()
    }

    pub fn is_reached(&self, state: usize) -> bool {
        state == self.initial || self.first.get(state).is_some_and(Option::is_some)
    }

    /// Moves that leave a state for another.
    pub fn leaving(&self, state: usize) -> impl Iterator<Item = &PossibleMove<'a>> {
        self.at(self.out.get(state)).filter(move |it| it.to != state)
    }

    pub fn entering(&self, state: usize) -> impl Iterator<Item = &PossibleMove<'a>> {
        self.at(self.into.get(state))
    }

    fn at<'s>(&'s self, places: Option<&'s Vec<usize>>) -> impl Iterator<Item = &'s PossibleMove<'a>> {
        places.into_iter().flatten().filter_map(|it| self.moves.get(*it))
    }

    /// The shortest way from creation to a state.
    pub fn route(&self, to: usize) -> Route {
        let mut hops = Vec::new();
        let mut at = to;
        while at != self.initial {
            let Some(it) = self.first.get(at).copied().flatten().and_then(|it| self.moves.get(it)) else {
                break;
            };
            hops.push(Hop { by: it.by.clone(), to: Name::new(self.name(at)) });
            at = it.from;
        }
        hops.push(Hop { by: Name::new("create"), to: Name::new(self.name(self.initial)) });
        hops.reverse();
        Route(hops)
    }

    /// States from which one of these can be reached, themselves included.
    pub fn leading_to(&self, ends: &[usize]) -> Vec<bool> {
        let mut leads = vec![false; self.states.len()];
        let mut next: Vec<usize> = ends.to_vec();
        while let Some(at) = next.pop() {
            match leads.get_mut(at) {
                Some(seen @ false) => *seen = true,
                _ => continue,
            }
            next.extend(self.entering(at).map(|it| it.from));
        }
        leads
    }
}

/// For each state that an arm leaves, the callers that can take it there.
fn who_can(facts: &Facts<'_>, arm: &Arm, firings: &[EngineMove<'_>]) -> Vec<Vec<CallerKind>> {
    let guards: Vec<&Guard> = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    let here = |it: &Read| matches!(it, Read::State);
    let varies = guards.iter().any(|it| depends(facts.life, it, &here));
    let able = |states: &[Name]| -> Vec<CallerKind> {
        let open = |who: &CallerKind| {
            let given = Assumptions { states, who: Some(*who), takes: &arm.takes };
            satisfiability(facts, &guards, given) != Satisfiability::Never
        };
        CallerKind::ALL.into_iter().filter(open).collect()
    };
    let fired = |state: &Name| {
        let fires =
            |it: &&EngineMove<'_>| it.rule.lifecycle == facts.life.name && it.rule.fire == arm.transition;
        firings.iter().filter(fires).any(|it| it.rule.cause == Cause::Effect || it.states.contains(state))
    };
    let once = able(&arm.from.0);
    arm.from
        .0
        .iter()
        .map(|state| {
            let mut who = if varies { able(std::slice::from_ref(state)) } else { once.clone() };
            // The engine takes only the transitions that a rule fires.
            who.retain(|it| *it != CallerKind::Engine || fired(state));
            who
        })
        .collect()
}

/// Decides the conditions of choices by trying values.
struct Sampled<'f, 'a> {
    facts: &'f Facts<'a>,
}

impl ChoiceOracle for Sampled<'_, '_> {
    fn truth(&self, when: &Guard, from: &Name, arm: Option<&Arm>) -> Option<bool> {
        let states = std::slice::from_ref(from);
        let who = if arm.is_some() { None } else { Some(CallerKind::Engine) };
        let takes = arm.map(|it| it.takes.as_slice()).unwrap_or_default();
        match satisfiability(self.facts, &[when], Assumptions { states, who, takes }) {
            Satisfiability::Never => Some(false),
            Satisfiability::Always => Some(true),
            Satisfiability::Open => None,
        }
    }
}
