//! What an expression sees while a move is worked out.

use trackside_lifecycle::name::Name;

use super::cond::Cond;
use super::domain::Abs;
use super::shape::Shape;

/// Where the present value of a variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Value(u8),
    /// What that variable held before the move.
    Of(usize),
    /// One more than that variable held, up to this.
    More(usize, u8),
    /// Anything: it is let loose once the entity is there.
    Any,
}

/// An entity in the middle of a move, seen by whoever asks for it.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    pub shape: &'a Shape<'a>,
    pub now: Vec<Source>,
    pub state: Abs,
    pub previous: Abs,
    pub actor: Abs,
    pub subject: Abs,
    /// Whether the engine asks; none if it is not known.
    pub engine: Option<bool>,
    /// Whether the variables before the move are those before the command, which `was` speaks of.
    pub first: bool,
    /// The state that the caller names.
    pub aimed: Option<Name>,
}

impl<'a> Frame<'a> {
    /// An entity as it is, in a state, seen by nobody in particular.
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

    /// When a variable has one of these values by now.
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
