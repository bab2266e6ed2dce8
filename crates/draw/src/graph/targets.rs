//! Where a move can go, for each state it can leave.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Aim, Arm, Consequences, Lifecycle, Read, Spot, Target};
use trackside_lifecycle::name::Name;

use super::Free;
use super::truth::Known;

/// A possible target; none for staying.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    pub to: Option<Name>,
    pub free: Option<Free>,
}

/// Everything an aim can mean in a state, in declared order.
pub(super) fn goals(life: &Lifecycle, aim: &Aim, from: &Name) -> Vec<Goal> {
    let one = |to: Option<&Name>| to.map(|it| Goal { to: Some(it.clone()), free: None });
    let spread = |to: Vec<Name>, free: &Free| {
        to.into_iter().map(|it| Goal { to: Some(it), free: Some(free.clone()) }).collect()
    };
    match aim {
        Aim::Stay => vec![Goal { to: None, free: None }],
        Aim::State(name) => one(Some(name)).into_iter().collect(),
        Aim::Table(table) => one(table.get(from)).into_iter().collect(),
        Aim::Next { of: None } => one(after(life, from)).into_iter().collect(),
        Aim::Next { of: Some(field) } => {
            let bases = held(life, field);
            let next: Vec<&Name> = bases.iter().filter_map(|it| after(life, it)).collect();
            spread(declared(life, |it| next.contains(&it)), &Free::Field(field.clone()))
        }
        Aim::Field(field) => {
            let held = held(life, field);
            spread(declared(life, |it| held.contains(it)), &Free::Field(field.clone()))
        }
        Aim::Ask { among, earlier, of } => {
            let limits: Vec<usize> = match of {
                Some(field) => held(life, field).iter().map(|it| life.rank(it).unwrap_or(0)).collect(),
                None => vec![life.rank(from).unwrap_or(0)],
            };
            let limit = limits.into_iter().max().unwrap_or(0);
            let fits = |it: &Name| !earlier || life.rank(it).is_some_and(|it| it < limit);
            spread(declared(life, |it| among.has(it) && fits(it)), &Free::Asked)
        }
    }
}

fn declared(life: &Lifecycle, keep: impl Fn(&Name) -> bool) -> Vec<Name> {
    life.states.iter().map(|it| &it.name).filter(|it| keep(it)).cloned().collect()
}

fn after<'a>(life: &'a Lifecycle, state: &str) -> Option<&'a Name> {
    life.path.get(life.rank(state)? + 1)
}

/// The states that a field can hold, as far as the rules that write it tell.
fn held(life: &Lifecycle, field: &Name) -> BTreeSet<Name> {
    let mut found = Written { life, field, states: BTreeSet::new(), anything: false };
    for arm in life.transitions.iter().flat_map(|it| &it.arms) {
        found.anything |= arm.takes.iter().any(|it| it.stored && it.name == *field);
        found.look(&arm.then, arm.from.0.as_slice(), &[]);
        if let Target::Choices(choices) = &arm.target {
            for choice in choices {
                found.look(&choice.then, &taken_from(life, arm, choice), &[]);
            }
        }
    }
    for state in &life.states {
        let here = std::slice::from_ref(&state.name);
        found.look(&state.enter, here, &arrivals(life, &state.name));
        found.look(&state.exit, here, &[]);
        for choice in &state.always {
            found.look(&choice.then, here, &[]);
        }
    }
    found.look(&life.create.then, std::slice::from_ref(&life.initial), &[]);
    found.anything |= life.create.takes.iter().any(|it| it.stored && it.name == *field);
    if found.anything { life.states.iter().map(|it| it.name.clone()).collect() } else { found.states }
}

/// The states in which a choice is not ruled out.
fn taken_from(life: &Lifecycle, arm: &Arm, choice: &trackside_lifecycle::model::Choice) -> Vec<Name> {
    let possible = |state: &&Name| {
        let known = Known { life, state: Some(state), engine: None };
        choice.when.as_ref().is_none_or(|it| known.truth(it) != Some(false))
    };
    arm.from.0.iter().filter(possible).cloned().collect()
}

/// The states from which a state is reached by name.
fn arrivals(life: &Lifecycle, state: &Name) -> Vec<Name> {
    let reaches = |aim: &Aim, from: &Name| match aim {
        Aim::State(to) => to == state,
        Aim::Table(table) => table.get(from) == Some(state),
        Aim::Next { of: None } => after(life, from) == Some(state),
        Aim::Ask { among, .. } => among.has(state),
        Aim::Stay | Aim::Field(_) | Aim::Next { of: Some(_) } => false,
    };
    let mut found = Vec::new();
    for arm in life.transitions.iter().flat_map(|it| &it.arms) {
        for from in &arm.from.0 {
            let there = match &arm.target {
                Target::One(aim) => reaches(aim, from),
                Target::Choices(choices) => choices.iter().any(|it| {
                    let known = Known { life, state: Some(from), engine: None };
                    reaches(&it.aim, from) && it.when.as_ref().is_none_or(|it| known.truth(it) != Some(false))
                }),
            };
            if there {
                found.push(from.clone());
            }
        }
    }
    for other in &life.states {
        if other.always.iter().any(|it| reaches(&it.aim, &other.name)) {
            found.push(other.name.clone());
        }
    }
    found
}

struct Written<'a> {
    life: &'a Lifecycle,
    field: &'a Name,
    states: BTreeSet<Name>,
    anything: bool,
}

impl Written<'_> {
    /// What is put into the field by a rule that runs in these states, having come from those.
    fn look(&mut self, then: &Consequences, here: &[Name], before: &[Name]) {
        for assign in &then.set {
            if matches!(&assign.spot, Spot::Field(it) if it == self.field) {
                self.value(&assign.value.outline(), here, before);
            }
        }
    }

    fn value(&mut self, outline: &Outline, here: &[Name], before: &[Name]) {
        match outline {
            Outline::Constant(value) if value.is_null() => {}
            Outline::Constant(value) => {
                let named = value.as_str().and_then(|it| self.life.state(it));
                self.states.extend(named.map(|it| it.name.clone()));
            }
            Outline::If(parts) => {
                let [_, yes, no] = &**parts;
                self.value(yes, here, before);
                self.value(no, here, before);
            }
            Outline::Read(slot, members) if members.is_empty() => {
                let read = usize::try_from(slot.0).ok().and_then(|it| self.life.reads.get(it));
                match read {
                    Some(Read::State) => self.states.extend(here.iter().cloned()),
                    Some(Read::PreviousState) if !before.is_empty() => {
                        self.states.extend(before.iter().cloned());
                    }
                    Some(Read::Field(name) | Read::Was(name)) if name == self.field => {}
                    _ => self.anything = true,
                }
            }
            _ => self.anything = true,
        }
    }
}
