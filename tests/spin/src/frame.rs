//! The scope of an expression within a move.

use trackside_lifecycle::name::Name;

use super::condition::ModelCondition;
use super::domain::AbstractValue;
use super::shape::EntityShape;

/// The source of a variable's present value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VariableSource {
    Value(u8),
    /// The value of that variable before the move.
    Of(usize),
    /// One more than that variable held, up to this.
    More(usize, u8),
    /// Any value: the variable is unconstrained in the target state.
    Any,
}

/// An entity in the middle of a move, with its caller.
#[derive(Clone, Debug)]
pub(super) struct MoveFrame<'a> {
    pub shape: &'a EntityShape<'a>,
    pub now: Vec<VariableSource>,
    pub state: AbstractValue,
    pub previous: AbstractValue,
    pub actor: AbstractValue,
    pub subject: AbstractValue,
    /// Whether the engine is the caller; none if that is not known.
    pub engine: Option<bool>,
    /// Whether the values before the move are those before the command, to which `was` refers.
    pub first: bool,
    /// The state that the caller names.
    pub aimed: Option<Name>,
}

impl<'a> MoveFrame<'a> {
    /// An unchanged entity in a state, without a particular caller.
    pub fn still(shape: &'a EntityShape<'a>, state: AbstractValue) -> Self {
        Self {
            shape,
            now: (0..shape.parts.len()).map(VariableSource::Of).collect(),
            state,
            previous: AbstractValue::Unknown,
            actor: AbstractValue::Unknown,
            subject: AbstractValue::Unknown,
            engine: None,
            first: false,
            aimed: None,
        }
    }

    /// The present source of a variable.
    pub fn source(&self, variable: usize) -> VariableSource {
        self.now.get(variable).copied().unwrap_or(VariableSource::Of(variable))
    }

    /// The condition that a variable now has one of these values.
    pub fn when(&self, variable: usize, values: &[u8]) -> ModelCondition {
        match self.source(variable) {
            VariableSource::Value(it) if values.contains(&it) => ModelCondition::Always,
            VariableSource::Value(_) => ModelCondition::Never,
            VariableSource::Any => ModelCondition::Always,
            VariableSource::Of(from) => ModelCondition::among(from, values, self.shape.size(from)),
            VariableSource::More(from, most) => {
                let size = self.shape.size(from);
                let grown = |it: &u8| values.contains(&it.saturating_add(1).min(most));
                let before: Vec<u8> = (0..=u8::MAX).take(size).filter(grown).collect();
                ModelCondition::among(from, &before, size)
            }
        }
    }

    pub fn put(&mut self, variable: usize, source: VariableSource) {
        if let Some(place) = self.now.get_mut(variable) {
            *place = source;
        }
    }
}
