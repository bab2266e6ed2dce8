//! The moves that rules allow, from each state they leave.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Aim, Arm, Choice, Lifecycle, Reach, Target};
use trackside_lifecycle::name::Name;

/// Decides the conditions of choices.
pub trait ChoiceOracle {
    /// Whether the condition holds for an entity in this state; none if it depends.
    fn truth(&self, when: &Guard, from: &Name, arm: Option<&Arm>) -> Option<bool>;
}

/// One target of one rule from one state.
#[derive(Clone, Debug)]
pub struct Move<'a> {
    pub from: &'a Name,
    /// None: the entity stays in its state.
    pub to: Option<Name>,
    /// None: an `always` of the state.
    pub arm: Option<&'a Arm>,
    pub choice: Option<(usize, &'a Choice)>,
    pub aim: &'a Aim,
    /// The condition of the choice always holds here.
    pub certain: bool,
}

/// Every move of the arms, by arm, state and target in declared order; then those of `always`.
///
/// A choice is left out where its condition never holds, or where an earlier one always does. `reach` gives
/// the possible states of an aim.
pub fn moves<'a>(life: &'a Lifecycle, oracle: &dyn ChoiceOracle, reach: &Reach<'_>) -> Vec<Move<'a>> {
    let mut all = Vec::new();
    for arm in life.arms() {
        for from in &arm.from.0 {
            match &arm.target {
                Target::One(aim) => {
                    let one = Move { from, to: None, arm: Some(arm), choice: None, aim, certain: true };
                    all.extend(spread(&one, reach));
                }
                Target::Choices(choices) => all.extend(open_choices(choices, from, Some(arm), oracle, reach)),
            }
        }
    }
    for state in &life.states {
        all.extend(open_choices(&state.always, &state.name, None, oracle, reach));
    }
    all
}

/// The choices that can be taken in a state.
fn open_choices<'a>(
    choices: &'a [Choice],
    from: &'a Name,
    arm: Option<&'a Arm>,
    oracle: &dyn ChoiceOracle,
    reach: &Reach<'_>,
) -> Vec<Move<'a>> {
    let mut all = Vec::new();
    for (n, choice) in choices.iter().enumerate() {
        let truth = choice.when.as_ref().map_or(Some(true), |it| oracle.truth(it, from, arm));
        if truth == Some(false) {
            continue;
        }
        let certain = truth == Some(true);
        let one = Move { from, to: None, arm, choice: Some((n, choice)), aim: &choice.aim, certain };
        all.extend(spread(&one, reach));
        if certain {
            break;
        }
    }
    all
}

/// One move per possible state of the aim.
fn spread<'a>(one: &Move<'a>, reach: &Reach<'_>) -> Vec<Move<'a>> {
    if *one.aim == Aim::Stay {
        return vec![one.clone()];
    }
    let targets = reach.targets(one.aim, one.from);
    targets.into_iter().map(|to| Move { to: Some(to), ..one.clone() }).collect()
}
