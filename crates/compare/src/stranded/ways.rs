//! Where entities can go, by anybody's hand or by the engine's.

use std::collections::BTreeSet;

use trackside_engine::Law;
use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Aim, Arm, Choice, Consequences, Lifecycle, Read, State, Target};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// The edges of a lifecycle that somebody or something can take.
pub(super) struct Ways<'a> {
    life: &'a Lifecycle,
    /// Transitions that some rule fires.
    fired: BTreeSet<Name>,
}

/// Whether it is over for those who are here.
pub(super) fn ends(state: &State) -> bool {
    state.last || state.outcome.is_some()
}

impl<'a> Ways<'a> {
    pub fn new(law: &Law, life: &'a Lifecycle) -> Self {
        let mut fired = BTreeSet::new();
        for name in law.lifecycle_names() {
            if let Some(other) = law.newest(name) {
                collect(other, life, &mut fired);
            }
        }
        Self { life, fired }
    }

    fn arms(&self, state: &'a str) -> impl Iterator<Item = &'a Arm> {
        self.life.arms().filter(move |it| it.from.has(state))
    }

    fn can_be_taken(&self, arm: &Arm) -> bool {
        let possible = |engine: bool| may_be(&arm.by.outline(), &self.life.reads, engine);
        possible(false) || (possible(true) && self.fired.contains(&arm.transition))
    }

    /// The other states that can be reached in one step.
    pub fn out(&self, state: &str) -> BTreeSet<Name> {
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

    /// Transitions that leave, but that nobody can take.
    pub fn shut(&self, state: &'a str) -> Vec<String> {
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
                open.extend(self.out(&here));
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

/// Whether a condition could be true for somebody who is, or is not, the engine.
fn may_be(of: &Outline, reads: &[Read], engine: bool) -> bool {
    match of {
        Outline::Constant(Value::Bool(it)) => *it,
        Outline::Read(slot, _) if matches!(reads.get(slot.0 as usize), Some(Read::Engine)) => engine,
        Outline::Not(inner) => match &**inner {
            Outline::Constant(Value::Bool(it)) => !it,
            Outline::Read(slot, _) if matches!(reads.get(slot.0 as usize), Some(Read::Engine)) => !engine,
            _ => true,
        },
        Outline::All(parts) => parts.iter().all(|it| may_be(it, reads, engine)),
        Outline::Any(parts) => parts.iter().any(|it| may_be(it, reads, engine)),
        _ => true,
    }
}

/// Every transition of `of` that a rule of `by` fires.
fn collect(by: &Lifecycle, of: &Lifecycle, fired: &mut BTreeSet<Name>) {
    let own = by.name == of.name;
    let mut look = |all: &Consequences| {
        fired.extend(all.also.iter().filter(|it| it.to == of.name).map(|it| it.fire.clone()));
        if own {
            fired.extend(all.then.iter().map(|it| it.fire.clone()));
        }
    };
    let choices =
        |all: &[Choice], look: &mut dyn FnMut(&Consequences)| all.iter().for_each(|it| look(&it.then));
    for arm in by.transitions.iter().flat_map(|it| &it.arms) {
        look(&arm.then);
        if let Target::Choices(all) = &arm.target {
            choices(all, &mut look);
        }
    }
    for state in &by.states {
        look(&state.enter);
        look(&state.exit);
        choices(&state.always, &mut look);
    }
    look(&by.create.then);
    let warned = by.timers.iter().flat_map(|it| &it.warn).chain(by.counters.iter().flat_map(|it| &it.warn));
    warned.for_each(|it| look(&it.then));
    if own {
        fired.extend(by.timers.iter().filter_map(|it| it.then.as_ref()).map(|it| it.fire.clone()));
        fired.extend(by.counters.iter().filter_map(|it| it.then.as_ref()).map(|it| it.fire.clone()));
        fired.extend(by.reactions.iter().map(|it| it.fire.clone()));
        fired.extend(by.slots.iter().filter_map(|it| it.lost.clone()));
        fired.extend(by.invariants.iter().filter_map(|it| it.repair.clone()));
        fired.extend(by.effects.iter().flat_map(|it| [it.ok.clone(), it.failed.clone()]).flatten());
    }
}
