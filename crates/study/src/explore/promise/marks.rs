//! The marks of a search, by number.

use std::collections::BTreeMap;

use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;

use crate::explore::world::Surprise;

/// A mark of a move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A promise is broken, or a wanted state is reached.
    Promise(usize),
    /// A promise has no answer.
    NoAnswer(usize),
    /// The subject of a promise occurred.
    ObservedReads(usize),
    /// An entity of a lifecycle was in a state.
    State(Name, Name),
    /// A transition of a lifecycle was taken.
    Taken(Name, Name),
    /// A result that no definition should lead to.
    Surprise(Name, Surprise),
}

/// Every mark there can be.
#[derive(Debug)]
pub struct Marks {
    all: Vec<Mark>,
    numbers: BTreeMap<Mark, u32>,
}

impl Marks {
    pub(super) fn of(pack: &Pack, promises: usize) -> Self {
        let mut all: Vec<Mark> = (0..promises).map(Mark::Promise).collect();
        all.extend((0..promises).map(Mark::NoAnswer));
        all.extend((0..promises).map(Mark::ObservedReads));
        for life in &pack.lifecycles {
            all.extend(life.states.iter().map(|it| Mark::State(life.name.clone(), it.name.clone())));
            all.extend(life.transitions.iter().map(|it| Mark::Taken(life.name.clone(), it.name.clone())));
            all.extend(Surprise::ALL.into_iter().map(|it| Mark::Surprise(life.name.clone(), it)));
        }
        let numbers = all.iter().cloned().zip(0..).collect();
        Self { all, numbers }
    }

    pub fn number(&self, mark: &Mark) -> Option<u32> {
        self.numbers.get(mark).copied()
    }

    pub fn all(&self) -> &[Mark] {
        &self.all
    }
}
