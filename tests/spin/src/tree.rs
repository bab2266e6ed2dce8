//! The value of an expression, by the values of the variables it reads.

use trackside_lifecycle::guard::{Guard, Outline};

use super::cond::Cond;
use super::domain::Abs;
use super::eval::eval;
use super::frame::Frame;

/// Most cases of one expression; beyond them its value is unknown.
const CASES: usize = 4_096;

/// A decision tree: the variables it reads, one after the other, and the resulting values.
#[derive(Debug)]
pub(super) enum Tree {
    Leaf(Abs),
    Split(usize, Vec<Tree>),
}

/// All possible values of an expression in a frame.
pub(super) fn tree(frame: &Frame<'_>, outline: &Outline) -> Tree {
    let mut before = vec![None; frame.shape.parts.len()];
    let mut left = CASES;
    grow(frame, outline, &mut before, &mut left).unwrap_or(Tree::Leaf(Abs::Unknown))
}

fn grow(
    frame: &Frame<'_>,
    outline: &Outline,
    before: &mut Vec<Option<u8>>,
    left: &mut usize,
) -> Option<Tree> {
    *left = left.checked_sub(1)?;
    let variable = match eval(frame, before, outline, &mut Vec::new()) {
        Ok(value) => return Some(Tree::Leaf(value)),
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
    Some(Tree::Split(variable, children))
}

impl Tree {
    /// The condition under which it may give a value like this.
    pub fn when(&self, like: &dyn Fn(&Abs) -> bool) -> Cond {
        match self {
            Self::Leaf(value) => {
                if like(value) {
                    Cond::Always
                } else {
                    Cond::Never
                }
            }
            Self::Split(variable, children) => {
                let mut cases: Vec<(Cond, Vec<u8>)> = Vec::new();
                for (value, child) in (0..=u8::MAX).zip(children) {
                    let cond = child.when(like);
                    match cases.iter_mut().find(|(it, _)| *it == cond) {
                        Some((_, values)) => values.push(value),
                        None => cases.push((cond, vec![value])),
                    }
                }
                let size = children.len();
                Cond::any(
                    cases
                        .into_iter()
                        .map(|(cond, values)| Cond::all([Cond::among(*variable, &values, size), cond])),
                )
            }
        }
    }

    /// Whether some value of it is like this.
    pub fn some(&self, like: &dyn Fn(&Abs) -> bool) -> bool {
        match self {
            Self::Leaf(value) => like(value),
            Self::Split(_, children) => children.iter().any(|it| it.some(like)),
        }
    }
}

/// The condition under which a guard may have this answer.
pub(super) fn may(frame: &Frame<'_>, guard: &Guard, answer: bool) -> Cond {
    tree(frame, &guard.outline()).when(&|it| matches(it, answer))
}

/// The same for an optional guard: without one, the answer is yes.
pub(super) fn may_if(frame: &Frame<'_>, guard: Option<&Guard>, answer: bool) -> Cond {
    match guard {
        Some(guard) => may(frame, guard, answer),
        None if answer => Cond::Always,
        None => Cond::Never,
    }
}

pub(super) fn matches(value: &Abs, answer: bool) -> bool {
    match value {
        Abs::Known(_) => value.is_true() == Some(answer),
        _ => true,
    }
}
