//! The moves of a lifecycle: which state leads to which, by what, and who can make it so.

use std::collections::VecDeque;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Arm, Choice, Read};
use trackside_lifecycle::name::Name;

use crate::facts::Facts;
use crate::finding::{Hop, Route};
use crate::firing::{Cause, Firing};
use crate::parts::aims;
use crate::reads::depends;
use crate::targets::targets;
use crate::truth::{Answer, Given, Who, ask};

/// A way from one state to another, or to itself.
#[derive(Clone, Debug)]
pub struct Move<'a> {
    pub from: usize,
    pub to: usize,
    /// The transition; `always` for what moves on by itself.
    pub by: Name,
    pub arm: Option<&'a Arm>,
    pub choice: Option<&'a Choice>,
    /// Who can make it.
    pub who: Vec<Who>,
}

/// All moves of a lifecycle that can be made.
#[derive(Debug)]
pub struct Graph<'a> {
    pub states: Vec<Name>,
    pub moves: Vec<Move<'a>>,
    /// For each state the move by which it is first reached; those without one are not reached.
    first: Vec<Option<usize>>,
    initial: usize,
}

impl<'a> Graph<'a> {
    pub fn new(facts: &Facts<'a>, firings: &[Firing]) -> Self {
        let life = facts.life;
        let states: Vec<Name> = life.states.iter().map(|it| it.name.clone()).collect();
        let place = |name: &Name| states.iter().position(|it| it == name);
        let initial = place(&life.initial).unwrap_or_default();
        let mut moves = Vec::new();
        for arm in life.arms() {
            let who = who_can(facts, arm, firings);
            for (from, who) in arm.from.0.iter().zip(who) {
                let (Some(at), false) = (place(from), who.is_empty()) else { continue };
                for (n, aim) in open_aims(facts, arm, from) {
                    if *aim == trackside_lifecycle::model::Aim::Stay {
                        continue;
                    }
                    for to in targets(life, aim, from).iter().filter_map(place) {
                        let choice = n.and_then(|it| arm.target.choices().get(it));
                        let (by, who) = (arm.transition.clone(), who.clone());
                        moves.push(Move { from: at, to, by, arm: Some(arm), choice, who });
                    }
                }
            }
        }
        for state in &life.states {
            let Some(from) = place(&state.name) else { continue };
            for choice in open_choices(facts, &state.always, &state.name, Some(Who::Engine)) {
                for to in targets(life, &choice.aim, &state.name).iter().filter_map(place) {
                    if choice.aim != trackside_lifecycle::model::Aim::Stay {
                        let (by, who) = (Name::new("always"), vec![Who::Engine]);
                        moves.push(Move { from, to, by, arm: None, choice: Some(choice), who });
                    }
                }
            }
        }
        let mut graph = Self { first: vec![None; states.len()], states, moves, initial };
        graph.reach();
        graph
    }

    fn reach(&mut self) {
        let mut next = VecDeque::from([self.initial]);
        while let Some(from) = next.pop_front() {
            for (n, it) in self.moves.iter().enumerate().filter(|(_, it)| it.from == from) {
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
        self.states.iter().position(|it| it == state)
    }

    pub fn name(&self, state: usize) -> &str {
        self.states.get(state).map(Name::as_str).unwrap_or_default()
    }

    pub fn is_reached(&self, state: usize) -> bool {
        state == self.initial || self.first.get(state).is_some_and(Option::is_some)
    }

    /// Moves that leave a state for another.
    pub fn leaving(&self, state: usize) -> impl Iterator<Item = &Move<'a>> {
        self.moves.iter().filter(move |it| it.from == state && it.to != state)
    }

    pub fn entering(&self, state: usize) -> impl Iterator<Item = &Move<'a>> {
        self.moves.iter().filter(move |it| it.to == state)
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

/// For each state that an arm leaves, who can take it there.
fn who_can(facts: &Facts<'_>, arm: &Arm, firings: &[Firing]) -> Vec<Vec<Who>> {
    let guards: Vec<&Guard> = std::iter::once(&arm.by).chain(arm.checks.iter().map(|it| &it.guard)).collect();
    let here = |it: &Read| matches!(it, Read::State);
    let varies = guards.iter().any(|it| depends(facts.life, it, &here));
    let able = |states: &[Name]| -> Vec<Who> {
        let open = |who: &Who| {
            let given = Given { states, who: Some(*who), takes: &arm.takes };
            ask(facts, &guards, given) != Answer::Never
        };
        Who::ALL.into_iter().filter(open).collect()
    };
    let fired = |state: &Name| {
        let fires = |it: &&Firing| it.lifecycle == facts.life.name && it.fire == arm.transition;
        firings.iter().filter(fires).any(|it| it.cause == Cause::Effect || it.states.contains(state))
    };
    let once = able(&arm.from.0);
    arm.from
        .0
        .iter()
        .map(|state| {
            let mut who = if varies { able(std::slice::from_ref(state)) } else { once.clone() };
            // The engine makes only the moves it is told to.
            who.retain(|it| *it != Who::Engine || fired(state));
            who
        })
        .collect()
}

/// The aims of an arm that can be taken from a state.
fn open_aims<'a>(
    facts: &Facts<'a>,
    arm: &'a Arm,
    from: &Name,
) -> Vec<(Option<usize>, &'a trackside_lifecycle::model::Aim)> {
    let mut closed = false;
    aims(arm)
        .into_iter()
        .filter(|(n, _)| {
            let when = n.and_then(|it| arm.target.choices().get(it)).and_then(|it| it.when.as_ref());
            let Some(when) = when else { return !closed };
            let given = Given { states: std::slice::from_ref(from), takes: &arm.takes, ..Given::default() };
            let answer = ask(facts, &[when], given);
            let open = answer != Answer::Never && !closed;
            closed |= answer == Answer::Always;
            open
        })
        .collect()
}

/// The same of the choices of `always`.
fn open_choices<'a>(facts: &Facts<'a>, all: &'a [Choice], from: &Name, who: Option<Who>) -> Vec<&'a Choice> {
    let mut closed = false;
    all.iter()
        .filter(|it| {
            let Some(when) = &it.when else { return !closed };
            let given = Given { states: std::slice::from_ref(from), who, ..Given::default() };
            let answer = ask(facts, &[when], given);
            let open = answer != Answer::Never && !closed;
            closed |= answer == Answer::Always;
            open
        })
        .collect()
}
