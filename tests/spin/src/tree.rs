//! The value of an expression, by the values of the variables it reads.

use trackside_lifecycle::guard::{Guard, Outline};

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::eval::eval;
use super::frame::MoveFrame;

/// Most cases of one expression; beyond them its value is unknown.
const CASES: usize = 4_096;

/// A decision tree: the variables it reads, one after the other, and the resulting values.
#[derive(Debug)]
pub(super) enum DecisionTree {
    Leaf(AbstractValue),
    Split(usize, Vec<DecisionTree>),
}

/// All possible values of an expression in a frame.
pub(super) fn tree(frame: &MoveFrame<'_>, outline: &Outline) -> DecisionTree {
    let mut before = vec![None; frame.shape.parts.len()];
    let mut left = CASES;
    grow(frame, outline, &mut before, &mut left).unwrap_or(DecisionTree::Leaf(AbstractValue::Unknown))
}

fn grow(
    frame: &MoveFrame<'_>,
    outline: &Outline,
    before: &mut Vec<Option<u8>>,
    left: &mut usize,
) -> Option<DecisionTree> {
    *left = left.checked_sub(1)?;
    let variable = match eval(frame, before, outline, &mut Vec::new()) {
        Ok(value) => return Some(DecisionTree::Leaf(value)),
        Err(need) => need.0,
    };
    let size = frame.shape.size(variable);
    let mut children = Vec::new();
    for value in (0..=u8::MAX).take(size) {
        if let Some(place) = before.get_mut(variable) {
            *place = Some(value);
        }
        children.push(grow(frame, outline, before, left)?);
    }
    if let Some(place) = before.get_mut(variable) {
        *place = None;
    }
    Some(DecisionTree::Split(variable, children))
}

impl DecisionTree {
    /// The condition under which it may give a value like this.
    pub fn when(&self, like: &dyn Fn(&AbstractValue) -> bool) -> ModelCondition {
        match self {
            Self::Leaf(value) => {
                if like(value) {
                    ModelCondition::Always
                } else {
                    ModelCondition::Never
                }
            }
            Self::Split(variable, children) => {
                let mut cases: Vec<(ModelCondition, Vec<u8>)> = Vec::new();
                for (value, child) in (0..=u8::MAX).zip(children) {
                    let cond = child.when(like);
                    match cases.iter_mut().find(|(it, _)| *it == cond) {
                        Some((_, values)) => values.push(value),
                        None => cases.push((cond, vec![value])),
                    }
                }
                let size = children.len();
                ModelCondition::any(cases.into_iter().map(|(cond, values)| {
                    ModelCondition::all([ModelCondition::among(*variable, &values, size), cond])
                }))
            }
        }
    }

    /// Whether some value of it is like this.
    pub fn some(&self, like: &dyn Fn(&AbstractValue) -> bool) -> bool {
        match self {
            Self::Leaf(value) => like(value),
            Self::Split(_, children) => children.iter().any(|it| it.some(like)),
        }
    }
}

/// The condition under which a guard may have this answer.
pub(super) fn may(frame: &MoveFrame<'_>, guard: &Guard, answer: bool) -> ModelCondition {
    tree(frame, &guard.outline()).when(&|it| matches(it, answer))
}

/// The same for an optional guard: without one, the answer is yes.
pub(super) fn may_if(frame: &MoveFrame<'_>, guard: Option<&Guard>, answer: bool) -> ModelCondition {
    match guard {
        Some(guard) => may(frame, guard, answer),
        None if answer => ModelCondition::Always,
        None => ModelCondition::Never,
    }
}

pub(super) fn matches(value: &AbstractValue, answer: bool) -> bool {
    match value {
        AbstractValue::Known(_) => value.is_true() == Some(answer),
        _ => true,
    }
}
