//! The states a move can lead to.

use trackside_lifecycle::model::{Aim, Arm, Lifecycle, Reach};
use trackside_lifecycle::name::Name;

/// The states that an aim may lead to from a state; the state itself if it stays.
pub fn targets(life: &Lifecycle, aim: &Aim, from: &Name) -> Vec<Name> {
    Reach::new(life, &|_, _| true).targets(aim, from)
}

/// Every state that an arm may lead to from a state.
pub fn after(life: &Lifecycle, arm: &Arm, from: &Name) -> Vec<Name> {
    let mut all: Vec<Name> = arm.target.aims().into_iter().flat_map(|aim| targets(life, aim, from)).collect();
    all.sort();
    all.dedup();
    all
}
