//! The possible targets of a move.

use trackside_lifecycle::model::{Aim, Choice};
use trackside_lifecycle::name::Name;

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::draft::{Choices, MoveCase, MoveDraft};
use super::tree::may_if;

impl<'a> MoveDraft<'a, '_> {
    /// Every target, with the choice that leads there.
    pub(super) fn split_by_target(
        &self,
        all: Vec<MoveCase<'a>>,
    ) -> Vec<(Vec<MoveCase<'a>>, Option<&'_ Choice>)> {
        match self.rule.choices {
            Choices::One(aim) => {
                let cases = all.into_iter().flat_map(|it| self.targets(it, aim)).collect();
                vec![(cases, None)]
            }
            Choices::First(choices) => {
                let mut sorted = Vec::new();
                for (n, choice) in choices.iter().enumerate() {
                    let mut cases = Vec::new();
                    for case in &all {
                        for mut case in self.targets(case.clone(), &choice.aim) {
                            for earlier in choices.iter().take(n) {
                                case.when.push(may_if(&case.frame, earlier.when.as_ref(), false));
                            }
                            case.when.push(may_if(&case.frame, choice.when.as_ref(), true));
                            cases.push(case);
                        }
                    }
                    cases.retain(|it| ModelCondition::all(it.when.iter().cloned()) != ModelCondition::Never);
                    sorted.push((cases, Some(choice)));
                }
                sorted
            }
        }
    }

    /// The possible states of an aim.
    fn targets(&self, case: MoveCase<'a>, aim: &Aim) -> Vec<MoveCase<'a>> {
        let life = self.shape.life;
        let aimed = |to: Option<&Name>, when: ModelCondition| {
            let mut case = case.clone();
            case.when.push(when);
            case.to = to.cloned();
            case
        };
        // The condition that the base state is this one.
        let base = |of: Option<&Name>, state: &Name| match of.map(|it| (it, self.shape.fields.get(it))) {
            None => {
                if *state == *self.from {
                    ModelCondition::Always
                } else {
                    ModelCondition::Never
                }
            }
            Some((_, None)) => ModelCondition::Always,
            Some((_, Some(variable))) => {
                let values = self.shape.encode(*variable, &AbstractValue::Known(state.into()));
                let here = case.frame.when(*variable, &values);
                let null = case.frame.when(*variable, &[0]);
                if *state == *self.from { ModelCondition::any([here, null]) } else { here }
            }
        };
        match aim {
            Aim::Stay => vec![aimed(None, ModelCondition::Always)],
            Aim::State(name) => vec![aimed(Some(name), ModelCondition::Always)],
            Aim::Table(table) => {
                table.get(self.from).map(|it| aimed(Some(it), ModelCondition::Always)).into_iter().collect()
            }
            Aim::Field(field) => {
                let states = life.states.iter().map(|it| &it.name);
                match self.shape.fields.get(field) {
                    Some(variable) => states
                        .map(|it| {
                            let values = self.shape.encode(*variable, &AbstractValue::Known(it.into()));
                            aimed(Some(it), case.frame.when(*variable, &values))
                        })
                        .collect(),
                    None => states.map(|it| aimed(Some(it), ModelCondition::Always)).collect(),
                }
            }
            Aim::Next { of } => life
                .path
                .iter()
                .zip(life.path.iter().skip(1))
                .map(|(state, next)| aimed(Some(next), base(of.as_ref(), state)))
                .collect(),
            Aim::Ask { among, earlier, of } => {
                let asked = among.0.iter().map(|state| {
                    let later = |it: &&Name| life.rank(state).zip(life.rank(it)).is_some_and(|(a, b)| a < b);
                    let when = match earlier {
                        true => ModelCondition::any(
                            life.states
                                .iter()
                                .map(|it| &it.name)
                                .filter(later)
                                .map(|it| base(of.as_ref(), it)),
                        ),
                        false => ModelCondition::Always,
                    };
                    let mut case = aimed(Some(state), when);
                    case.frame.aimed = Some(state.clone());
                    case
                });
                asked.collect()
            }
        }
    }
}
