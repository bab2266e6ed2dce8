//! Where moves lead, as far as the definition says.

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Aim, Arm, Lifecycle, Read, Spot, StateSet};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::parts::{Origin, aims, parts};

/// The states that an aim may lead to from a state; the state itself if it stays.
pub fn targets(life: &Lifecycle, aim: &Aim, from: &Name) -> Vec<Name> {
    let after = |state: &Name| life.rank(state).and_then(|it| life.path.get(it + 1)).cloned();
    match aim {
        Aim::Stay => vec![from.clone()],
        Aim::State(name) => vec![name.clone()],
        Aim::Field(field) => held(life, field),
        Aim::Ask { among, earlier: true, of: None } => {
            let here = life.rank(from).unwrap_or(0);
            let before = |it: &&Name| life.rank(it).is_some_and(|it| it < here);
            among.0.iter().filter(before).cloned().collect()
        }
        Aim::Ask { among: StateSet(all), .. } => all.clone(),
        Aim::Next { of: None } => after(from).into_iter().collect(),
        Aim::Next { of: Some(field) } => held(life, field).iter().filter_map(after).collect(),
        Aim::Table(table) => table.get(from).cloned().into_iter().collect(),
    }
}

/// Every state that an arm may lead to from a state.
pub fn after(life: &Lifecycle, arm: &Arm, from: &Name) -> Vec<Name> {
    let mut all: Vec<Name> = aims(arm).into_iter().flat_map(|(_, aim)| targets(life, aim, from)).collect();
    all.sort();
    all.dedup();
    all
}

/// The states that a field may hold, in declared order.
fn held(life: &Lifecycle, field: &Name) -> Vec<Name> {
    let every = || life.states.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    let arms = life.transitions.iter().flat_map(|it| &it.arms);
    let taken =
        arms.flat_map(|it| &it.takes).chain(&life.create.takes).any(|it| it.stored && it.name == *field);
    if taken {
        return every();
    }
    let mut found: Vec<Name> = Vec::new();
    if let Some(Value::Text(text)) = life.field(field).map(|it| &it.default) {
        found.push(Name::from(text.clone()));
    }
    for part in parts(life) {
        let here: Vec<Name> = match part.origin {
            Origin::Create => vec![life.initial.clone()],
            Origin::Arm(arm) | Origin::Choice(arm, ..) => arm.from.0.clone(),
            Origin::Always(state, ..) | Origin::Enter(state) | Origin::Exit(state) => vec![state.clone()],
            Origin::Timer(timer) => timer.runs.0.clone(),
            Origin::Counter(_) => every(),
        };
        for assign in &part.then.set {
            let before = match part.origin {
                Origin::Enter(state) => Some(before(life, field, state)),
                _ => None,
            };
            if matches!(&assign.spot, Spot::Field(it) if it == field)
                && !put(life, field, &assign.value.outline(), (&here, before.as_deref()), &mut found)
            {
                return every();
            }
        }
    }
    life.states.iter().map(|it| it.name.clone()).filter(|it| found.contains(it)).collect()
}

/// Where an entity may be before it enters a state, other than by way of the field itself.
fn before(life: &Lifecycle, field: &Name, state: &Name) -> Vec<Name> {
    let mut all = Vec::new();
    for arm in life.transitions.iter().flat_map(|it| &it.arms) {
        for (_, aim) in aims(arm) {
            let by_field = matches!(aim, Aim::Field(_) | Aim::Next { of: Some(_) });
            let own = matches!(aim, Aim::Field(it) | Aim::Next { of: Some(it) } if it == field);
            let leads = |from: &&Name| !by_field && targets(life, aim, from).contains(state);
            // Another field may hold anything.
            all.extend(arm.from.0.iter().filter(|it| (by_field && !own) || leads(it)).cloned());
        }
    }
    all
}

/// Adds the states that an expression may yield; false if that cannot be told.
fn put(
    life: &Lifecycle,
    field: &Name,
    value: &Outline,
    (here, before): (&[Name], Option<&[Name]>),
    found: &mut Vec<Name>,
) -> bool {
    match value {
        Outline::Constant(Value::Null) => true,
        Outline::Constant(Value::Text(text)) => {
            found.push(Name::from(text.clone()));
            true
        }
        Outline::If(parts) => {
            let [_, yes, no] = &**parts;
            put(life, field, yes, (here, before), found) && put(life, field, no, (here, before), found)
        }
        Outline::Read(slot, members) if members.is_empty() => match life.reads.get(slot.0 as usize) {
            Some(Read::State) => {
                found.extend(here.iter().cloned());
                true
            }
            Some(Read::PreviousState) => {
                found.extend(before.unwrap_or_default().iter().cloned());
                before.is_some()
            }
            Some(Read::Field(it) | Read::Was(it)) if it == field => true,
            _ => false,
        },
        _ => false,
    }
}
