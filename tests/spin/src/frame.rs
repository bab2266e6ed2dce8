//! The scope of an expression within a move.

use trackside_lifecycle::name::Name;

use super::cond::Cond;
use super::domain::Abs;
use super::shape::Shape;

/// The source of a variable's present value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
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
pub(super) struct Frame<'a> {
    pub shape: &'a Shape<'a>,
    pub now: Vec<Source>,
    pub state: Abs,
    pub previous: Abs,
    pub actor: Abs,
    pub subject: Abs,
    /// Whether the engine is the caller; none if that is not known.
    pub engine: Option<bool>,
    /// Whether the values before the move are those before the command, to which `was` refers.
    pub first: bool,
    /// The state that the caller names.
    pub aimed: Option<Name>,
}

impl<'a> Frame<'a> {
    /// An unchanged entity in a state, without a particular caller.
    pub fn still(shape: &'a Shape<'a>, state: Abs) -> Self {
        Self {
            shape,
            now: (0..shape.parts.len()).map(Source::Of).collect(),
            state,
            previous: Abs::Unknown,
            actor: Abs::Unknown,
            subject: Abs::Unknown,
            engine: None,
            first: false,
            aimed: None,
        }
    }

    /// The present source of a variable.
    pub fn source(&self, variable: usize) -> Source {
        self.now.get(variable).copied().unwrap_or(Source::Of(variable))
    }

    /// The condition that a variable now has one of these values.
    pub fn when(&self, variable: usize, values: &[u8]) -> Cond {
        match self.source(variable) {
            Source::Value(it) if values.contains(&it) => Cond::Always,
            Source::Value(_) => Cond::Never,
            Source::Any => Cond::Always,
            Source::Of(from) => Cond::among(from, values, self.shape.size(from)),
            Source::More(from, most) => {
                let size = self.shape.size(from);
                let grown = |it: &u8| values.contains(&it.saturating_add(1).min(most));
                let before: Vec<u8> = (0..=u8::MAX).take(size).filter(grown).collect();
                Cond::among(from, &before, size)
            }
        }
    }

    pub fn put(&mut self, variable: usize, source: Source) {
        if let Some(place) = self.now.get_mut(variable) {
            *place = source;
        }
    }
}
