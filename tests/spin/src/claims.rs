//! The promises of a lifecycle, as conditions that never become true.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, PropertyKind, Severity, StateSet};

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::frame::MoveFrame;
use super::model::ModelClaim;
use super::shape::EntityShape;
use super::tree::{matches, tree};

/// A promise about single entities.
pub(super) struct EntityPromise<'a> {
    pub name: String,
    pub within: Option<&'a StateSet>,
    pub guard: &'a Guard,
    /// The value of the guard that is bad, or wished for.
    pub when: bool,
    pub wished: bool,
    /// Whether it is a property, not an invariant that the engine enforces.
    pub proved: bool,
}

/// All promises that can be checked for one entity at a time: properties, and invariants whose violation is
/// refused.
pub(super) fn entity_promises(life: &Lifecycle) -> Vec<EntityPromise<'_>> {
    let mut all = Vec::new();
    for property in life.properties.iter().filter(|it| it.on.is_empty()) {
        let (guard, when, wished) = match &property.kind {
            PropertyKind::Never(guard) => (guard, true, false),
            PropertyKind::Always(guard) => (guard, false, false),
            PropertyKind::Reachable(guard) => (guard, true, true),
            PropertyKind::Eventually { .. } | PropertyKind::Alone { .. } => continue,
        };
        let name = format!("{}: {}", property.kind.word(), property.says);
        all.push(EntityPromise { name, within: property.within.as_ref(), guard, when, wished, proved: true });
    }
    let errors = life.invariants.iter().filter(|it| it.severity >= Severity::Error && !it.needs_now);
    all.extend(errors.map(|it| EntityPromise {
        name: format!("invariant {}", it.name),
        within: it.within.as_ref(),
        guard: &it.holds,
        when: false,
        wished: false,
        proved: false,
    }));
    all
}

/// The properties that are not about single entities at single moments: they are left to the exploration of the law itself.
pub(super) fn not_claimed(life: &Lifecycle) -> Vec<String> {
    let kinds = life.properties.iter().filter(|it| {
        !it.on.is_empty() || matches!(it.kind, PropertyKind::Eventually { .. } | PropertyKind::Alone { .. })
    });
    kinds.map(|it| format!("{}: {}", it.kind.word(), it.says)).collect()
}

/// The claims over the variables of the model: a bad world counts wherever it cannot be ruled out.
pub(super) fn claims(shape: &EntityShape<'_>) -> Vec<ModelClaim> {
    entity_promises(shape.life).into_iter().map(|it| claim(shape, &it)).collect()
}

fn claim(shape: &EntityShape<'_>, claimed: &EntityPromise<'_>) -> ModelClaim {
    let outline = claimed.guard.outline();
    let mut exact = true;
    let mut cases: Vec<(ModelCondition, Vec<u8>)> = Vec::new();
    for state in
        shape.life.states.iter().filter(|it| claimed.within.is_none_or(|within| within.has(&it.name)))
    {
        let frame = MoveFrame::still(shape, AbstractValue::Known((&state.name).into()));
        let tree = tree(&frame, &outline);
        exact &= !tree.some(&|it| !matches!(it, AbstractValue::Known(_)));
        let cond = tree.when(&|it| matches(it, claimed.when));
        let Some(number) = shape.state(&state.name) else { continue };
        match cases.iter_mut().find(|(it, _)| *it == cond) {
            Some((_, states)) => states.push(number),
            None => cases.push((cond, vec![number])),
        }
    }
    let states = |numbers: &[u8]| ModelCondition::among(0, numbers, shape.size(0));
    let bad = ModelCondition::any(
        cases.iter().map(|(cond, numbers)| ModelCondition::all([states(numbers), cond.clone()])),
    );
    ModelClaim { name: claimed.name.clone(), bad, exact, wished: claimed.wished }
}
