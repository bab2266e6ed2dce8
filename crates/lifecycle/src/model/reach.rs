//! The states that moves may reach, as far as the definition alone shows.

use super::consequence::{AssignTarget, Consequences};
use super::lifecycle::Lifecycle;
use super::read::Read;
use super::transition::{Aim, Choice};
use crate::guard::Outline;
use crate::name::Name;

/// The targets of a lifecycle's moves.
#[derive(Clone, Copy)]
pub struct Reach<'a> {
    life: &'a Lifecycle,
    /// Whether a choice may be taken in a state, as far as the caller of `new` knows.
    possible: &'a dyn Fn(&Choice, &Name) -> bool,
}

impl std::fmt::Debug for Reach<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("life", &self.life.name).finish_non_exhaustive()
    }
}

impl<'a> Reach<'a> {
    pub fn new(life: &'a Lifecycle, possible: &'a dyn Fn(&Choice, &Name) -> bool) -> Self {
        Self { life, possible }
    }

    /// The states that an aim may lead to from a state, in declared order; the state itself if it stays.
    pub fn targets(&self, aim: &Aim, from: &Name) -> Vec<Name> {
        let life = self.life;
        match aim {
            Aim::Stay => vec![from.clone()],
            Aim::State(name) => vec![name.clone()],
            Aim::Table(table) => table.get(from).cloned().into_iter().collect(),
            Aim::Next { of: None } => life.after(from).cloned().into_iter().collect(),
            Aim::Next { of: Some(field) } => {
                let held = self.states_with_field(field);
                let next: Vec<&Name> = held.iter().filter_map(|it| life.after(it)).collect();
                life.in_declared_order(|it| next.contains(&it))
            }
            Aim::Field(field) => self.states_with_field(field),
            Aim::Ask { among, earlier, of } => {
                let rank = |it: &Name| life.rank(it).unwrap_or(0);
                let limit = match of {
                    Some(field) => self.states_with_field(field).iter().map(rank).max().unwrap_or(0),
                    None => rank(from),
                };
                let fits = |it: &Name| !earlier || life.rank(it).is_some_and(|it| it < limit);
                life.in_declared_order(|it| among.has(it) && fits(it))
            }
        }
    }

    /// The states that a field may hold, judged by the rules that write it.
    fn states_with_field(&self, field: &Name) -> Vec<Name> {
        let life = self.life;
        let mut takes = life.arms().flat_map(|it| &it.takes).chain(&life.create.takes);
        let every = || life.in_declared_order(|_| true);
        if takes.any(|it| it.stored && it.name == *field) {
            return every();
        }
        let mut found: Vec<Name> =
            life.field(field).and_then(|it| it.default.as_str()).map(Name::new).into_iter().collect();
        for (then, here, entered) in self.writing_rules() {
            for assign in
                then.set.iter().filter(|it| matches!(&it.target, AssignTarget::Field(it) if it == field))
            {
                let before = entered.map(|it| self.arrivals(field, it));
                if !self.put(field, &assign.value.outline(), &here, before.as_deref(), &mut found) {
                    return every();
                }
            }
        }
        life.in_declared_order(|it| found.contains(it))
    }

    /// Every set of consequences, the states an entity can be in at that time, and the state it has just
    /// entered, if any.
    fn writing_rules(&self) -> Vec<(&'a Consequences, Vec<Name>, Option<&'a Name>)> {
        let life = self.life;
        let mut all = vec![(&life.create.then, vec![life.initial.clone()], None)];
        for arm in life.arms() {
            all.push((&arm.then, arm.from.0.clone(), None));
            for choice in arm.target.choices() {
                let from = arm.from.0.iter().filter(|it| (self.possible)(choice, it)).cloned().collect();
                all.push((&choice.then, from, None));
            }
        }
        for state in &life.states {
            let here = || vec![state.name.clone()];
            all.push((&state.enter, here(), Some(&state.name)));
            all.push((&state.exit, here(), None));
            all.extend(state.always.iter().map(|it| (&it.then, here(), None)));
        }
        for timer in &life.timers {
            all.extend(timer.warn.iter().map(|it| (&it.then, timer.runs.0.clone(), None)));
        }
        for counter in &life.counters {
            all.extend(counter.warn.iter().map(|it| (&it.then, life.in_declared_order(|_| true), None)));
        }
        all
    }

    /// The states in which an entity may be before it enters a state, other than through the field itself.
    fn arrivals(&self, field: &Name, state: &Name) -> Vec<Name> {
        let life = self.life;
        let leads = |aim: &Aim, from: &Name| match aim {
            Aim::Field(it) | Aim::Next { of: Some(it) } => it != field,
            Aim::Ask { among, .. } => among.has(state),
            aim => self.targets(aim, from).contains(state),
        };
        let mut found = Vec::new();
        for arm in life.arms() {
            let there = |from: &&Name| match arm.target.choices() {
                [] => leads(arm.target.main(), from),
                choices => choices.iter().any(|it| leads(&it.aim, from) && (self.possible)(it, from)),
            };
            found.extend(arm.from.0.iter().filter(there).cloned());
        }
        let moves_on = |it: &&super::State| it.always.iter().any(|on| leads(&on.aim, &it.name));
        found.extend(life.states.iter().filter(moves_on).map(|it| it.name.clone()));
        found
    }

    /// Adds the states that an expression may yield; false if they are unknown.
    fn put(
        &self,
        field: &Name,
        value: &Outline,
        here: &[Name],
        before: Option<&[Name]>,
        found: &mut Vec<Name>,
    ) -> bool {
        match value {
            Outline::Constant(value) => {
                found.extend(value.as_str().map(Name::new));
                true
            }
            Outline::If(parts) => {
                let [_, yes, no] = &**parts;
                self.put(field, yes, here, before, found) && self.put(field, no, here, before, found)
            }
            Outline::Read(slot, members) if members.is_empty() => {
                match self.life.reads.get(slot.0 as usize) {
                    Some(Read::State) => {
                        found.extend(here.iter().cloned());
                        true
                    }
                    Some(Read::PreviousState) => {
                        found.extend(before.unwrap_or_default().iter().cloned());
                        before.is_some_and(|it| !it.is_empty())
                    }
                    Some(Read::Field(it) | Read::Was(it)) => it == field,
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl Lifecycle {
    /// The state after one in the declared order.
    pub fn after(&self, state: &str) -> Option<&Name> {
        self.path.get(self.rank(state)? + 1)
    }

    /// The states that `keep` selects, in declared order.
    fn in_declared_order(&self, keep: impl Fn(&Name) -> bool) -> Vec<Name> {
        self.states.iter().map(|it| &it.name).filter(|it| keep(it)).cloned().collect()
    }
}
