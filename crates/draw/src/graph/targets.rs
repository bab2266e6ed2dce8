//! Where a move can go, for each state it can leave.

use trackside_lifecycle::model::{Aim, Choice, Lifecycle, Reach};
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
    let free = match aim {
        Aim::Stay => return vec![Goal { to: None, free: None }],
        Aim::State(_) | Aim::Table(_) | Aim::Next { of: None } => None,
        Aim::Field(field) | Aim::Next { of: Some(field) } => Some(Free::Field(field.clone())),
        Aim::Ask { .. } => Some(Free::Asked),
    };
    let possible = |choice: &Choice, state: &Name| {
        let known = Known { life, state: Some(state), engine: None };
        choice.when.as_ref().is_none_or(|it| known.truth(it) != Some(false))
    };
    let targets = Reach::new(life, &possible).targets(aim, from);
    targets.into_iter().map(|it| Goal { to: Some(it), free: free.clone() }).collect()
}
