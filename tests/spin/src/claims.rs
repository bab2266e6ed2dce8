//! The promises of a lifecycle, as conditions that never become true.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, PropertyKind, Severity, StateSet};

use super::cond::Cond;
use super::domain::Abs;
use super::frame::Frame;
use super::model::Claim;
use super::shape::Shape;
use super::tree::{matches, tree};

/// A promise about single entities.
pub(super) struct Claimed<'a> {
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
pub(super) fn claimed(life: &Lifecycle) -> Vec<Claimed<'_>> {
    let mut all = Vec::new();
    for property in life.properties.iter().filter(|it| it.on.is_empty()) {
        let (guard, when, wished) = match &property.kind {
            PropertyKind::Never(guard) => (guard, true, false),
            PropertyKind::Always(guard) => (guard, false, false),
            PropertyKind::Reachable(guard) => (guard, true, true),
            PropertyKind::Eventually { .. } | PropertyKind::Alone { .. } => continue,
        };
        let name = format!("{}: {}", property.kind.word(), property.says);
        all.push(Claimed { name, within: property.within.as_ref(), guard, when, wished, proved: true });
    }
    let errors = life.invariants.iter().filter(|it| it.severity >= Severity::Error && !it.needs_now);
    all.extend(errors.map(|it| Claimed {
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
pub(super) fn claims(shape: &Shape<'_>) -> Vec<Claim> {
    claimed(shape.life).into_iter().map(|it| claim(shape, &it)).collect()
}

fn claim(shape: &Shape<'_>, claimed: &Claimed<'_>) -> Claim {
    let outline = claimed.guard.outline();
    let mut exact = true;
    let mut cases: Vec<(Cond, Vec<u8>)> = Vec::new();
    for state in
        shape.life.states.iter().filter(|it| claimed.within.is_none_or(|within| within.has(&it.name)))
    {
        let frame = Frame::still(shape, Abs::Known((&state.name).into()));
        let tree = tree(&frame, &outline);
        exact &= !tree.some(&|it| !matches!(it, Abs::Known(_)));
        let cond = tree.when(&|it| matches(it, claimed.when));
        let Some(number) = shape.state(&state.name) else { continue };
        match cases.iter_mut().find(|(it, _)| *it == cond) {
            Some((_, states)) => states.push(number),
            None => cases.push((cond, vec![number])),
        }
    }
    let states = |numbers: &[u8]| Cond::among(0, numbers, shape.size(0));
    let bad = Cond::any(cases.iter().map(|(cond, numbers)| Cond::all([states(numbers), cond.clone()])));
    Claim { name: claimed.name.clone(), bad, exact, wished: claimed.wished }
}
