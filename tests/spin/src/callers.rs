//! The callers that a rule can distinguish.

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Aim, Arm, Consequences, Read, Target};

use super::domain::AbstractValue;
use super::draft::AbstractCaller;
use super::eval::slot_place;
use super::shape::EntityShape;

/// The callers that may take an arm, as far as they differ.
pub(super) fn callers(shape: &EntityShape<'_>, arm: &Arm) -> Vec<AbstractCaller> {
    let life = shape.life;
    let mut guards: Vec<&Guard> = vec![&arm.by];
    guards.extend(arm.checks.iter().map(|it| &it.guard));
    guards.extend(assigned_guards(&arm.then));
    let mut grants = arm.then.lease.is_some();
    if let Target::Choices(choices) = &arm.target {
        for choice in choices {
            guards.extend(&choice.when);
            guards.extend(assigned_guards(&choice.then));
            grants |= choice.then.lease.is_some();
        }
    }
    let counted = life.counters.iter().filter(|it| it.on_moves || arm.count.contains(&it.name));
    guards.extend(counted.filter_map(|it| it.only_if.as_ref()));
    if !matches!(arm.target, Target::One(Aim::Stay)) {
        for state in &life.states {
            guards.extend(assigned_guards(&state.enter).chain(assigned_guards(&state.exit)));
            guards.extend(state.checks.iter().map(|it| &it.guard));
            grants |= state.enter.lease.is_some();
        }
    }
    people(mentions(shape, &guards), grants || arm.holding.is_some())
}

pub(super) fn assigned_guards(from: &Consequences) -> impl Iterator<Item = &Guard> {
    from.set.iter().map(|it| &it.value).chain(from.lease.iter().filter_map(|it| it.to.as_ref()))
}

/// Every distinguishable caller.
pub(super) fn people((actor, subject): (bool, bool), grants: bool) -> Vec<AbstractCaller> {
    let told = |it: bool| match it {
        true => vec![AbstractValue::Person(1), AbstractValue::Person(2), AbstractValue::Someone],
        false => vec![AbstractValue::Someone],
    };
    let mut all = Vec::new();
    for actor in told(actor) {
        for subject in told(subject || grants) {
            all.push(AbstractCaller { actor: actor.clone(), subject, engine: false });
        }
    }
    all
}

/// Whether expressions read the actor, and the subject.
pub(super) fn mentions(shape: &EntityShape<'_>, guards: &[&Guard]) -> (bool, bool) {
    let mut found = (false, false);
    for guard in guards {
        look(shape, &guard.outline(), &mut found, 0);
    }
    found
}

fn look(shape: &EntityShape<'_>, outline: &Outline, found: &mut (bool, bool), depth: usize) {
    outline.walk(&mut |it| {
        let Outline::Read(slot, _) = it else { return };
        let place = slot_place(*slot);
        match shape.life.reads.get(place) {
            Some(Read::ActorId) => found.0 = true,
            Some(Read::SubjectId) => found.1 = true,
            _ => {}
        }
        if let Some(inner) = shape.outlines.get(&place).filter(|_| depth < 16) {
            look(shape, inner, found, depth + 1);
        }
    });
}
