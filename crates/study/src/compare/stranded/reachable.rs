//! The states that entities can reach.

use std::collections::BTreeSet;

use trackside_engine::Law;
use trackside_lifecycle::model::{Aim, Arm, Lifecycle, State, Target};
use trackside_lifecycle::name::Name;

use crate::graph::{Cause, firings};
use crate::truth::{Partial, StateAndCaller};

/// The transitions of a lifecycle that a caller or the engine can take.
pub(super) struct ReachableStates<'a> {
    life: &'a Lifecycle,
    /// Transitions that some rule fires.
    fired: BTreeSet<Name>,
}

/// Whether entities in this state have ended.
pub(super) fn ends(state: &State) -> bool {
    state.last || state.outcome.is_some()
}

impl<'a> ReachableStates<'a> {
    pub fn new(law: &Law, life: &'a Lifecycle) -> Self {
        let mut fired = BTreeSet::new();
        for name in law.lifecycle_names() {
            if let Some(other) = law.newest(name) {
                let rules = firings(other).into_iter().filter(|it| it.lifecycle == life.name);
                fired.extend(rules.filter(|it| it.cause != Cause::Again).map(|it| it.fire));
            }
        }
        Self { life, fired }
    }

    fn arms(&self, state: &'a str) -> impl Iterator<Item = &'a Arm> {
        self.life.arms().filter(move |it| it.from.has(state))
    }

    fn can_be_taken(&self, arm: &Arm) -> bool {
        let possible = |engine: bool| {
            let known = StateAndCaller { state: None, engine: Some(engine) };
            Partial::new(&self.life.reads, known).truth(&arm.by) != Some(false)
        };
        possible(false) || (possible(true) && self.fired.contains(&arm.transition))
    }

    /// The other states that can be reached in one step.
    pub fn next_states(&self, state: &str) -> BTreeSet<Name> {
        let mut all = BTreeSet::new();
        if let Some(here) = self.life.state(state) {
            for choice in &here.always {
                all.extend(self.aims(&choice.aim, state));
            }
        }
        for arm in self.life.arms().filter(|it| it.from.has(state)) {
            if !self.can_be_taken(arm) {
                continue;
            }
            match &arm.target {
                Target::One(aim) => all.extend(self.aims(aim, state)),
                Target::Choices(choices) => {
                    all.extend(choices.iter().flat_map(|it| self.aims(&it.aim, state)));
                }
            }
        }
        all.remove(state);
        all
    }

    /// Transitions out of a state that no one can take.
    pub fn blocked_transitions(&self, state: &'a str) -> Vec<String> {
        let mut names: Vec<String> = self
            .arms(state)
            .filter(|it| !self.can_be_taken(it))
            .map(|it| it.transition.to_string())
            .collect();
        names.dedup();
        names
    }

    pub fn leads_to_end(&self, state: &str) -> bool {
        let mut seen: BTreeSet<Name> = BTreeSet::new();
        let mut open = vec![Name::new(state)];
        while let Some(here) = open.pop() {
            if self.life.state(&here).is_some_and(ends) {
                return true;
            }
            if seen.insert(here.clone()) {
                open.extend(self.next_states(&here));
            }
        }
        false
    }

    fn aims(&self, aim: &Aim, from: &str) -> Vec<Name> {
        match aim {
            Aim::Stay => Vec::new(),
            Aim::State(name) => vec![name.clone()],
            Aim::Table(table) => table.get(from).cloned().into_iter().collect(),
            Aim::Ask { among, .. } => among.0.clone(),
            Aim::Next { of: None } => {
                let next = self.life.rank(from).and_then(|it| self.life.path.get(it + 1));
                next.cloned().into_iter().collect()
            }
            Aim::Next { of: Some(_) } => self.life.path.clone(),
            Aim::Field(_) => self.life.states.iter().map(|it| it.name.clone()).collect(),
        }
    }
}
